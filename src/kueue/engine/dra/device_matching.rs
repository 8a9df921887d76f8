//! Matches devices of ResourceSlices with requests.

use std::collections::BTreeMap;

use k8s_openapi::api::resource::v1::{ExactDeviceRequest, ResourceSlice};

use super::cel_selectors::compile_cel_selectors;
use super::{DeviceSourceConfig, DraContext};
use kueue_lab_api::field::{FieldError, FieldErrors, Path};
use kueue_lab_cel::{CelDevice, CelSelector, Evaluator};

/// Resolves a class and compiles its selectors; `path` is the field path of the request.
///
/// # Errors
/// When the class does not exist, or of the first selector that does not compile.
pub(super) fn resolve_and_compile_device_class(
    context: &DraContext<'_>,
    class: &str,
    claim: &Path,
    request: usize,
) -> Result<Vec<CelSelector>, FieldError> {
    if class.is_empty() {
        return Ok(Vec::new());
    }
    let path = request_path(claim, request);
    let Some(known) = context.devices.class(class) else {
        let detail = format!(
            "failed to get DeviceClass {class}: DeviceClass.resource.k8s.io {class:?} not found"
        );
        return Err(FieldError::internal(&path, detail));
    };
    let what = format!("DeviceClass {class} has invalid CEL selector");
    compile_cel_selectors(known.spec.selectors.as_ref(), &path, &what).map_err(|errors| {
        let first = errors.into_iter().next();
        first.unwrap_or_else(|| FieldError::internal(&path, what))
    })
}

/// `claim.devices.requests[i]`.
pub(super) fn request_path(claim: &Path, request: usize) -> Path {
    claim.child("devices").child("requests").index(request)
}

/// The selectors of a request and of its class.
pub(super) struct DeviceSelectors {
    pub class: Vec<CelSelector>,
    pub request: Vec<CelSelector>,
}

impl DeviceSelectors {
    /// Compiles the selectors.
    ///
    /// # Errors
    /// When the class does not exist, or a selector does not compile.
    pub(crate) fn of(
        context: &DraContext<'_>,
        exactly: &ExactDeviceRequest,
        claim: &Path,
        request: usize,
    ) -> Result<Self, FieldErrors> {
        let class =
            resolve_and_compile_device_class(context, &exactly.device_class_name, claim, request)
                .map_err(|error| vec![error])?;
        let path = request_path(claim, request)
            .child("exactly")
            .child("selectors");
        let request =
            compile_cel_selectors(exactly.selectors.as_ref(), &path, "CEL compilation failed")?;
        Ok(Self { class, request })
    }
}

/// The devices of a source's driver that match its selector, the class and the request.
///
/// # Errors
/// When a selector does not compile or fails to evaluate.
pub(super) fn match_devices_for_source<'a>(
    context: &DraContext<'a>,
    evaluator: &Evaluator,
    measure: &DeviceSourceConfig,
    wanted: &DeviceSelectors,
    path: &Path,
) -> Result<Vec<CelDevice<'a>>, FieldErrors> {
    let own = match &measure.selector {
        None => Vec::new(),
        Some(text) => vec![CelSelector::compile(text).map_err(|error| {
            let at = path.index(0).child("cel").child("expression");
            let detail = format!("deviceSelector CEL compilation failed: {error}");
            vec![FieldError::invalid(&at, text, detail)]
        })?],
    };
    let slices = context.devices.slices(Some(&measure.driver)).collect();
    let pools = group_slices_by_pool(slices);
    let slices = pools.values().filter(|pool| pool.is_complete());
    let devices = slices
        .flat_map(|pool| &pool.slices)
        .flat_map(|slice| slice.spec.devices.iter().flatten());
    let mut matched = Vec::new();
    for device in devices {
        let candidate = evaluator.candidate(&measure.driver, device);
        let selector_sets = [
            (&own, "deviceSelector"),
            (&wanted.class, "DeviceClass selector"),
            (&wanted.request, "request selector"),
        ];
        let mut all = true;
        for (selectors, what) in selector_sets {
            let matches = evaluator.matches(selectors, &candidate).map_err(|error| {
                let name = &device.name;
                let detail = format!("CEL evaluation error in {what} for device {name}: {error}");
                vec![FieldError::internal(path, detail)]
            })?;
            if !matches {
                all = false;
                break;
            }
        }
        if all {
            matched.push(candidate);
        }
    }
    Ok(matched)
}

/// The slices of the latest generation of a pool.
struct PoolInfo<'a> {
    generation: i64,
    expected: i64,
    slices: Vec<&'a ResourceSlice>,
}

impl PoolInfo<'_> {
    /// Whether all slices of the pool are known; its devices are not used before.
    fn is_complete(&self) -> bool {
        i64::try_from(self.slices.len()).is_ok_and(|there| there == self.expected)
    }
}

fn group_slices_by_pool(slices: Vec<&ResourceSlice>) -> BTreeMap<&str, PoolInfo<'_>> {
    let mut pools: BTreeMap<&str, PoolInfo<'_>> = BTreeMap::new();
    for slice in slices {
        let pool = &slice.spec.pool;
        let fresh = || PoolInfo {
            generation: pool.generation,
            expected: pool.resource_slice_count,
            slices: Vec::new(),
        };
        let known = pools.entry(&pool.name).or_insert_with(fresh);
        if pool.generation > known.generation {
            *known = fresh();
        }
        if pool.generation == known.generation {
            known.slices.push(slice);
        }
    }
    pools
}

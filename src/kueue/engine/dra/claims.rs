//! Resource requests of claim templates, by the number of devices.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::resource::v1::{DeviceRequest, ExactDeviceRequest, ResourceClaimSpec};

use super::cel_selectors::compile_cel_selectors;
use super::device_matching::{request_path, resolve_and_compile_device_class};
use super::{DeviceSource, DraContext, merge, pod_path, pod_resource_claims};
use crate::resources::{Decimal, ResourceList};
use kueue_lab_api::field::{FieldError, FieldErrors, Path, aggregate};
use kueue_lab_api::v1beta2::PodSet;
use kueue_lab_cel::{CelDevice, CelSelector, Evaluator, SelectorError};

/// A claim template of a pod set, with its field path.
pub(super) struct ClaimTemplate<'a> {
    pub name: &'a str,
    pub path: Path,
    pub spec: &'a ResourceClaimSpec,
}

impl<'a> ClaimTemplate<'a> {
    /// The requests of the template.
    pub(crate) fn requests(&self) -> impl Iterator<Item = (usize, &'a DeviceRequest)> + use<'a> {
        let requests = self.spec.devices.as_ref();
        let requests = requests.and_then(|devices| devices.requests.as_ref());
        requests.into_iter().flatten().enumerate()
    }

    /// The exact requests, without those for admin access.
    pub(crate) fn exact_requests(
        &self,
    ) -> impl Iterator<Item = (usize, &'a ExactDeviceRequest)> + use<'a> {
        let exact = self.requests();
        let exact = exact.filter_map(|(i, request)| Some((i, request.exactly.as_ref()?)));
        exact.filter(|(_, exactly)| exactly.admin_access != Some(true))
    }
}

/// The templates of a pod set, in order; ends with the first one that does not exist.
pub(super) fn claim_templates<'a>(
    context: &DraContext<'a>,
    pod_set: usize,
    set: &'a PodSet,
    describe: impl Fn(&str) -> String,
) -> impl Iterator<Item = Result<ClaimTemplate<'a>, FieldErrors>> {
    pod_resource_claims(set).filter_map(move |(j, claim)| {
        let name = claim.resource_claim_template_name.as_deref()?;
        let path = pod_path(pod_set).child("resourceClaims").index(j);
        let found = context.devices.template(context.namespace, name);
        Some(match found {
            Some(template) => Ok(ClaimTemplate {
                name,
                path,
                spec: &template.spec.spec,
            }),
            None => {
                let detail = format!(
                    "failed to get claim spec for ResourceClaimTemplate {}: ResourceClaimTemplate.resource.k8s.io {name:?} not found",
                    describe(name)
                );
                Err(vec![FieldError::internal(&path, detail)])
            }
        })
    })
}

/// The number of devices that the claims of a pod request, by resource.
pub(super) fn claim_requests_for_pod_set(
    context: &DraContext<'_>,
    pod_set: usize,
    set: &PodSet,
) -> Result<ResourceList, FieldErrors> {
    let mut total = ResourceList::new();
    let describe = |name: &str| format!("{name} in podset {}", set.name);
    for template in claim_templates(context, pod_set, set, describe) {
        let template = template?;
        let about = |errors: FieldErrors, below: bool| -> FieldErrors {
            let about = errors.into_iter().map(|mut error| {
                error.detail = format!("ResourceClaimTemplate {}: {}", template.name, error.detail);
                if below {
                    error.path = template.path.child(error.path.as_str());
                }
                error
            });
            about.collect()
        };
        let counts = count_devices_per_class(&template).map_err(|errors| about(errors, true))?;
        let short = validate_cel_selectors_against_devices(context, &template);
        if !short.is_empty() {
            return Err(about(short, false));
        }
        for (class, count) in counts {
            let Some(resource) = context.mappings.resource(class) else {
                let path = template.path.child("resourceClaimTemplateName");
                let what = format!(
                    "DeviceClass {class} is not mapped in DRA configuration for podset {}",
                    set.name
                );
                return Err(vec![FieldError::not_found(&path, &what)]);
            };
            if context.device_source(class).is_none() {
                merge(&mut total, resource, Decimal::from_int(count));
            }
        }
    }
    Ok(total)
}

/// The number of devices of each class that a claim requests. Requests with admin access do not
/// count.
fn count_devices_per_class<'a>(
    template: &ClaimTemplate<'a>,
) -> Result<BTreeMap<&'a str, i64>, FieldErrors> {
    let mut counts = BTreeMap::new();
    for (i, request) in template.requests() {
        let path = request_path(&Path::default(), i);
        let invalid = |path: &Path, detail: &str| {
            Err(vec![FieldError::invalid(
                path,
                &serde_json::Value::Null,
                detail,
            )])
        };
        if request.first_available.is_some() {
            return invalid(&path, "FirstAvailable device selection is not supported");
        }
        let Some(exactly) = &request.exactly else {
            return invalid(&path, "Exactly must be set if FirstAvailable is nil");
        };
        let path = path.child("exactly");
        let selectors = path.child("selectors");
        if let Err(errors) = compile_cel_selectors(
            exactly.selectors.as_ref(),
            &selectors,
            "CEL compilation failed",
        ) {
            return invalid(&selectors, &aggregate(&errors));
        }
        if exactly.admin_access == Some(true) {
            continue;
        }
        let mode = exactly.allocation_mode.as_deref().unwrap_or_default();
        let wrong = match mode {
            "ExactCount" => None,
            "All" => Some("AllocationMode 'All' is not supported".to_owned()),
            other => Some(format!("unsupported allocation mode: {other}")),
        };
        if let Some(detail) = wrong {
            let path = path.child("allocationMode");
            return Err(vec![FieldError::invalid(&path, mode, detail)]);
        }
        let class = exactly.device_class_name.as_str();
        if !class.is_empty() {
            let sum: &mut i64 = counts.entry(class).or_default();
            *sum = sum.saturating_add(exactly.count.unwrap_or(0));
        }
    }
    Ok(counts)
}

/// A request with the selectors of its devices.
struct CelDeviceRequest<'a> {
    index: usize,
    exactly: &'a ExactDeviceRequest,
}

/// Validates that enough devices match the selectors of each request: pods that can never run must
/// not reserve quota. No device counts for two requests.
fn validate_cel_selectors_against_devices(
    context: &DraContext<'_>,
    template: &ClaimTemplate<'_>,
) -> FieldErrors {
    let cel_requests: Vec<CelDeviceRequest<'_>> = template
        .requests()
        .filter_map(|(index, request)| {
            let exactly = request.exactly.as_ref()?;
            let mut selectors = exactly.selectors.iter().flatten();
            selectors
                .any(|s| s.cel.is_some())
                .then_some(CelDeviceRequest { index, exactly })
        })
        .collect();
    if cel_requests.is_empty() {
        return FieldErrors::new();
    }
    let evaluator = Evaluator::new();
    let devices = build_device_list(context, &evaluator, &cel_requests);
    let mut allocated = vec![false; devices.len()];
    let mut errors = FieldErrors::new();
    for CelDeviceRequest { index, exactly } in cel_requests {
        let class = &exactly.device_class_name;
        let selectors = request_path(&template.path, index);
        let selectors = selectors.child("exactly").child("selectors");
        let of_class = match resolve_and_compile_device_class(context, class, &template.path, index)
        {
            Ok(selectors) => selectors,
            Err(error) => {
                errors.push(error);
                continue;
            }
        };
        let compiled = compile_cel_selectors(
            exactly.selectors.as_ref(),
            &selectors,
            "CEL compilation failed",
        );
        let of_request = match compiled {
            Ok(selectors) => selectors,
            Err(more) => {
                errors.extend(more);
                continue;
            }
        };
        let wanted = exactly.count.unwrap_or(0);
        let both = [of_class, of_request];
        match count_matching_devices(&evaluator, &devices, &both, &mut allocated, wanted) {
            Err(error) => {
                let detail = format!("CEL evaluation failed for DeviceClass {class}: {error}");
                let null = serde_json::Value::Null;
                errors.push(FieldError::invalid(&selectors, &null, detail));
            }
            Ok(found) if found < wanted => {
                let detail = format!(
                    "insufficient matching devices for CEL selector in DeviceClass {class}: {found} device(s) match in the cluster but {wanted} requested"
                );
                errors.push(FieldError::internal(&selectors, detail));
            }
            Ok(_) => {}
        }
    }
    errors
}

/// The devices that may match: those of the drivers of the classes' sources, or all if a class
/// counts by number.
fn build_device_list<'a>(
    context: &DraContext<'a>,
    evaluator: &Evaluator,
    cel_requests: &[CelDeviceRequest<'_>],
) -> Vec<CelDevice<'a>> {
    let measures = |class: &str| {
        let of = |source| context.mappings.source_configs(source, class).iter();
        of(DeviceSource::Counter).chain(of(DeviceSource::Capacity))
    };
    let classes = cel_requests
        .iter()
        .map(|c| c.exactly.device_class_name.as_str());
    let by_number = classes
        .clone()
        .any(|class| measures(class).next().is_none());
    let drivers: BTreeSet<&str> = classes
        .flat_map(measures)
        .map(|measure| measure.driver.as_str())
        .collect();
    let slices = context.devices.slices(None);
    let slices = slices.filter(|s| by_number || drivers.contains(s.spec.driver.as_str()));
    slices
        .flat_map(|slice| {
            let devices = slice.spec.devices.iter().flatten();
            devices.map(|device| evaluator.candidate(&slice.spec.driver, device))
        })
        .collect()
}

/// Takes matching devices until there are enough; returns their number.
fn count_matching_devices(
    evaluator: &Evaluator,
    devices: &[CelDevice<'_>],
    selectors: &[Vec<CelSelector>; 2],
    allocated: &mut [bool],
    wanted: i64,
) -> Result<i64, SelectorError> {
    let mut found = 0;
    for (device, allocated) in devices.iter().zip(allocated) {
        if *allocated {
            continue;
        }
        let [class, request] = selectors;
        if evaluator.matches(class, device)? && evaluator.matches(request, device)? {
            *allocated = true;
            found += 1;
            if found >= wanted {
                break;
            }
        }
    }
    Ok(found)
}

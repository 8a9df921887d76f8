//! Resource requests of extended resources that a DeviceClass backs.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Container;

use super::{DeviceSource, DraContext, is_extended, merge, pod_path};
use crate::resources::{Decimal, ResourceList};
use kueue_lab_api::field::{FieldError, FieldErrors, Path};
use kueue_lab_api::v1beta2::PodSet;

/// The resource requests of a pod set's extended resources.
#[derive(Default)]
pub(super) struct ExtendedResourceQuota {
    pub counted: ResourceList,
    /// The extended resources that are replaced.
    pub replaced: Vec<String>,
}

/// The extended resource requests of a container, with their field path.
struct ContainerExtendedResourceRequests {
    path: Path,
    amounts: BTreeMap<String, Decimal>,
}

fn container_extended_resource_requests(
    containers: &[Container],
    path: &Path,
) -> Vec<ContainerExtendedResourceRequests> {
    let each = containers.iter().enumerate().map(|(i, container)| {
        let requests = container.resources.as_ref();
        let requests = requests.and_then(|r| r.requests.as_ref());
        let amounts = requests.into_iter().flatten();
        let amounts = amounts
            .map(|(name, quantity)| (name.clone(), Decimal::parse_lossy(quantity)))
            .filter(|(name, amount)| is_extended(name) && *amount > Decimal::ZERO);
        ContainerExtendedResourceRequests {
            path: path.index(i),
            amounts: amounts.collect(),
        }
    });
    each.collect()
}

/// The integer, if it is one that fits 64 bits.
fn whole(amount: Decimal) -> Option<i64> {
    let value = amount.value();
    (Decimal::from_int(value) == amount).then_some(value)
}

/// The resource requests of a pod's extended resources: the sum over its containers or the maximum
/// over its init containers, whichever is higher.
pub(super) fn resolve_extended_resource_quota(
    context: &DraContext<'_>,
    pod_set: usize,
    set: &PodSet,
) -> Result<ExtendedResourceQuota, FieldErrors> {
    let mut result = ExtendedResourceQuota::default();
    let Some(spec) = &set.template.spec else {
        return Ok(result);
    };
    let path = pod_path(pod_set);
    let inits = spec.init_containers.as_deref().unwrap_or_default();
    let inits = container_extended_resource_requests(inits, &path.child("initContainers"));
    let containers =
        container_extended_resource_requests(&spec.containers, &path.child("containers"));
    let mut totals: BTreeMap<&str, Decimal> = BTreeMap::new();
    for (name, amount) in containers.iter().flat_map(|c| &c.amounts) {
        let sum = totals.entry(name).or_default();
        *sum = sum.plus(*amount);
    }
    for (name, amount) in inits.iter().flat_map(|c| &c.amounts) {
        let most = totals.entry(name).or_default();
        *most = (*most).max(*amount);
    }
    let all = || inits.iter().chain(&containers);
    let mut errors = FieldErrors::new();
    for (name, total) in totals {
        let of = |container: &ContainerExtendedResourceRequests| {
            container
                .path
                .child("resources")
                .child("requests")
                .child(name)
        };
        let Some(first) = all().find(|container| container.amounts.contains_key(name)) else {
            continue;
        };
        let resource = match resolve_quota_key(context, name, &first.path) {
            Ok(Some(resource)) => resource,
            Ok(None) => continue,
            Err(error) => {
                errors.push(error);
                continue;
            }
        };
        let before = errors.len();
        for container in all() {
            let amount = container.amounts.get(name).copied();
            if let Some(amount) = amount.filter(|amount| whole(*amount).is_none()) {
                let detail = "extended resource quantity must be an integer";
                let amount = amount.to_decimal_si();
                errors.push(FieldError::invalid(&of(container), &amount, detail));
            }
        }
        if errors.len() > before {
            continue;
        }
        if whole(total).is_none() {
            let detail = "total extended resource quantity overflows int64";
            let total = total.to_decimal_si();
            errors.push(FieldError::invalid(&of(first), &total, detail));
            continue;
        }
        result.replaced.push(name.to_owned());
        merge(&mut result.counted, resource, total);
    }
    if errors.is_empty() {
        Ok(result)
    } else {
        Err(errors)
    }
}

/// The resource that an extended resource counts as: that of the backing class, or its own name if
/// the class is not mapped. None without a backing class.
///
/// # Errors
/// When the class counts by counters or capacity, which require resource claims.
fn resolve_quota_key<'a>(
    context: &DraContext<'a>,
    name: &'a str,
    path: &Path,
) -> Result<Option<&'a str>, FieldError> {
    let Some(class) = context.devices.selected_device_class(name) else {
        return Ok(None);
    };
    let Some(resource) = context.mappings.resource(class) else {
        return Ok(Some(name));
    };
    let detail = match context.device_source(class) {
        None => return Ok(Some(resource)),
        Some(DeviceSource::Counter) => {
            "counters configured; use ResourceClaimTemplates with CEL selectors for counter-based quota"
        }
        Some(DeviceSource::Capacity) => {
            "capacity sources configured; use ResourceClaimTemplates with capacity.requests for capacity-based quota"
        }
    };
    let detail = format!("extended resource {name} resolves to DeviceClass {class} with {detail}");
    Err(FieldError::invalid(path, name, detail))
}

//! Resource requests by consumed counters of partitionable devices, and by consumed capacity of
//! shared devices.
//!
//! The allocated device is not known yet, so the maximum over all matching devices counts.

use k8s_openapi::api::resource::v1::{
    CapacityRequestPolicy, CapacityRequestPolicyRange, DeviceCapacity, ExactDeviceRequest,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::claims::claim_templates;
use super::device_matching::{DeviceSelectors, match_devices_for_source, request_path};
use super::{DeviceSource, DeviceSourceConfig, DraContext, merge};
use crate::resources::{Decimal, ResourceList};
use kueue_lab_api::field::{FieldError, FieldErrors, Path};
use kueue_lab_api::v1beta2::PodSet;
use kueue_lab_cel::{CelDevice, Evaluator};

/// The counters or capacity that the claims of a pod consume.
pub(super) fn source_requests_for_pod_set(
    context: &DraContext<'_>,
    source: DeviceSource,
    pod_set: usize,
    set: &PodSet,
) -> Result<ResourceList, FieldErrors> {
    let mut total = ResourceList::new();
    for template in claim_templates(context, pod_set, set, str::to_owned) {
        let template = template?;
        for (i, exactly) in template.exact_requests() {
            let class = exactly.device_class_name.as_str();
            let measures = context.mappings.source_configs(source, class);
            if measures.is_empty() {
                continue;
            }
            let wanted = DeviceSelectors::of(context, exactly, &template.path, i)?;
            let evaluator = Evaluator::new();
            let path = request_path(&template.path, i);
            for measure in measures {
                let matched =
                    match_devices_for_source(context, &evaluator, measure, &wanted, &path)?;
                let charge = compute_charge(source, measure, &matched, exactly, &path)?;
                let resource = match source {
                    DeviceSource::Counter => Some(measure.resource.as_str()),
                    DeviceSource::Capacity => context.mappings.resource(class),
                };
                if let Some(resource) = resource {
                    merge(&mut total, resource, Decimal::from_int(charge));
                }
            }
        }
    }
    Ok(total)
}

/// The amount that a request consumes with the most demanding matching device.
fn compute_charge(
    source: DeviceSource,
    measure: &DeviceSourceConfig,
    matched: &[CelDevice<'_>],
    exactly: &ExactDeviceRequest,
    path: &Path,
) -> Result<i64, FieldErrors> {
    let wanted = exactly.count.unwrap_or(0);
    let found = matched.len();
    if i64::try_from(found).is_ok_and(|found| found < wanted) {
        let kind = match source {
            DeviceSource::Counter => "counter",
            DeviceSource::Capacity => "capacity",
        };
        let detail = format!(
            "insufficient matching devices for {kind} driver: {found} device(s) match but {wanted} requested"
        );
        return Err(vec![FieldError::internal(path, detail)]);
    }
    let most = match source {
        DeviceSource::Counter => counter_charge(measure, matched, path),
        DeviceSource::Capacity => capacity_charge(measure, matched, exactly, path),
    };
    let most = most.map_err(|error| vec![error])?;
    // A negative amount is an error of the driver and counts as zero.
    let each = most.max(Decimal::ZERO).value();
    Ok(each.saturating_mul(wanted.max(1)))
}

/// The maximum of a counter that any of the devices consumes.
fn counter_charge(
    measure: &DeviceSourceConfig,
    matched: &[CelDevice<'_>],
    path: &Path,
) -> Result<Decimal, FieldError> {
    let consumed = matched
        .iter()
        .flat_map(|c| c.device.consumes_counters.iter().flatten());
    let values = consumed.filter_map(|consumption| consumption.counters.get(&measure.name));
    let most = values.map(|counter| Decimal::parse_lossy(&counter.value));
    most.max().ok_or_else(|| {
        let name = &measure.name;
        let detail = format!("matched devices have no consumesCounters entry for counter {name:?}");
        FieldError::internal(path, detail)
    })
}

/// The maximum capacity that any of the devices would allocate to the request.
fn capacity_charge(
    measure: &DeviceSourceConfig,
    matched: &[CelDevice<'_>],
    exactly: &ExactDeviceRequest,
    path: &Path,
) -> Result<Decimal, FieldError> {
    let name = &measure.name;
    let requests = exactly.capacity.as_ref();
    let requests = requests.and_then(|capacity| capacity.requests.as_ref());
    let explicit = requests.and_then(|requests| requests.get(name));
    let dimensions = matched.iter();
    let dimensions = dimensions.filter_map(|c| c.device.capacity.as_ref()?.get(name));
    let dimensions: Vec<&DeviceCapacity> = dimensions.collect();
    if dimensions.is_empty() {
        let detail = format!("matched devices have no capacity dimension {name:?}");
        return Err(FieldError::internal(path, detail));
    }
    let charges = dimensions.into_iter();
    let charges = charges.filter_map(|dimension| charge_for_device(dimension, explicit));
    charges.max().ok_or_else(|| {
        let detail = format!(
            "capacity request cannot be satisfied by any matched device's RequestPolicy for dimension {name:?}"
        );
        FieldError::invalid(path, &serde_json::Value::Null, detail)
    })
}

/// The capacity that a device allocates: the requested amount, else its default, else all of it,
/// rounded by the request policy. None when that exceeds the maximum.
fn charge_for_device(dimension: &DeviceCapacity, explicit: Option<&Quantity>) -> Option<Decimal> {
    let policy = dimension.request_policy.as_ref();
    let default = policy.and_then(|policy| policy.default.as_ref());
    let base = explicit.or(default).unwrap_or(&dimension.value);
    let base = Decimal::parse_lossy(base);
    policy.map_or(Some(base), |policy| round_to_policy(base, policy))
}

fn round_to_policy(base: Decimal, policy: &CapacityRequestPolicy) -> Option<Decimal> {
    let valid = policy.valid_values.iter().flatten();
    let valid: Vec<Decimal> = valid.map(Decimal::parse_lossy).collect();
    if !valid.is_empty() {
        return valid.into_iter().find(|value| *value >= base);
    }
    match &policy.valid_range {
        None => Some(base),
        Some(range) => round_to_valid_range(base, range).map(Decimal::from_int),
    }
}

/// The amount raised to the minimum of the range and to a whole number of steps.
fn round_to_valid_range(base: Decimal, range: &CapacityRequestPolicyRange) -> Option<i64> {
    let value = |quantity: &Quantity| Decimal::parse_lossy(quantity).value();
    let min = value(&range.min);
    let mut amount = base.value().max(min);
    let step = range.step.as_ref().map(value).filter(|step| *step > 0);
    if let Some(step) = step {
        let above = amount.saturating_sub(min);
        if above % step != 0 {
            amount = min.saturating_add((above / step).saturating_add(1).saturating_mul(step));
        }
    }
    let max = range.max.as_ref().map(value);
    max.is_none_or(|max| amount <= max).then_some(amount)
}

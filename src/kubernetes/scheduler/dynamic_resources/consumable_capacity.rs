//! Consumable capacity: devices that several claims share, each with a part of the capacity.

use std::collections::BTreeMap;

use k8s_openapi::api::resource::v1::{
    CapacityRequestPolicy, CapacityRequestPolicyRange, CapacityRequirements, Device, DeviceCapacity,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Text;
use kueue_lab_quantity::{Format, Quantity};

/// The use of a device that several claims share.
#[derive(Default)]
pub(super) struct SharedDevice {
    /// The number of shares.
    pub shares: usize,
    /// The capacity that they consume.
    pub consumed: BTreeMap<String, Quantity>,
}

/// Whether several claims can share a device.
pub(super) fn is_shared(device: &Device) -> bool {
    device.allow_multiple_allocations == Some(true)
}

fn parsed(text: &Text) -> Quantity {
    Quantity::parse(&text.0).unwrap_or_default()
}

/// Whether a device has the capacity of one more request beside its shares and the chosen requests.
pub(super) fn has_capacity<'a>(
    device: &Device,
    requested: Option<&CapacityRequirements>,
    in_use: Option<&SharedDevice>,
    chosen: impl Iterator<Item = Option<&'a CapacityRequirements>>,
) -> bool {
    let capacities = device.capacity.iter().flatten();
    let known = |name: &String| {
        let capacity = device.capacity.as_ref();
        capacity.is_some_and(|capacity| capacity.contains_key(name))
    };
    let requests = requested.and_then(|r| r.requests.as_ref());
    if !requests.into_iter().flatten().all(|(name, _)| known(name)) {
        return false;
    }
    let chosen: Vec<_> = chosen.filter(|_| is_shared(device)).collect();
    capacities.into_iter().all(|(name, capacity)| {
        let consumed = consumed(requested, name, capacity);
        if violates_policy(consumed, capacity.request_policy.as_ref()) {
            return false;
        }
        let in_use = in_use.and_then(|use_| use_.consumed.get(name)).copied();
        let others = chosen
            .iter()
            .map(|other| self::consumed(*other, name, capacity));
        consumed + in_use.unwrap_or_default() + others.sum() <= parsed(&capacity.value)
    })
}

/// The capacity of a shared device that a request consumes.
pub(super) fn consumed_capacity(
    requested: Option<&CapacityRequirements>,
    device: &Device,
) -> BTreeMap<String, Quantity> {
    let capacities = device.capacity.iter().flatten();
    capacities
        .map(|(name, capacity)| (name.clone(), consumed(requested, name, capacity)))
        .collect()
}

/// A request rounded up as the policy of the capacity says; without a request, the default of the policy
/// or all of it.
fn consumed(
    requested: Option<&CapacityRequirements>,
    name: &str,
    capacity: &DeviceCapacity,
) -> Quantity {
    let requests = requested.and_then(|r| r.requests.as_ref());
    let policy = capacity.request_policy.as_ref();
    let Some(requested) = requests.and_then(|r| r.get(name)).map(parsed) else {
        let default = policy.and_then(|policy| policy.default.as_ref());
        return parsed(default.unwrap_or(&capacity.value));
    };
    let range = policy.and_then(|policy| policy.valid_range.as_ref());
    let values = policy.and_then(|policy| policy.valid_values.as_ref());
    match (range, values) {
        (Some(range), _) => round_up(requested, range),
        (None, Some(values)) => {
            let mut values = values.iter().map(parsed);
            values
                .find(|value| requested <= *value)
                .unwrap_or(requested)
        }
        (None, None) => requested,
    }
}

fn round_up(requested: Quantity, range: &CapacityRequestPolicyRange) -> Quantity {
    let min = parsed(&range.min);
    if requested < min {
        return min;
    }
    let Some(step) = range.step.as_ref().map(|step| parsed(step).value()) else {
        return requested;
    };
    let added = requested.value().saturating_sub(min.value());
    let steps = added
        .checked_add(step - 1)
        .map_or(0, |sum| sum / step.max(1));
    let value = min.value().saturating_add(step.saturating_mul(steps));
    Quantity::from_value(value).with_format(Format::BinarySi)
}

fn violates_policy(consumed: Quantity, policy: Option<&CapacityRequestPolicy>) -> bool {
    let Some(policy) = policy else {
        return false;
    };
    if policy.default.as_ref().map(parsed) == Some(consumed) {
        return false;
    }
    if let Some(range) = &policy.valid_range {
        let is_above = range.max.as_ref().is_some_and(|max| consumed > parsed(max));
        let added = consumed.value() - parsed(&range.min).value();
        let step = range.step.as_ref().map(|step| parsed(step).value());
        return is_above || step.is_some_and(|step| step > 0 && added % step != 0);
    }
    let values = policy.valid_values.as_deref().unwrap_or_default();
    !values.is_empty() && values.iter().all(|value| parsed(value) != consumed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn consumes(policy: Value, request: Value) -> (String, bool) {
        let device = json!({"name": "d", "allowMultipleAllocations": true, "capacity": {
            "memory": {"value": "40Gi", "requestPolicy": policy},
        }});
        let device: Device = serde_json::from_value(device).unwrap();
        let requested = json!({"requests": request});
        let requested: CapacityRequirements = serde_json::from_value(requested).unwrap();
        let consumed = consumed_capacity(Some(&requested), &device);
        let fits = has_capacity(&device, Some(&requested), None, std::iter::empty());
        (consumed["memory"].to_string(), fits)
    }

    #[test]
    fn requests_are_rounded_up() {
        let range =
            json!({"default": "1Gi", "validRange": {"min": "2Gi", "step": "2Gi", "max": "8Gi"}});
        let values = json!({"default": "5Gi", "validValues": ["5Gi", "10Gi"]});
        let some = |text: &str| json!({"memory": text});
        for (policy, request, expected) in [
            (Value::Null, json!({}), ("40Gi", true)),
            (Value::Null, some("3Gi"), ("3Gi", true)),
            (Value::Null, some("41Gi"), ("41Gi", false)),
            (range.clone(), json!({}), ("1Gi", true)),
            (range.clone(), some("1"), ("2Gi", true)),
            (range.clone(), some("3Gi"), ("4Gi", true)),
            (range.clone(), some("9Gi"), ("10Gi", false)),
            (values.clone(), some("6Gi"), ("10Gi", true)),
            (values.clone(), some("11Gi"), ("11Gi", false)),
        ] {
            let (consumed, fits) = consumes(policy.clone(), request.clone());
            assert_eq!((&*consumed, fits), expected, "{policy} {request}");
        }
    }
}

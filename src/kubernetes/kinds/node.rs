//! Nodes.

use std::collections::{BTreeSet, HashSet};

use serde_json::Value;

use super::builtin_strategy::{BuiltinStrategy, SelectableFields};
use super::pod::{resource_validation, scheduling};
use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;
use kueue_lab_field::{FieldError, name_validation};
use kueue_lab_json::{ValueExt, ValueMutExt};

/// Strategy of Nodes. Create keeps the status because the kubelet registers its Node with a status.
pub(super) const STRATEGY: BuiltinStrategy = BuiltinStrategy {
    selectable_fields: SelectableFields::Some(&[(
        "spec.unschedulable",
        "/spec/unschedulable",
        "false",
    )]),
    set_defaults: default,
    keeps_status_on_create: true,
    validate_create: |node| {
        let mut errors = ErrorList::default();
        common(&mut errors, node);
        pod_cidrs(&mut errors, node);
        errors.0
    },
    validate_update,
    validate_subresource_update: |_, new, old| validate_update(new, old),
    ..BuiltinStrategy::DEFAULT
};

const SPEC: FieldPath<'_> = FieldPath::root("spec");
const STATUS: FieldPath<'_> = FieldPath::root("status");

fn default(node: &mut Value) {
    if let Some(status) = node.get_object_mut("status")
        && let Some(capacity) = status.get("capacity").cloned()
    {
        status.set_default("allocatable", capacity);
    }
    // `podCIDR` is the first entry of `podCIDRs`.
    let Some(spec) = node.get_object_mut("spec") else {
        return;
    };
    let (one, first) = (
        spec.text("/podCIDR").to_string(),
        spec.text("/podCIDRs/0").to_string(),
    );
    if first.is_empty() && !one.is_empty() {
        spec.set_or_remove("podCIDRs", Some(vec![one].into()));
    } else if !first.is_empty() {
        spec.set_or_remove("podCIDR", Some(first.into()));
    }
}

fn common(errors: &mut ErrorList, node: &Value) {
    taints(
        errors,
        &FieldPath::root("metadata").child("taints"),
        node.list("/spec/taints"),
    );
    for list in ["capacity", "allocatable"] {
        let path = STATUS.child(list);
        for (name, amount) in node.at("/status").entries(&format!("/{list}")) {
            resource_validation::resource_quantity(errors, &path.child(name), name, amount);
        }
    }
}

fn taints(errors: &mut ErrorList, path: &FieldPath<'_>, taints: &[Value]) {
    let mut seen = BTreeSet::new();
    for (i, taint) in taints.iter().enumerate() {
        let path = path.index(i);
        let (key, value) = (taint.text("/key"), taint.text("/value"));
        errors.invalid_for_each(
            &path.child("key"),
            key,
            name_validation::qualified_name(key),
        );
        let messages = name_validation::label_value(value);
        if !messages.is_empty() {
            errors.invalid(&path.child("value"), value, messages.join(";"));
        }
        let effect = taint.text("/effect");
        scheduling::taint_effect(errors, &path.child("effect"), effect);
        if !seen.insert((key, effect)) {
            let mut error = FieldError::duplicate(&path, Value::Null);
            error.detail = "taints must be unique by key and effect pair".into();
            errors.0.push(error.with_bad_value_text(shown_taint(taint)));
        }
    }
}

fn pod_cidrs(errors: &mut ErrorList, node: &Value) {
    let path = SPEC.child("podCIDRs");
    let ranges = node.list("/spec/podCIDRs");
    for (i, range) in ranges.iter().enumerate() {
        kueue_lab_apimachinery::ip_validation::cidr(
            errors,
            &path.index(i),
            range.as_str().unwrap_or_default(),
        );
    }
    let v6 = ranges
        .iter()
        .filter(|r| r.as_str().is_some_and(|r| r.contains(':')))
        .count();
    if v6 > 1 || ranges.len() - v6 > 1 {
        let detail = "may specify no more than one CIDR for each IP family";
        errors.invalid(&path, node.at("/spec/podCIDRs").clone(), detail);
    }
}

fn validate_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = ErrorList::default();
    common(&mut errors, new);
    pod_cidrs(&mut errors, new);
    let addresses = STATUS.child("addresses");
    let list = new.list("/status/addresses");
    let mut seen = HashSet::new();
    for (i, address) in list.iter().enumerate() {
        if !seen.insert(address) {
            errors.duplicate(&addresses.index(i), address.clone());
        }
    }
    if !old.list("/spec/podCIDRs").is_empty()
        && old.at("/spec/podCIDRs") != new.at("/spec/podCIDRs")
    {
        let detail = "node updates may not change podCIDR except from \"\" to valid";
        errors.forbidden(&SPEC.child("podCIDRs"), detail);
    }
    let provider = old.text("/spec/providerID");
    if !provider.is_empty() && provider != new.text("/spec/providerID") {
        let detail = "node updates may not change providerID except from \"\" to valid";
        errors.forbidden(&SPEC.child("providerID"), detail);
    }
    if new.at("/spec/externalID") != old.at("/spec/externalID") {
        errors.forbidden(&SPEC.child("externalID"), "may not be updated");
    }
    errors.0
}

/// A taint as Kubernetes prints it, with the names of Go.
fn shown_taint(taint: &Value) -> String {
    let text = |field: &str| Value::from(taint.text(field));
    format!(
        "{{\"Key\":{},\"Value\":{},\"Effect\":{},\"TimeAdded\":{}}}",
        text("/key"),
        text("/value"),
        text("/effect"),
        taint.at("/timeAdded"),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn taints_ranges_and_amounts() {
        let mut node = json!({"spec": {"podCIDR": "x", "taints": [{"key": "a", "effect": "NoSchedule"},
            {"key": "a", "effect": "NoSchedule", "value": "x"}]}, "status": {"capacity": {"cpu": "-1"}}});
        default(&mut node);
        assert_eq!(*node.at("/status/allocatable"), json!({"cpu": "-1"}));
        let texts: Vec<String> = (STRATEGY.validate_create)(&node)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            texts,
            [
                r#"metadata.taints[1]: Duplicate value: {"Key":"a","Value":"x","Effect":"NoSchedule","TimeAdded":null}: taints must be unique by key and effect pair"#,
                r#"status.capacity.cpu: Invalid value: "-1": must be greater than or equal to 0"#,
                r#"status.allocatable.cpu: Invalid value: "-1": must be greater than or equal to 0"#,
                r#"spec.podCIDRs[0]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"#,
            ]
        );
    }
}

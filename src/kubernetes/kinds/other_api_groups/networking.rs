//! Ingresses, NetworkPolicies and EndpointSlices. Ingresses and NetworkPolicies have defaults; their fields are not validated,
//! as nothing in the cluster acts on them.

use serde_json::{Value, json};

use crate::builtin_strategy::BuiltinStrategy;
use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;
use kueue_lab_json::{ValueExt, ValueMutExt};

pub(super) fn strategy_of(kind: &str) -> BuiltinStrategy {
    let spec = BuiltinStrategy {
        generation_fields: &["spec"],
        ..BuiltinStrategy::DEFAULT
    };
    match kind {
        "Ingress" => BuiltinStrategy {
            prepare_for_create: |ingress| ingress["status"] = json!({"loadBalancer": {}}),
            ..spec
        },
        "IngressClass" => BuiltinStrategy {
            set_defaults: |class| {
                if let Some(parameters) = class
                    .get_object_mut("spec")
                    .and_then(|s| s.get_object_mut("parameters"))
                {
                    parameters.set_default("scope", "Cluster");
                }
            },
            ..spec
        },
        "NetworkPolicy" => BuiltinStrategy {
            set_defaults: policy_default,
            ..spec
        },
        "EndpointSlice" => BuiltinStrategy {
            set_defaults: |slice| {
                for port in slice.items_mut("ports") {
                    port.set_default("name", "");
                    port.set_default("protocol", "TCP");
                }
            },
            validate_create: |slice| {
                let mut errors = ErrorList::default();
                let path = FieldPath::root("addressType");
                let known = ["FQDN", "IPv4", "IPv6"];
                errors.required_one_of(&path, slice.text("/addressType"), &known);
                errors.0
            },
            validate_update: |new, old| {
                let mut errors = ErrorList::default();
                let kind = "/addressType";
                errors.immutable(&FieldPath::root("addressType"), new.at(kind), old.at(kind));
                errors.0
            },
            generation_fields: &["addressType", "endpoints", "ports"],
            ..BuiltinStrategy::DEFAULT
        },
        _ => BuiltinStrategy::DEFAULT,
    }
}

fn policy_default(policy: &mut Value) {
    let Some(spec) = policy.get_object_mut("spec") else {
        return;
    };
    if spec.list("/policyTypes").is_empty() {
        let mut types = vec!["Ingress"];
        if !spec.list("/egress").is_empty() {
            types.push("Egress");
        }
        spec.set_or_remove("policyTypes", Some(types.into()));
    }
    for direction in ["ingress", "egress"] {
        for rule in spec.items_mut(direction) {
            for port in rule.items_mut("ports") {
                port.set_default("protocol", "TCP");
            }
        }
    }
}

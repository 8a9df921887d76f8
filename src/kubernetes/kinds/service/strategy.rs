//! Strategy of Services.

use serde_json::{Value, json};

use super::cluster_ips::{keep_allocated_values, normalize_cluster_ips};
use super::validation::{validate, validate_cluster_ips_update};
use crate::builtin_strategy::{BuiltinStrategy, SelectableFields};
use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::metadata_validation::object_names;
use kueue_lab_json::{ValueExt, ValueMutExt};

/// Strategy of Services. `create_policy` allocates the cluster IPs.
pub(crate) const STRATEGY: BuiltinStrategy = BuiltinStrategy {
    validate_name: object_names::name_is_dns1035_label,
    selectable_fields: SelectableFields::Some(&[
        ("spec.clusterIP", "/spec/clusterIP", ""),
        ("spec.type", "/spec/type", ""),
    ]),
    set_defaults: default,
    prepare_for_create: |service| {
        service["status"] = json!({"loadBalancer": {}});
        normalize_cluster_ips(service);
    },
    prepare_for_update: |new, old| {
        keep_allocated_values(new, old);
        normalize_cluster_ips(new);
    },
    validate_create: validate,
    validate_update: |new, old| {
        let mut errors = ErrorList::default();
        validate_cluster_ips_update(&mut errors, new, old);
        errors.extend(validate(new));
        errors.0
    },
    allow_create_on_update: true,
    ..BuiltinStrategy::DEFAULT
};

pub(crate) fn default(service: &mut Value) {
    let Some(spec) = service.get_object_mut("spec") else {
        return;
    };
    spec.set_default("type", "ClusterIP");
    spec.set_default("sessionAffinity", "None");
    match spec.text("/sessionAffinity") {
        "None" => {
            spec.remove_key("sessionAffinityConfig");
        }
        "ClientIP" => {
            let config = spec.object_mut("sessionAffinityConfig");
            config
                .object_mut("clientIP")
                .set_default("timeoutSeconds", 10800);
        }
        _ => {}
    }
    for port in spec.items_mut("ports") {
        port.set_default("protocol", "TCP");
        let number = port.at("/port").clone();
        let unset = matches!(port.at("/targetPort"), Value::Null)
            || port.at("/targetPort") == 0
            || port.at("/targetPort") == "";
        if unset {
            port.set_or_remove("targetPort", Some(number));
        }
    }
    let kind = spec.text("/type").to_string();
    let outside = matches!(kind.as_str(), "NodePort" | "LoadBalancer")
        || kind == "ClusterIP" && !spec.list("/externalIPs").is_empty();
    if outside {
        spec.set_default("externalTrafficPolicy", "Cluster");
    }
    if matches!(kind.as_str(), "NodePort" | "LoadBalancer" | "ClusterIP") {
        spec.set_default("internalTrafficPolicy", "Cluster");
    }
    if kind == "LoadBalancer" {
        spec.set_default("allocateLoadBalancerNodePorts", true);
    }
}

//! Ingresses, NetworkPolicies and EndpointSlices.

use serde_json::{Value, json};

use crate::apimachinery::error_list::ErrorList;
use crate::apimachinery::field_path::FieldPath;
use crate::apimachinery::metadata_validation::{labels, name_validation};
use crate::kinds::builtin_strategy::BuiltinStrategy;
use kueue_lab_field::FieldError;
use kueue_lab_json::{ValueExt, ValueMutExt};

pub(super) fn strategy_of(kind: &str) -> BuiltinStrategy {
    let spec = BuiltinStrategy {
        generation_fields: &["spec"],
        ..BuiltinStrategy::DEFAULT
    };
    match kind {
        "Ingress" => BuiltinStrategy {
            prepare_for_create: |ingress| ingress["status"] = json!({"loadBalancer": {}}),
            validate_create: ingress,
            validate_update: |new, _| ingress(new),
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
            validate_create: policy,
            validate_update: |new, _| policy(new),
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

const SPEC: FieldPath<'_> = FieldPath::root("spec");

fn ingress(ingress: &Value) -> Vec<FieldError> {
    let mut errors = ErrorList::default();
    let spec = ingress.at("/spec");
    let rules = spec.list("/rules");
    if rules.is_empty() && !spec.has("/defaultBackend") {
        let detail = "either `defaultBackend` or `rules` must be specified";
        errors.invalid_with_text(&SPEC, spec.to_string(), detail);
    }
    if spec.has("/defaultBackend") {
        backend(
            &mut errors,
            &SPEC.child("defaultBackend"),
            spec.at("/defaultBackend"),
        );
    }
    let rules_path = SPEC.child("rules");
    for (i, rule) in rules.iter().enumerate() {
        let path = rules_path.index(i);
        let host = rule.text("/host");
        if host.starts_with('*') {
            errors.invalid_for_each(
                &path.child("host"),
                host,
                name_validation::wildcard_dns1123_subdomain(host),
            );
        } else if !host.is_empty() {
            errors.invalid_for_each(
                &path.child("host"),
                host,
                name_validation::dns1123_subdomain(host),
            );
        }
        let http = path.child("http");
        let paths = http.child("paths");
        if rule.has("/http") && rule.list("/http/paths").is_empty() {
            errors.required(&paths, "");
        }
        for (j, entry) in rule.list("/http/paths").iter().enumerate() {
            let path = paths.index(j);
            let kinds = ["Exact", "ImplementationSpecific", "Prefix"];
            match entry.text("/pathType") {
                "" => errors.required(&path.child("pathType"), "pathType must be specified"),
                kind => errors.one_of(&path.child("pathType"), kind, &kinds),
            }
            let text = entry.text("/path");
            let free = entry.text("/pathType") == "ImplementationSpecific" && text.is_empty();
            if !text.starts_with('/') && !free {
                errors.invalid(&path.child("path"), text, "must be an absolute path");
            }
            backend(&mut errors, &path.child("backend"), entry.at("/backend"));
        }
    }
    if spec.has("/ingressClassName") {
        let class = spec.text("/ingressClassName");
        errors.invalid_for_each(
            &SPEC.child("ingressClassName"),
            class,
            name_validation::dns1123_subdomain(class),
        );
    }
    errors.0
}

fn backend(errors: &mut ErrorList, path: &FieldPath<'_>, backend: &Value) {
    let service = backend.at("/service");
    match (service.is_null(), backend.has("/resource")) {
        (false, true) => {
            errors.invalid(path, "", "cannot set both resource and service backends");
        }
        (true, true) => {}
        (true, false) => errors.required(path, "resource or service backend is required"),
        (false, false) => {
            let path = path.child("service");
            match service.text("/name") {
                "" => errors.required(&path.child("name"), ""),
                name => errors.invalid_for_each(
                    &path.child("name"),
                    name,
                    name_validation::dns1035_label(name),
                ),
            }
            let (number, name) = (service.int("/port/number"), service.text("/port/name"));
            if number == 0 && name.is_empty() {
                errors.required(&path, "port name or number is required");
            }
        }
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

fn policy(policy: &Value) -> Vec<FieldError> {
    let mut errors = ErrorList::default();
    let selector = policy.at("/spec/podSelector");
    errors.extend(labels::validate_selector(selector, "spec.podSelector"));
    let path = SPEC.child("policyTypes");
    for (i, kind) in policy
        .list("/spec/policyTypes")
        .iter()
        .filter_map(Value::as_str)
        .enumerate()
    {
        errors.one_of(&path.index(i), kind, &["Egress", "Ingress"]);
    }
    errors.0
}

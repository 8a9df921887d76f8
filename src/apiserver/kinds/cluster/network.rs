//! Ingresses, network policies and endpoint slices.

use serde_json::{Value, json};

use crate::field::FieldError;
use crate::kinds::check::{Errors, Path};
use crate::kinds::meta::{labels, names};
use crate::kinds::rules::Rules;
use crate::kinds::value::{Fill, Look};

pub(super) fn rules(kind: &str) -> Rules {
    let spec = Rules {
        generation_of: &["spec"],
        ..Rules::PLAIN
    };
    match kind {
        "Ingress" => Rules {
            prepare_create: |ingress| ingress["status"] = json!({"loadBalancer": {}}),
            create: ingress,
            update: |new, _| ingress(new),
            ..spec
        },
        "IngressClass" => Rules {
            default: |class| {
                if let Some(parameters) = class
                    .child_if("spec")
                    .and_then(|s| s.child_if("parameters"))
                {
                    parameters.or_set("scope", "Cluster");
                }
            },
            ..spec
        },
        "NetworkPolicy" => Rules {
            default: policy_default,
            create: policy,
            update: |new, _| policy(new),
            ..spec
        },
        "EndpointSlice" => Rules {
            default: |slice| {
                for port in slice.items_mut("ports") {
                    port.or_set("name", "");
                    port.or_set("protocol", "TCP");
                }
            },
            create: |slice| {
                let mut errors = Errors::default();
                let path = Path::root("addressType");
                let known = ["FQDN", "IPv4", "IPv6"];
                errors.some_of(&path, slice.text("/addressType"), &known);
                errors.0
            },
            update: |new, old| {
                let mut errors = Errors::default();
                let kind = "/addressType";
                errors.immutable(&Path::root("addressType"), new.at(kind), old.at(kind));
                errors.0
            },
            generation_of: &["addressType", "endpoints", "ports"],
            ..Rules::PLAIN
        },
        _ => Rules::PLAIN,
    }
}

const SPEC: Path<'_> = Path::root("spec");

fn ingress(ingress: &Value) -> Vec<FieldError> {
    let mut errors = Errors::default();
    let spec = ingress.at("/spec");
    let rules = spec.list("/rules");
    if rules.is_empty() && !spec.has("/defaultBackend") {
        let detail = "either `defaultBackend` or `rules` must be specified";
        errors.invalid_as(&SPEC, spec.to_string(), detail);
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
            errors.complaints(&path.child("host"), host, names::wildcard_subdomain(host));
        } else if !host.is_empty() {
            errors.complaints(&path.child("host"), host, names::subdomain(host));
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
        errors.complaints(
            &SPEC.child("ingressClassName"),
            class,
            names::subdomain(class),
        );
    }
    errors.0
}

fn backend(errors: &mut Errors, path: &Path<'_>, backend: &Value) {
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
                name => errors.complaints(&path.child("name"), name, names::label_1035(name)),
            }
            let (number, name) = (service.int("/port/number"), service.text("/port/name"));
            if number == 0 && name.is_empty() {
                errors.required(&path, "port name or number is required");
            }
        }
    }
}

fn policy_default(policy: &mut Value) {
    let Some(spec) = policy.child_if("spec") else {
        return;
    };
    if spec.list("/policyTypes").is_empty() {
        let mut types = vec!["Ingress"];
        if !spec.list("/egress").is_empty() {
            types.push("Egress");
        }
        spec.put("policyTypes", Some(types.into()));
    }
    for direction in ["ingress", "egress"] {
        for rule in spec.items_mut(direction) {
            for port in rule.items_mut("ports") {
                port.or_set("protocol", "TCP");
            }
        }
    }
}

fn policy(policy: &Value) -> Vec<FieldError> {
    let mut errors = Errors::default();
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

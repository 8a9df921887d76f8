//! Ingresses, NetworkPolicies and EndpointSlices.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::builtin_strategy::BuiltinStrategy;
use crate::pod::container::port_number;
use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;
use kueue_lab_apimachinery::ip_validation::{Cidr, cidr};
use kueue_lab_apimachinery::metadata_validation::{labels, object_names};
use kueue_lab_field::{FieldError, name_validation};
use kueue_lab_json::{ValueExt, ValueMutExt};

pub(super) fn strategy_of(kind: &str) -> BuiltinStrategy {
    let spec = BuiltinStrategy {
        generation_fields: &["spec"],
        ..BuiltinStrategy::DEFAULT
    };
    match kind {
        "Ingress" => BuiltinStrategy {
            prepare_for_create: |ingress| ingress["status"] = json!({"loadBalancer": {}}),
            validate_create: ingress_create,
            validate_update: |new, old| ingress(new, &IngressOptions::of_update(old)),
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
            validate_create: |new| policy(new, &BTreeSet::new()),
            validate_update: |new, old| policy(new, &cidrs(old)),
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

/// The invalid values that an update may keep because the stored Ingress has them.
#[derive(Default)]
struct IngressOptions {
    allow_invalid_secret_name: bool,
    allow_invalid_wildcard_host_rule: bool,
}

impl IngressOptions {
    fn of_update(old: &Value) -> Self {
        let path = FieldPath::root("");
        let is_invalid_rule = |rule: &Value| {
            let mut errors = ErrorList::default();
            ingress_rule_value(&mut errors, &path, rule);
            rule.text("/host").contains('*') && !errors.0.is_empty()
        };
        Self {
            allow_invalid_secret_name: old
                .list("/spec/tls")
                .iter()
                .any(|tls| !tls_secret_name(tls.text("/secretName")).is_empty()),
            allow_invalid_wildcard_host_rule: old.list("/spec/rules").iter().any(is_invalid_rule),
        }
    }
}

fn ingress_create(object: &Value) -> Vec<FieldError> {
    const CLASS: &str = "kubernetes.io/ingress.class";
    let mut errors = ErrorList(ingress(object, &IngressOptions::default()));
    if let Some(class) = object.annotation(CLASS)
        && object.has("/spec/ingressClassName")
        && object.text("/spec/ingressClassName") != class
    {
        let path = FieldPath::root("annotations");
        let detail = "must match `ingressClassName` when both are specified";
        errors.invalid(&path.child(CLASS), class, detail);
    }
    errors.0
}

fn ingress(ingress: &Value, options: &IngressOptions) -> Vec<FieldError> {
    let mut errors = ErrorList::default();
    let spec = ingress.at("/spec");
    let rules = spec.list("/rules");
    if rules.is_empty() && !spec.has("/defaultBackend") {
        let detail = "either `defaultBackend` or `rules` must be specified";
        // The bad value is the absent or empty list of rules.
        let shown = match spec.at("/rules") {
            Value::Array(_) => "[]",
            _ => "null",
        };
        errors.invalid_with_text(&SPEC, shown.into(), detail);
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
        if !host.is_empty() {
            ingress_host(&mut errors, &path.child("host"), host);
        }
        if !host.contains('*') || !options.allow_invalid_wildcard_host_rule {
            ingress_rule_value(&mut errors, &path, rule);
        }
    }
    ingress_tls(&mut errors, spec, options);
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

fn ingress_host(errors: &mut ErrorList, path: &FieldPath<'_>, host: &str) {
    if host.parse::<std::net::IpAddr>().is_ok() {
        errors.invalid(path, host, "must be a DNS name, not an IP address");
    }
    errors.invalid_for_each(path, host, host_name(host));
}

/// Error messages of a host that may start with a wildcard.
fn host_name(host: &str) -> Vec<String> {
    match host.contains('*') {
        true => name_validation::wildcard_dns1123_subdomain(host),
        false => name_validation::dns1123_subdomain(host),
    }
}

fn ingress_tls(errors: &mut ErrorList, spec: &Value, options: &IngressOptions) {
    let all = SPEC.child("tls");
    for (i, tls) in spec.list("/tls").iter().enumerate() {
        let path = all.index(i);
        let hosts = path.child("hosts");
        for (j, host) in tls.list("/hosts").iter().enumerate() {
            let host = host.as_str().unwrap_or_default();
            errors.invalid_for_each(&hosts.index(j), host, host_name(host));
        }
        if !options.allow_invalid_secret_name {
            let name = tls.text("/secretName");
            errors.invalid_for_each(&path.child("secretName"), name, tls_secret_name(name));
        }
    }
}

fn tls_secret_name(name: &str) -> Vec<String> {
    match name {
        "" => Vec::new(),
        name => name_validation::dns1123_subdomain(name),
    }
}

fn ingress_rule_value(errors: &mut ErrorList, path: &FieldPath<'_>, rule: &Value) {
    let http = path.child("http");
    let paths = http.child("paths");
    if rule.has("/http") && rule.list("/http/paths").is_empty() {
        errors.required(&paths, "");
    }
    for (i, entry) in rule.list("/http/paths").iter().enumerate() {
        ingress_path(errors, &paths.index(i), entry);
    }
}

fn ingress_path(errors: &mut ErrorList, path: &FieldPath<'_>, entry: &Value) {
    if !entry.has("/pathType") {
        return errors.required(&path.child("pathType"), "pathType must be specified");
    }
    let (text, at) = (entry.text("/path"), path.child("path"));
    let kind = entry.text("/pathType");
    let is_specific = kind == "ImplementationSpecific";
    match kind {
        "Exact" | "Prefix" | "ImplementationSpecific" => {
            if !(text.starts_with('/') || is_specific && text.is_empty()) {
                errors.invalid(&at, text, "must be an absolute path");
            }
        }
        other => {
            let kinds = ["Exact", "ImplementationSpecific", "Prefix"];
            errors.one_of(&path.child("pathType"), other, &kinds);
        }
    }
    if matches!(kind, "Exact" | "Prefix") {
        for sequence in ["//", "/./", "/../", "%2f", "%2F"] {
            if text.contains(sequence) {
                errors.invalid(&at, text, format!("must not contain '{sequence}'"));
            }
        }
        for suffix in ["/..", "/."] {
            if text.ends_with(suffix) {
                errors.invalid(&at, text, format!("cannot end with '{suffix}'"));
            }
        }
    }
    backend(errors, &path.child("backend"), entry.at("/backend"));
}

fn backend(errors: &mut ErrorList, path: &FieldPath<'_>, backend: &Value) {
    let service = backend.at("/service");
    let resource = backend.at("/resource");
    match (service.is_null(), resource.is_null()) {
        (false, false) => {
            errors.invalid(path, "", "cannot set both resource and service backends");
        }
        (true, false) => object_reference(errors, &path.child("resource"), resource),
        (true, true) => errors.invalid(path, "", "resource or service backend is required"),
        (false, true) => {
            let service_path = path.child("service");
            let at = service_path.child("name");
            match service.text("/name") {
                "" => errors.required(&at, ""),
                name => errors.invalid_for_each(&at, name, name_validation::dns1035_label(name)),
            }
            let port = service_path.child("port");
            match (service.int("/port/number"), service.text("/port/name")) {
                (0, "") => errors.required(path, "port name or number is required"),
                (0, name) => {
                    let messages = name_validation::port_name(name);
                    errors.invalid_for_each(&port.child("name"), name, messages);
                }
                (number, "") => port_number(errors, &port.child("number"), number),
                _ => errors.invalid(path, "", "cannot set both port name & port number"),
            }
        }
    }
}

/// Validates a `TypedLocalObjectReference`.
fn object_reference(errors: &mut ErrorList, path: &FieldPath<'_>, reference: &Value) {
    if reference.has("/apiGroup") {
        let group = reference.text("/apiGroup");
        let messages = name_validation::dns1123_subdomain(group);
        errors.invalid_for_each(&path.child("apiGroup"), group, messages);
    }
    for (field, text) in [
        ("kind", reference.text("/kind")),
        ("name", reference.text("/name")),
    ] {
        match text {
            "" => errors.required(&path.child(field), ""),
            text => {
                let messages = object_names::path_segment_name(text, false);
                errors.invalid_for_each(&path.child(field), text, messages);
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

/// The CIDRs of a policy.
fn cidrs(policy: &Value) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    for (rules, peers) in [("/spec/ingress", "/from"), ("/spec/egress", "/to")] {
        for peer in policy.list(rules).iter().flat_map(|r| r.list(peers)) {
            let excepted = peer.list("/ipBlock/except").iter();
            found.insert(peer.text("/ipBlock/cidr"));
            found.extend(excepted.filter_map(Value::as_str));
        }
    }
    found
}

/// Validates a NetworkPolicy. The CIDRs `existing` are kept even if they are invalid.
fn policy(policy: &Value, existing: &BTreeSet<&str>) -> Vec<FieldError> {
    let mut errors = ErrorList::default();
    let selector = policy.at("/spec/podSelector");
    errors.extend(labels::validate_selector(selector, "spec.podSelector"));
    for (direction, peers) in [("ingress", "from"), ("egress", "to")] {
        let all = SPEC.child(direction);
        let rules = policy.at("/spec").get(direction).and_then(Value::as_array);
        for (i, rule) in rules.into_iter().flatten().enumerate() {
            let path = all.index(i);
            let ports_path = path.child("ports");
            for (j, port) in rule.list("/ports").iter().enumerate() {
                policy_port(&mut errors, &ports_path.index(j), port);
            }
            let peers_path = path.child(peers);
            let peers = rule.get(peers).and_then(Value::as_array);
            for (j, peer) in peers.into_iter().flatten().enumerate() {
                policy_peer(&mut errors, &peers_path.index(j), peer, existing);
            }
        }
    }
    let path = SPEC.child("policyTypes");
    let types = policy.list("/spec/policyTypes");
    if types.len() > 2 {
        let detail = "may not specify more than two policyTypes";
        errors.invalid(&path, types.to_vec(), detail);
        return errors.0;
    }
    for (i, kind) in types.iter().filter_map(Value::as_str).enumerate() {
        errors.one_of(&path.index(i), kind, &["Ingress", "Egress"]);
    }
    errors.0
}

fn policy_port(errors: &mut ErrorList, path: &FieldPath<'_>, port: &Value) {
    if port.has("/protocol") {
        let known = ["TCP", "UDP", "SCTP"];
        errors.one_of(&path.child("protocol"), port.text("/protocol"), &known);
    }
    let end = port.at("/endPort").as_i64();
    let (at, end_at) = (path.child("port"), path.child("endPort"));
    match (port.at("/port"), end) {
        (Value::Null, Some(end)) => {
            let detail = "may not be specified when `port` is not specified";
            errors.invalid(&end_at, end, detail);
        }
        (Value::Null, None) => {}
        (Value::String(name), end) => {
            if let Some(end) = end {
                let detail = "may not be specified when `port` is non-numeric";
                errors.invalid(&end_at, end, detail);
            }
            errors.invalid_for_each(&at, name, name_validation::port_name(name));
        }
        (number, end) => {
            let number = number.as_i64().unwrap_or_default();
            port_number(errors, &at, number);
            if let Some(end) = end {
                if end < number {
                    let detail = "must be greater than or equal to `port`";
                    errors.invalid(&end_at, end, detail);
                }
                port_number(errors, &end_at, end);
            }
        }
    }
}

fn policy_peer(
    errors: &mut ErrorList,
    path: &FieldPath<'_>,
    peer: &Value,
    existing: &BTreeSet<&str>,
) {
    let mut selectors = 0;
    for field in ["podSelector", "namespaceSelector"] {
        if let Some(selector) = peer.get(field).filter(|s| !s.is_null()) {
            selectors += 1;
            let path = path.child(field).to_string();
            errors.extend(labels::validate_selector(selector, &path));
        }
    }
    let block = peer.at("/ipBlock");
    if !block.is_null() {
        ip_block(errors, &path.child("ipBlock"), block, existing);
    }
    match (selectors, block.is_null()) {
        (0, true) => errors.required(path, "must specify a peer"),
        (1.., false) => errors.forbidden(path, "may not specify both ipBlock and another peer"),
        _ => {}
    }
}

fn ip_block(
    errors: &mut ErrorList,
    path: &FieldPath<'_>,
    block: &Value,
    existing: &BTreeSet<&str>,
) {
    let parse = |path: &FieldPath<'_>, text: &str, errors: &mut ErrorList| {
        if !existing.contains(text) {
            cidr(errors, path, text);
        }
        Cidr::parse_sloppy(text)
    };
    let (text, at) = (block.text("/cidr"), path.child("cidr"));
    if text.is_empty() {
        return errors.required(&at, "");
    }
    let Some(network) = parse(&at, text, errors) else {
        return;
    };
    let all = path.child("except");
    for (i, text) in block.list("/except").iter().enumerate() {
        let text = text.as_str().unwrap_or_default();
        let path = all.index(i);
        let Some(excepted) = parse(&path, text, errors) else {
            continue;
        };
        if !network.is_strict_superset_of(&excepted) {
            errors.invalid(&path, text, "must be a strict subset of `cidr`");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kueue_lab_testing::texts;

    fn ingress_with(path: Value) -> Value {
        json!({"spec": {"rules": [{"http": {"paths": [path]}}]}})
    }

    #[test]
    fn ingress_paths_and_backends() {
        let service = json!({"service": {"name": "s", "port": {"number": 80}}});
        let create = |path: Value| texts(&ingress_create(&ingress_with(path)));
        let at = "spec.rules[0].http.paths[0]";
        let path =
            |kind: &str, path: &str| json!({"pathType": kind, "path": path, "backend": service});
        assert_eq!(create(path("Prefix", "/a")), [""; 0]);
        assert_eq!(create(path("ImplementationSpecific", "")), [""; 0]);
        assert_eq!(
            create(json!({"path": "a"})),
            [format!(
                "{at}.pathType: Required value: pathType must be specified"
            )]
        );
        assert_eq!(
            create(path("Exact", "/a//b/..")),
            [
                format!("{at}.path: Invalid value: \"/a//b/..\": must not contain '//'"),
                format!("{at}.path: Invalid value: \"/a//b/..\": cannot end with '/..'"),
            ]
        );
        assert_eq!(
            create(path("Odd", "a")),
            [format!(
                "{at}.pathType: Unsupported value: \"Odd\": supported values: \"Exact\", \"ImplementationSpecific\", \"Prefix\""
            )]
        );
        let with_backend =
            |backend: Value| create(json!({"pathType": "Prefix", "path": "/", "backend": backend}));
        assert_eq!(
            with_backend(json!({})),
            [format!(
                "{at}.backend: Invalid value: \"\": resource or service backend is required"
            )]
        );
        assert_eq!(
            with_backend(json!({"service": {"name": "s"}})),
            [format!(
                "{at}.backend: Required value: port name or number is required"
            )]
        );
        assert_eq!(
            with_backend(json!({"service": {"name": "s", "port": {"number": 70000}}})),
            [format!(
                "{at}.backend.service.port.number: Invalid value: 70000: must be between 1 and 65535, inclusive"
            )]
        );
        assert_eq!(
            with_backend(json!({"resource": {"kind": "a/b", "name": ""}})),
            [
                format!("{at}.backend.resource.kind: Invalid value: \"a/b\": may not contain '/'"),
                format!("{at}.backend.resource.name: Required value"),
            ]
        );
    }

    #[test]
    fn ingress_hosts_and_tls() {
        let mut object = ingress_with(json!({"pathType": "Prefix", "path": "/", "backend":
            {"service": {"name": "s", "port": {"name": "http"}}}}));
        object["spec"]["rules"][0]["host"] = json!("10.0.0.1");
        object["spec"]["tls"] = json!([{"hosts": ["a.b", "*c"], "secretName": "A"}]);
        let errors = texts(&ingress_create(&object));
        assert_eq!(
            errors[0],
            "spec.rules[0].host: Invalid value: \"10.0.0.1\": must be a DNS name, not an IP address"
        );
        assert!(errors[1].starts_with("spec.tls[0].hosts[1]: Invalid value: \"*c\": a wildcard"));
        assert!(errors[2].starts_with("spec.tls[0].secretName: Invalid value: \"A\": a lowercase"));
        assert_eq!(errors.len(), 3);
        // An update keeps a secret name that was stored.
        let update = ingress(&object, &IngressOptions::of_update(&object));
        assert_eq!(texts(&update), errors[..2]);
        let object = json!({
            "metadata": {"annotations": {"kubernetes.io/ingress.class": "a"}},
            "spec": {"ingressClassName": "b"},
        });
        assert_eq!(
            texts(&ingress_create(&object)),
            [
                "spec: Invalid value: null: either `defaultBackend` or `rules` must be specified",
                "annotations.kubernetes.io/ingress.class: Invalid value: \"a\": must match `ingressClassName` when both are specified",
            ]
        );
    }

    #[test]
    fn network_policy_ports_and_peers() {
        let object = json!({"spec": {
            "ingress": [{
                "ports": [
                    {"protocol": "ICMP", "port": 80, "endPort": 70},
                    {"port": "http", "endPort": 90},
                    {"endPort": 90},
                    {"port": 0},
                ],
                "from": [{}, {"podSelector": {}, "ipBlock": {"cidr": "10.0.0.0/8"}}],
            }],
            "egress": [{"to": [
                {"ipBlock": {"cidr": "10.0.0.1/8", "except": ["10.1.0.0/16", "11.0.0.0/16", "x"]}},
                {"ipBlock": {"cidr": ""}},
            ]}],
            "policyTypes": ["Ingress", "Both"],
        }});
        let invalid = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
        assert_eq!(
            texts(&policy(&object, &BTreeSet::new())),
            [
                "spec.ingress[0].ports[0].protocol: Unsupported value: \"ICMP\": supported values: \"TCP\", \"UDP\", \"SCTP\"",
                "spec.ingress[0].ports[0].endPort: Invalid value: 70: must be greater than or equal to `port`",
                "spec.ingress[0].ports[1].endPort: Invalid value: 90: may not be specified when `port` is non-numeric",
                "spec.ingress[0].ports[2].endPort: Invalid value: 90: may not be specified when `port` is not specified",
                "spec.ingress[0].ports[3].port: Invalid value: 0: must be between 1 and 65535, inclusive",
                "spec.ingress[0].from[0]: Required value: must specify a peer",
                "spec.ingress[0].from[1]: Forbidden: may not specify both ipBlock and another peer",
                "spec.egress[0].to[0].ipBlock.cidr: Invalid value: \"10.0.0.1/8\": must not have bits set beyond the prefix length",
                "spec.egress[0].to[0].ipBlock.except[1]: Invalid value: \"11.0.0.0/16\": must be a strict subset of `cidr`",
                &format!("spec.egress[0].to[0].ipBlock.except[2]: Invalid value: \"x\": {invalid}"),
                "spec.egress[0].to[1].ipBlock.cidr: Required value",
                "spec.policyTypes[1]: Unsupported value: \"Both\": supported values: \"Ingress\", \"Egress\"",
            ]
        );
        // An update keeps the CIDRs that were stored.
        let update = texts(&policy(&object, &cidrs(&object)));
        assert!(
            !update
                .iter()
                .any(|e| e.contains("10.0.0.1/8") || e.contains("\"x\""))
        );
    }
}

//! Validation of Services.

use std::collections::{BTreeSet, HashSet};

use serde_json::Value;

use crate::pod::container::{port_number, port_or_name};
use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;
use kueue_lab_apimachinery::metadata_validation::labels;
use kueue_lab_field::{FieldError, name_validation};
use kueue_lab_json::ValueExt;

const SPEC: FieldPath<'_> = FieldPath::root("spec");

fn is_headless(service: &Value) -> bool {
    service.list("/spec/clusterIPs").len() == 1 && service.text("/spec/clusterIPs/0") == "None"
}

pub(super) fn validate(service: &Value) -> Vec<FieldError> {
    let mut errors = ErrorList::default();
    let spec = service.at("/spec");
    let kind = spec.text("/type");
    let headless = is_headless(service);
    let ports = spec.list("/ports");
    let ports_path = SPEC.child("ports");
    if ports.is_empty() && !headless && kind != "ExternalName" {
        errors.required(&ports_path, "");
    }
    let ips_path = SPEC.child("clusterIPs");
    match kind {
        "LoadBalancer" | "NodePort" if headless => {
            let detail = format!("may not be set to 'None' for {kind} services");
            errors.invalid(&ips_path.index(0), "None", detail);
        }
        "ExternalName" => external_name(&mut errors, spec),
        _ => {}
    }
    let mut seen = BTreeSet::new();
    for (i, port) in ports.iter().enumerate() {
        one_port(
            &mut errors,
            &ports_path.index(i),
            port,
            ports.len() > 1,
            &mut seen,
        );
    }
    errors.extend(labels::validate(spec.at("/selector"), "spec.selector"));
    affinity(&mut errors, spec);
    addresses(&mut errors, spec);
    let external = SPEC.child("externalIPs");
    for (i, ip) in spec.list("/externalIPs").iter().enumerate() {
        kueue_lab_apimachinery::ip_validation::ip(
            &mut errors,
            &external.index(i),
            ip.as_str().unwrap_or_default(),
        );
    }
    let kinds = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
    errors.required_one_of(&SPEC.child("type"), kind, &kinds);
    port_conflicts(&mut errors, &ports_path, ports, kind);
    traffic(&mut errors, spec);
    errors.0
}

fn external_name(errors: &mut ErrorList, spec: &Value) {
    for field in ["clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
        let value = spec.get(field).unwrap_or(&Value::Null);
        let empty = value.is_null() || value.as_array().is_some_and(Vec::is_empty);
        if !empty {
            errors.forbidden(
                &SPEC.child(field),
                "may not be set for ExternalName services",
            );
        }
    }
    let name = spec.text("/externalName");
    let name = name.strip_suffix('.').unwrap_or(name);
    match name {
        "" => errors.required(&SPEC.child("externalName"), ""),
        name => errors.invalid_for_each(
            &SPEC.child("externalName"),
            name,
            name_validation::dns1123_subdomain(name),
        ),
    }
}

fn one_port<'a>(
    errors: &mut ErrorList,
    path: &FieldPath<'_>,
    port: &'a Value,
    named: bool,
    seen: &mut BTreeSet<&'a str>,
) {
    match port.text("/name") {
        "" if named => errors.required(&path.child("name"), ""),
        "" => {}
        name => {
            errors.invalid_for_each(
                &path.child("name"),
                name,
                name_validation::dns1123_label(name),
            );
            if !seen.insert(name) {
                errors.duplicate(&path.child("name"), name);
            }
        }
    }
    port_number(errors, &path.child("port"), port.int("/port"));
    errors.required_one_of(
        &path.child("protocol"),
        port.text("/protocol"),
        &["SCTP", "TCP", "UDP"],
    );
    port_or_name(errors, &path.child("targetPort"), port.at("/targetPort"));
    if port.has("/appProtocol") {
        let name = port.text("/appProtocol");
        errors.invalid_for_each(
            &path.child("appProtocol"),
            name,
            name_validation::qualified_name(name),
        );
    }
}

fn affinity(errors: &mut ErrorList, spec: &Value) {
    let kind = spec.text("/sessionAffinity");
    errors.required_one_of(&SPEC.child("sessionAffinity"), kind, &["ClientIP", "None"]);
    let config = SPEC.child("sessionAffinityConfig");
    let seconds = spec
        .at("/sessionAffinityConfig/clientIP/timeoutSeconds")
        .as_i64();
    match (kind, seconds) {
        ("ClientIP", Some(seconds)) if !(1..=86400).contains(&seconds) => {
            let client = config.child("clientIP");
            let detail = "must be greater than 0 and less than 86400";
            errors.invalid(&client.child("timeoutSeconds"), seconds, detail);
        }
        ("None", _) if spec.has("/sessionAffinityConfig") => {
            errors.forbidden(&config, "must not be set when session affinity is None");
        }
        _ => {}
    }
}

fn addresses(errors: &mut ErrorList, spec: &Value) {
    if spec.text("/type") == "ExternalName" {
        return;
    }
    let path = SPEC.child("clusterIPs");
    let (one, all) = (spec.text("/clusterIP"), spec.list("/clusterIPs"));
    let shown = spec.at("/clusterIPs").clone();
    match (one, spec.text("/clusterIPs/0")) {
        ("", "") => {}
        ("", _) => {
            let detail = "must be empty when `clusterIP` is not specified";
            errors.invalid(&path, shown.clone(), detail);
        }
        (_, "") => errors.required(&path, ""),
        (one, first) if one != first => {
            errors.invalid(&path, shown.clone(), "first value must match `clusterIP`");
        }
        _ => {}
    }
    let families = SPEC.child("ipFamilies");
    let list = spec.list("/ipFamilies");
    let mut seen = HashSet::new();
    for (i, family) in list.iter().enumerate() {
        let name = family.as_str().unwrap_or_default();
        errors.one_of(&families.index(i), name, &["IPv4", "IPv6"]);
        if !seen.insert(family) {
            errors.duplicate(&families.index(i), name);
        }
    }
    if spec.has("/ipFamilyPolicy") {
        let policies = ["PreferDualStack", "RequireDualStack", "SingleStack"];
        errors.one_of(
            &SPEC.child("ipFamilyPolicy"),
            spec.text("/ipFamilyPolicy"),
            &policies,
        );
    }
    for (i, ip) in all.iter().filter_map(Value::as_str).enumerate() {
        if i == 0 && ip == "None" {
            if all.len() > 1 {
                let detail = "'None' must be the first and only value";
                errors.invalid(&path, shown.clone(), detail);
            }
            continue;
        }
        kueue_lab_apimachinery::ip_validation::ip(errors, &path.index(i), ip);
    }
    if all.len() > 2 {
        errors.invalid(&path, shown, "may only hold up to 2 values");
    }
}

fn port_conflicts(errors: &mut ErrorList, path: &FieldPath<'_>, ports: &[Value], kind: &str) {
    if kind == "ClusterIP" {
        for (i, port) in ports.iter().enumerate() {
            if port.int("/nodePort") != 0 {
                let entry = path.index(i);
                let detail = "may not be used when `type` is 'ClusterIP'";
                errors.forbidden(&entry.child("nodePort"), detail);
            }
        }
    }
    let mut node_ports = HashSet::new();
    for (i, port) in ports.iter().enumerate() {
        let is_first = node_ports.insert((port.get("nodePort"), port.get("protocol")));
        let number = port.int("/nodePort");
        if number != 0 && !is_first {
            let entry = path.index(i);
            errors.duplicate(&entry.child("nodePort"), number);
        }
    }
    let mut numbers = HashSet::new();
    for (i, port) in ports.iter().enumerate() {
        if !numbers.insert((port.get("port"), port.get("protocol"))) {
            let shown = format!(
                "{{\"Name\":\"\",\"Protocol\":{},\"AppProtocol\":null,\"Port\":{},\"TargetPort\":0,\"NodePort\":0}}",
                port.at("/protocol"),
                port.at("/port"),
            );
            let error = FieldError::duplicate(&path.index(i), Value::Null);
            errors.0.push(error.with_bad_value_text(shown));
        }
    }
}

fn traffic(errors: &mut ErrorList, spec: &Value) {
    let kind = spec.text("/type");
    let outside = matches!(kind, "NodePort" | "LoadBalancer")
        || kind == "ClusterIP" && !spec.list("/externalIPs").is_empty();
    let policy = spec.text("/externalTrafficPolicy");
    let path = SPEC.child("externalTrafficPolicy");
    match outside {
        true => errors.required_one_of(&path, policy, &["Cluster", "Local"]),
        false if !policy.is_empty() => {
            errors.invalid(
                &path,
                policy,
                "may only be set for externally-accessible services",
            );
        }
        false => {}
    }
    let path = SPEC.child("internalTrafficPolicy");
    if spec.has("/internalTrafficPolicy") {
        errors.one_of(
            &path,
            spec.text("/internalTrafficPolicy"),
            &["Cluster", "Local"],
        );
    }
    if spec.has("/allocateLoadBalancerNodePorts") && kind != "LoadBalancer" {
        let path = SPEC.child("allocateLoadBalancerNodePorts");
        errors.forbidden(&path, "may only be used when `type` is 'LoadBalancer'");
    }
    if !spec.list("/loadBalancerSourceRanges").is_empty() && kind != "LoadBalancer" {
        let path = SPEC.child("LoadBalancerSourceRanges");
        errors.forbidden(&path, "may only be used when `type` is 'LoadBalancer'");
    }
    if spec.has("/trafficDistribution") {
        let known = ["PreferClose", "PreferSameZone", "PreferSameNode"];
        let path = SPEC.child("trafficDistribution");
        errors.one_of(&path, spec.text("/trafficDistribution"), &known);
    }
}

/// Validates that cluster IPs are immutable unless the type changes from or to ExternalName.
pub(super) fn validate_cluster_ips_update(errors: &mut ErrorList, new: &Value, old: &Value) {
    let external = |s: &Value| s.text("/spec/type") == "ExternalName";
    if external(new) || external(old) {
        return;
    }
    let path = SPEC.child("clusterIPs");
    let (now, then) = (new.list("/spec/clusterIPs"), old.list("/spec/clusterIPs"));
    for i in 0..now.len().min(then.len()) {
        if now[i] != then[i] {
            let shown = Value::Array(now.to_vec());
            errors.invalid(&path.index(i), shown, "may not change once set");
        }
    }
}

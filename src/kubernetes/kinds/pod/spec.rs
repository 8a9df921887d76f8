//! Validation of the spec of a pod or pod template.

use std::collections::BTreeSet;

use serde_json::Value;

use super::container::{self, PodValidationContext};
use super::{resource_validation, scheduling, security_context, volume};
use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;
use kueue_lab_apimachinery::metadata_validation::labels;
use kueue_lab_field::name_validation;
use kueue_lab_json::ValueExt;

/// Validates a pod spec; `is_pod` is false for a pod template.
pub(crate) fn validate(errors: &mut ErrorList, path: &FieldPath<'_>, spec: &Value, is_pod: bool) {
    let grace_period = spec.at("/terminationGracePeriodSeconds").as_i64();
    if grace_period.is_none() {
        errors.required(&path.child("terminationGracePeriodSeconds"), "");
    }
    let claims = spec.list("/resourceClaims");
    let pod = PodValidationContext {
        volumes: volume::validate(errors, &path.child("volumes"), spec.list("/volumes")),
        claims,
        grace_period,
        restart_policy: spec.text("/restartPolicy"),
        host_users: spec.at("/hostUsers").as_bool().unwrap_or(true),
    };
    resource_claims(errors, &path.child("resourceClaims"), claims);
    let (regular, init) = (spec.list("/containers"), spec.list("/initContainers"));
    container::validate_regular(errors, &path.child("containers"), regular, &pod);
    container::validate_init(errors, &path.child("initContainers"), init, regular, &pod);
    let ephemeral = spec.list("/ephemeralContainers");
    let others = [regular, init];
    let ephemeral_path = path.child("ephemeralContainers");
    container::validate_ephemeral(errors, &ephemeral_path, ephemeral, &others, &pod);
    pod_resources(errors, &path.child("resources"), spec);
    host_network_ports(errors, path, spec, is_pod);
    let policies = ["Always", "OnFailure", "Never"];
    errors.required_one_of(
        &path.child("restartPolicy"),
        spec.text("/restartPolicy"),
        &policies,
    );
    let policies = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
    errors.required_one_of(&path.child("dnsPolicy"), spec.text("/dnsPolicy"), &policies);
    let selector_path = path.child("nodeSelector").to_string();
    errors.extend(labels::validate(spec.at("/nodeSelector"), &selector_path));
    security_context::pod(errors, &path.child("securityContext"), spec);
    scheduling::affinity(errors, &path.child("affinity"), spec.at("/affinity"));
    dns_config(errors, &path.child("dnsConfig"), spec);
    let gates = path.child("readinessGates");
    for (i, gate) in spec.list("/readinessGates").iter().enumerate() {
        let gate_path = gates.index(i);
        let kind = gate.text("/conditionType");
        errors.invalid_for_each(
            &gate_path.child("conditionType"),
            kind,
            name_validation::qualified_name(kind),
        );
    }
    scheduling::gates(
        errors,
        &path.child("schedulingGates"),
        spec.list("/schedulingGates"),
    );
    let constraints = spec.list("/topologySpreadConstraints");
    scheduling::topology_spread_constraints(
        errors,
        &path.child("topologySpreadConstraints"),
        constraints,
    );
    host_users(errors, path, spec);
    validate_object_references(errors, path, spec);
    scheduling::tolerations(
        errors,
        &path.child("tolerations"),
        spec.list("/tolerations"),
    );
    host_aliases(
        errors,
        &path.child("hostAliases"),
        spec.list("/hostAliases"),
    );
    let class = spec.text("/priorityClassName");
    if !class.is_empty() {
        errors.invalid_for_each(
            &path.child("priorityClassName"),
            class,
            name_validation::dns1123_subdomain(class),
        );
    }
    if spec.has("/runtimeClassName") {
        let class = spec.text("/runtimeClassName");
        errors.invalid_for_each(
            &path.child("runtimeClassName"),
            class,
            name_validation::dns1123_subdomain(class),
        );
    }
    if spec.has("/preemptionPolicy") {
        let policies = ["PreemptLowerPriority", "Never"];
        errors.required_one_of(
            &path.child("preemptionPolicy"),
            spec.text("/preemptionPolicy"),
            &policies,
        );
    }
    let overhead = path.child("overhead");
    for (name, value) in spec.entries("/overhead") {
        let path = overhead.key(name);
        resource_validation::container_resource_name(errors, &path, name);
        resource_validation::resource_quantity(errors, &path, name, value);
    }
    if spec.has("/os") {
        let os = path.child("os");
        errors.required_one_of(
            &os.child("name"),
            spec.text("/os/name"),
            &["linux", "windows"],
        );
    }
}

/// Validates references to other objects, `activeDeadlineSeconds` and the hostname, in upstream
/// order.
fn validate_object_references(errors: &mut ErrorList, path: &FieldPath<'_>, spec: &Value) {
    for field in ["serviceAccountName", "nodeName"] {
        let name = spec.get(field).and_then(Value::as_str).unwrap_or_default();
        if !name.is_empty() {
            errors.invalid_for_each(
                &path.child(field),
                name,
                name_validation::dns1123_subdomain(name),
            );
        }
    }
    let max = i64::from(i32::MAX);
    if let Some(seconds) = spec.at("/activeDeadlineSeconds").as_i64()
        && !(1..=max).contains(&seconds)
    {
        let path = path.child("activeDeadlineSeconds");
        errors.invalid(
            &path,
            seconds,
            name_validation::inclusive_range_error(1, max),
        );
    }
    for field in ["hostname", "subdomain"] {
        let name = spec.get(field).and_then(Value::as_str).unwrap_or_default();
        if !name.is_empty() {
            errors.invalid_for_each(
                &path.child(field),
                name,
                name_validation::dns1123_label(name),
            );
        }
    }
}

fn resource_claims(errors: &mut ErrorList, path: &FieldPath<'_>, claims: &[Value]) {
    let mut seen = BTreeSet::new();
    for (i, claim) in claims.iter().enumerate() {
        let path = path.index(i);
        match claim.text("/name") {
            "" => errors.required(&path.child("name"), ""),
            name if seen.contains(name) => errors.duplicate(&path.child("name"), name),
            name => {
                errors.invalid_for_each(
                    &path.child("name"),
                    name,
                    name_validation::dns1123_label(name),
                );
                seen.insert(name);
            }
        }
        let of = |field: &str| claim.get(field).and_then(Value::as_str);
        let (name, template) = (of("resourceClaimName"), of("resourceClaimTemplateName"));
        if name.is_some() && template.is_some() {
            let detail = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified";
            errors.invalid(&path, claim.clone(), detail);
        }
        if name.is_none() && template.is_none() {
            let detail = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`";
            errors.invalid(&path, claim.clone(), detail);
        }
        for (field, name) in [
            ("resourceClaimName", name),
            ("resourceClaimTemplateName", template),
        ] {
            if let Some(name) = name {
                errors.invalid_for_each(
                    &path.child(field),
                    name,
                    name_validation::dns1123_subdomain(name),
                );
            }
        }
    }
}

/// Validates pod-level resources.
fn pod_resources(errors: &mut ErrorList, path: &FieldPath<'_>, spec: &Value) {
    let own = spec.at("/resources");
    if own.is_null() {
        return;
    }
    if own.has("/claims") {
        errors.forbidden(
            &path.child("claims"),
            "claims cannot be set for Resources at pod-level",
        );
    }
    for list in ["limits", "requests"] {
        let list_path = path.child(list);
        for (name, value) in own.entries(&format!("/{list}")) {
            let path = list_path.key(name);
            if resource_validation::name(errors, &path, name)
                && !resource_validation::is_huge_page(name)
            {
                errors.one_of(&path, name, &["cpu", "memory"]);
            }
            resource_validation::resource_quantity(errors, &path, name, value);
        }
    }
}

fn host_network_ports(errors: &mut ErrorList, path: &FieldPath<'_>, spec: &Value, is_pod: bool) {
    if !spec.flag("/hostNetwork") {
        return;
    }
    let containers = path.child("containers");
    for (i, c) in spec.list("/containers").iter().enumerate() {
        for (j, port) in c.list("/ports").iter().enumerate() {
            let (host, own) = (port.int("/hostPort"), port.int("/containerPort"));
            if (is_pod || host != 0) && host != own {
                let container = containers.index(i);
                let ports = container.child("ports");
                let port = ports.index(j);
                let detail = "must match `containerPort` when `hostNetwork` is true";
                errors.invalid(&port.child("hostPort"), host, detail);
            }
        }
    }
}

fn dns_config(errors: &mut ErrorList, path: &FieldPath<'_>, spec: &Value) {
    let config = spec.at("/dnsConfig");
    if spec.text("/dnsPolicy") == "None" {
        if config.is_null() {
            errors.required(path, "must provide `dnsConfig` when `dnsPolicy` is None");
            return;
        }
        if config.list("/nameservers").is_empty() {
            let detail = "must provide at least one DNS nameserver when `dnsPolicy` is None";
            errors.required(&path.child("nameservers"), detail);
            return;
        }
    }
    let servers = config.list("/nameservers");
    let servers_path = path.child("nameservers");
    if servers.len() > 3 {
        let detail = "must not have more than 3 nameservers";
        errors.invalid(&servers_path, config.at("/nameservers").clone(), detail);
    }
    for (i, server) in servers.iter().enumerate() {
        kueue_lab_apimachinery::ip_validation::ip(
            errors,
            &servers_path.index(i),
            server.as_str().unwrap_or_default(),
        );
    }
    let searches = config.list("/searches");
    let searches_path = path.child("searches");
    if searches.len() > 32 {
        let detail = "must not have more than 32 search paths";
        errors.invalid(&searches_path, config.at("/searches").clone(), detail);
    }
    for (i, search) in searches.iter().filter_map(Value::as_str).enumerate() {
        let name = search.strip_suffix('.').unwrap_or(search);
        if search != "." {
            errors.invalid_for_each(
                &searches_path.index(i),
                name,
                name_validation::dns1123_subdomain(&name.replace('_', "-")),
            );
        }
    }
    let options = path.child("options");
    for (i, option) in config.list("/options").iter().enumerate() {
        if option.text("/name").is_empty() {
            errors.required(&options.index(i), "must not be empty");
        }
    }
}

/// Validates that a pod with `hostUsers: false` shares no other host namespace.
fn host_users(errors: &mut ErrorList, path: &FieldPath<'_>, spec: &Value) {
    if spec.at("/hostUsers") != false {
        return;
    }
    for (field, shown) in [
        ("hostNetwork", "hostNetwork"),
        ("hostPID", "HostPID"),
        ("hostIPC", "HostIPC"),
    ] {
        if spec.get(field) == Some(&Value::Bool(true)) {
            errors.forbidden(&path.child(shown), "when `pod.Spec.HostUsers` is false");
        }
    }
}

fn host_aliases(errors: &mut ErrorList, path: &FieldPath<'_>, list: &[Value]) {
    for (i, alias) in list.iter().enumerate() {
        let path = path.index(i);
        kueue_lab_apimachinery::ip_validation::ip(errors, &path.child("ip"), alias.text("/ip"));
        let names_path = path.child("hostnames");
        for (j, name) in alias
            .list("/hostnames")
            .iter()
            .filter_map(Value::as_str)
            .enumerate()
        {
            errors.invalid_for_each(
                &names_path.index(j),
                name,
                name_validation::dns1123_subdomain(name),
            );
        }
    }
}

/// Returns the warnings for the pod spec at `path`.
pub(crate) fn warnings(spec: &Value, path: &str) -> Vec<String> {
    let mut warnings = Vec::new();
    const OLD_LABELS: [(&str, &str); 6] = [
        (
            "beta.kubernetes.io/arch",
            "deprecated since v1.14; use \"kubernetes.io/arch\" instead",
        ),
        (
            "beta.kubernetes.io/os",
            "deprecated since v1.14; use \"kubernetes.io/os\" instead",
        ),
        (
            "failure-domain.beta.kubernetes.io/region",
            "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead",
        ),
        (
            "failure-domain.beta.kubernetes.io/zone",
            "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead",
        ),
        (
            "failure-domain.kubernetes.io/region",
            "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead",
        ),
        (
            "failure-domain.kubernetes.io/zone",
            "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead",
        ),
    ];
    for (label, instead) in OLD_LABELS {
        if spec.at("/nodeSelector").get(label).is_some() {
            warnings.push(format!("{path}.nodeSelector[{label}]: {instead}"));
        }
    }
    for (i, secret) in spec.list("/imagePullSecrets").iter().enumerate() {
        if secret.text("/name").is_empty() {
            warnings.push(format!(
                "{path}.imagePullSecrets[{i}].name: invalid empty name \"\""
            ));
        }
    }
    for list in ["containers", "initContainers"] {
        for (i, c) in spec.list(&format!("/{list}")).iter().enumerate() {
            duplicate_variables(&mut warnings, &format!("{path}.{list}[{i}]"), c);
        }
    }
    if spec.has("/terminationGracePeriodSeconds") && spec.int("/terminationGracePeriodSeconds") < 0
    {
        warnings.push(format!(
            "{path}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1"
        ));
    }
    warnings
}

fn duplicate_variables(warnings: &mut Vec<String>, path: &str, c: &Value) {
    let mut seen = BTreeSet::new();
    for (i, variable) in c.list("/env").iter().enumerate() {
        let name = variable.text("/name");
        if !seen.insert(name) {
            warnings.push(format!(
                "{path}.env[{i}]: hides previous definition of \"{name}\", which may be dropped when using apply"
            ));
        }
    }
}

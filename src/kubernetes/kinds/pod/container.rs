//! Validation of regular, init and ephemeral containers.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{env, probe, resource_validation, security_context, volume_mount};
use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;
use kueue_lab_field::name_validation;
use kueue_lab_json::ValueExt;

/// Pod-level data that container validation depends on.
pub(crate) struct PodValidationContext<'a> {
    /// Valid volumes by name.
    pub volumes: BTreeMap<&'a str, &'a Value>,
    /// The pod's resource claims.
    pub claims: &'a [Value],
    /// The pod's `terminationGracePeriodSeconds`.
    pub grace_period: Option<i64>,
    /// The pod's restart policy.
    pub restart_policy: &'a str,
    /// The pod's `hostUsers`: whether it runs in the host user namespace.
    pub host_users: bool,
}

/// Validates the regular containers.
pub(crate) fn validate_regular(
    errors: &mut ErrorList,
    path: &FieldPath<'_>,
    list: &[Value],
    pod: &PodValidationContext<'_>,
) {
    if list.is_empty() {
        errors.required(path, "");
        return;
    }
    let mut seen = BTreeSet::new();
    for (i, c) in list.iter().enumerate() {
        let path = path.index(i);
        common(errors, &path, c, pod);
        if !seen.insert(c.text("/name")) {
            errors.duplicate(&path.child("name"), c.text("/name"));
        }
        probe::lifecycle_and_probes(errors, &path, c, pod.grace_period);
        if c.has("/restartPolicy") {
            restart_policy(errors, &path, c);
        }
    }
    host_ports(errors, path, list);
}

/// Validates the init containers.
pub(crate) fn validate_init(
    errors: &mut ErrorList,
    path: &FieldPath<'_>,
    list: &[Value],
    regular: &[Value],
    pod: &PodValidationContext<'_>,
) {
    let mut seen: BTreeSet<&str> = regular.iter().map(|c| c.text("/name")).collect();
    for (i, c) in list.iter().enumerate() {
        let path_i = path.index(i);
        common(errors, &path_i, c, pod);
        let mut sidecar = false;
        if c.has("/restartPolicy") {
            restart_policy(errors, &path_i, c);
            sidecar = c.text("/restartPolicy") == "Always";
        }
        if !c.text("/name").is_empty() && !seen.insert(c.text("/name")) {
            errors.duplicate(&path_i.child("name"), c.text("/name"));
        }
        host_ports(errors, path, std::slice::from_ref(c));
        if sidecar {
            probe::lifecycle_and_probes(errors, &path_i, c, pod.grace_period);
            continue;
        }
        for field in [
            "lifecycle",
            "livenessProbe",
            "readinessProbe",
            "startupProbe",
        ] {
            if c.get(field).is_some_and(|v| !v.is_null()) {
                let detail = "may not be set for init containers without restartPolicy=Always";
                errors.forbidden(&path_i.child(field), detail);
            }
        }
    }
}

/// Validates the restart policy of a container; an init container with `Always` is a sidecar.
fn restart_policy(errors: &mut ErrorList, path: &FieldPath<'_>, c: &Value) {
    let known = ["Always", "Never", "OnFailure"];
    errors.one_of(
        &path.child("restartPolicy"),
        c.text("/restartPolicy"),
        &known,
    );
}

/// Validates the ephemeral containers.
pub(crate) fn validate_ephemeral(
    errors: &mut ErrorList,
    path: &FieldPath<'_>,
    list: &[Value],
    others: &[&[Value]],
    pod: &PodValidationContext<'_>,
) {
    const ALLOWED: [&str; 18] = [
        "name",
        "image",
        "command",
        "args",
        "workingDir",
        "resizePolicy",
        "restartPolicy",
        "envFrom",
        "env",
        "volumeMounts",
        "volumeDevices",
        "terminationMessagePath",
        "terminationMessagePolicy",
        "imagePullPolicy",
        "securityContext",
        "stdin",
        "stdinOnce",
        "tty",
    ];
    let other: BTreeSet<&str> = others
        .iter()
        .flat_map(|l| l.iter())
        .map(|c| c.text("/name"))
        .collect();
    let mut seen = other.clone();
    for (i, c) in list.iter().enumerate() {
        let path = path.index(i);
        common(errors, &path, c, pod);
        validate_image_spaces(errors, &path, c);
        if !seen.insert(c.text("/name")) {
            errors.duplicate(&path.child("name"), c.text("/name"));
        }
        let target = c.text("/targetContainerName");
        if !target.is_empty() && !other.contains(target) {
            errors.not_found(&path.child("targetContainerName"), target);
        }
        for (field, value) in c.entries("") {
            let empty = value.as_object().is_some_and(serde_json::Map::is_empty);
            let known = ALLOWED.contains(&field.as_str()) || field == "targetContainerName";
            if !known && !value.is_null() && !empty {
                errors.forbidden(
                    &path.child(field),
                    "cannot be set for an Ephemeral Container",
                );
            }
        }
        let mounts = path.child("volumeMounts");
        for (j, mount) in c.list("/volumeMounts").iter().enumerate() {
            for field in ["subPath", "subPathExpr"] {
                if mount.get(field).is_some_and(|v| v != "") {
                    let path = mounts.index(j);
                    let detail = "cannot be set for an Ephemeral Container";
                    errors.forbidden(&path.child(field), detail);
                }
            }
        }
    }
}

/// Validation common to all container types.
fn common(errors: &mut ErrorList, path: &FieldPath<'_>, c: &Value, pod: &PodValidationContext<'_>) {
    match c.text("/name") {
        "" => errors.required(&path.child("name"), ""),
        name => errors.invalid_for_each(
            &path.child("name"),
            name,
            name_validation::dns1123_label(name),
        ),
    }
    if c.text("/image").is_empty() {
        errors.required(&path.child("image"), "");
    }
    errors.required_one_of(
        &path.child("terminationMessagePolicy"),
        c.text("/terminationMessagePolicy"),
        &["File", "FallbackToLogsOnError"],
    );
    ports(errors, &path.child("ports"), c.list("/ports"));
    env::validate(errors, &path.child("env"), c.list("/env"));
    env::validate_from(errors, &path.child("envFrom"), c.list("/envFrom"));
    volume_mount::mounts(errors, &path.child("volumeMounts"), c, pod);
    volume_mount::devices(errors, &path.child("volumeDevices"), c, pod);
    errors.required_one_of(
        &path.child("imagePullPolicy"),
        c.text("/imagePullPolicy"),
        &["Always", "IfNotPresent", "Never"],
    );
    resource_validation::requirements(
        errors,
        &path.child("resources"),
        c.at("/resources"),
        pod.claims,
    );
    resize_policy(
        errors,
        &path.child("resizePolicy"),
        c.list("/resizePolicy"),
        pod,
    );
    let context = c.at("/securityContext");
    security_context::container(
        errors,
        &path.child("securityContext"),
        context,
        pod.host_users,
    );
}

/// Validates that a pod's image has no leading or trailing whitespace; pod templates skip this
/// check.
pub(crate) fn validate_image_spaces(errors: &mut ErrorList, path: &FieldPath<'_>, c: &Value) {
    let image = c.text("/image");
    if image.trim() != image {
        errors.invalid(
            &path.child("image"),
            image,
            "must not have leading or trailing whitespace",
        );
    }
}

fn ports(errors: &mut ErrorList, path: &FieldPath<'_>, ports: &[Value]) {
    let mut seen = BTreeSet::new();
    for (i, port) in ports.iter().enumerate() {
        let path = path.index(i);
        let name = port.text("/name");
        if !name.is_empty() {
            let messages = name_validation::port_name(name);
            if !messages.is_empty() {
                errors.invalid_for_each(&path.child("name"), name, messages);
            } else if !seen.insert(name) {
                errors.duplicate(&path.child("name"), name);
            }
        }
        match port.int("/containerPort") {
            0 => errors.required(&path.child("containerPort"), ""),
            n => port_number(errors, &path.child("containerPort"), n),
        }
        if port.int("/hostPort") != 0 {
            port_number(errors, &path.child("hostPort"), port.int("/hostPort"));
        }
        let protocols = ["SCTP", "TCP", "UDP"];
        errors.required_one_of(&path.child("protocol"), port.text("/protocol"), &protocols);
    }
}

/// Validates a port number.
pub(crate) fn port_number(errors: &mut ErrorList, path: &FieldPath<'_>, number: i64) {
    for message in name_validation::port_number(number) {
        errors.invalid(path, number, message);
    }
}

/// Validates a port given as a number or a name (IntOrString).
pub(crate) fn port_or_name(errors: &mut ErrorList, path: &FieldPath<'_>, port: &Value) {
    match port {
        Value::String(name) => {
            errors.invalid_for_each(path, name, name_validation::port_name(name))
        }
        other => port_number(errors, path, other.as_i64().unwrap_or_default()),
    }
}

fn host_ports(errors: &mut ErrorList, path: &FieldPath<'_>, list: &[Value]) {
    let mut seen = BTreeSet::new();
    for (i, c) in list.iter().enumerate() {
        for (j, port) in c.list("/ports").iter().enumerate() {
            let number = port.int("/hostPort");
            if number == 0 {
                continue;
            }
            let key = format!(
                "{}/{}/{number}",
                port.text("/protocol"),
                port.text("/hostIP")
            );
            if !seen.insert(key.clone()) {
                let c = path.index(i);
                let ports = c.child("ports");
                let port = ports.index(j);
                errors.duplicate(&port.child("hostPort"), key);
            }
        }
    }
}

fn resize_policy(
    errors: &mut ErrorList,
    path: &FieldPath<'_>,
    list: &[Value],
    pod: &PodValidationContext<'_>,
) {
    let mut seen = BTreeSet::new();
    for (i, policy) in list.iter().enumerate() {
        let (resource, restart) = (policy.text("/resourceName"), policy.text("/restartPolicy"));
        if !seen.insert(resource) {
            errors.duplicate(&path.index(i), resource);
        }
        errors.required_one_of(path, resource, &["cpu", "memory"]);
        errors.required_one_of(path, restart, &["NotRequired", "RestartContainer"]);
        if pod.restart_policy == "Never" && restart != "NotRequired" {
            let detail = "must be 'NotRequired' when `restartPolicy` is 'Never'";
            errors.invalid(path, restart, detail);
        }
    }
}

//! Validation of pod and container security contexts.

use std::collections::BTreeSet;

use serde_json::Value;

use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;
use kueue_lab_field::name_validation::inclusive_range_error;
use kueue_lab_json::ValueExt;

/// Validates a user or group ID.
fn id(errors: &mut ErrorList, path: &FieldPath<'_>, value: Option<i64>) {
    let max = i64::from(i32::MAX);
    if let Some(n) = value
        && !(0..=max).contains(&n)
    {
        errors.invalid(path, n, inclusive_range_error(0, max));
    }
}

/// Validates the security context of a pod.
pub(super) fn pod(errors: &mut ErrorList, path: &FieldPath<'_>, spec: &Value) {
    let context = spec.at("/securityContext");
    for field in ["fsGroup", "runAsUser", "runAsGroup"] {
        id(
            errors,
            &path.child(field),
            context.get(field).and_then(Value::as_i64),
        );
    }
    let groups = path.child("supplementalGroups");
    for (i, group) in context.list("/supplementalGroups").iter().enumerate() {
        id(errors, &groups.index(i), group.as_i64());
    }
    if spec.flag("/shareProcessNamespace") && spec.flag("/hostPID") {
        let detail = "ShareProcessNamespace and HostPID cannot both be enabled";
        errors.invalid(&path.child("shareProcessNamespace"), true, detail);
    }
    sysctls(errors, &path.child("sysctls"), context.list("/sysctls"));
    if context.has("/fsGroupChangePolicy") {
        let policy = context.text("/fsGroupChangePolicy");
        errors.one_of(
            &path.child("fsGroupChangePolicy"),
            policy,
            &["Always", "OnRootMismatch"],
        );
    }
    seccomp(
        errors,
        &path.child("seccompProfile"),
        context.at("/seccompProfile"),
    );
    app_armor(
        errors,
        &path.child("appArmorProfile"),
        context.at("/appArmorProfile"),
    );
    if context.has("/supplementalGroupsPolicy") {
        let policy = context.text("/supplementalGroupsPolicy");
        errors.one_of(
            &path.child("supplementalGroupsPolicy"),
            policy,
            &["Merge", "Strict"],
        );
    }
    if context.has("/seLinuxChangePolicy") {
        let policy = context.text("/seLinuxChangePolicy");
        errors.one_of(
            &path.child("seLinuxChangePolicy"),
            policy,
            &["MountOption", "Recursive"],
        );
    }
}

fn sysctls(errors: &mut ErrorList, path: &FieldPath<'_>, list: &[Value]) {
    let mut seen = BTreeSet::new();
    for (i, sysctl) in list.iter().enumerate() {
        let name = sysctl.text("/name");
        let entry = path.index(i);
        let path = entry.child("name");
        if name.is_empty() {
            errors.required(&path, "");
        } else if name.len() > 253 || !name.split(['.', '/']).all(is_sysctl_segment) {
            let detail = "must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";
            errors.invalid(&path, name, detail);
        } else if seen.contains(name) {
            errors.duplicate(&path, name);
        }
        seen.insert(name);
    }
}

fn is_sysctl_segment(s: &str) -> bool {
    let edge = |b: Option<&u8>| b.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    let inner = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'_');
    let b = s.as_bytes();
    edge(b.first()) && edge(b.last()) && b.iter().all(inner)
}

fn seccomp(errors: &mut ErrorList, path: &FieldPath<'_>, profile: &Value) {
    if profile.is_null() {
        return;
    }
    match profile.text("/type") {
        "" => errors.required(
            &path.child("type"),
            "type is required when seccompProfile is set",
        ),
        other => errors.one_of(
            &path.child("type"),
            other,
            &["Localhost", "RuntimeDefault", "Unconfined"],
        ),
    }
    let local = path.child("localhostProfile");
    match (profile.text("/type"), profile.at("/localhostProfile")) {
        ("Localhost", Value::Null) => {
            errors.required(&local, "must be set when seccomp type is Localhost");
        }
        ("Localhost", file) => {
            local_descending_path(errors, &local, file.as_str().unwrap_or_default());
        }
        (_, Value::Null) => {}
        (_, _) => {
            let detail = "can only be set when seccomp type is Localhost";
            errors.invalid(&local, profile.clone(), detail);
        }
    }
}

/// Validates a relative path without `..`.
pub(super) fn local_descending_path(errors: &mut ErrorList, path: &FieldPath<'_>, text: &str) {
    if text.starts_with('/') {
        errors.invalid(path, text, "must be a relative path");
    }
    path_no_backsteps(errors, path, text);
}

/// Validates that a path has no `..` element.
pub(super) fn path_no_backsteps(errors: &mut ErrorList, path: &FieldPath<'_>, text: &str) {
    if text.split('/').any(|part| part == "..") {
        errors.invalid(path, text, "must not contain '..'");
    }
}

fn app_armor(errors: &mut ErrorList, path: &FieldPath<'_>, profile: &Value) {
    if profile.is_null() {
        return;
    }
    let local = path.child("localhostProfile");
    let file = profile.at("/localhostProfile");
    match profile.text("/type") {
        "Localhost" => match file.as_str() {
            None => errors.required(&local, "must be set when AppArmor type is Localhost"),
            Some(text) if text.trim() != text => {
                errors.invalid(&local, text, "must not be padded with whitespace");
            }
            Some("") => errors.required(&local, "must be set when AppArmor type is Localhost"),
            Some(text) if text.len() > 4095 => errors.too_long(&local, 4095),
            Some(_) => {}
        },
        "RuntimeDefault" | "Unconfined" => {
            if !file.is_null() {
                let detail = "can only be set when AppArmor type is Localhost";
                errors.invalid(&local, file.clone(), detail);
            }
        }
        "" => errors.required(
            &path.child("type"),
            "type is required when appArmorProfile is set",
        ),
        other => errors.one_of(
            &path.child("type"),
            other,
            &["Localhost", "RuntimeDefault", "Unconfined"],
        ),
    }
}

/// Validates the security context of a container.
pub(super) fn container(
    errors: &mut ErrorList,
    path: &FieldPath<'_>,
    context: &Value,
    host_users: bool,
) {
    if context.is_null() {
        return;
    }
    for field in ["runAsUser", "runAsGroup"] {
        id(
            errors,
            &path.child(field),
            context.get(field).and_then(Value::as_i64),
        );
    }
    if context.has("/procMount") {
        let mount = context.text("/procMount");
        errors.one_of(&path.child("procMount"), mount, &["Default", "Unmasked"]);
        if host_users && mount == "Unmasked" {
            let detail = "`hostUsers` must be false to use `Unmasked`";
            errors.invalid(&path.child("procMount"), mount, detail);
        }
    }
    seccomp(
        errors,
        &path.child("seccompProfile"),
        context.at("/seccompProfile"),
    );
    if context.at("/allowPrivilegeEscalation") == false {
        if context.flag("/privileged") {
            let detail = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true";
            errors.invalid(path, context.clone(), detail);
        }
        if context
            .list("/capabilities/add")
            .iter()
            .any(|c| c == "CAP_SYS_ADMIN")
        {
            let detail = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN";
            errors.invalid(path, context.clone(), detail);
        }
    }
    app_armor(
        errors,
        &path.child("appArmorProfile"),
        context.at("/appArmorProfile"),
    );
}

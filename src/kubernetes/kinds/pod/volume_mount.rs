//! Validation of volume mounts and volume devices of containers.

use std::collections::BTreeSet;

use serde_json::Value;

use super::container::PodValidationContext;
use super::security_context::local_descending_path;
use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;
use kueue_lab_json::ValueExt;

/// Validates the volume mounts of a container.
pub(super) fn mounts(
    errors: &mut ErrorList,
    path: &FieldPath<'_>,
    c: &Value,
    pod: &PodValidationContext<'_>,
) {
    let devices = c.list("/volumeDevices");
    let of_devices = texts(devices, "/name");
    let device_paths = texts(devices, "/devicePath");
    let mut seen = BTreeSet::new();
    for (i, mount) in c.list("/volumeMounts").iter().enumerate() {
        let entry = path.index(i);
        let (name, at) = (mount.text("/name"), mount.text("/mountPath"));
        if name.is_empty() {
            errors.required(&entry.child("name"), "");
        }
        let volume = pod.volumes.get(name);
        if volume.is_none() {
            errors.not_found(&entry.child("name"), name);
        }
        if at.is_empty() {
            errors.required(&entry.child("mountPath"), "");
        }
        if !seen.insert(at) {
            errors.invalid(&entry.child("mountPath"), at, "must be unique");
        }
        if of_devices.contains(name) {
            errors.invalid(
                &entry.child("name"),
                name,
                "must not already exist in volumeDevices",
            );
        }
        if device_paths.contains(at) {
            let detail = "must not already exist as a path in volumeDevices";
            errors.invalid(&entry.child("mountPath"), at, detail);
        }
        let (sub, expression) = (mount.text("/subPath"), mount.text("/subPathExpr"));
        // As upstream, the field paths of these errors have no index.
        local_descending_path(errors, &path.child("subPath"), sub);
        if !expression.is_empty() {
            if !sub.is_empty() {
                let detail = "subPathExpr and subPath are mutually exclusive";
                errors.invalid(&entry.child("subPathExpr"), expression, detail);
            }
            local_descending_path(errors, &path.child("subPathExpr"), expression);
        }
        propagation(errors, path, mount, c);
    }
}

/// The texts of a field of all items.
fn texts<'a>(items: &'a [Value], field: &str) -> BTreeSet<&'a str> {
    items.iter().map(|item| item.text(field)).collect()
}

fn propagation(errors: &mut ErrorList, path: &FieldPath<'_>, mount: &Value, c: &Value) {
    if !mount.has("/mountPropagation") {
        return;
    }
    let mode = mount.text("/mountPropagation");
    let path = path.child("mountPropagation");
    let known = ["Bidirectional", "HostToContainer", "None"];
    errors.one_of(&path, mode, &known);
    if mode == "Bidirectional" && !c.flag("/securityContext/privileged") {
        let detail = "Bidirectional mount propagation is available only to privileged containers";
        errors.forbidden(&path, detail);
    }
}

/// Validates the volume devices of a container.
pub(super) fn devices(
    errors: &mut ErrorList,
    path: &FieldPath<'_>,
    c: &Value,
    pod: &PodValidationContext<'_>,
) {
    let mounts = c.list("/volumeMounts");
    let (of_mounts, mount_paths) = (texts(mounts, "/name"), texts(mounts, "/mountPath"));
    let (mut names, mut paths) = (BTreeSet::new(), BTreeSet::new());
    for (i, device) in c.list("/volumeDevices").iter().enumerate() {
        let entry = path.index(i);
        let (name, at) = (device.text("/name"), device.text("/devicePath"));
        if name.is_empty() {
            errors.required(&entry.child("name"), "");
        } else if !names.insert(name) {
            errors.invalid(&entry.child("name"), name, "must be unique");
        }
        match pod.volumes.get(name) {
            None => errors.not_found(&entry.child("name"), name),
            Some(v) if !v.has("/persistentVolumeClaim") && !v.has("/ephemeral") => {
                let detail = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
                errors.invalid(&entry.child("name"), name, detail);
            }
            Some(_) => {}
        }
        if at.is_empty() {
            errors.required(&entry.child("devicePath"), "");
        }
        if paths.contains(at) {
            errors.invalid(&entry.child("devicePath"), at, "must be unique");
        }
        if at.split('/').any(|part| part == "..") {
            errors.invalid(
                &entry.child("devicePath"),
                at,
                "can not contain backsteps ('..')",
            );
        } else {
            paths.insert(at);
        }
        if of_mounts.contains(name) {
            errors.invalid(
                &entry.child("name"),
                name,
                "must not already exist in volumeMounts",
            );
        }
        if mount_paths.contains(at) {
            let detail = "must not already exist as a path in volumeMounts";
            errors.invalid(&entry.child("devicePath"), at, detail);
        }
    }
}

//! Validation of pod volumes.

use std::collections::BTreeMap;

use serde_json::Value;

use super::env;
use super::security_context::{local_descending_path, path_no_backsteps};
use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;
use kueue_lab_field::name_validation;
use kueue_lab_json::ValueExt;
use kueue_lab_quantity::Quantity;

/// Volume sources in upstream validation order.
const SOURCES: [&str; 29] = [
    "emptyDir",
    "hostPath",
    "gitRepo",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "secret",
    "nfs",
    "iscsi",
    "glusterfs",
    "flocker",
    "persistentVolumeClaim",
    "rbd",
    "cinder",
    "cephfs",
    "quobyte",
    "downwardAPI",
    "fc",
    "azureFile",
    "vsphereVolume",
    "configMap",
    "photonPersistentDisk",
    "projected",
    "azureDisk",
    "storageos",
    "portworxVolume",
    "scaleIO",
    "csi",
    "ephemeral",
    "image",
];

/// Validates the volumes; returns the valid ones by name.
pub(super) fn validate<'a>(
    errors: &mut ErrorList,
    path: &FieldPath<'_>,
    list: &'a [Value],
) -> BTreeMap<&'a str, &'a Value> {
    let mut fine = BTreeMap::new();
    for (i, volume) in list.iter().enumerate() {
        let path = path.index(i);
        let name = volume.text("/name");
        let mut found = ErrorList::default();
        sources(&mut found, &path, volume);
        match name {
            "" => found.required(&path.child("name"), ""),
            name => found.invalid_for_each(
                &path.child("name"),
                name,
                name_validation::dns1123_label(name),
            ),
        }
        if fine.contains_key(name) {
            found.duplicate(&path.child("name"), name);
        }
        if found.0.is_empty() {
            fine.insert(name, volume);
        }
        errors.extend(found.0);
    }
    fine
}

fn sources(errors: &mut ErrorList, path: &FieldPath<'_>, volume: &Value) {
    let mut found = false;
    for sort in SOURCES {
        let source = volume.get(sort).unwrap_or(&Value::Null);
        if source.is_null() {
            continue;
        }
        let path = path.child(sort);
        if found {
            errors.forbidden(&path, "may not specify more than 1 volume type");
            continue;
        }
        found = true;
        one_source(errors, &path, sort, source);
    }
    if !found {
        errors.required(path, "must specify a volume type");
    }
}

fn one_source(errors: &mut ErrorList, path: &FieldPath<'_>, sort: &str, source: &Value) {
    match sort {
        "emptyDir" => {
            let limit = Quantity::of(source.at("/sizeLimit"));
            if limit.is_some_and(|q| q.is_negative()) {
                let detail = "SizeLimit field must be a valid resource quantity";
                errors.forbidden(&path.child("sizeLimit"), detail);
            }
        }
        "hostPath" => host_path(errors, path, source),
        "secret" => {
            required(errors, path, source, "secretName");
            mode(
                errors,
                &path.child("defaultMode"),
                source.at("/defaultMode"),
            );
            key_items(errors, &path.child("items"), source.list("/items"));
        }
        "configMap" => {
            required(errors, path, source, "name");
            mode(
                errors,
                &path.child("defaultMode"),
                source.at("/defaultMode"),
            );
            key_items(errors, &path.child("items"), source.list("/items"));
        }
        "downwardAPI" => {
            mode(
                errors,
                &path.child("defaultMode"),
                source.at("/defaultMode"),
            );
            downward_files(errors, path, source.list("/items"));
        }
        "projected" => projected(errors, path, source),
        "persistentVolumeClaim" => required(errors, path, source, "claimName"),
        "nfs" => {
            required(errors, path, source, "server");
            required(errors, path, source, "path");
            if !source.text("/path").starts_with('/') {
                let detail = "must be an absolute path";
                errors.invalid(&path.child("path"), source.text("/path"), detail);
            }
        }
        "csi" => required(errors, path, source, "driver"),
        "ephemeral" if !source.has("/volumeClaimTemplate") => {
            errors.required(&path.child("volumeClaimTemplate"), "");
        }
        "image" if source.has("/pullPolicy") => {
            let policy = source.text("/pullPolicy");
            errors.required_one_of(
                &path.child("pullPolicy"),
                policy,
                &["Always", "IfNotPresent", "Never"],
            );
        }
        "gitRepo" => required(errors, path, source, "repository"),
        "gcePersistentDisk" => required(errors, path, source, "pdName"),
        "awsElasticBlockStore" => required(errors, path, source, "volumeID"),
        "azureDisk" => {
            required(errors, path, source, "diskName");
            required(errors, path, source, "diskURI");
        }
        "azureFile" => {
            required(errors, path, source, "secretName");
            required(errors, path, source, "shareName");
        }
        "iscsi" => {
            required(errors, path, source, "targetPortal");
            required(errors, path, source, "iqn");
        }
        _ => {}
    }
}

fn required(errors: &mut ErrorList, path: &FieldPath<'_>, source: &Value, field: &str) {
    if source
        .get(field)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .is_empty()
    {
        errors.required(&path.child(field), "");
    }
}

fn host_path(errors: &mut ErrorList, path: &FieldPath<'_>, source: &Value) {
    let text = source.text("/path");
    if text.is_empty() {
        errors.required(&path.child("path"), "");
        return;
    }
    path_no_backsteps(errors, &path.child("path"), text);
    const TYPES: [&str; 8] = [
        "",
        "BlockDevice",
        "CharDevice",
        "Directory",
        "DirectoryOrCreate",
        "File",
        "FileOrCreate",
        "Socket",
    ];
    if source.has("/type") {
        errors.one_of(&path.child("type"), source.text("/type"), &TYPES);
    }
}

fn mode(errors: &mut ErrorList, path: &FieldPath<'_>, value: &Value) {
    if let Some(mode) = value.as_i64()
        && !(0..=0o777).contains(&mode)
    {
        let detail = "must be a number between 0 and 0777 (octal), both inclusive";
        errors.invalid(path, mode, detail);
    }
}

fn key_items(errors: &mut ErrorList, path: &FieldPath<'_>, items: &[Value]) {
    for (i, item) in items.iter().enumerate() {
        let path = path.index(i);
        required(errors, &path, item, "key");
        file_path(errors, &path.child("path"), item.text("/path"));
        mode(errors, &path.child("mode"), item.at("/mode"));
    }
}

/// Validates the path of a file in a volume.
fn file_path(errors: &mut ErrorList, path: &FieldPath<'_>, text: &str) {
    if text.is_empty() {
        errors.required(path, "");
        return;
    }
    local_descending_path(errors, path, text);
    if text.starts_with("..") && !text.starts_with("../") && text != ".." {
        errors.invalid(path, text, "must not start with '..'");
    }
}

fn downward_files(errors: &mut ErrorList, path: &FieldPath<'_>, items: &[Value]) {
    for item in items {
        file_path(errors, &path.child("path"), item.text("/path"));
        let both = item.has("/fieldRef") && item.has("/resourceFieldRef");
        if both {
            let detail = "fieldRef and resourceFieldRef can not be specified simultaneously";
            errors.invalid(path, "resource", detail);
        } else if item.has("/fieldRef") {
            let reference = item.at("/fieldRef");
            env::field_ref(
                errors,
                &path.child("fieldRef"),
                reference,
                &env::VOLUME_FIELD_PATHS,
            );
        } else if item.has("/resourceFieldRef") {
            let reference = item.at("/resourceFieldRef");
            env::resource_ref(errors, &path.child("resourceFieldRef"), reference, true);
        } else {
            let detail = "one of fieldRef and resourceFieldRef is required";
            errors.required(&path.child("fieldRef"), detail);
        }
        mode(errors, &path.child("mode"), item.at("/mode"));
    }
}

fn projected(errors: &mut ErrorList, path: &FieldPath<'_>, source: &Value) {
    mode(
        errors,
        &path.child("defaultMode"),
        source.at("/defaultMode"),
    );
    let sources = path.child("sources");
    for (i, entry) in source.list("/sources").iter().enumerate() {
        let path = sources.index(i);
        let mut found = false;
        for sort in [
            "secret",
            "configMap",
            "downwardAPI",
            "serviceAccountToken",
            "clusterTrustBundle",
        ] {
            let part = entry.get(sort).unwrap_or(&Value::Null);
            if part.is_null() {
                continue;
            }
            let path = path.child(sort);
            if found {
                errors.forbidden(&path, "may not specify more than 1 volume type per source");
                continue;
            }
            found = true;
            match sort {
                "secret" | "configMap" => {
                    required(errors, &path, part, "name");
                    key_items(errors, &path.child("items"), part.list("/items"));
                }
                "downwardAPI" => downward_files(errors, &path, part.list("/items")),
                "serviceAccountToken" => token(errors, &path, part),
                _ => {}
            }
        }
    }
}

fn token(errors: &mut ErrorList, path: &FieldPath<'_>, token: &Value) {
    let seconds = token.int("/expirationSeconds");
    if seconds < 600 {
        let detail = "may not specify a duration less than 10 minutes";
        errors.invalid(&path.child("expirationSeconds"), seconds, detail);
    }
    if seconds > 1 << 32 {
        let detail = "may not specify a duration larger than 2^32 seconds";
        errors.invalid(&path.child("expirationSeconds"), seconds, detail);
    }
    match token.text("/path") {
        "" => errors.required(&path.child("path"), ""),
        text => file_path(errors, &path.child("path"), text),
    }
}

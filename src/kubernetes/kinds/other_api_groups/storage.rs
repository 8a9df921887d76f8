//! StorageClasses, PersistentVolumes and PersistentVolumeClaims.

use serde_json::{Value, json};

use crate::builtin_strategy::BuiltinStrategy;
use crate::pod::resource_validation;
use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;
use kueue_lab_apimachinery::metadata_validation::labels;
use kueue_lab_field::{FieldError, name_validation};
use kueue_lab_json::{ValueExt, ValueMutExt};

pub(super) fn strategy_of(kind: &str) -> BuiltinStrategy {
    match kind {
        "StorageClass" => STORAGE_CLASS,
        "CSIDriver" => BuiltinStrategy {
            set_defaults: csi_driver,
            ..BuiltinStrategy::DEFAULT
        },
        "VolumeAttachment" => BuiltinStrategy {
            prepare_for_create: |attachment| attachment["status"] = json!({"attached": false}),
            ..BuiltinStrategy::DEFAULT
        },
        _ => BuiltinStrategy::DEFAULT,
    }
}

fn csi_driver(driver: &mut Value) {
    let spec = driver.object_mut("spec");
    spec.set_default("attachRequired", true);
    for field in [
        "podInfoOnMount",
        "storageCapacity",
        "requiresRepublish",
        "seLinuxMount",
    ] {
        spec.set_default(field, false);
    }
    spec.set_default("fsGroupPolicy", "ReadWriteOnceWithFSType");
    if spec.list("/volumeLifecycleModes").is_empty() {
        spec.set_or_remove("volumeLifecycleModes", Some(json!(["Persistent"])));
    }
}

const STORAGE_CLASS: BuiltinStrategy = BuiltinStrategy {
    set_defaults: |class| {
        class.set_default("reclaimPolicy", "Delete");
        class.set_default("volumeBindingMode", "Immediate");
    },
    ..BuiltinStrategy::DEFAULT
};

const SPEC: FieldPath<'_> = FieldPath::root("spec");
const MODES: [&str; 4] = [
    "ReadOnlyMany",
    "ReadWriteMany",
    "ReadWriteOnce",
    "ReadWriteOncePod",
];

/// Strategy of PersistentVolumes.
pub(crate) const PERSISTENT_VOLUME: BuiltinStrategy = BuiltinStrategy {
    set_defaults: |volume| {
        if let Some(spec) = volume.get_object_mut("spec") {
            spec.set_default("persistentVolumeReclaimPolicy", "Retain");
            spec.set_default("volumeMode", "Filesystem");
            if let Some(path) = spec.get_object_mut("hostPath") {
                path.set_default("type", "");
            }
        }
        volume.object_mut("status").set_default("phase", "Pending");
    },
    prepare_for_create: |volume| {
        let now = volume.at("/metadata/creationTimestamp").clone();
        volume["status"] = json!({"phase": "Pending", "lastPhaseTransitionTime": now});
    },
    validate_create: volume,
    validate_update: |new, _| volume(new),
    ..BuiltinStrategy::DEFAULT
};

fn volume(volume: &Value) -> Vec<FieldError> {
    let mut errors = ErrorList::default();
    let spec = volume.at("/spec");
    access_modes(&mut errors, spec);
    let capacity = SPEC.child("capacity");
    if spec.entries("/capacity").next().is_none() {
        errors.required(&capacity, "");
    }
    let only_storage =
        spec.at("/capacity").get("storage").is_some() && spec.entries("/capacity").count() == 1;
    if !only_storage {
        let names: Vec<&String> = spec.entries("/capacity").map(|(name, _)| name).collect();
        let bad = Value::from(names.iter().map(|n| n.as_str()).collect::<Vec<_>>());
        errors.0.push(FieldError::not_supported(
            capacity.to_string(),
            bad,
            &["storage"],
        ));
    }
    for (name, amount) in spec.entries("/capacity") {
        resource_validation::resource_quantity(&mut errors, &capacity.key(name), name, amount);
    }
    const SOURCES: [&str; 22] = [
        "awsElasticBlockStore",
        "azureDisk",
        "azureFile",
        "cephfs",
        "cinder",
        "csi",
        "fc",
        "flexVolume",
        "flocker",
        "gcePersistentDisk",
        "glusterfs",
        "hostPath",
        "iscsi",
        "local",
        "nfs",
        "photonPersistentDisk",
        "portworxVolume",
        "quobyte",
        "rbd",
        "scaleIO",
        "storageos",
        "vsphereVolume",
    ];
    let given: Vec<&str> = SOURCES
        .into_iter()
        .filter(|s| spec.get(*s).is_some_and(|v| !v.is_null()))
        .collect();
    match given.as_slice() {
        [] => errors.required(&SPEC, "must specify a volume type"),
        [_, rest @ ..] => {
            for sort in rest {
                errors.forbidden(&SPEC.child(sort), "may not specify more than 1 volume type");
            }
        }
    }
    let policies = ["Delete", "Recycle", "Retain"];
    let policy = spec.text("/persistentVolumeReclaimPolicy");
    errors.one_of(
        &SPEC.child("persistentVolumeReclaimPolicy"),
        policy,
        &policies,
    );
    volume_mode(&mut errors, spec);
    errors.0
}

fn access_modes(errors: &mut ErrorList, spec: &Value) {
    let path = SPEC.child("accessModes");
    let modes = spec.list("/accessModes");
    if modes.is_empty() {
        errors.required(&path, "");
    }
    for mode in modes.iter().filter_map(Value::as_str) {
        errors.one_of(&path, mode, &MODES);
    }
    if modes.len() > 1 && modes.iter().any(|m| m == "ReadWriteOncePod") {
        let detail = "may not use ReadWriteOncePod with other access modes";
        errors.forbidden(&path, detail);
    }
}

fn volume_mode(errors: &mut ErrorList, spec: &Value) {
    if spec.has("/volumeMode") {
        let path = SPEC.child("volumeMode");
        errors.one_of(&path, spec.text("/volumeMode"), &["Block", "Filesystem"]);
    }
}

/// Strategy of PersistentVolumeClaims.
pub(crate) const PERSISTENT_VOLUME_CLAIM: BuiltinStrategy = BuiltinStrategy {
    set_defaults: |claim| {
        if let Some(spec) = claim.get_object_mut("spec") {
            spec.set_default("volumeMode", "Filesystem");
        }
        claim.object_mut("status").set_default("phase", "Pending");
    },
    prepare_for_create: |claim| claim["status"] = json!({"phase": "Pending"}),
    validate_create: claim,
    validate_update: |new, old| {
        let mut errors = ErrorList(claim(new));
        validate_claim_update(&mut errors, new, old);
        errors.0
    },
    ..BuiltinStrategy::DEFAULT
};

fn claim(claim: &Value) -> Vec<FieldError> {
    let mut errors = ErrorList::default();
    let spec = claim.at("/spec");
    errors.extend(labels::validate_selector(
        spec.at("/selector"),
        "spec.selector",
    ));
    access_modes(&mut errors, spec);
    let path = SPEC.child("resources");
    match spec.at("/resources/requests/storage") {
        Value::Null => errors.required(&path.key("storage"), ""),
        amount => {
            let requests = path.child("requests");
            let quantity = kueue_lab_quantity::Quantity::of(amount);
            if let Some(quantity) = quantity.filter(|q| !q.is_positive()) {
                let detail = "must be greater than zero";
                errors.invalid(&requests.key("storage"), quantity.to_string(), detail);
            }
        }
    }
    if spec.has("/storageClassName") && !spec.text("/storageClassName").is_empty() {
        let class = spec.text("/storageClassName");
        errors.invalid_for_each(
            &SPEC.child("storageClassName"),
            class,
            name_validation::dns1123_subdomain(class),
        );
    }
    volume_mode(&mut errors, spec);
    errors.0
}

/// Validates that the spec of a claim is immutable except for its storage request, its
/// VolumeAttributesClass and a volume name not set before.
fn validate_claim_update(errors: &mut ErrorList, new: &Value, old: &Value) {
    let rest = |claim: &Value| {
        let mut spec = claim.at("/spec").clone();
        spec.remove_key("volumeAttributesClassName");
        if let Some(requests) = spec
            .get_object_mut("resources")
            .and_then(|r| r.get_object_mut("requests"))
        {
            requests.remove_key("storage");
        }
        spec
    };
    let (mut now, then) = (rest(new), rest(old));
    if then.text("/volumeName").is_empty() {
        now.set_or_remove("volumeName", then.get("volumeName").cloned());
    }
    if !then.has("/storageClassName") {
        now.remove_key("storageClassName");
    }
    if now != then {
        let detail = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";
        errors.forbidden(&SPEC, detail);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims() {
        let empty = json!({"spec": {}});
        let texts: Vec<String> = claim(&empty).iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            [
                "spec.accessModes: Required value",
                "spec.resources[storage]: Required value"
            ]
        );
        let old = json!({"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}});
        let mut new = old.clone();
        new["spec"]["resources"]["requests"]["storage"] = "2Gi".into();
        new["spec"]["volumeName"] = "v".into();
        assert!((PERSISTENT_VOLUME_CLAIM.validate_update)(&new, &old).is_empty());
        new["spec"]["accessModes"] = json!(["ReadOnlyMany"]);
        assert_eq!(
            (PERSISTENT_VOLUME_CLAIM.validate_update)(&new, &old).len(),
            1
        );
    }
}

//! Storage classes, volumes and claims.

use serde_json::{Value, json};

use crate::field::FieldError;
use crate::kinds::check::{Errors, Path};
use crate::kinds::meta::{labels, names};
use crate::kinds::pod::resources;
use crate::kinds::rules::Rules;
use crate::kinds::value::{Fill, Look};

pub(super) fn rules(kind: &str) -> Rules {
    match kind {
        "StorageClass" => STORAGE_CLASS,
        "CSIDriver" => Rules {
            default: csi_driver,
            ..Rules::PLAIN
        },
        "VolumeAttachment" => Rules {
            prepare_create: |attachment| attachment["status"] = json!({"attached": false}),
            ..Rules::PLAIN
        },
        _ => Rules::PLAIN,
    }
}

fn csi_driver(driver: &mut Value) {
    let spec = driver.child("spec");
    spec.or_set("attachRequired", true);
    for field in [
        "podInfoOnMount",
        "storageCapacity",
        "requiresRepublish",
        "seLinuxMount",
    ] {
        spec.or_set(field, false);
    }
    spec.or_set("fsGroupPolicy", "ReadWriteOnceWithFSType");
    if spec.list("/volumeLifecycleModes").is_empty() {
        spec.put("volumeLifecycleModes", Some(json!(["Persistent"])));
    }
}

const STORAGE_CLASS: Rules = Rules {
    default: |class| {
        class.or_set("reclaimPolicy", "Delete");
        class.or_set("volumeBindingMode", "Immediate");
    },
    create: storage_class,
    update: |new, old| {
        let mut errors = Errors(storage_class(new));
        for field in [
            "parameters",
            "provisioner",
            "reclaimPolicy",
            "volumeBindingMode",
        ] {
            if new.get(field) != old.get(field) {
                let path = Path::root(field);
                match field {
                    "volumeBindingMode" => {
                        let value = new.at("/volumeBindingMode").clone();
                        errors.invalid(&path, value, "field is immutable");
                    }
                    _ => errors.forbidden(&path, format!("updates to {field} are forbidden.")),
                }
            }
        }
        errors.0
    },
    ..Rules::PLAIN
};

fn storage_class(class: &Value) -> Vec<FieldError> {
    let mut errors = Errors::default();
    let path = Path::root("provisioner");
    match class.text("/provisioner") {
        "" => errors.required(&path, ""),
        name => {
            let lower = name.to_lowercase();
            errors.complaints(&path, name, names::qualified_name(&lower));
        }
    }
    let policies = ["Delete", "Retain"];
    errors.one_of(
        &Path::root("reclaimPolicy"),
        class.text("/reclaimPolicy"),
        &policies,
    );
    let modes = ["Immediate", "WaitForFirstConsumer"];
    let mode = class.text("/volumeBindingMode");
    errors.some_of(&Path::root("volumeBindingMode"), mode, &modes);
    errors.0
}

const SPEC: Path<'_> = Path::root("spec");
const MODES: [&str; 4] = [
    "ReadOnlyMany",
    "ReadWriteMany",
    "ReadWriteOnce",
    "ReadWriteOncePod",
];

/// The rules of persistent volumes.
pub const PERSISTENT_VOLUME: Rules = Rules {
    default: |volume| {
        if let Some(spec) = volume.child_if("spec") {
            spec.or_set("persistentVolumeReclaimPolicy", "Retain");
            spec.or_set("volumeMode", "Filesystem");
            if let Some(path) = spec.child_if("hostPath") {
                path.or_set("type", "");
            }
        }
        volume.child("status").or_set("phase", "Pending");
    },
    prepare_create: |volume| {
        let now = volume.at("/metadata/creationTimestamp").clone();
        volume["status"] = json!({"phase": "Pending", "lastPhaseTransitionTime": now});
    },
    create: volume,
    update: |new, _| volume(new),
    ..Rules::PLAIN
};

fn volume(volume: &Value) -> Vec<FieldError> {
    let mut errors = Errors::default();
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
        resources::amount(&mut errors, &capacity.key(name), name, amount);
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

fn access_modes(errors: &mut Errors, spec: &Value) {
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

fn volume_mode(errors: &mut Errors, spec: &Value) {
    if spec.has("/volumeMode") {
        let path = SPEC.child("volumeMode");
        errors.one_of(&path, spec.text("/volumeMode"), &["Block", "Filesystem"]);
    }
}

/// The rules of claims.
pub const PERSISTENT_VOLUME_CLAIM: Rules = Rules {
    default: |claim| {
        if let Some(spec) = claim.child_if("spec") {
            spec.or_set("volumeMode", "Filesystem");
        }
        claim.child("status").or_set("phase", "Pending");
    },
    prepare_create: |claim| claim["status"] = json!({"phase": "Pending"}),
    create: claim,
    update: |new, old| {
        let mut errors = Errors(claim(new));
        claim_stays(&mut errors, new, old);
        errors.0
    },
    ..Rules::PLAIN
};

fn claim(claim: &Value) -> Vec<FieldError> {
    let mut errors = Errors::default();
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
        errors.complaints(
            &SPEC.child("storageClassName"),
            class,
            names::subdomain(class),
        );
    }
    volume_mode(&mut errors, spec);
    errors.0
}

/// A claim's spec stays as it is, but for what it asks for and the volume it gets.
fn claim_stays(errors: &mut Errors, new: &Value, old: &Value) {
    let rest = |claim: &Value| {
        let mut spec = claim.at("/spec").clone();
        spec.take_key("volumeAttributesClassName");
        if let Some(requests) = spec
            .child_if("resources")
            .and_then(|r| r.child_if("requests"))
        {
            requests.take_key("storage");
        }
        spec
    };
    let (mut now, then) = (rest(new), rest(old));
    if then.text("/volumeName").is_empty() {
        now.put("volumeName", then.get("volumeName").cloned());
    }
    if !then.has("/storageClassName") {
        now.take_key("storageClassName");
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
        assert!((PERSISTENT_VOLUME_CLAIM.update)(&new, &old).is_empty());
        new["spec"]["accessModes"] = json!(["ReadOnlyMany"]);
        assert_eq!((PERSISTENT_VOLUME_CLAIM.update)(&new, &old).len(), 1);
    }
}

//! StatefulSets.

use serde_json::{Value, json};

use super::common::{SPEC, selector, template, validate_replica_counts};
use super::int_or_percent::{int_or_percent, is_not_more_than_100_percent, is_zero};
use crate::builtin_strategy::BuiltinStrategy;
use crate::pod;
use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;
use kueue_lab_apimachinery::metadata_validation::object_names;
use kueue_lab_field::FieldError;
use kueue_lab_json::{ValueExt, ValueMutExt};

pub(crate) const STRATEGY: BuiltinStrategy = BuiltinStrategy {
    validate_name: object_names::name_is_dns_label,
    set_defaults: default,
    prepare_for_create: |set| set["status"] = json!({"replicas": 0, "availableReplicas": 0}),
    validate_create: |set| {
        let mut errors = ErrorList::default();
        spec(&mut errors, set.at("/spec"));
        errors.0
    },
    validate_update: |new, old| {
        let mut errors = ErrorList::default();
        spec(&mut errors, new.at("/spec"));
        validate_mutable_fields(&mut errors, new, old);
        errors.0
    },
    validate_subresource_update: |_, new, _| status(new),
    warnings: super::common::warnings,
    generation_fields: &["spec"],
    ..BuiltinStrategy::DEFAULT
};

fn default(set: &mut Value) {
    let Some(spec) = set.get_object_mut("spec") else {
        return;
    };
    spec.set_default("replicas", 1);
    spec.set_default("revisionHistoryLimit", 10);
    spec.set_default("podManagementPolicy", "OrderedReady");
    let strategy = spec.object_mut("updateStrategy");
    strategy.set_default("type", "RollingUpdate");
    if strategy.text("/type") == "RollingUpdate" {
        strategy
            .object_mut("rollingUpdate")
            .set_default("partition", 0);
    }
    let retention = spec.object_mut("persistentVolumeClaimRetentionPolicy");
    retention.set_default("whenDeleted", "Retain");
    retention.set_default("whenScaled", "Retain");
    for claim in spec.items_mut("volumeClaimTemplates") {
        claim.set_default("apiVersion", "v1");
        claim.set_default("kind", "PersistentVolumeClaim");
        claim
            .object_mut("spec")
            .set_default("volumeMode", "Filesystem");
        claim.object_mut("status").set_default("phase", "Pending");
    }
    pod::defaults::template(spec);
}

fn spec(errors: &mut ErrorList, spec: &Value) {
    let policy = spec.text("/podManagementPolicy");
    let path = SPEC.child("podManagementPolicy");
    match policy {
        "" => errors.required(&path, ""),
        "OrderedReady" | "Parallel" => {}
        other => errors.invalid(&path, other, "must be 'OrderedReady' or 'Parallel'"),
    }
    strategy(
        errors,
        &SPEC.child("updateStrategy"),
        spec.at("/updateStrategy"),
    );
    let retention = SPEC.child("persistentVolumeClaimRetentionPolicy");
    for field in ["whenDeleted", "whenScaled"] {
        let policy = spec.at("/persistentVolumeClaimRetentionPolicy").get(field);
        let policy = policy.and_then(Value::as_str).unwrap_or_default();
        errors.one_of(&retention.child(field), policy, &["Retain", "Delete"]);
    }
    errors.not_negative(&SPEC, spec, "replicas");
    errors.not_negative(&SPEC, spec, "minReadySeconds");
    if spec.int("/ordinals/start") < 0 {
        let ordinals = SPEC.child("ordinals");
        let detail = "must be greater than or equal to 0";
        errors.invalid(
            &ordinals.child("start"),
            spec.int("/ordinals/start"),
            detail,
        );
    }
    selector(errors, spec, "statefulset");
    template(errors, spec, "StatefulSet");
}

fn strategy(errors: &mut ErrorList, path: &FieldPath<'_>, strategy: &Value) {
    let rolling_path = path.child("rollingUpdate");
    let rolling = strategy.at("/rollingUpdate");
    match strategy.text("/type") {
        "" => errors.required(path, ""),
        "OnDelete" if !rolling.is_null() => {
            let detail = "only allowed for updateStrategy 'RollingUpdate'";
            errors.invalid(&rolling_path, rolling.clone(), detail);
        }
        "OnDelete" => {}
        "RollingUpdate" => {
            errors.not_negative(&rolling_path, rolling, "partition");
            let down = rolling.at("/maxUnavailable");
            let path = rolling_path.child("maxUnavailable");
            if !down.is_null() {
                int_or_percent(errors, &path, down);
                if is_zero(down) {
                    errors.invalid(&path, down.clone(), "cannot be 0");
                }
                is_not_more_than_100_percent(errors, &path, down);
            }
        }
        _ => errors.invalid(
            path,
            strategy.clone(),
            "must be 'RollingUpdate' or 'OnDelete'",
        ),
    }
}

const MUTABLE_FIELDS: [&str; 7] = [
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
];

fn validate_mutable_fields(errors: &mut ErrorList, new: &Value, old: &Value) {
    let rest = |set: &Value| {
        let mut spec = set.at("/spec").clone();
        for field in MUTABLE_FIELDS {
            spec.remove_key(field);
        }
        spec
    };
    if rest(new) != rest(old) {
        let detail = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
        errors.forbidden(&SPEC, detail);
    }
}

fn status(set: &Value) -> Vec<FieldError> {
    let counts = [
        "replicas",
        "readyReplicas",
        "currentReplicas",
        "updatedReplicas",
        "observedGeneration",
        "collisionCount",
        "availableReplicas",
    ];
    let parts = [
        "readyReplicas",
        "currentReplicas",
        "updatedReplicas",
        "availableReplicas",
    ];
    let above_ready = "cannot be greater than status.readyReplicas";
    validate_replica_counts(set.at("/status"), &counts, &parts, above_ready)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mutable_fields() {
        let mut old = json!({"metadata": {"name": "s"}, "spec": {"serviceName": "a", "selector": {"matchLabels": {"app": "x"}},
            "template": {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}}}});
        default(&mut old);
        assert_eq!((STRATEGY.validate_create)(&old), vec![]);
        let mut new = old.clone();
        new["spec"]["replicas"] = 3.into();
        assert_eq!((STRATEGY.validate_update)(&new, &old), vec![]);
        new["spec"]["serviceName"] = "b".into();
        let errors = (STRATEGY.validate_update)(&new, &old);
        assert!(
            errors[0]
                .to_string()
                .starts_with("spec: Forbidden: updates to statefulset spec for fields other than")
        );
    }
}

//! Stateful sets.

use serde_json::{Value, json};

use super::rollout::{amount, is_zero, not_above_all};
use super::{SPEC, counted, not_above, selector, template};
use crate::field::FieldError;
use crate::kinds::check::{Errors, Path};
use crate::kinds::meta::names;
use crate::kinds::pod;
use crate::kinds::rules::Rules;
use crate::kinds::value::{Fill, Look};

pub(super) const RULES: Rules = Rules {
    name: names::label_name,
    default,
    prepare_create: |set| set["status"] = json!({"replicas": 0, "availableReplicas": 0}),
    create: |set| {
        let mut errors = Errors::default();
        spec(&mut errors, set.at("/spec"));
        errors.0
    },
    update: |new, old| {
        let mut errors = Errors::default();
        spec(&mut errors, new.at("/spec"));
        only_some_change(&mut errors, new, old);
        errors.0
    },
    subresource: |_, new, _| status(new),
    warnings: super::warnings,
    generation_of: &["spec"],
    ..Rules::PLAIN
};

fn default(set: &mut Value) {
    let Some(spec) = set.child_if("spec") else {
        return;
    };
    spec.or_set("replicas", 1);
    spec.or_set("revisionHistoryLimit", 10);
    spec.or_set("podManagementPolicy", "OrderedReady");
    let strategy = spec.child("updateStrategy");
    strategy.or_set("type", "RollingUpdate");
    if strategy.text("/type") == "RollingUpdate" {
        strategy.child("rollingUpdate").or_set("partition", 0);
    }
    let retention = spec.child("persistentVolumeClaimRetentionPolicy");
    retention.or_set("whenDeleted", "Retain");
    retention.or_set("whenScaled", "Retain");
    for claim in spec.items_mut("volumeClaimTemplates") {
        claim.or_set("apiVersion", "v1");
        claim.or_set("kind", "PersistentVolumeClaim");
        claim.child("spec").or_set("volumeMode", "Filesystem");
        claim.child("status").or_set("phase", "Pending");
    }
    pod::defaults::template(spec);
}

fn spec(errors: &mut Errors, spec: &Value) {
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

fn strategy(errors: &mut Errors, path: &Path<'_>, strategy: &Value) {
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
                amount(errors, &path, down);
                if is_zero(down) {
                    errors.invalid(&path, down.clone(), "cannot be 0");
                }
                not_above_all(errors, &path, down);
            }
        }
        _ => errors.invalid(
            path,
            strategy.clone(),
            "must be 'RollingUpdate' or 'OnDelete'",
        ),
    }
}

const MUTABLE: [&str; 7] = [
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
];

fn only_some_change(errors: &mut Errors, new: &Value, old: &Value) {
    let rest = |set: &Value| {
        let mut spec = set.at("/spec").clone();
        for field in MUTABLE {
            spec.take_key(field);
        }
        spec
    };
    if rest(new) != rest(old) {
        let detail = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
        errors.forbidden(&SPEC, detail);
    }
}

fn status(set: &Value) -> Vec<FieldError> {
    let mut errors = Errors::default();
    let status = set.at("/status");
    let fields = [
        "replicas",
        "readyReplicas",
        "currentReplicas",
        "updatedReplicas",
        "observedGeneration",
        "collisionCount",
        "availableReplicas",
    ];
    counted(&mut errors, status, &fields);
    let above = "cannot be greater than status.replicas";
    not_above(
        &mut errors,
        status,
        &[
            ("readyReplicas", "replicas", above),
            ("currentReplicas", "replicas", above),
            ("updatedReplicas", "replicas", above),
            ("availableReplicas", "replicas", above),
            (
                "availableReplicas",
                "readyReplicas",
                "cannot be greater than status.readyReplicas",
            ),
        ],
    );
    errors.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_change() {
        let mut old = json!({"metadata": {"name": "s"}, "spec": {"serviceName": "a", "selector": {"matchLabels": {"app": "x"}},
            "template": {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}}}});
        default(&mut old);
        assert_eq!((RULES.create)(&old), vec![]);
        let mut new = old.clone();
        new["spec"]["replicas"] = 3.into();
        assert_eq!((RULES.update)(&new, &old), vec![]);
        new["spec"]["serviceName"] = "b".into();
        let errors = (RULES.update)(&new, &old);
        assert!(
            errors[0]
                .to_string()
                .starts_with("spec: Forbidden: updates to statefulset spec for fields other than")
        );
    }
}

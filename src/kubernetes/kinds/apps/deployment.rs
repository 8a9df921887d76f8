//! Deployments.

use serde_json::{Value, json};

use super::common::{
    SPEC, selector, template, validate_immutable_selector, validate_replica_counts,
};
use super::int_or_percent::{int_or_percent, is_not_more_than_100_percent, is_zero};
use crate::builtin_strategy::BuiltinStrategy;
use crate::pod;
use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_field::FieldError;
use kueue_lab_json::{ValueExt, ValueMutExt};

pub(super) const STRATEGY: BuiltinStrategy = BuiltinStrategy {
    set_defaults: default,
    prepare_for_create: |deployment| deployment["status"] = json!({}),
    validate_create: |deployment| {
        let mut errors = ErrorList::default();
        spec(&mut errors, deployment.at("/spec"));
        errors.0
    },
    validate_update: |new, old| {
        let mut errors = ErrorList::default();
        spec(&mut errors, new.at("/spec"));
        validate_immutable_selector(&mut errors, new, old);
        errors.0
    },
    validate_subresource_update: |_, new, _| status(new),
    warnings: super::common::warnings,
    generation_fields: &["spec"],
    // A rollback updates annotations, so annotation changes increment the generation.
    generation_counts_annotations: true,
    ..BuiltinStrategy::DEFAULT
};

fn default(deployment: &mut Value) {
    let Some(spec) = deployment.get_object_mut("spec") else {
        return;
    };
    spec.set_default("replicas", 1);
    spec.set_default("revisionHistoryLimit", 10);
    spec.set_default("progressDeadlineSeconds", 600);
    let strategy = spec.object_mut("strategy");
    strategy.set_default("type", "RollingUpdate");
    if strategy.text("/type") == "RollingUpdate" {
        let rolling = strategy.object_mut("rollingUpdate");
        rolling.set_default("maxUnavailable", "25%");
        rolling.set_default("maxSurge", "25%");
    }
    pod::defaults::template(spec);
}

fn spec(errors: &mut ErrorList, spec: &Value) {
    errors.not_negative(&SPEC, spec, "replicas");
    selector(errors, spec, "deployment");
    template(errors, spec, "ReplicaSet");
    strategy(errors, spec.at("/strategy"));
    errors.not_negative(&SPEC, spec, "minReadySeconds");
    errors.not_negative(&SPEC, spec, "revisionHistoryLimit");
    if let Some(seconds) = spec.at("/progressDeadlineSeconds").as_i64() {
        errors.not_negative(&SPEC, spec, "progressDeadlineSeconds");
        if seconds <= spec.int("/minReadySeconds") {
            let path = SPEC.child("progressDeadlineSeconds");
            errors.invalid(&path, seconds, "must be greater than minReadySeconds");
        }
    }
}

fn strategy(errors: &mut ErrorList, strategy: &Value) {
    let path = SPEC.child("strategy");
    let rolling_path = path.child("rollingUpdate");
    match strategy.text("/type") {
        "Recreate" if strategy.has("/rollingUpdate") => {
            let detail = "may not be specified when strategy `type` is 'Recreate'";
            errors.forbidden(&rolling_path, detail);
        }
        "Recreate" => {}
        "RollingUpdate" => {
            let rolling = strategy.at("/rollingUpdate");
            let (down, up) = (rolling.at("/maxUnavailable"), rolling.at("/maxSurge"));
            let down_path = rolling_path.child("maxUnavailable");
            int_or_percent(errors, &down_path, down);
            int_or_percent(errors, &rolling_path.child("maxSurge"), up);
            if is_zero(down) && is_zero(up) {
                errors.invalid(
                    &down_path,
                    down.clone(),
                    "may not be 0 when `maxSurge` is 0",
                );
            }
            is_not_more_than_100_percent(errors, &down_path, down);
        }
        other => errors.one_of(&path.child("type"), other, &["Recreate", "RollingUpdate"]),
    }
}

fn status(new: &Value) -> Vec<FieldError> {
    let counts = [
        "observedGeneration",
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
        "unavailableReplicas",
        "terminatingReplicas",
        "collisionCount",
    ];
    let parts = ["updatedReplicas", "readyReplicas", "availableReplicas"];
    let above_ready = "cannot be greater than readyReplicas";
    validate_replica_counts(new.at("/status"), &counts, &parts, above_ready)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_and_checks() {
        let mut d = json!({"metadata": {"name": "d"}, "spec": {"replicas": -1, "selector": {"matchLabels": {"app": "x"}},
            "strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "0%"}}, "progressDeadlineSeconds": 5, "minReadySeconds": 5,
            "template": {"metadata": {"labels": {"app": "y"}}, "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "x"}]}}}});
        default(&mut d);
        let texts: Vec<String> = (STRATEGY.validate_create)(&d)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            texts,
            [
                "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
                r#"spec.template.metadata.labels: Invalid value: {"app":"y"}: `selector` does not match template `labels`"#,
                r#"spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always""#,
                r#"spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "0%": may not be 0 when `maxSurge` is 0"#,
                "spec.progressDeadlineSeconds: Invalid value: 5: must be greater than minReadySeconds",
            ]
        );
        let mut other = d.clone();
        other["spec"]["selector"] = json!({"matchLabels": {"app": "y"}});
        let last = (STRATEGY.validate_update)(&other, &d)
            .last()
            .map(ToString::to_string);
        assert_eq!(
            last.unwrap(),
            r#"spec.selector: Invalid value: {"matchLabels":{"app":"y"}}: field is immutable"#
        );
    }
}

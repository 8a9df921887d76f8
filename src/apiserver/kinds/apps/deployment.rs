//! Deployments.

use serde_json::{Value, json};

use super::rollout::{amount, is_zero, not_above_all};
use super::{SPEC, counted, not_above, selector, selector_stays, template};
use crate::field::FieldError;
use crate::kinds::check::Errors;
use crate::kinds::pod;
use crate::kinds::rules::Rules;
use crate::kinds::value::{Fill, Look};

pub(super) const RULES: Rules = Rules {
    default,
    prepare_create: |deployment| deployment["status"] = json!({}),
    create: |deployment| {
        let mut errors = Errors::default();
        spec(&mut errors, deployment.at("/spec"));
        errors.0
    },
    update: |new, old| {
        let mut errors = Errors::default();
        spec(&mut errors, new.at("/spec"));
        selector_stays(&mut errors, new, old);
        errors.0
    },
    subresource: |_, new, old| status(new, old),
    warnings: super::warnings,
    generation_of: &["spec"],
    // Rolling back writes an annotation; it counts as a change of what is wanted.
    generation_of_annotations: true,
    ..Rules::PLAIN
};

fn default(deployment: &mut Value) {
    let Some(spec) = deployment.child_if("spec") else {
        return;
    };
    spec.or_set("replicas", 1);
    spec.or_set("revisionHistoryLimit", 10);
    spec.or_set("progressDeadlineSeconds", 600);
    let strategy = spec.child("strategy");
    strategy.or_set("type", "RollingUpdate");
    if strategy.text("/type") == "RollingUpdate" {
        let rolling = strategy.child("rollingUpdate");
        rolling.or_set("maxUnavailable", "25%");
        rolling.or_set("maxSurge", "25%");
    }
    pod::defaults::template(spec);
}

fn spec(errors: &mut Errors, spec: &Value) {
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

fn strategy(errors: &mut Errors, strategy: &Value) {
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
            amount(errors, &down_path, down);
            amount(errors, &rolling_path.child("maxSurge"), up);
            if is_zero(down) && is_zero(up) {
                errors.invalid(
                    &down_path,
                    down.clone(),
                    "may not be 0 when `maxSurge` is 0",
                );
            }
            not_above_all(errors, &down_path, down);
        }
        other => errors.one_of(&path.child("type"), other, &["Recreate", "RollingUpdate"]),
    }
}

fn status(new: &Value, _old: &Value) -> Vec<FieldError> {
    let mut errors = Errors::default();
    let status = new.at("/status");
    let fields = [
        "observedGeneration",
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
        "unavailableReplicas",
        "terminatingReplicas",
        "collisionCount",
    ];
    counted(&mut errors, status, &fields);
    let above = "cannot be greater than status.replicas";
    not_above(
        &mut errors,
        status,
        &[
            ("updatedReplicas", "replicas", above),
            ("readyReplicas", "replicas", above),
            ("availableReplicas", "replicas", above),
            (
                "availableReplicas",
                "readyReplicas",
                "cannot be greater than readyReplicas",
            ),
        ],
    );
    errors.0
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
        let texts: Vec<String> = (RULES.create)(&d).iter().map(ToString::to_string).collect();
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
        let last = (RULES.update)(&other, &d).last().map(ToString::to_string);
        assert_eq!(
            last.unwrap(),
            r#"spec.selector: Invalid value: {"matchLabels":{"app":"y"}}: field is immutable"#
        );
    }
}

//! Daemon sets.

use serde_json::{Value, json};

use super::rollout::{amount, is_zero, not_above_all};
use super::{SPEC, always_restarted, counted, selector_stays};
use crate::field::FieldError;
use crate::kinds::check::{Errors, Path};
use crate::kinds::meta::labels;
use crate::kinds::pod;
use crate::kinds::rules::Rules;
use crate::kinds::value::{Fill, Look};

pub(super) const RULES: Rules = Rules {
    default,
    prepare_create: |set| set["status"] = empty_status(),
    create: |set| checks(set),
    update: |new, old| {
        let mut errors = Errors(checks(new));
        selector_stays(&mut errors, new, old);
        errors.0
    },
    subresource: |_, new, _| {
        let mut errors = Errors::default();
        let fields = [
            "currentNumberScheduled",
            "numberMisscheduled",
            "desiredNumberScheduled",
            "numberReady",
            "observedGeneration",
            "updatedNumberScheduled",
            "numberAvailable",
            "numberUnavailable",
        ];
        counted(&mut errors, new.at("/status"), &fields);
        errors.0
    },
    warnings: super::warnings,
    generation_of: &["spec"],
    ..Rules::PLAIN
};

fn empty_status() -> Value {
    json!({
        "currentNumberScheduled": 0,
        "numberMisscheduled": 0,
        "desiredNumberScheduled": 0,
        "numberReady": 0,
    })
}

fn default(set: &mut Value) {
    let Some(spec) = set.child_if("spec") else {
        return;
    };
    spec.or_set("revisionHistoryLimit", 10);
    let strategy = spec.child("updateStrategy");
    strategy.or_set("type", "RollingUpdate");
    if strategy.text("/type") == "RollingUpdate" {
        let rolling = strategy.child("rollingUpdate");
        rolling.or_set("maxUnavailable", 1);
        rolling.or_set("maxSurge", 0);
    }
    pod::defaults::template(spec);
}

fn checks(set: &Value) -> Vec<FieldError> {
    let mut errors = Errors::default();
    let spec = set.at("/spec");
    let (selector, path) = (spec.at("/selector"), SPEC.child("selector"));
    errors.extend(labels::validate_selector(selector, &path.to_string()));
    let own = spec.at("/template/metadata/labels");
    let template = SPEC.child("template");
    if !labels::selects(selector, own) {
        let metadata = template.child("metadata");
        let detail = "`selector` does not match template `labels`";
        errors.invalid(&metadata.child("labels"), own.clone(), detail);
    }
    if !selector.is_null() && labels::is_empty_selector(selector) {
        let detail = "empty selector is invalid for daemonset";
        errors.invalid_as(&path, labels::shown_selector(selector), detail);
    }
    pod::validate_template(&mut errors, &template, spec.at("/template"));
    always_restarted(&mut errors, &template, spec.at("/template"), "DaemonSet");
    errors.not_negative(&SPEC, spec, "minReadySeconds");
    strategy(
        &mut errors,
        &SPEC.child("updateStrategy"),
        spec.at("/updateStrategy"),
    );
    errors.not_negative(&SPEC, spec, "revisionHistoryLimit");
    errors.0
}

fn strategy(errors: &mut Errors, path: &Path<'_>, strategy: &Value) {
    match strategy.text("/type") {
        "OnDelete" => {}
        "RollingUpdate" => {
            let rolling = strategy.at("/rollingUpdate");
            let path = path.child("rollingUpdate");
            let (down, up) = (rolling.at("/maxUnavailable"), rolling.at("/maxSurge"));
            let (down_path, up_path) = (path.child("maxUnavailable"), path.child("maxSurge"));
            amount(errors, &down_path, down);
            not_above_all(errors, &down_path, down);
            amount(errors, &up_path, up);
            not_above_all(errors, &up_path, up);
            match (is_zero(down), is_zero(up)) {
                (false, false) => {
                    errors.invalid(
                        &up_path,
                        up.clone(),
                        "may not be set when maxUnavailable is non-zero",
                    );
                }
                (true, true) => errors.required(&down_path, "cannot be 0 when maxSurge is 0"),
                _ => {}
            }
        }
        other => errors.one_of(&path.child("type"), other, &["RollingUpdate", "OnDelete"]),
    }
}

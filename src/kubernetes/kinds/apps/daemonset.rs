//! DaemonSets.

use serde_json::{Value, json};

use super::common::{
    SPEC, always_restarted, validate_immutable_selector, validate_non_negative_counts,
};
use super::int_or_percent::{int_or_percent, is_not_more_than_100_percent, is_zero};
use crate::builtin_strategy::BuiltinStrategy;
use crate::pod;
use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;
use kueue_lab_apimachinery::metadata_validation::labels;
use kueue_lab_field::FieldError;
use kueue_lab_json::{ValueExt, ValueMutExt};

pub(super) const STRATEGY: BuiltinStrategy = BuiltinStrategy {
    set_defaults: default,
    prepare_for_create: |set| set["status"] = empty_status(),
    validate_create: |set| checks(set),
    validate_update: |new, old| {
        let mut errors = ErrorList(checks(new));
        validate_immutable_selector(&mut errors, new, old);
        errors.0
    },
    validate_subresource_update: |_, new, _| {
        let mut errors = ErrorList::default();
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
        validate_non_negative_counts(&mut errors, new.at("/status"), &fields);
        errors.0
    },
    warnings: super::common::warnings,
    generation_fields: &["spec"],
    ..BuiltinStrategy::DEFAULT
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
    let Some(spec) = set.get_object_mut("spec") else {
        return;
    };
    spec.set_default("revisionHistoryLimit", 10);
    let strategy = spec.object_mut("updateStrategy");
    strategy.set_default("type", "RollingUpdate");
    if strategy.text("/type") == "RollingUpdate" {
        let rolling = strategy.object_mut("rollingUpdate");
        rolling.set_default("maxUnavailable", 1);
        rolling.set_default("maxSurge", 0);
    }
    pod::defaults::template(spec);
}

fn checks(set: &Value) -> Vec<FieldError> {
    let mut errors = ErrorList::default();
    let spec = set.at("/spec");
    let (selector, path) = (spec.at("/selector"), SPEC.child("selector"));
    errors.extend(labels::validate_selector(selector, &path.to_string()));
    let own = spec.at("/template/metadata/labels");
    let template = SPEC.child("template");
    if !labels::selector_matches(selector, own) {
        let metadata = template.child("metadata");
        let detail = "`selector` does not match template `labels`";
        errors.invalid(&metadata.child("labels"), own.clone(), detail);
    }
    if !selector.is_null() && labels::is_empty_selector(selector) {
        let detail = "empty selector is invalid for daemonset";
        errors.invalid_with_text(&path, labels::go_selector_string(selector), detail);
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

fn strategy(errors: &mut ErrorList, path: &FieldPath<'_>, strategy: &Value) {
    match strategy.text("/type") {
        "OnDelete" => {}
        "RollingUpdate" => {
            let rolling = strategy.at("/rollingUpdate");
            let path = path.child("rollingUpdate");
            let (down, up) = (rolling.at("/maxUnavailable"), rolling.at("/maxSurge"));
            let (down_path, up_path) = (path.child("maxUnavailable"), path.child("maxSurge"));
            int_or_percent(errors, &down_path, down);
            is_not_more_than_100_percent(errors, &down_path, down);
            int_or_percent(errors, &up_path, up);
            is_not_more_than_100_percent(errors, &up_path, up);
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

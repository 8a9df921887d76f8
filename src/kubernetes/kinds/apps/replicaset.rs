//! ReplicaSets.

use serde_json::{Value, json};

use super::common::{
    SPEC, selector, template, validate_immutable_selector, validate_replica_counts,
};
use crate::builtin_strategy::BuiltinStrategy;
use crate::pod;
use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_field::FieldError;
use kueue_lab_json::{ValueExt, ValueMutExt};

pub(super) const REPLICA_SET: BuiltinStrategy = BuiltinStrategy {
    set_defaults: |set| {
        if let Some(spec) = set.get_object_mut("spec") {
            spec.set_default("replicas", 1);
            pod::defaults::template(spec);
        }
    },
    prepare_for_create: |set| set["status"] = json!({"replicas": 0}),
    validate_create: |set| replica_set(set),
    validate_update: |new, old| {
        let mut errors = ErrorList(replica_set(new));
        validate_immutable_selector(&mut errors, new, old);
        errors.0
    },
    validate_subresource_update: |_, new, _| status(new),
    warnings: super::common::warnings,
    generation_fields: &["spec"],
    ..BuiltinStrategy::DEFAULT
};

fn replica_set(set: &Value) -> Vec<FieldError> {
    let mut errors = ErrorList::default();
    let spec = set.at("/spec");
    errors.not_negative(&SPEC, spec, "replicas");
    errors.not_negative(&SPEC, spec, "minReadySeconds");
    selector(&mut errors, spec, "deployment");
    template(&mut errors, spec, "ReplicaSet");
    errors.0
}

pub(super) fn status(set: &Value) -> Vec<FieldError> {
    let counts = [
        "replicas",
        "fullyLabeledReplicas",
        "readyReplicas",
        "availableReplicas",
        "observedGeneration",
    ];
    let parts = ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"];
    let above_ready = "cannot be greater than readyReplicas";
    validate_replica_counts(set.at("/status"), &counts, &parts, above_ready)
}

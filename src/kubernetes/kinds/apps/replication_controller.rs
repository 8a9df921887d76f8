//! ReplicationControllers.

use serde_json::{Value, json};

use super::common::{SPEC, always_restarted};
use super::replicaset::status;
use crate::builtin_strategy::{BuiltinStrategy, SelectableFields};
use crate::pod;
use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_field::FieldError;
use kueue_lab_json::{ValueExt, ValueMutExt};

/// Strategy of ReplicationControllers.
pub(crate) const REPLICATION_CONTROLLER: BuiltinStrategy = BuiltinStrategy {
    selectable_fields: SelectableFields::Some(&[("status.replicas", "/status/replicas", "0")]),
    set_defaults: controller_default,
    prepare_for_create: |controller| controller["status"] = json!({"replicas": 0}),
    validate_create: |controller| controller_checks(controller),
    validate_update: |new, _| controller_checks(new),
    validate_subresource_update: |_, new, _| status(new),
    warnings: super::common::warnings,
    generation_fields: &["spec"],
    orphans_dependents_by_default: true,
    ..BuiltinStrategy::DEFAULT
};

fn controller_default(controller: &mut Value) {
    let labels = controller.at("/spec/template/metadata/labels").clone();
    let Some(spec) = controller.get_object_mut("spec") else {
        return;
    };
    spec.set_default("replicas", 1);
    pod::defaults::template(spec);
    if labels.entries("").next().is_none() {
        return;
    }
    if spec.entries("/selector").next().is_none() {
        spec.set_or_remove("selector", Some(labels.clone()));
    }
    if controller.entries("/metadata/labels").next().is_none() {
        controller
            .object_mut("metadata")
            .set_or_remove("labels", Some(labels));
    }
}

fn controller_checks(controller: &Value) -> Vec<FieldError> {
    let mut errors = ErrorList::default();
    let spec = controller.at("/spec");
    errors.not_negative(&SPEC, spec, "minReadySeconds");
    let selector = spec.at("/selector");
    if selector.entries("").next().is_none() {
        errors.required(&SPEC.child("selector"), "");
    }
    errors.not_negative(&SPEC, spec, "replicas");
    let path = SPEC.child("template");
    if !spec.has("/template") {
        errors.required(&path, "");
        return errors.0;
    }
    let own = spec.at("/template/metadata/labels");
    if !selector
        .entries("")
        .all(|(key, value)| own.get(key) == Some(value))
    {
        let metadata = path.child("metadata");
        let detail = "`selector` does not match template `labels`";
        errors.invalid(&metadata.child("labels"), own.clone(), detail);
    }
    pod::validate_template(&mut errors, &path, spec.at("/template"));
    always_restarted(
        &mut errors,
        &path,
        spec.at("/template"),
        "ReplicationController",
    );
    errors.0
}

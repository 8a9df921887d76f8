//! Replica sets and replication controllers.

use serde_json::{Value, json};

use super::{SPEC, always_restarted, counted, not_above, selector, selector_stays, template};
use crate::field::FieldError;
use crate::kinds::check::Errors;
use crate::kinds::pod;
use crate::kinds::rules::{Fields, Rules};
use crate::kinds::value::{Fill, Look};

pub(super) const REPLICA_SET: Rules = Rules {
    default: |set| {
        if let Some(spec) = set.child_if("spec") {
            spec.or_set("replicas", 1);
            pod::defaults::template(spec);
        }
    },
    prepare_create: |set| set["status"] = json!({"replicas": 0}),
    create: |set| replica_set(set),
    update: |new, old| {
        let mut errors = Errors(replica_set(new));
        selector_stays(&mut errors, new, old);
        errors.0
    },
    subresource: |_, new, _| status(new),
    warnings: super::warnings,
    generation_of: &["spec"],
    ..Rules::PLAIN
};

fn replica_set(set: &Value) -> Vec<FieldError> {
    let mut errors = Errors::default();
    let spec = set.at("/spec");
    errors.not_negative(&SPEC, spec, "replicas");
    errors.not_negative(&SPEC, spec, "minReadySeconds");
    selector(&mut errors, spec, "deployment");
    template(&mut errors, spec, "ReplicaSet");
    errors.0
}

fn status(set: &Value) -> Vec<FieldError> {
    let mut errors = Errors::default();
    let status = set.at("/status");
    let fields = [
        "replicas",
        "fullyLabeledReplicas",
        "readyReplicas",
        "availableReplicas",
        "observedGeneration",
    ];
    counted(&mut errors, status, &fields);
    let above = "cannot be greater than status.replicas";
    not_above(
        &mut errors,
        status,
        &[
            ("fullyLabeledReplicas", "replicas", above),
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

/// The rules of replication controllers.
pub const REPLICATION_CONTROLLER: Rules = Rules {
    fields: Fields::Some(&[("status.replicas", "/status/replicas", "0")]),
    default: controller_default,
    prepare_create: |controller| controller["status"] = json!({"replicas": 0}),
    create: |controller| controller_checks(controller),
    update: |new, _| controller_checks(new),
    subresource: |_, new, _| status(new),
    warnings: super::warnings,
    generation_of: &["spec"],
    orphans_by_default: true,
    ..Rules::PLAIN
};

fn controller_default(controller: &mut Value) {
    let labels = controller.at("/spec/template/metadata/labels").clone();
    let Some(spec) = controller.child_if("spec") else {
        return;
    };
    spec.or_set("replicas", 1);
    pod::defaults::template(spec);
    if labels.entries("").next().is_none() {
        return;
    }
    if spec.entries("/selector").next().is_none() {
        spec.put("selector", Some(labels.clone()));
    }
    if controller.entries("/metadata/labels").next().is_none() {
        controller.child("metadata").put("labels", Some(labels));
    }
}

fn controller_checks(controller: &Value) -> Vec<FieldError> {
    let mut errors = Errors::default();
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

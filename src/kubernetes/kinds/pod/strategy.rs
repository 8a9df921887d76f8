//! Strategy of pods.

use serde_json::{Value, json};

use super::{container, defaults, qos, resize, scheduling, spec, status, update};
use crate::builtin_strategy::BuiltinStrategy;
use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;
use kueue_lab_field::FieldError;
use kueue_lab_json::{ValueExt, ValueMutExt};

/// Strategy of pods without its selectable fields.
pub(crate) const STRATEGY: BuiltinStrategy = BuiltinStrategy {
    set_defaults: defaults::pod,
    prepare_for_create: prepare_create,
    prepare_for_update: prepare_update,
    prepare_for_subresource_update: prepare_subresource,
    validate_create,
    validate_update: update::validate,
    validate_subresource_update: validate_subresource,
    warnings,
    generation_fields: &["spec"],
    ..BuiltinStrategy::DEFAULT
};

pub(crate) const SPEC: FieldPath<'_> = FieldPath::root("spec");

fn prepare_create(pod: &mut Value) {
    let mut status = json!({"phase": "Pending", "qosClass": qos::class(pod)});
    if !pod.list("/spec/schedulingGates").is_empty() {
        status["conditions"] = json!([scheduling_gated_condition(pod)]);
    }
    pod["status"] = status;
    scheduling::apply_match_label_keys(pod);
}

/// The PodScheduled condition of a pod with scheduling gates.
fn scheduling_gated_condition(pod: &Value) -> Value {
    json!({
        "type": "PodScheduled",
        "status": "False",
        "reason": "SchedulingGated",
        "message": "Scheduling is blocked due to non-empty scheduling gates",
        "lastProbeTime": null,
        "lastTransitionTime": pod.at("/metadata/creationTimestamp"),
    })
}

fn prepare_update(new: &mut Value, old: &Value) {
    // Ephemeral containers are set through the `ephemeralcontainers` subresource only.
    if new.at("/spec/ephemeralContainers").is_null() && old.has("/spec/ephemeralContainers") {
        let kept = old.at("/spec/ephemeralContainers").clone();
        new.object_mut("spec")
            .set_or_remove("ephemeralContainers", Some(kept));
    }
}

fn prepare_subresource(subresource: &str, new: &mut Value, old: &Value) {
    match subresource {
        // The API server alone sets the QoS class.
        "status" if !new.has("/status/qosClass") && old.has("/status/qosClass") => {
            let class = old.at("/status/qosClass").clone();
            new.object_mut("status")
                .set_or_remove("qosClass", Some(class));
        }
        "ephemeralcontainers" => {
            let containers = new.at("/spec/ephemeralContainers").clone();
            let mut kept = old.clone();
            kept["metadata"] = new.at("/metadata").clone();
            let containers = (!containers.is_null()).then_some(containers);
            kept.object_mut("spec")
                .set_or_remove("ephemeralContainers", containers);
            *new = kept;
        }
        "resize" => resize::prepare(new, old),
        _ => {}
    }
}

fn validate_create(pod: &Value) -> Vec<FieldError> {
    let mut errors = ErrorList::default();
    metadata_and_spec(&mut errors, pod);
    if !pod.list("/spec/ephemeralContainers").is_empty() {
        errors.forbidden(
            &SPEC.child("ephemeralContainers"),
            "cannot be set on create",
        );
    }
    if !pod.text("/spec/nodeName").is_empty() && !pod.list("/spec/schedulingGates").is_empty() {
        let detail = "cannot be set until all schedulingGates have been cleared";
        errors.forbidden(&SPEC.child("nodeName"), detail);
    }
    errors.0
}

/// Metadata and spec validation common to create and update.
pub(crate) fn metadata_and_spec(errors: &mut ErrorList, pod: &Value) {
    let metadata = FieldPath::root("metadata");
    annotations(
        errors,
        &metadata.child("annotations"),
        pod.at("/metadata/annotations"),
    );
    spec::validate(errors, &SPEC, pod.at("/spec"), true);
    if pod.text("/spec/serviceAccountName").is_empty() {
        validate_token_volumes_have_service_account(errors, pod);
    }
    for field in ["containers", "initContainers"] {
        let path = SPEC.child(field);
        for (i, container) in pod
            .at("/spec")
            .list(&format!("/{field}"))
            .iter()
            .enumerate()
        {
            container::validate_image_spaces(errors, &path.index(i), container);
        }
    }
}

/// Validates the well-known annotations of pods and pod templates.
pub(crate) fn annotations(errors: &mut ErrorList, path: &FieldPath<'_>, annotations: &Value) {
    const COST: &str = "controller.kubernetes.io/pod-deletion-cost";
    if let Some(cost) = annotations.get(COST).and_then(Value::as_str)
        && cost.parse::<i32>().is_err()
    {
        errors.invalid(&path.key(COST), cost, "must be a 32bit integer");
    }
}

fn validate_token_volumes_have_service_account(errors: &mut ErrorList, pod: &Value) {
    let volumes = SPEC.child("volumes");
    for (i, volume) in pod.list("/spec/volumes").iter().enumerate() {
        for (j, source) in volume.list("/projected/sources").iter().enumerate() {
            if source.has("/serviceAccountToken") {
                let volume = volumes.index(i);
                let sources = volume.child("projected");
                let sources = sources.child("sources");
                let source = sources.index(j);
                let path = source.child("serviceAccountToken");
                errors.forbidden(
                    &path,
                    "must not be specified when serviceAccountName is not set",
                );
            }
        }
    }
}

fn validate_subresource(subresource: &str, new: &Value, old: &Value) -> Vec<FieldError> {
    match subresource {
        "status" => status::validate(new, old),
        "ephemeralcontainers" => update::validate_ephemeral_containers(new, old),
        "resize" => resize::validate(new, old),
        _ => Vec::new(),
    }
}

pub(crate) fn warnings(new: &Value, _old: Option<&Value>) -> Vec<String> {
    spec::warnings(new.at("/spec"), "spec")
}

/// Validates the pod template at `path`.
pub(crate) fn validate_template(errors: &mut ErrorList, path: &FieldPath<'_>, template: &Value) {
    let metadata = template.at("/metadata");
    let labels = path.child("labels").to_string();
    errors.extend(
        kueue_lab_apimachinery::metadata_validation::labels::validate(
            metadata.at("/labels"),
            &labels,
        ),
    );
    let annotations_path = path.child("annotations");
    let found = kueue_lab_apimachinery::metadata_validation::annotations(
        metadata.at("/annotations"),
        &annotations_path.to_string(),
    );
    errors.extend(found);
    annotations(errors, &annotations_path, metadata.at("/annotations"));
    let spec_path = path.child("spec");
    spec::validate(errors, &spec_path, template.at("/spec"), false);
    if !template.list("/spec/ephemeralContainers").is_empty() {
        let detail = "ephemeral containers not allowed in pod template";
        errors.forbidden(&spec_path.child("ephemeralContainers"), detail);
    }
}

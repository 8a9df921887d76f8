//! Events of the core group and of `events.k8s.io`.

use serde_json::Value;

use crate::apimachinery::error_list::ErrorList;
use crate::apimachinery::field_path::FieldPath;
use crate::kinds::builtin_strategy::{BuiltinStrategy, SelectableFields};
use kueue_lab_field::FieldError;
use kueue_lab_json::ValueExt;

pub(super) fn strategy_of(group: &str) -> BuiltinStrategy {
    match group {
        "" => CORE_V1,
        _ => EVENTS_V1,
    }
}

const CORE_V1: BuiltinStrategy = BuiltinStrategy {
    validate_create: |event| validate_event_namespace(event, "involvedObject"),
    allow_create_on_update: true,
    selectable_fields: SelectableFields::Some(&[
        ("involvedObject.kind", "/involvedObject/kind", ""),
        ("involvedObject.namespace", "/involvedObject/namespace", ""),
        ("involvedObject.name", "/involvedObject/name", ""),
        ("involvedObject.uid", "/involvedObject/uid", ""),
        (
            "involvedObject.apiVersion",
            "/involvedObject/apiVersion",
            "",
        ),
        (
            "involvedObject.resourceVersion",
            "/involvedObject/resourceVersion",
            "",
        ),
        ("involvedObject.fieldPath", "/involvedObject/fieldPath", ""),
        ("reason", "/reason", ""),
        ("reportingComponent", "/reportingComponent", ""),
        ("source", "/source/component", ""),
        ("source", "/reportingComponent", ""),
        ("type", "/type", ""),
    ]),
    ..BuiltinStrategy::DEFAULT
};

const EVENTS_V1: BuiltinStrategy = BuiltinStrategy {
    validate_create: |event| {
        let mut errors = ErrorList(validate_event_namespace(event, "regarding"));
        for field in [
            "reportingController",
            "reportingInstance",
            "action",
            "reason",
        ] {
            if event
                .get(field)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .is_empty()
            {
                errors.required(&FieldPath::root(field), "");
            }
        }
        if !event.has("/eventTime") {
            errors.required(&FieldPath::root("eventTime"), "");
        }
        errors.0
    },
    allow_create_on_update: true,
    selectable_fields: SelectableFields::Some(&[
        ("regarding.kind", "/regarding/kind", ""),
        ("regarding.namespace", "/regarding/namespace", ""),
        ("regarding.name", "/regarding/name", ""),
        ("regarding.uid", "/regarding/uid", ""),
        ("regarding.apiVersion", "/regarding/apiVersion", ""),
        (
            "regarding.resourceVersion",
            "/regarding/resourceVersion",
            "",
        ),
        ("regarding.fieldPath", "/regarding/fieldPath", ""),
        ("reason", "/reason", ""),
        ("reportingController", "/reportingController", ""),
        ("type", "/type", ""),
    ]),
    ..BuiltinStrategy::DEFAULT
};

/// Validates that the namespace of an Event is that of the object it regards, or `default` or
/// `kube-system` for a cluster-scoped object.
fn validate_event_namespace(event: &Value, object: &str) -> Vec<FieldError> {
    let mut errors = ErrorList::default();
    let of_object = event
        .get(object)
        .map(|o| o.text("/namespace"))
        .unwrap_or_default();
    let own = event.text("/metadata/namespace");
    let fits = match of_object {
        "" => matches!(own, "default" | "kube-system" | ""),
        namespace => namespace == own,
    };
    if !fits {
        let path = FieldPath::root(object);
        errors.invalid(
            &path.child("namespace"),
            of_object,
            "does not match event.namespace",
        );
    }
    errors.0
}

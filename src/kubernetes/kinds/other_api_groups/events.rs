//! Events of the core group and of `events.k8s.io`.

use serde_json::Value;

use crate::builtin_strategy::{BuiltinStrategy, SelectableFields};
use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;
use kueue_lab_apimachinery::metadata_validation::object_names;
use kueue_lab_field::{FieldError, name_validation};
use kueue_lab_json::ValueExt;

pub(super) fn strategy_of(group: &str) -> BuiltinStrategy {
    match group {
        "" => CORE_V1,
        _ => EVENTS_V1,
    }
}

const CORE_V1: BuiltinStrategy = BuiltinStrategy {
    validate_name: object_names::path_segment_name,
    validate_create: |event| validate_legacy(event, &CORE_V1_NAMES),
    validate_update: |new, _| validate_legacy(new, &CORE_V1_NAMES),
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
    validate_create: validate_v1_create,
    validate_update: validate_v1_update,
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

/// The names of fields that differ between the API groups. Errors have the names of the internal
/// version: `involvedObject`, `message`, `reportingController`.
struct FieldNames {
    involved_object: &'static str,
    message: &'static str,
    reporting_controller: &'static str,
}

const CORE_V1_NAMES: FieldNames = FieldNames {
    involved_object: "involvedObject",
    message: "message",
    reporting_controller: "reportingComponent",
};

const EVENTS_V1_NAMES: FieldNames = FieldNames {
    involved_object: "regarding",
    message: "note",
    reporting_controller: "reportingController",
};

/// The maximum length of `reportingInstance`, `action` and `reason`, in bytes.
const TEXT_MAX: usize = 128;
/// The maximum length of `message`, in bytes.
const MESSAGE_MAX: usize = 1024;

/// A string field of the event; empty if it is absent.
fn text<'e>(event: &'e Value, field: &str) -> &'e str {
    event.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// Whether a time is set.
fn has_time(event: &Value, field: &str) -> bool {
    !matches!(text(event, field), "" | "0001-01-01T00:00:00Z")
}

/// Validates an event of either group.
fn validate_legacy(event: &Value, names: &FieldNames) -> Vec<FieldError> {
    let mut errors = ErrorList::default();
    let involved = event
        .get(names.involved_object)
        .map(|o| o.text("/namespace"))
        .unwrap_or_default();
    let namespace = event.text("/metadata/namespace");
    let is_new_style = has_time(event, "eventTime");
    let fits = match (is_new_style, involved) {
        (false, "") => matches!(namespace, "" | "default"),
        (false, involved) => involved == namespace,
        (true, "") => matches!(namespace, "default" | "kube-system"),
        (true, _) => true,
    };
    if !fits {
        let path = FieldPath::root("involvedObject");
        let detail = "does not match event.namespace";
        errors.invalid(&path.child("namespace"), involved, detail);
    }
    if is_new_style {
        validate_new_style(&mut errors, event, names);
    }
    let messages = name_validation::dns1123_subdomain(namespace);
    errors.invalid_for_each(&FieldPath::root("namespace"), namespace, messages);
    errors.0
}

/// Validates the fields that an event with `eventTime` requires.
fn validate_new_style(errors: &mut ErrorList, event: &Value, names: &FieldNames) {
    let controller = text(event, names.reporting_controller);
    let path = FieldPath::root("reportingController");
    if controller.is_empty() {
        errors.required(&path, "");
    }
    let messages = name_validation::qualified_name(controller);
    errors.invalid_for_each(&path, controller, messages);
    for field in ["reportingInstance", "action", "reason"] {
        let path = FieldPath::root(field);
        match text(event, field).len() {
            0 => errors.required(&path, ""),
            length => at_most(errors, &path, length, TEXT_MAX),
        }
    }
    let length = text(event, names.message).len();
    at_most(errors, &FieldPath::root("message"), length, MESSAGE_MAX);
}

fn at_most(errors: &mut ErrorList, path: &FieldPath<'_>, length: usize, max: usize) {
    if length > max {
        errors.invalid(path, "", format!("can have at most {max} characters"));
    }
}

/// Validates a new event of `events.k8s.io/v1`.
fn validate_v1_create(event: &Value) -> Vec<FieldError> {
    let mut errors = ErrorList(validate_legacy(event, &EVENTS_V1_NAMES));
    validate_series(&mut errors, event);
    if !has_time(event, "eventTime") {
        errors.required(&FieldPath::root("eventTime"), "");
    }
    let kind = text(event, "type");
    if !matches!(kind, "Normal" | "Warning") {
        let detail = format!("has invalid value: {kind}");
        errors.invalid(&FieldPath::root("type"), "", detail);
    }
    let source = event.at("/deprecatedSource");
    for (field, is_set) in [
        (
            "firstTimestamp",
            has_time(event, "deprecatedFirstTimestamp"),
        ),
        ("lastTimestamp", has_time(event, "deprecatedLastTimestamp")),
        ("count", event.int("/deprecatedCount") != 0),
        (
            "source",
            !text(source, "component").is_empty() || !text(source, "host").is_empty(),
        ),
    ] {
        if is_set {
            errors.invalid(&FieldPath::root(field), "", "needs to be unset");
        }
    }
    errors.0
}

/// Validates an updated event of `events.k8s.io/v1`: only its series and metadata change.
fn validate_v1_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = ErrorList(validate_legacy(new, &EVENTS_V1_NAMES));
    if new.at("/series") != old.at("/series") {
        validate_series(&mut errors, new);
    }
    for (field, name) in [
        ("involvedObject", "regarding"),
        ("reason", "reason"),
        ("message", "note"),
        ("source", "deprecatedSource"),
        ("firstTimestamp", "deprecatedFirstTimestamp"),
        ("lastTimestamp", "deprecatedLastTimestamp"),
        ("count", "deprecatedCount"),
        // Upstream compares the reason twice.
        ("reason", "reason"),
        ("type", "type"),
        ("eventTime", "eventTime"),
        ("action", "action"),
        ("related", "related"),
        ("reportingController", "reportingController"),
        ("reportingInstance", "reportingInstance"),
    ] {
        let value = |event: &Value| event.get(name).filter(|value| !is_zero(value)).cloned();
        let (now, before) = (value(new), value(old));
        if now != before {
            let path = FieldPath::root(field);
            errors.invalid(&path, now.unwrap_or_default(), "field is immutable");
        }
    }
    errors.0
}

/// Whether a value is the same as an absent one.
fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty() || text == "0001-01-01T00:00:00Z",
        Value::Number(number) => number.as_i64() == Some(0),
        Value::Object(fields) => fields.values().all(is_zero),
        _ => false,
    }
}

fn validate_series(errors: &mut ErrorList, event: &Value) {
    let series = event.at("/series");
    if series.is_null() {
        return;
    }
    if series.int("/count") < 2 {
        let path = FieldPath::root("series.count");
        errors.invalid(&path, "", "should be at least 2");
    }
    if !has_time(series, "lastObservedTime") {
        errors.required(&FieldPath::root("series.lastObservedTime"), "");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use kueue_lab_testing::texts;

    fn core(namespace: &str, involved: &str) -> Value {
        json!({
            "metadata": {"name": "e", "namespace": namespace},
            "involvedObject": {"namespace": involved},
        })
    }

    fn new_style() -> Value {
        json!({
            "metadata": {"name": "e", "namespace": "test"},
            "regarding": {"kind": "Pod", "namespace": "test", "name": "p"},
            "eventTime": "2026-03-02T12:00:00.000000Z", "type": "Normal",
            "reportingController": "example.com/c", "reportingInstance": "c-0",
            "action": "Binding", "reason": "Bound", "note": "n",
        })
    }

    #[test]
    fn the_namespaces_of_event_and_object_agree() {
        let create = CORE_V1.validate_create;
        let wrong = |involved: &str| {
            format!(
                "involvedObject.namespace: Invalid value: \"{involved}\": does not match event.namespace"
            )
        };
        for (namespace, involved, expected) in [
            ("test", "test", vec![]),
            ("test", "other", vec![wrong("other")]),
            ("test", "", vec![wrong("")]),
            ("default", "", vec![]),
            ("kube-system", "", vec![wrong("")]),
        ] {
            let event = core(namespace, involved);
            assert_eq!(texts(&create(&event)), expected, "{namespace} {involved}");
            let updated = (CORE_V1.validate_update)(&event, &core("test", "test"));
            assert_eq!(texts(&updated), expected, "{namespace} {involved}");
        }
    }

    #[test]
    fn a_core_event_with_a_time_needs_the_fields_of_new_events() {
        let mut event = core("kube-system", "");
        event["eventTime"] = json!("2026-03-02T12:00:00.000000Z");
        event["action"] = json!("a".repeat(129));
        event["message"] = json!("m".repeat(1025));
        event["reportingComponent"] = json!("a b");
        let errors = texts(&(CORE_V1.validate_create)(&event));
        assert!(errors[0].starts_with("reportingController: Invalid value: \"a b\": name part"));
        assert_eq!(
            errors[1..],
            [
                "reportingInstance: Required value",
                "action: Invalid value: \"\": can have at most 128 characters",
                "reason: Required value",
                "message: Invalid value: \"\": can have at most 1024 characters",
            ]
        );
    }

    #[test]
    fn new_events_are_strict() {
        let create = EVENTS_V1.validate_create;
        assert_eq!(texts(&create(&new_style())), [""; 0]);
        let mut event = new_style();
        event["type"] = json!("Odd");
        event["series"] = json!({"count": 1});
        event["deprecatedCount"] = json!(3);
        event["deprecatedSource"] = json!({"host": "h"});
        event["deprecatedFirstTimestamp"] = json!("2026-03-02T12:00:00Z");
        assert_eq!(
            texts(&create(&event)),
            [
                "series.count: Invalid value: \"\": should be at least 2",
                "series.lastObservedTime: Required value",
                "type: Invalid value: \"\": has invalid value: Odd",
                "firstTimestamp: Invalid value: \"\": needs to be unset",
                "count: Invalid value: \"\": needs to be unset",
                "source: Invalid value: \"\": needs to be unset",
            ]
        );
    }

    #[test]
    fn new_events_change_only_their_series() {
        let update = EVENTS_V1.validate_update;
        let mut event = new_style();
        event["series"] = json!({"count": 2, "lastObservedTime": "2026-03-02T12:00:00.000000Z"});
        assert_eq!(texts(&update(&event, &new_style())), [""; 0]);
        event["regarding"]["name"] = json!("q");
        event["note"] = json!("m");
        event["deprecatedCount"] = json!(2);
        assert_eq!(
            texts(&update(&event, &new_style())),
            [
                r#"involvedObject: Invalid value: {"kind":"Pod","name":"q","namespace":"test"}: field is immutable"#,
                r#"message: Invalid value: "m": field is immutable"#,
                "count: Invalid value: 2: field is immutable",
            ]
        );
    }
}

//! Events, in the form of core and in that of their own group.

use serde_json::Value;

use crate::field::FieldError;
use crate::kinds::check::{Errors, Path};
use crate::kinds::rules::{Fields, Rules};
use crate::kinds::value::Look;

pub(super) fn rules(group: &str) -> Rules {
    match group {
        "" => CORE,
        _ => NEW,
    }
}

const CORE: Rules = Rules {
    create: |event| own_namespace(event, "involvedObject"),
    creates_on_update: true,
    fields: Fields::Some(&[
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
    ..Rules::PLAIN
};

const NEW: Rules = Rules {
    create: |event| {
        let mut errors = Errors(own_namespace(event, "regarding"));
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
                errors.required(&Path::root(field), "");
            }
        }
        if !event.has("/eventTime") {
            errors.required(&Path::root("eventTime"), "");
        }
        errors.0
    },
    creates_on_update: true,
    fields: Fields::Some(&[
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
    ..Rules::PLAIN
};

/// An event lives where its object lives; those of cluster-wide objects live in `default`.
fn own_namespace(event: &Value, object: &str) -> Vec<FieldError> {
    let mut errors = Errors::default();
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
        let path = Path::root(object);
        errors.invalid(
            &path.child("namespace"),
            of_object,
            "does not match event.namespace",
        );
    }
    errors.0
}

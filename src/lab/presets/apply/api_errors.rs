//! Maps errors of the API server to positions in the files.

use std::sync::LazyLock;

use kube::core::Status;
use regex::Regex;

use crate::{Finding, Manifest};

/// `unknown field "spec.foo"`, from strict decoding.
static UNKNOWN_FIELD: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"unknown field "([^"]+)""#).ok());
/// `.spec.foo: field not declared in schema`, from server-side apply.
static UNDECLARED_FIELD: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\.([^\s:]+): field not declared in schema").ok());
/// `.value: expected numeric (int or float), got string`, from server-side apply, once or several
/// times.
static INVALID_TYPE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?m)(?:^\s*|: )\.([A-Za-z][^\s:]*): (expected .+)$").ok());
/// A field path at the start of a message or after the object's name.
static FIELD_PATH: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?:^|[\s.\[])((?:spec|metadata)[A-Za-z0-9_./\[\]-]*): (.+)").ok()
});

/// Parts of the messages about immutable fields.
const IMMUTABLE: [&str; 2] = ["field is immutable", "may not be changed in an update"];

/// The findings of a failed request, each with the position of its field.
pub(super) fn findings(manifest: &Manifest, status: &Status) -> Vec<Finding> {
    let unknown = unknown_fields(manifest, &status.message);
    if !unknown.is_empty() {
        return unknown;
    }
    let causes = status
        .details
        .as_ref()
        .map_or(&[][..], |d| d.causes.as_slice());
    let of_causes: Vec<Finding> = causes
        .iter()
        .filter(|c| !c.field.is_empty() && c.field != "<nil>")
        .map(|c| {
            let field = c.field.trim_start_matches('.');
            let finding = manifest.error(field, format!("{field}: {}", c.message));
            match c.reason.as_str() {
                "FieldManagerConflict" => finding
                    .remedy("the object was not created by the lab; rename it here or delete it"),
                _ => finding,
            }
        })
        .collect();
    if !of_causes.is_empty() {
        return of_causes;
    }
    let untyped: Vec<Finding> = INVALID_TYPE
        .as_ref()
        .into_iter()
        .flat_map(|r| r.captures_iter(&status.message))
        .map(|groups| manifest.error(&groups[1], format!("{}: {}", &groups[1], &groups[2])))
        .collect();
    if !untyped.is_empty() {
        return untyped;
    }
    let found = FIELD_PATH
        .as_ref()
        .and_then(|r| r.captures(&status.message));
    match found {
        Some(groups) => {
            let (path, message) = (&groups[1], &groups[2]);
            vec![manifest.error(path, format!("{path}: {message}"))]
        }
        None => vec![manifest.error("", status.message.clone())],
    }
}

fn unknown_fields(manifest: &Manifest, message: &str) -> Vec<Finding> {
    let patterns = [UNKNOWN_FIELD.as_ref(), UNDECLARED_FIELD.as_ref()];
    patterns
        .into_iter()
        .flatten()
        .flat_map(|r| r.captures_iter(message))
        .map(|groups| {
            let path = &groups[1];
            let at = manifest.locate(path);
            Finding::error(&manifest.file, at, format!("unknown field {path:?}"))
                .about(&manifest.key)
                .remedy("correct or remove it")
        })
        .collect()
}

/// Whether all causes are changes of immutable fields.
pub(super) fn is_immutable(status: &Status) -> bool {
    let causes = status
        .details
        .as_ref()
        .map_or(&[][..], |d| d.causes.as_slice());
    let cannot_change = |text: &str| IMMUTABLE.iter().any(|words| text.contains(words));
    !causes.is_empty() && causes.iter().all(|c| cannot_change(&c.message))
}

/// The field of the first cause.
pub(super) fn first_field(status: &Status) -> String {
    let causes = status
        .details
        .as_ref()
        .map_or(&[][..], |d| d.causes.as_slice());
    let field = causes.first().map_or("", |c| c.field.as_str());
    field.trim_start_matches('.').to_owned()
}

/// The finding for a `Warning` header of the API server.
pub(super) fn warning(manifest: &Manifest, text: &str) -> Finding {
    let captures = FIELD_PATH.as_ref().and_then(|r| r.captures(text));
    let path = captures
        .as_ref()
        .map_or("", |groups| groups.get(1).map_or("", |m| m.as_str()));
    manifest.warning(path, text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{SourceFile, parse};
    use kueue_lab_api::config::FeatureGates;

    fn manifest() -> Manifest {
        let text = "apiVersion: example.com/v1\nkind: ClusterQueue\nmetadata:\n  name: q\nspec:\n  foo: 1\n  resourceGroups:\n  - flavors:\n    - resources:\n      - nominalQuota: -1\n";
        let file = SourceFile {
            name: "q.yaml".into(),
            bytes: text.into(),
        };
        parse(&[file], &FeatureGates::default()).manifests.remove(0)
    }

    fn format_findings(status: serde_json::Value) -> String {
        let status: Status = serde_json::from_value(status).unwrap();
        let found = findings(&manifest(), &status);
        found
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("\n")
    }

    #[test]
    fn errors_are_mapped_to_positions() {
        let quota = "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota";
        let invalid = json!({"status": "Failure", "message": "x", "reason": "Invalid", "code": 422,
            "details": {"causes": [{"reason": "FieldValueInvalid", "message": "Invalid value: \"-1\": must be greater than or equal to 0", "field": quota}]}});
        assert_eq!(
            format_findings(invalid),
            format!(
                "q.yaml:10:9: ClusterQueue/q: {quota}: Invalid value: \"-1\": must be greater than or equal to 0"
            )
        );
        let text = |m: &str| json!({"status": "Failure", "message": m, "reason": "BadRequest", "code": 400});
        assert_eq!(
            format_findings(text(
                "ClusterQueue in version \"v1beta2\" cannot be handled as a ClusterQueue: strict decoding error: unknown field \"spec.foo\""
            )),
            "q.yaml:6:3: ClusterQueue/q: unknown field \"spec.foo\"; correct or remove it"
        );
        assert_eq!(
            format_findings(text(
                "failed to create typed patch object (/q; kueue.x-k8s.io/v1beta2, Kind=ClusterQueue): .spec.foo: field not declared in schema"
            )),
            "q.yaml:6:3: ClusterQueue/q: unknown field \"spec.foo\"; correct or remove it"
        );
        assert_eq!(
            format_findings(text(
                "admission webhook \"vclusterqueue.kb.io\" denied the request: spec.foo: Forbidden: no"
            )),
            "q.yaml:6:3: ClusterQueue/q: spec.foo: Forbidden: no"
        );
        assert_eq!(
            format_findings(text("quota exceeded")),
            "q.yaml:1:1: ClusterQueue/q: quota exceeded"
        );
    }

    #[test]
    fn immutable_field_errors_are_recognized() {
        let status = |messages: &[&str]| {
            let causes: Vec<_> = messages
                .iter()
                .map(|m| json!({"field": "spec.clusterQueue", "message": m}))
                .collect();
            serde_json::from_value::<Status>(json!({"details": {"causes": causes}})).unwrap()
        };
        assert!(is_immutable(&status(&[
            "Invalid value: field is immutable"
        ])));
        assert!(!is_immutable(&status(&[
            "field is immutable",
            "must not be empty"
        ])));
        assert!(!is_immutable(&status(&[])));
        assert_eq!(first_field(&status(&["x"])), "spec.clusterQueue");
    }
}

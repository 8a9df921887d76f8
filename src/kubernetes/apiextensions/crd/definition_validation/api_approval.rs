//! The `api-approved.kubernetes.io` annotation of definitions in protected groups.

use serde_json::Value;

use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;
use kueue_lab_json::ValueExt;

/// Annotation of a CustomResourceDefinition of a protected group with its review, or the reason
/// that there is none.
pub const API_APPROVED_ANNOTATION: &str = "api-approved.kubernetes.io";

#[derive(PartialEq)]
enum ApiApprovalState {
    Invalid,
    Approved,
    Bypassed,
    Missing,
}

fn api_approval_state(definition: &Value) -> ApiApprovalState {
    let text = definition
        .annotation(API_APPROVED_ANNOTATION)
        .unwrap_or_default();
    let is_url = text.split_once("://").is_some_and(|(scheme, rest)| {
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        !scheme.is_empty()
            && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && !host.is_empty()
            && !text.contains(char::is_whitespace)
    });
    match text {
        "" => ApiApprovalState::Missing,
        text if text.starts_with("unapproved") => ApiApprovalState::Bypassed,
        _ if is_url => ApiApprovalState::Approved,
        _ => ApiApprovalState::Invalid,
    }
}

/// Validates the annotation of definitions in groups of the Kubernetes project.
pub(crate) fn validate_api_approval(new: &Value, old: Option<&Value>, errors: &mut ErrorList) {
    let group = new.text("/spec/group");
    let protected = ["k8s.io", "kubernetes.io"].iter().any(|own| {
        group
            .strip_suffix(own)
            .is_some_and(|g| g.is_empty() || g.ends_with('.'))
    });
    let state = api_approval_state(new);
    if !protected || old.is_some_and(|o| api_approval_state(o) == state) {
        return;
    }
    let (metadata, more) = (
        FieldPath::root("metadata"),
        ", see https://github.com/kubernetes/enhancements/pull/1111",
    );
    let annotations = metadata.child("annotations");
    let path = annotations.key(API_APPROVED_ANNOTATION);
    let must =
        format!("protected groups must have approval annotation {API_APPROVED_ANNOTATION:?}");
    match state {
        ApiApprovalState::Missing => errors.required(&path, &format!("{must}{more}")),
        ApiApprovalState::Invalid => {
            let given = new.annotation(API_APPROVED_ANNOTATION).unwrap_or_default();
            let detail =
                format!("{must} with either a URL or a reason starting with \"unapproved\"{more}");
            errors.invalid(&path, given, detail);
        }
        ApiApprovalState::Approved | ApiApprovalState::Bypassed => {}
    }
}

//! The condition KubernetesAPIApprovalPolicyConformant, as `pkg/controller/apiapproval`.

use serde_json::Value;

use super::condition::Condition;
use kueue_lab_apiextensions::crd::definition_validation::API_APPROVED_ANNOTATION;

/// Sets the condition: definitions of `*.k8s.io` groups require an approval annotation.
pub(super) fn set_api_approval_condition(definition: &mut Value, group: &str, now: &Value) {
    let protected = ["k8s.io", "kubernetes.io"]
        .into_iter()
        .any(|own| group == own || group.ends_with(&format!(".{own}")));
    if !protected {
        return;
    }
    let approval = definition["metadata"]["annotations"][API_APPROVED_ANNOTATION]
        .as_str()
        .unwrap_or_default();
    let (status, reason, message) = if approval.starts_with("unapproved") {
        (
            false,
            "UnapprovedAnnotation",
            format!("not approved: {approval:?}"),
        )
    } else if approval.is_empty() {
        let text =
            format!("protected groups must have approval annotation {API_APPROVED_ANNOTATION:?}");
        (false, "MissingAnnotation", text)
    } else {
        (
            true,
            "ApprovedAnnotation",
            format!("approved in {approval}"),
        )
    };
    let kind = "KubernetesAPIApprovalPolicyConformant";
    Condition {
        condition_type: kind,
        status,
        reason,
        message,
    }
    .set(&mut definition["status"], now);
}

//! NamespaceLifecycle: no writes in missing and no creates in terminating namespaces; some
//! namespaces cannot be deleted.

use serde_json::json;

use super::PluginContext;
use crate::plugins::Operation;
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_json::ValueExt;

const IMMORTAL_NAMESPACES: [&str; 3] = ["default", "kube-system", "kube-public"];

/// Rejects writes that the state of the namespace does not allow.
pub(crate) fn admit(write: &PluginContext<'_>) -> Result<(), ApiError> {
    let r = write.request;
    if r.group.is_empty() && r.resource == "namespaces" {
        return match r.operation {
            Operation::Delete if IMMORTAL_NAMESPACES.contains(&r.name) => {
                Err(write.forbidden("this namespace may not be deleted"))
            }
            _ => Ok(()),
        };
    }
    if r.namespace.is_empty() || r.operation == Operation::Delete {
        return Ok(());
    }
    let Some(namespace) = write.reader.get("", "namespaces", "", r.namespace) else {
        return Err(ApiError::not_found("", "namespaces", r.namespace));
    };
    if r.operation == Operation::Create && namespace.text("/status/phase") == "Terminating" {
        let name = r.namespace;
        let mut error = write.forbidden(format!(
            "unable to create new content in namespace {name} because it is being terminated"
        ));
        error.details["causes"] = json!([{
            "reason": "NamespaceTerminating",
            "message": format!("namespace {name} is being terminated"),
            "field": "metadata.namespace",
        }]);
        return Err(error);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::plugins::fake::{Objects, request, with};
    use crate::plugins::AdmissionRequest;

    fn outcome(phase: &str, request: &AdmissionRequest<'_>) -> Option<ApiError> {
        let namespace = json!({"metadata": {"name": "n"}, "status": {"phase": phase}});
        let objects = Objects(vec![("", "namespaces", namespace)]);
        with(&objects, request, admit).err()
    }

    #[test]
    fn namespaces_decide() {
        let create = request("", "pods", Operation::Create);
        let update = request("", "pods", Operation::Update);
        assert_eq!(outcome("Active", &create), None);
        assert_eq!(outcome("Terminating", &update), None);
        let rejected = outcome("Terminating", &create).expect("rejected");
        assert_eq!(
            rejected.message,
            "pods \"x\" is forbidden: unable to create new content in namespace n because it is being terminated"
        );
        assert_eq!(
            rejected.details["causes"][0]["reason"],
            "NamespaceTerminating"
        );
        let elsewhere = AdmissionRequest {
            namespace: "m",
            ..create
        };
        let missing = outcome("Active", &elsewhere).expect("rejected");
        assert_eq!(missing.message, "namespaces \"m\" not found");
    }

    #[test]
    fn protected_namespaces_are_kept() {
        let delete = |name| AdmissionRequest {
            namespace: "",
            name,
            ..request("", "namespaces", Operation::Delete)
        };
        assert!(outcome("Active", &delete("kube-system")).is_some());
        assert!(outcome("Active", &delete("n")).is_none());
    }
}

//! PersistentVolumeClaimResize: claims are expanded only if their StorageClass allows it.

use kueue_lab_quantity::Quantity;
use serde_json::Value;

use super::PluginContext;
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_json::ValueExt;

/// Rejects the expansion of claims that are not bound or whose class does not allow it.
pub(crate) fn validate_volume_resize(
    write: &PluginContext<'_>,
    claim: &Value,
) -> Result<(), ApiError> {
    let Some(old) = write.request.old_object else {
        return Ok(());
    };
    let size = |c: &Value| Quantity::or_zero(Some(c.at("/spec/resources/requests/storage")));
    if size(claim) <= size(old) {
        return Ok(());
    }
    if old.text("/status/phase") != "Bound" {
        return Err(write.forbidden("Only bound persistent volume claims can be expanded"));
    }
    let name = match claim.annotation("volume.beta.kubernetes.io/storage-class") {
        Some(name) => name,
        None => claim.text("/spec/storageClassName"),
    };
    let class = write
        .reader
        .get("storage.k8s.io", "storageclasses", "", name);
    if class.is_some_and(|c| c.flag("/allowVolumeExpansion")) {
        return Ok(());
    }
    Err(write.forbidden(
        "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize",
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::admission::plugins::fake::{Objects, request, storage_class, with};
    use crate::plugins::{AdmissionRequest, Operation};

    #[test]
    fn claims_grow_where_their_class_allows() {
        let objects = Objects(vec![storage_class("a", ""), storage_class("b", "")]);
        let claim = |class: &str, size: &str, phase: &str| {
            json!({"spec": {"storageClassName": class, "resources": {"requests": {"storage": size}}},
                "status": {"phase": phase}})
        };
        let grown = |class: &str, phase: &str| {
            let old = claim(class, "1Gi", phase);
            let update = AdmissionRequest {
                old_object: Some(&old),
                ..request("", "persistentvolumeclaims", Operation::Update)
            };
            with(&objects, &update, |w| {
                validate_volume_resize(w, &claim(class, "2Gi", phase))
            })
            .is_ok()
        };
        assert!(grown("b", "Bound") && !grown("b", "Pending") && !grown("a", "Bound"));
    }
}

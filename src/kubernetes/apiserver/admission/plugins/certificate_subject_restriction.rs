//! CertificateSubjectRestriction: no client certificate for the group `system:masters`.

use serde_json::Value;

use super::PluginContext;
use crate::auth::certificates::CertificateRequest;
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_json::ValueExt;

const SIGNER: &str = "kubernetes.io/kube-apiserver-client";
const GROUP: &str = "system:masters";

/// Rejects a new request for a client certificate of the group.
pub(super) fn validate(write: &PluginContext<'_>, object: &Value) -> Result<(), ApiError> {
    if object.text("/spec/signerName") != SIGNER {
        return Ok(());
    }
    let request = CertificateRequest::parse(object.text("/spec/request"))
        .map_err(|why| write.forbidden(format!("failed to parse CSR: {why}")))?;
    if request.organizations.iter().any(|name| name == GROUP) {
        return Err(write.forbidden(format!(
            "use of {SIGNER} signer with {GROUP} group is not allowed"
        )));
    }
    Ok(())
}

//! CertificateApproval: an update of `approval` needs the verb `approve` on the signer.

use super::PluginContext;
use super::signer_authorization::authorize_signer_name;
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_json::ValueExt;

/// Rejects the approval or denial of a request for a signer whose requests the user may not
/// approve. The stored object decides, as the new one may name another signer.
pub(super) fn validate(write: &PluginContext<'_>) -> Result<(), ApiError> {
    let Some(old) = write.request.old_object else {
        return Ok(());
    };
    authorize_signer_name(write, "approve", old.text("/spec/signerName"))
}

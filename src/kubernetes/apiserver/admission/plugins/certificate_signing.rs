//! CertificateSigning: an update of the certificate or the conditions in `status` needs the verb
//! `sign` on the signer.

use serde_json::Value;

use super::PluginContext;
use super::signer_authorization::authorize_signer_name;
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_json::ValueExt;

/// Rejects a certificate or conditions of a user who may not sign requests for the signer.
pub(super) fn validate(write: &PluginContext<'_>, new: &Value) -> Result<(), ApiError> {
    let Some(old) = write.request.old_object else {
        return Ok(());
    };
    let is_same_certificate = new.text("/status/certificate") == old.text("/status/certificate");
    if is_same_certificate && new.list("/status/conditions") == old.list("/status/conditions") {
        return Ok(());
    }
    authorize_signer_name(write, "sign", old.text("/spec/signerName"))
}

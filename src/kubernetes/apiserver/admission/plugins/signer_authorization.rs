//! Authorization of a verb on a signer, the virtual resource `signers` of `certificates.k8s.io`.

use super::PluginContext;
use crate::auth::rbac_authorizer::{AuthorizationAttributes, authorize};
use kueue_lab_apimachinery::api_error::ApiError;

/// Checks that the user may `verb` requests for the signer, or for all signers of its domain
/// (`example.com/*`).
///
/// # Errors
/// 403 if the user may do neither.
pub(super) fn authorize_signer_name(
    write: &PluginContext<'_>,
    verb: &str,
    signer_name: &str,
) -> Result<(), ApiError> {
    let domain = signer_name.split('/').next().unwrap_or_default();
    let is_authorized = [signer_name.to_owned(), format!("{domain}/*")]
        .into_iter()
        .any(|name| {
            let attributes = AuthorizationAttributes {
                verb: verb.to_owned(),
                group: "certificates.k8s.io".to_owned(),
                resource: "signers".to_owned(),
                name,
                ..AuthorizationAttributes::default()
            };
            authorize(write.reader, write.user, &attributes).is_allowed
        });
    if is_authorized {
        return Ok(());
    }
    Err(write.forbidden(format!(
        "user not permitted to {verb} requests with signerName {signer_name:?}"
    )))
}

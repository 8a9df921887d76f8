//! Reconciliation after a committed write, before its response is sent.

use std::sync::Arc;

use super::{
    aggregation, certificate_approval, certificate_signing, crd_lifecycle, service_account_secrets,
};
use crate::registry::ServedResource;
use crate::server_state::ServerState;

/// Reconciles the objects that depend on the object that was written or removed.
pub(super) fn after_commit(core: &Arc<ServerState>, served: &ServedResource, key: &str) {
    crd_lifecycle::after_commit(core, served, key);
    match (&*served.kind.group, &*served.kind.plural) {
        ("", "secrets") => service_account_secrets::sync_secret(core, key),
        ("", "serviceaccounts") => service_account_secrets::sync_service_account(core, key),
        ("certificates.k8s.io", "certificatesigningrequests") => {
            certificate_approval::approve(core, key);
            certificate_signing::sign(core, key);
        }
        _ => {
            aggregation::sync_api_service(core, served, key);
            aggregation::check_services(core, served);
        }
    }
}

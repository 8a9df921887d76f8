//! [`CaBundle`]: the certificates that clients of Kueue's webhooks trust.

use std::sync::Arc;

use k8s_openapi::ByteString;
use parking_lot::RwLock;
use serde_json::Value;

/// The `caBundle` of Kueue's webhooks. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct CaBundle(Arc<RwLock<Option<String>>>);

impl CaBundle {
    /// Replaces the certificates (PEM).
    pub(crate) fn set(&self, certificates: String) {
        *self.0.write() = Some(certificates);
    }

    /// The field as JSON; `None` without a controller.
    pub(crate) fn to_value(&self) -> Option<Value> {
        let certificates = self.0.read().clone()?;
        serde_json::to_value(ByteString(certificates.into_bytes())).ok()
    }
}

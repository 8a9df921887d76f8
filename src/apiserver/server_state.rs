//! State shared by all requests.

use kueue_lab_clock::Clock;
use kueue_lab_entropy::Entropy;
use parking_lot::Mutex;

use crate::admission_webhooks::{ClientManager, WebhookConverter};
use crate::http::authentication::TokenAuthenticator;
use crate::metrics::Metrics;
use crate::openapi::Documents;
use crate::plugins::Plugins;
use crate::registry::Registry;
use crate::registry::stored_objects::StoredObjects;
use crate::storage::Store;

/// What all requests share.
pub(crate) struct ServerState {
    pub(crate) clock: Clock,
    pub(crate) entropy: Entropy,
    pub(crate) store: Store,
    pub(crate) registry: Registry,
    pub(crate) plugins: Plugins,
    pub(crate) authenticator: TokenAuthenticator,
    pub(crate) metrics: Metrics,
    pub(crate) openapi: Documents,
    /// Connections to admission webhooks.
    pub(crate) webhook_clients: ClientManager,
    /// The way to conversion webhooks.
    pub(crate) conversion_webhooks: WebhookConverter,
    /// Held while what quotas count is checked and stored.
    pub(crate) quota_lock: Mutex<()>,
}

impl ServerState {
    /// Read access to the stored objects.
    pub(crate) fn objects(&self) -> StoredObjects<'_> {
        StoredObjects {
            registry: &self.registry,
            store: &self.store,
        }
    }
}

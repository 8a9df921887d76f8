//! State shared by all requests.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use kueue_lab_clock::Clock;
use kueue_lab_clock::Entropy;
use kueue_lab_host::HostAddresses;
use kueue_lab_streaming::SessionLimits;
use parking_lot::{Mutex, Once};

use crate::admission::AdmissionLocks;
use crate::aggregator::RemoteApiServices;
use crate::auth::certificates::ClusterCertificates;
use crate::auth::token_authenticator::TokenAuthenticator;
use crate::conversion::version_converter::VersionConverter;
use crate::conversion::webhook_converter::WebhookConverter;
use crate::flow_control::request_limits::RequestLimits;
use crate::metrics::Metrics;
use crate::openapi::Documents;
use crate::plugins::Plugins;
use crate::registry::Registry;
use crate::registry::stored_objects::StoredObjects;
use crate::registry::webhook_manager::WebhookManager;
use crate::service_client::client_manager::ClientManager;
use crate::storage::{EventTtl, ResourceStorage, Store};

/// State shared by all requests.
pub(crate) struct ServerState {
    pub(crate) clock: Clock,
    pub(crate) entropy: Entropy,
    pub(crate) store: Store,
    pub(crate) registry: Registry,
    pub(crate) plugins: Plugins,
    pub(crate) authenticator: TokenAuthenticator,
    pub(crate) certificates: ClusterCertificates,
    /// Extension API servers in other processes.
    pub(crate) remote_api_services: RemoteApiServices,
    pub(crate) metrics: Metrics,
    pub(crate) openapi: Documents,
    /// The configured mutating webhooks.
    pub(crate) mutating_webhooks: WebhookManager,
    /// The configured validating webhooks.
    pub(crate) validating_webhooks: WebhookManager,
    /// Connections to admission webhooks.
    pub(crate) webhook_clients: ClientManager,
    /// Calls conversion webhooks.
    pub(crate) conversion_webhooks: WebhookConverter,
    /// The sessions of exec, attach and port-forward.
    pub(crate) sessions: SessionLimits,
    /// Held from the check of a write against other objects until its object is stored.
    pub(crate) admission_locks: AdmissionLocks,
    /// Whether the FlowSchemas and PriorityLevelConfigurations are created.
    pub(crate) flow_control: Once,
    /// Whether the listener is about to close, which fails `/readyz`.
    pub(crate) is_shutting_down: AtomicBool,
    /// The addresses of this machine that objects may name.
    pub(crate) host_addresses: HostAddresses,
    /// The limits of requests on the network.
    pub(crate) request_limits: RequestLimits,
    /// The writes of Events that expire.
    pub(crate) event_ttl: EventTtl,
    /// Names of the CustomResourceDefinitions that a create or apply request replaces.
    pub(crate) replaceable_crds: Mutex<BTreeSet<String>>,
    /// Whether there may be restored objects whose derived state is missing.
    pub(crate) has_restored_objects: AtomicBool,
    /// The names of all CustomResourceDefinitions that were ever preinstalled, in durable storage:
    /// one that was deleted is not installed again.
    pub(crate) preinstalled_crds: Option<Arc<ResourceStorage>>,
}

impl ServerState {
    /// Read access to the stored objects.
    pub(crate) fn objects(&self) -> StoredObjects<'_> {
        StoredObjects {
            registry: &self.registry,
            store: &self.store,
            host_addresses: &self.host_addresses,
        }
    }

    /// Conversion between the storage version and the served versions.
    pub(crate) fn version_converter(&self) -> VersionConverter<'_> {
        VersionConverter {
            registry: &self.registry,
            store: &self.store,
            host_addresses: &self.host_addresses,
            plugins: &self.plugins,
            webhooks: &self.conversion_webhooks,
            entropy: &self.entropy,
        }
    }
}

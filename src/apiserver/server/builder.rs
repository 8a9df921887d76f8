//! Builds an API server.

use std::sync::Arc;

use kueue_lab_clock::Clock;
use kueue_lab_entropy::Entropy;
use parking_lot::{Mutex, Once};

use super::api_server::ApiServer;
use crate::aggregator::RemoteApiServices;
use crate::auth::certificates::ClusterCertificates;
use crate::auth::token_authenticator::TokenAuthenticator;
use crate::bootstrap::create_bootstrap_objects;
use crate::conversion::webhook_converter::WebhookConverter;
use crate::endpoints::session_limits;
use crate::flow_control::request_limits::RequestLimits;
use crate::kinds;
use crate::metrics::Metrics;
use crate::openapi::Documents;
use crate::plugins::{AdmissionPlugin, CustomResourceConverter, KubeletClient, Plugins};
use crate::registry::Registry;
use crate::server_state::ServerState;
use crate::service_client::client_manager::ClientManager;
use crate::storage::{EventTtl, StorageLimits, Store};

/// Builds an [`ApiServer`].
pub struct ApiServerBuilder {
    clock: Clock,
    entropy: Entropy,
    limits: StorageLimits,
    request_limits: RequestLimits,
    plugins: Plugins,
}

impl ApiServerBuilder {
    pub(super) fn new(clock: Clock, entropy: Entropy) -> Self {
        Self {
            clock,
            entropy,
            limits: StorageLimits::default(),
            request_limits: RequestLimits::default(),
            plugins: Plugins::default(),
        }
    }

    /// Adds an admission plugin. Plugins are called in the order they were added.
    #[must_use]
    pub fn admission(self, plugin: Arc<dyn AdmissionPlugin>) -> Self {
        self.plugins.add_admission(plugin);
        self
    }

    /// Sets the converter of custom resources.
    #[must_use]
    pub fn converter(self, converter: Arc<dyn CustomResourceConverter>) -> Self {
        self.plugins.set_converter(converter);
        self
    }

    /// Sets the kubelet client for `pods/log`.
    #[must_use]
    pub fn kubelet(self, kubelet: Arc<dyn KubeletClient>) -> Self {
        self.plugins.set_kubelet(kubelet);
        self
    }

    /// Sets the limits of the watch history and the decoded cache.
    #[must_use]
    pub fn limits(mut self, limits: StorageLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the limits of requests on the network.
    #[must_use]
    pub fn request_limits(mut self, limits: RequestLimits) -> Self {
        self.request_limits = limits;
        self
    }

    /// Builds the server with the bootstrap objects. It does not listen on the network yet.
    pub fn build(self) -> ApiServer {
        let store = Store::new(self.limits);
        let registry = Registry::new(store.clone(), kinds::builtin_api_resources());
        let core = ServerState {
            authenticator: TokenAuthenticator::generate(),
            certificates: ClusterCertificates::default(),
            remote_api_services: RemoteApiServices::default(),
            metrics: Metrics::default(),
            openapi: Documents::default(),
            sessions: session_limits(),
            webhook_clients: ClientManager::default(),
            conversion_webhooks: WebhookConverter::default(),
            quota_lock: Mutex::default(),
            flow_control: Once::new(),
            request_limits: self.request_limits,
            event_ttl: EventTtl::default(),
            replaceable_crds: Mutex::default(),
            clock: self.clock,
            entropy: self.entropy,
            store,
            registry,
            plugins: self.plugins,
        };
        create_bootstrap_objects(&core);
        ApiServer {
            core: Arc::new(core),
        }
    }
}

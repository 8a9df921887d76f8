//! The API server put together: storage, kinds, the sockets for policy, and the ways in.

use std::sync::Arc;

use kueue_lab_clock::Clock;
use kueue_lab_entropy::Entropy;
use parking_lot::Mutex;

use super::bootstrap::create_bootstrap_objects;
use super::http::tower_service::InProcessService;
use super::kinds;
use super::metrics::Metrics;
use super::openapi::Documents;
use super::plugins::{AdmissionPlugin, CustomResourceConverter, KubeletClient, Plugins};
use super::registry::Registry;
use super::storage::{StorageLimits, Store};
use crate::auth::token_authenticator::TokenAuthenticator;
use crate::conversion::webhook_converter::WebhookConverter;
use crate::server_state::ServerState;
use crate::webhook_client::client_manager::ClientManager;

/// An embedded Kubernetes API server. Clones are handles to the same server.
#[derive(Clone)]
pub struct ApiServer {
    pub(super) core: Arc<ServerState>,
}

/// Builds an [`ApiServer`].
pub struct ApiServerBuilder {
    clock: Clock,
    entropy: Entropy,
    limits: StorageLimits,
    plugins: Plugins,
}

impl ApiServerBuilder {
    /// Plugs in admission. Plug-ins are asked in the order they were added.
    #[must_use]
    pub fn admission(self, plugin: Arc<dyn AdmissionPlugin>) -> Self {
        self.plugins.add_admission(plugin);
        self
    }

    /// Plugs in conversion between versions of custom resources.
    #[must_use]
    pub fn converter(self, converter: Arc<dyn CustomResourceConverter>) -> Self {
        self.plugins.set_converter(converter);
        self
    }

    /// Plugs in the kubelets that answer for logs.
    #[must_use]
    pub fn kubelet(self, kubelet: Arc<dyn KubeletClient>) -> Self {
        self.plugins.set_kubelet(kubelet);
        self
    }

    /// Bounds what storage keeps of the past.
    #[must_use]
    pub fn limits(mut self, limits: StorageLimits) -> Self {
        self.limits = limits;
        self
    }

    /// The server, with the objects every new cluster has. Serves nobody on the network yet.
    pub fn build(self) -> ApiServer {
        let store = Store::new(self.limits);
        let registry = Registry::new(store.clone(), kinds::builtin_api_resources());
        let core = ServerState {
            authenticator: TokenAuthenticator::generate(),
            metrics: Metrics::default(),
            openapi: Documents::default(),
            webhook_clients: ClientManager::default(),
            conversion_webhooks: WebhookConverter::default(),
            quota_lock: Mutex::default(),
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

impl ApiServer {
    /// Starts building a server that lives on `clock` and draws uids and names from `entropy`.
    pub fn builder(clock: Clock, entropy: Entropy) -> ApiServerBuilder {
        ApiServerBuilder {
            clock,
            entropy,
            limits: StorageLimits::default(),
            plugins: Plugins::default(),
        }
    }

    /// A client that calls this server in-process, as an administrator, with the default namespace
    /// `set_defaults`. Needs a tokio runtime around it.
    pub fn client(&self) -> kube::Client {
        kube::Client::new(InProcessService::new(self.core.clone()), "default")
    }

    /// Adds an admission plug-in to a running server.
    pub fn add_admission(&self, plugin: Arc<dyn AdmissionPlugin>) {
        self.core.plugins.add_admission(plugin);
    }

    /// Plugs in or replaces the conversion of custom resources on a running server.
    pub fn set_converter(&self, converter: Arc<dyn CustomResourceConverter>) {
        self.core.plugins.set_converter(converter);
    }

    /// Plugs in or replaces the kubelets of a running server.
    pub fn set_kubelet(&self, kubelet: Arc<dyn KubeletClient>) {
        self.core.plugins.set_kubelet(kubelet);
    }
}

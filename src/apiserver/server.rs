//! The API server put together: storage, kinds, the sockets for policy, and the ways in.

use std::sync::Arc;

use parking_lot::{Mutex, RwLock};

use super::admission_webhooks::{ClientManager, WebhookConverter};
use super::bootstrap::create_bootstrap_objects;
use super::http::authentication::TokenAuthenticator;
use super::http::tower_service::InProcessService;
use super::kinds;
use super::metrics::Metrics;
use super::openapi::Documents;
use super::plugins::{AdmissionPlugin, CustomResourceConverter, KubeletClient};
use super::registry::Registry;
use super::storage::{StorageLimits, Store};
use kueue_lab_clock::Clock;
use kueue_lab_entropy::Entropy;

/// An embedded Kubernetes API server. Clones are handles to the same server.
#[derive(Clone)]
pub struct ApiServer {
    pub(super) core: Arc<ServerState>,
}

/// What all requests share.
pub(super) struct ServerState {
    pub(super) clock: Clock,
    pub(super) entropy: Entropy,
    pub(super) store: Store,
    pub(super) registry: Registry,
    pub(super) plugins: Plugins,
    pub(super) authenticator: TokenAuthenticator,
    pub(super) metrics: Metrics,
    pub(super) openapi: Documents,
    /// Connections to admission webhooks.
    pub(super) webhook_clients: ClientManager,
    /// The way to conversion webhooks.
    pub(super) conversion_webhooks: WebhookConverter,
    /// Held while what quotas count is checked and stored.
    pub(super) quota_lock: Mutex<()>,
}

/// What is plugged in from outside; may change while the server runs.
#[derive(Default)]
pub(super) struct Plugins {
    admission: RwLock<Vec<Arc<dyn AdmissionPlugin>>>,
    converter: RwLock<Option<Arc<dyn CustomResourceConverter>>>,
    kubelet: RwLock<Option<Arc<dyn KubeletClient>>>,
}

impl Plugins {
    pub(super) fn admission(&self) -> Vec<Arc<dyn AdmissionPlugin>> {
        self.admission.read().clone()
    }

    pub(super) fn converter(&self) -> Option<Arc<dyn CustomResourceConverter>> {
        self.converter.read().clone()
    }

    pub(super) fn kubelet(&self) -> Option<Arc<dyn KubeletClient>> {
        self.kubelet.read().clone()
    }
}

/// Builds an [`ApiServer`].
pub struct ApiServerBuilder {
    clock: Clock,
    entropy: Entropy,
    limits: StorageLimits,
    sockets: Plugins,
}

impl ApiServerBuilder {
    /// Plugs in admission. Plug-ins are asked in the order they were added.
    #[must_use]
    pub fn admission(self, plugin: Arc<dyn AdmissionPlugin>) -> Self {
        self.sockets.admission.write().push(plugin);
        self
    }

    /// Plugs in conversion between versions of custom resources.
    #[must_use]
    pub fn converter(self, converter: Arc<dyn CustomResourceConverter>) -> Self {
        *self.sockets.converter.write() = Some(converter);
        self
    }

    /// Plugs in the kubelets that answer for logs.
    #[must_use]
    pub fn kubelet(self, kubelet: Arc<dyn KubeletClient>) -> Self {
        *self.sockets.kubelet.write() = Some(kubelet);
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
            plugins: self.sockets,
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
            sockets: Plugins::default(),
        }
    }

    /// A client that calls this server in-process, as an administrator, with the default namespace
    /// `set_defaults`. Needs a tokio runtime around it.
    pub fn client(&self) -> kube::Client {
        kube::Client::new(InProcessService::new(self.core.clone()), "default")
    }

    /// Adds an admission plug-in to a running server.
    pub fn add_admission(&self, plugin: Arc<dyn AdmissionPlugin>) {
        self.core.plugins.admission.write().push(plugin);
    }

    /// Plugs in or replaces the conversion of custom resources on a running server.
    pub fn set_converter(&self, converter: Arc<dyn CustomResourceConverter>) {
        *self.core.plugins.converter.write() = Some(converter);
    }

    /// Plugs in or replaces the kubelets of a running server.
    pub fn set_kubelet(&self, kubelet: Arc<dyn KubeletClient>) {
        *self.core.plugins.kubelet.write() = Some(kubelet);
    }
}

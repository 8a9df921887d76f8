//! The API server put together: storage, kinds, the sockets for policy, and the ways in.

use std::sync::Arc;

use parking_lot::{Mutex, RwLock};

use super::bootstrap::bootstrap;
use super::dynamic::{Callers, Conversions};
use super::hooks::{Admission, Converter, Kubelet};
use super::http::identity::Identity;
use super::http::service::InProcess;
use super::kinds;
use super::metrics::Metrics;
use super::openapi::Documents;
use super::registry::Registry;
use super::store::{Limits, Store};
use kueue_lab_clock::Clock;
use kueue_lab_entropy::Entropy;

/// An embedded Kubernetes API server. Clones are handles to the same server.
#[derive(Clone)]
pub struct ApiServer {
    pub(super) core: Arc<Core>,
}

/// What all requests share.
pub(super) struct Core {
    pub(super) clock: Clock,
    pub(super) entropy: Entropy,
    pub(super) store: Store,
    pub(super) registry: Registry,
    pub(super) sockets: Sockets,
    pub(super) identity: Identity,
    pub(super) metrics: Metrics,
    pub(super) openapi: Documents,
    /// Connections to admission webhooks.
    pub(super) webhooks: Callers,
    /// The way to conversion webhooks.
    pub(super) conversions: Conversions,
    /// Held while what quotas count is checked and stored.
    pub(super) counting: Mutex<()>,
}

/// What is plugged in from outside; may change while the server runs.
#[derive(Default)]
pub(super) struct Sockets {
    admission: RwLock<Vec<Arc<dyn Admission>>>,
    converter: RwLock<Option<Arc<dyn Converter>>>,
    kubelet: RwLock<Option<Arc<dyn Kubelet>>>,
}

impl Sockets {
    pub(super) fn admission(&self) -> Vec<Arc<dyn Admission>> {
        self.admission.read().clone()
    }

    pub(super) fn converter(&self) -> Option<Arc<dyn Converter>> {
        self.converter.read().clone()
    }

    pub(super) fn kubelet(&self) -> Option<Arc<dyn Kubelet>> {
        self.kubelet.read().clone()
    }
}

/// Builds an [`ApiServer`].
pub struct Builder {
    clock: Clock,
    entropy: Entropy,
    limits: Limits,
    sockets: Sockets,
}

impl Builder {
    /// Plugs in admission. Plug-ins are asked in the order they were added.
    #[must_use]
    pub fn admission(self, plugin: Arc<dyn Admission>) -> Self {
        self.sockets.admission.write().push(plugin);
        self
    }

    /// Plugs in conversion between versions of custom resources.
    #[must_use]
    pub fn converter(self, converter: Arc<dyn Converter>) -> Self {
        *self.sockets.converter.write() = Some(converter);
        self
    }

    /// Plugs in the kubelets that answer for logs.
    #[must_use]
    pub fn kubelet(self, kubelet: Arc<dyn Kubelet>) -> Self {
        *self.sockets.kubelet.write() = Some(kubelet);
        self
    }

    /// Bounds what storage keeps of the past.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The server, with the objects every new cluster has. Serves nobody on the network yet.
    pub fn build(self) -> ApiServer {
        let store = Store::new(self.limits);
        let registry = Registry::new(store.clone(), kinds::builtin());
        let core = Core {
            identity: Identity::generate(),
            metrics: Metrics::default(),
            openapi: Documents::default(),
            webhooks: Callers::default(),
            conversions: Conversions::default(),
            counting: Mutex::default(),
            clock: self.clock,
            entropy: self.entropy,
            store,
            registry,
            sockets: self.sockets,
        };
        bootstrap(&core);
        ApiServer {
            core: Arc::new(core),
        }
    }
}

impl ApiServer {
    /// Starts building a server that lives on `clock` and draws uids and names from `entropy`.
    pub fn builder(clock: Clock, entropy: Entropy) -> Builder {
        Builder {
            clock,
            entropy,
            limits: Limits::default(),
            sockets: Sockets::default(),
        }
    }

    /// A client that calls this server in-process, as an administrator, with the default namespace
    /// `default`. Needs a tokio runtime around it.
    pub fn client(&self) -> kube::Client {
        kube::Client::new(InProcess::new(self.core.clone()), "default")
    }

    /// Adds an admission plug-in to a running server.
    pub fn add_admission(&self, plugin: Arc<dyn Admission>) {
        self.core.sockets.admission.write().push(plugin);
    }

    /// Plugs in or replaces the conversion of custom resources on a running server.
    pub fn set_converter(&self, converter: Arc<dyn Converter>) {
        *self.core.sockets.converter.write() = Some(converter);
    }

    /// Plugs in or replaces the kubelets of a running server.
    pub fn set_kubelet(&self, kubelet: Arc<dyn Kubelet>) {
        *self.core.sockets.kubelet.write() = Some(kubelet);
    }
}

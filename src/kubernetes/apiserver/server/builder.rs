//! Builds an API server.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use kueue_lab_clock::Clock;
use kueue_lab_clock::Entropy;
use kueue_lab_host::HostAddresses;
use parking_lot::{Mutex, Once};

use super::api_server::ApiServer;
use super::snapshot::ApiServerSnapshot;
use crate::admission::AdmissionLocks;
use crate::aggregator::RemoteApiServices;
use crate::auth::certificates::ClusterCertificates;
use crate::auth::credentials::{Credentials, CredentialsError};
use crate::auth::token_authenticator::TokenAuthenticator;
use crate::bootstrap::{create_bootstrap_objects, keep_flow_control};
use crate::conversion::webhook_converter::WebhookConverter;
use crate::endpoints::{restore_derived_state, session_limits};
use crate::flow_control::request_limits::RequestLimits;
use crate::metrics::Metrics;
use crate::openapi::Documents;
use crate::plugins::{AdmissionPlugin, CustomResourceConverter, KubeletClient, Plugins};
use crate::registry::Registry;
use crate::registry::webhook_manager::WebhookManager;
use crate::server_state::ServerState;
use crate::service_client::client_manager::ClientManager;
use crate::storage::{EventTtl, Persistence, RestoredState, StorageLimits, Store};

/// The resource of the names of preinstalled CustomResourceDefinitions, which is not served.
const PREINSTALLED_CRDS: &str = "internal/preinstalledcustomresourcedefinitions";

/// The error of a server that cannot be built with restored objects.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// The credentials cannot be used.
    #[error("the credentials cannot be used: {0}")]
    Credentials(#[from] CredentialsError),
    /// The thread that writes cannot be started.
    #[error("cannot start the thread that writes: {0}")]
    Thread(#[from] std::io::Error),
}

/// Builds an [`ApiServer`].
pub struct ApiServerBuilder {
    clock: Clock,
    entropy: Entropy,
    limits: StorageLimits,
    request_limits: RequestLimits,
    host_addresses: HostAddresses,
    plugins: Plugins,
}

impl ApiServerBuilder {
    pub(super) fn new(clock: Clock, entropy: Entropy) -> Self {
        Self {
            clock,
            entropy,
            limits: StorageLimits::default(),
            request_limits: RequestLimits::default(),
            host_addresses: HostAddresses::all(),
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

    /// Sets the addresses of this machine that objects such as EndpointSlices may name; by default all.
    #[must_use]
    pub fn host_addresses(mut self, addresses: HostAddresses) -> Self {
        self.host_addresses = addresses;
        self
    }

    /// Builds the server with the bootstrap objects, in memory only. It does not listen on the
    /// network yet.
    pub fn build(self) -> ApiServer {
        let store = Store::new(self.clock.clone(), self.limits);
        let authenticator = TokenAuthenticator::generate();
        self.build_with(store, authenticator, ClusterCertificates::default())
    }

    /// Builds a server with the state of a snapshot, in memory only: objects, revisions and custom
    /// resources. Plugins and extension API servers are those of the builder and of later calls;
    /// preinstalled definitions are not installed again.
    pub fn build_from(self, snapshot: &ApiServerSnapshot) -> ApiServer {
        let store = Store::from_snapshot(self.clock.clone(), self.limits, &snapshot.store);
        let builtin = kueue_lab_kinds::builtin_api_resources();
        let registry = Registry::from_snapshot(store.clone(), builtin, &snapshot.registry);
        let authenticator = TokenAuthenticator::generate();
        let certificates = ClusterCertificates::default();
        let core = ServerState {
            event_ttl: snapshot.event_ttl.copy(),
            replaceable_crds: Mutex::new(snapshot.replaceable_crds.clone()),
            ..self.state(store, registry, authenticator, certificates)
        };
        keep_flow_control(&core);
        ApiServer {
            core: Arc::new(core),
        }
    }

    /// Builds the server with restored objects, whose writes are durable before their responses.
    ///
    /// # Errors
    /// [`RestoreError`].
    pub fn build_durable(
        self,
        credentials: &Credentials,
        state: RestoredState,
        persistence: Box<dyn Persistence>,
    ) -> Result<ApiServer, RestoreError> {
        let (authenticator, certificates) = credentials.load()?;
        let store = Store::durable(self.clock.clone(), self.limits, state, persistence)?;
        Ok(self.build_with(store, authenticator, certificates))
    }

    fn build_with(
        self,
        store: Store,
        authenticator: TokenAuthenticator,
        certificates: ClusterCertificates,
    ) -> ApiServer {
        let registry = Registry::new(store.clone(), kueue_lab_kinds::builtin_api_resources());
        let core = self.state(store, registry, authenticator, certificates);
        if core.store.is_durable() {
            restore_derived_state(&core);
        }
        create_bootstrap_objects(&core);
        ApiServer {
            core: Arc::new(core),
        }
    }

    fn state(
        self,
        store: Store,
        registry: Registry,
        authenticator: TokenAuthenticator,
        certificates: ClusterCertificates,
    ) -> ServerState {
        ServerState {
            authenticator,
            certificates,
            remote_api_services: RemoteApiServices::default(),
            metrics: Metrics::default(),
            openapi: Documents::default(),
            sessions: session_limits(),
            mutating_webhooks: WebhookManager::new("mutatingwebhookconfigurations"),
            validating_webhooks: WebhookManager::new("validatingwebhookconfigurations"),
            webhook_clients: ClientManager::default(),
            conversion_webhooks: WebhookConverter::default(),
            admission_locks: AdmissionLocks::default(),
            flow_control: Once::new(),
            request_limits: self.request_limits,
            host_addresses: self.host_addresses,
            event_ttl: EventTtl::default(),
            replaceable_crds: Mutex::default(),
            has_restored_objects: AtomicBool::new(store.is_durable()),
            is_shutting_down: AtomicBool::new(false),
            preinstalled_crds: (store.is_durable())
                .then(|| store.new_resource_storage(PREINSTALLED_CRDS)),
            clock: self.clock,
            entropy: self.entropy,
            store,
            registry,
            plugins: self.plugins,
        }
    }
}

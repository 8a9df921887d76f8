//! A cluster inside this process: the embedded API server with its plugins.

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use kube::Client;
use parking_lot::Mutex;
use serde_json::Value;

use super::ClusterError;
use super::plugins::{
    AdmissionPlugin, AggregatedApi, CustomResourceConverter, KubeletClient, PreinstalledKind,
};
use kueue_lab_apiserver::{
    ApiServer, ApiServerSnapshot, LoadObjectError, RequestLimits, ServeError, ServeOptions,
    ServingHandle, UnknownFields,
};
use kueue_lab_clock::Clock;
use kueue_lab_clock::Entropy;
use kueue_lab_host::HostAddresses;
use kueue_lab_persistence::DataDir;

/// The default name of a cluster, its user and its context.
pub const DEFAULT_NAME: &str = "kueue-lab";

/// Configuration of an embedded cluster.
pub struct EmbeddedConfig {
    /// Name of the cluster, its user and its context.
    pub name: String,
    /// Lab time.
    pub clock: Clock,
    /// Source of UIDs and generated names.
    pub entropy: Entropy,
    /// Loopback port for external clients; 0 for any, preferably that of the last run on `data`.
    pub port: u16,
    /// The limits of requests of external clients.
    pub request_limits: RequestLimits,
    /// The addresses of this machine that objects may name.
    pub host_addresses: HostAddresses,
    /// The time at shutdown in which `/readyz` fails and requests of external clients are still served.
    pub shutdown_delay: Duration,
    /// The data directory; `None` to keep objects in memory only.
    pub data: Option<DataDir>,
    /// Admission plugins, in order.
    pub admission: Vec<Arc<dyn AdmissionPlugin>>,
    /// Conversion of custom resources.
    pub converter: Option<Arc<dyn CustomResourceConverter>>,
    /// Preinstalled custom resource definitions.
    pub kinds: Vec<PreinstalledKind>,
    /// The state to start from, in place of an empty cluster; not together with `data`. It has the
    /// preinstalled definitions already.
    pub snapshot: Option<Arc<ApiServerSnapshot>>,
}

/// The embedded API server, and its network side once it is open.
pub struct EmbeddedCluster {
    server: ApiServer,
    name: String,
    port: u16,
    shutdown_delay: Duration,
    data: Mutex<Option<Box<DataDir>>>,
    is_restored: bool,
    /// Set when the listener is opened.
    access: OnceLock<ExternalAccess>,
    /// The listener while it is open.
    serving: Mutex<Option<ServingHandle>>,
}

/// How clients outside of the process reach the API server.
struct ExternalAccess {
    kubeconfig: String,
    /// The certificate (PEM) of the authority of the server's certificate.
    authority: String,
}

impl EmbeddedCluster {
    /// A cluster without a listener. Admission plugins and kinds are registered before the first
    /// request.
    ///
    /// # Errors
    /// [`ClusterError::Restore`].
    pub fn new(mut config: EmbeddedConfig) -> Result<Self, ClusterError> {
        let snapshot = config.snapshot.take();
        let clock = config.clock.clone();
        let mut builder = ApiServer::builder(config.clock, config.entropy)
            .request_limits(config.request_limits)
            .host_addresses(config.host_addresses);
        for plugin in config.admission {
            builder = builder.admission(plugin);
        }
        if let Some(converter) = config.converter {
            builder = builder.converter(converter);
        }
        let data = config.data.as_mut();
        let content = data.and_then(|data| {
            let (state, persistence) = data.take_content(&clock)?;
            Some((data.credentials(), state, persistence))
        });
        let server = match (content, &snapshot) {
            (Some((credentials, state, persistence)), _) => builder
                .build_durable(credentials, state, persistence)
                .map_err(|e| ClusterError::Restore(e.to_string()))?,
            (None, Some(snapshot)) => {
                config.kinds.clear();
                builder.build_from(snapshot)
            }
            (None, None) => builder.build(),
        };
        server.install_crds(config.kinds);
        let has_data = config.data.as_ref().is_some_and(|data| !data.is_new());
        let is_restored = has_data || snapshot.is_some();
        Ok(Self {
            server,
            is_restored,
            name: config.name,
            port: config.port,
            shutdown_delay: config.shutdown_delay,
            data: Mutex::new(config.data.map(Box::new)),
            access: OnceLock::new(),
            serving: Mutex::default(),
        })
    }

    /// The name of the cluster.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Stores objects before the first request; see [`ApiServer::load_objects`].
    ///
    /// # Errors
    /// [`LoadObjectError`] for the first object that is not valid. The data directory is cleared then.
    pub async fn load_objects(
        mut self,
        objects: Vec<Value>,
        unknown_fields: UnknownFields,
    ) -> Result<Self, LoadObjectError> {
        if let Err(error) = self.server.load_objects(objects, unknown_fields).await {
            self.server.close_storage();
            if let Some(data) = self.data.lock().take()
                && let Err(error) = data.remove_new()
            {
                tracing::error!("{error}");
            }
            return Err(error);
        }
        self.is_restored = true;
        Ok(self)
    }

    /// A client that calls the server in-process.
    pub fn client(&self) -> Client {
        self.server.client()
    }

    /// Makes clients with a user agent, which names the field manager of their writes.
    pub fn client_factory(&self) -> impl Fn(&str) -> Client + Send + Sync + 'static {
        let server = self.server.clone();
        move |user_agent| server.client_of(user_agent)
    }

    /// Registers the kubelets that serve logs.
    pub fn set_kubelet(&self, kubelet: Arc<dyn KubeletClient>) {
        self.server.set_kubelet(kubelet);
    }

    /// Registers another admission plugin.
    pub fn add_admission(&self, plugin: Arc<dyn AdmissionPlugin>) {
        self.server.add_admission(plugin);
    }

    /// Serves the resources of an extension API server of this process.
    pub fn add_aggregated_api(&self, api: &Arc<dyn AggregatedApi>) {
        self.server.add_aggregated_api(api);
    }

    /// See [`ApiServer::snapshot`].
    pub fn snapshot(&self) -> Option<ApiServerSnapshot> {
        self.server.snapshot()
    }

    /// A function that returns [`ApiServer::state_revision`].
    pub fn state_revision(&self) -> impl Fn() -> u64 + Send + Sync + 'static {
        let server = self.server.clone();
        move || server.state_revision()
    }

    pub(super) fn is_restored(&self) -> bool {
        self.is_restored
    }

    pub(super) async fn open(&self) -> Result<(), ClusterError> {
        let last = self.data.lock().as_ref().map_or(0, |data| data.port());
        let serving = match self.port {
            0 if last > 0 => match self.serve(last).await {
                // The kubeconfigs of the last run are not valid then.
                Err(ClusterError::Listen { reason }) => {
                    tracing::warn!("{reason}; taking another port than before");
                    self.serve(0).await?
                }
                served => served?,
            },
            port => self.serve(port).await?,
        };
        if let Some(data) = &mut *self.data.lock()
            && let Err(error) = data.set_port(serving.addr().port())
        {
            // The cluster can be used nevertheless, such as to delete objects on a full disk.
            tracing::warn!("{error}; the next start may take another port");
        }
        self.access.get_or_init(|| ExternalAccess {
            kubeconfig: serving.kubeconfig().to_owned(),
            authority: serving.certificate_authority_pem().to_owned(),
        });
        *self.serving.lock() = Some(serving);
        Ok(())
    }

    async fn serve(&self, port: u16) -> Result<ServingHandle, ClusterError> {
        let options = ServeOptions {
            port,
            name: self.name.clone(),
            shutdown_delay: self.shutdown_delay,
            ..ServeOptions::default()
        };
        self.server.serve(options).await.map_err(|e| match e {
            ServeError::Listen { .. } => ClusterError::Listen {
                reason: e.to_string(),
            },
            ServeError::Tls(e) => ClusterError::Tls(e.to_string()),
        })
    }

    pub(super) fn authority(&self) -> Option<&str> {
        self.access.get().map(|access| &*access.authority)
    }

    pub(super) fn kubeconfig(&self) -> Option<&str> {
        self.access.get().map(|access| &*access.kubeconfig)
    }

    pub(super) fn write_kubeconfig(&self, path: &Path) -> Result<(), ClusterError> {
        let serving = self.serving.lock();
        let Some(serving) = &*serving else {
            return Ok(());
        };
        serving
            .write_kubeconfig(path)
            .map_err(|e| ClusterError::Kubeconfig {
                path: path.display().to_string(),
                reason: e.to_string(),
            })
    }

    pub(super) async fn close(&self) {
        let serving = self.serving.lock().take();
        if let Some(serving) = serving {
            serving.shutdown().await;
        }
    }

    pub(super) fn storage_closer(&self) -> Box<dyn Fn() + Send> {
        let server = self.server.clone();
        Box::new(move || server.close_storage())
    }

    /// Makes all writes durable and releases the data directory. All clients have stopped.
    pub(super) fn close_storage(&self) {
        self.server.close_storage();
        drop(self.data.lock().take());
    }
}

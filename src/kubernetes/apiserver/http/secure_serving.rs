//! Secure serving: one listener, TLS, connection limits, graceful shutdown.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::num::NonZero;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use kueue_lab_blocking::HeavyWork;
use kueue_lab_http::{HttpServer, Limits, UnauthenticatedLimits};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::host_check::AllowedHosts;
use super::kubeconfig::{kubeconfig, write_private_file};
use super::request_stack::request_stack;
use super::serving_runtime::ServingRuntime;
use super::tls::{self, SERVER_NAMES};
use crate::auth::certificates::{ClientCertificateVerifier, TlsError};
use crate::bootstrap::KUBERNETES_SERVICE_IP;
use crate::flow_control::seats::Seats;
use crate::flow_control::user_limit::UserLimit;
use crate::server_state::ServerState;

/// Limits of the listener.
pub(crate) const LISTENER_LIMITS: Limits = Limits {
    max_connections: 2048,
    unauthenticated: Some(UnauthenticatedLimits {
        max_connections: 512,
        timeout: Duration::from_secs(30),
    }),
    header_timeout: Duration::from_secs(15),
    max_header_bytes: Some(128 << 10),
    max_concurrent_streams: Some(250),
    http2_ping_interval: Some(Duration::from_secs(30)),
};
/// Expensive requests that compute at the same time, at most, of users and of the exempt priority
/// level each: half of the processors are for others.
const HEAVY_REQUESTS: usize = 2;
/// The grace period of open requests at shutdown: a lab ends within two seconds.
const STOP_TIMEOUT: Duration = Duration::from_secs(1);

/// Options of the listener.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// The listen address; loopback by default.
    pub address: IpAddr,
    /// The port; 0 selects a free port.
    pub port: u16,
    /// The name of cluster, user and context in the kubeconfig.
    pub name: String,
    /// Additional DNS names of the server, for its certificate and the Host check.
    pub names: Vec<String>,
    /// The time at shutdown in which `/readyz` fails and requests are still served;
    /// kube-apiserver's `--shutdown-delay-duration`.
    pub shutdown_delay: Duration,
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self {
            address: Ipv4Addr::LOCALHOST.into(),
            port: 0,
            name: "kueue-lab".into(),
            names: Vec::new(),
            shutdown_delay: Duration::ZERO,
        }
    }
}

/// An error at the start of serving.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Binding the address failed; usually the port is in use.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The listen address.
        address: SocketAddr,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The certificates could not be generated.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// A running listener. Dropping it stops it immediately; [`ServingHandle::shutdown`] stops it
/// gracefully.
pub struct ServingHandle {
    address: SocketAddr,
    kubeconfig: String,
    authority: String,
    core: Arc<ServerState>,
    shutdown_delay: Duration,
    stop: CancellationToken,
    server: JoinHandle<()>,
    _runtime: ServingRuntime,
}

/// State shared by all connections.
pub(super) struct ConnectionContext {
    pub(super) core: Arc<ServerState>,
    pub(super) hosts: AllowedHosts,
    pub(super) client_certificates: Arc<ClientCertificateVerifier>,
    pub(super) stop: CancellationToken,
    /// The seats of the priority levels.
    pub(super) seats: Arc<Seats>,
    /// The open watches of users.
    pub(super) watches: Arc<UserLimit>,
    /// The bytes of request bodies of users.
    pub(super) body_bytes: Arc<UserLimit>,
    /// The bytes of large responses of users that are not sent yet.
    pub(super) response_bytes: Arc<UserLimit>,
    /// Expensive requests of users, who take turns.
    pub(super) heavy_work: HeavyWork,
    /// Expensive requests of the exempt priority level, which do not wait for those of users.
    pub(super) exempt_heavy_work: HeavyWork,
}

impl ServerState {
    /// Starts serving over TLS.
    ///
    /// # Errors
    /// [`ServeError`] when binding the address or setting up TLS fails.
    pub(crate) async fn serve(
        self: &Arc<Self>,
        options: ServeOptions,
    ) -> Result<ServingHandle, ServeError> {
        let address = SocketAddr::new(options.address, options.port);
        let listen = |source| ServeError::Listen { address, source };
        let runtime = ServingRuntime::start().map_err(listen)?;
        let bind = HttpServer::bind("apiserver", address, LISTENER_LIMITS);
        let bound = runtime.spawn(bind).await.map_err(io::Error::other);
        let server = bound.flatten().map_err(listen)?;
        let address = server.local_addr();

        let names: Vec<String> = SERVER_NAMES
            .iter()
            .map(ToString::to_string)
            .chain(options.names)
            .collect();
        let mut addresses: Vec<IpAddr> = vec![
            Ipv4Addr::LOCALHOST.into(),
            Ipv6Addr::LOCALHOST.into(),
            address.ip(),
        ];
        addresses.extend(KUBERNETES_SERVICE_IP.parse::<IpAddr>());
        addresses.dedup();
        let authority = self.certificates.authority()?;
        let (tls, client_certificates) = tls::server_config(authority, &addresses, &names)?;
        let server = server.with_tls(tls);

        let reachable = if address.ip().is_unspecified() {
            SocketAddr::new(Ipv4Addr::LOCALHOST.into(), address.port())
        } else {
            address
        };
        let kubeconfig = kubeconfig(
            &options.name,
            &format!("https://{reachable}"),
            &authority.certificate_pem(),
            self.authenticator.admin_token(),
        );
        let stop = CancellationToken::new();
        let limits = &self.request_limits;
        let context = Arc::new(ConnectionContext {
            core: self.clone(),
            hosts: AllowedHosts { names, addresses },
            client_certificates,
            stop: stop.clone(),
            seats: Arc::default(),
            watches: UserLimit::new(limits.max_watches_per_user, usize::MAX),
            body_bytes: UserLimit::new(limits.max_body_bytes_per_user, limits.max_body_bytes),
            response_bytes: UserLimit::new(
                limits.max_response_bytes_per_user,
                limits.max_response_bytes,
            ),
            heavy_work: HeavyWork::new(heavy_requests()),
            exempt_heavy_work: HeavyWork::new(heavy_requests()),
        });
        self.is_shutting_down.store(false, Ordering::Relaxed);
        self.host_addresses.add_server(address.port());
        let server = runtime.spawn(server.serve(request_stack(context), stop.clone()));
        Ok(ServingHandle {
            address,
            kubeconfig,
            authority: authority.certificate_pem(),
            core: self.clone(),
            shutdown_delay: options.shutdown_delay,
            stop,
            server,
            _runtime: runtime,
        })
    }
}

fn heavy_requests() -> usize {
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    (processors / 2).clamp(1, HEAVY_REQUESTS)
}

impl ServingHandle {
    /// The listen address, with the port in use.
    pub fn addr(&self) -> SocketAddr {
        self.address
    }

    /// Cancelled when the listener stops.
    pub(crate) fn stop_token(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// A kubeconfig with administrator credentials.
    pub fn kubeconfig(&self) -> &str {
        &self.kubeconfig
    }

    /// The certificate (PEM) of the certificate authority that signed the server's certificate.
    pub fn certificate_authority_pem(&self) -> &str {
        &self.authority
    }

    /// Writes the kubeconfig with mode 0600, replacing an existing file.
    ///
    /// # Errors
    /// The I/O error of the write.
    pub fn write_kubeconfig(&self, path: &Path) -> io::Result<()> {
        write_private_file(path, &self.kubeconfig)
    }

    /// Fails `/readyz` for the shutdown delay. Then stops listening, ends all watches, and drains
    /// other requests until a timeout.
    pub async fn shutdown(mut self) {
        self.core.is_shutting_down.store(true, Ordering::Relaxed);
        tokio::time::sleep(self.shutdown_delay).await;
        self.stop.cancel();
        // Connections still open after the timeout are aborted on drop.
        let _ = tokio::time::timeout(STOP_TIMEOUT, &mut self.server).await;
    }
}

impl Drop for ServingHandle {
    fn drop(&mut self) {
        self.core.host_addresses.remove_server(self.address.port());
        self.stop.cancel();
        self.server.abort();
    }
}

//! Serving on the network: one listener, TLS, bounded connections, and a clean stop.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use http::Response;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::host_check::AllowedHosts;
use super::kubeconfig::{kubeconfig, write_private_file};
use super::tls::{CertificateAuthority, KUBERNETES_SERVICE_IP, SERVER_NAMES, TlsError};
use super::{host_check as request_filters, tower_service};
use crate::auth::service_account::is_deleted_service_account;
use crate::endpoints;
use crate::endpoints::response_body::Body;
use crate::server_state::ServerState;

/// Connections open at the same time.
const MAX_CONNECTIONS: usize = 1024;
/// Requests open at the same time on one HTTP/2 connection.
const MAX_CONCURRENT_STREAMS: u32 = 250;
/// How long a client may take for the TLS handshake or for the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(15);
/// How often an idle HTTP/2 connection is asked whether it is still there.
const PING_PERIOD: Duration = Duration::from_secs(30);
/// The most all headers of a request may take.
const HEADERS_MAX: usize = 128 << 10;
/// How long open requests are waited for at a stop.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// Where and how to serve.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// The address to listen on; loopback unless somebody wants to share their lab.
    pub address: IpAddr,
    /// The port; 0 takes any that is free.
    pub port: u16,
    /// What cluster, user and context are called in the kubeconfig.
    pub name: String,
    /// Further names clients may know this server by.
    pub names: Vec<String>,
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self {
            address: Ipv4Addr::LOCALHOST.into(),
            port: 0,
            name: "kueue-lab".into(),
            names: Vec::new(),
        }
    }
}

/// Why serving could not begin.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address cannot be listened on; most often the port is taken.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// What the operating system said.
        source: io::Error,
    },
    /// Certificates could not be made.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// A server that listens. Dropping it stops it at once; [`ServingHandle::shutdown`] lets requests finish.
pub struct ServingHandle {
    address: SocketAddr,
    kubeconfig: String,
    authority: String,
    stop: CancellationToken,
    connections: TaskTracker,
    listener: JoinHandle<()>,
}

/// What all connections share.
struct ConnectionContext {
    core: Arc<ServerState>,
    hosts: AllowedHosts,
    stop: CancellationToken,
}

impl ServerState {
    /// Starts serving over TLS.
    ///
    /// # Errors
    /// [`ServeError`] when the address cannot be listened on or TLS cannot be set up.
    pub(crate) async fn serve(
        self: &Arc<Self>,
        options: ServeOptions,
    ) -> Result<ServingHandle, ServeError> {
        let asked = SocketAddr::new(options.address, options.port);
        let listen = |source| ServeError::Listen {
            address: asked,
            source,
        };
        let listener = TcpListener::bind(asked).await.map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;

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
        let authority = CertificateAuthority::generate()?;
        let acceptor = TlsAcceptor::from(authority.server_config(&addresses, &names)?);

        let reachable = if address.ip().is_unspecified() {
            SocketAddr::new(Ipv4Addr::LOCALHOST.into(), address.port())
        } else {
            address
        };
        let kubeconfig = kubeconfig(
            &options.name,
            &format!("https://{reachable}"),
            authority.certificate_pem(),
            self.authenticator.admin_token(),
        );
        let stop = CancellationToken::new();
        let open = TaskTracker::new();
        let shared = Arc::new(ConnectionContext {
            core: self.clone(),
            hosts: AllowedHosts { names, addresses },
            stop: stop.clone(),
        });
        let listener = tokio::spawn(accept_connections(listener, acceptor, shared, open.clone()));
        Ok(ServingHandle {
            address,
            kubeconfig,
            authority: authority.certificate_pem().to_string(),
            stop,
            connections: open,
            listener,
        })
    }
}

impl ServingHandle {
    /// The address listened on, with the port that was taken.
    pub fn addr(&self) -> SocketAddr {
        self.address
    }

    /// A kubeconfig that makes its holder the administrator.
    pub fn kubeconfig(&self) -> &str {
        &self.kubeconfig
    }

    /// The certificate (PEM) of the authority that signed the server's certificate.
    pub fn certificate_authority_pem(&self) -> &str {
        &self.authority
    }

    /// Writes the kubeconfig to a file only its owner can read (0600), replacing what is there.
    ///
    /// # Errors
    /// What the file system says.
    pub fn write_kubeconfig(&self, path: &Path) -> io::Result<()> {
        write_private_file(path, &self.kubeconfig)
    }

    /// Stops listening, ends all watches, and gives other requests a moment to finish.
    pub async fn shutdown(self) {
        self.stop.cancel();
        self.connections.close();
        // Whoever is still there after that is cut off.
        let _ = tokio::time::timeout(STOP_TIMEOUT, self.connections.wait()).await;
    }
}

impl Drop for ServingHandle {
    fn drop(&mut self) {
        self.stop.cancel();
        self.listener.abort();
    }
}

async fn accept_connections(
    listener: TcpListener,
    acceptor: TlsAcceptor,
    shared: Arc<ConnectionContext>,
    open: TaskTracker,
) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = shared.stop.cancelled() => return,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Out of file descriptors, most likely; it passes when connections close, which nothing
                // here hears of.
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let Ok(place) = places.clone().acquire_owned().await else {
            return;
        };
        let (acceptor, shared) = (acceptor.clone(), shared.clone());
        open.spawn(async move {
            serve_connection(stream, &acceptor, shared).await;
            drop(place);
        });
    }
}

async fn serve_connection(
    stream: TcpStream,
    acceptor: &TlsAcceptor,
    shared: Arc<ConnectionContext>,
) {
    // Small answers must not wait for more.
    let _ = stream.set_nodelay(true);
    let handshake = tokio::time::timeout(HEAD_TIMEOUT, acceptor.accept(stream)).await;
    let Ok(Ok(stream)) = handshake else { return };
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(HEADERS_MAX);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_CONCURRENT_STREAMS)
        .max_header_list_size(HEADERS_MAX as u32)
        .keep_alive_interval(PING_PERIOD)
        .keep_alive_timeout(HEAD_TIMEOUT);
    let stop = shared.stop.clone();
    let service = service_fn(move |request| {
        let shared = shared.clone();
        async move { Ok::<_, std::convert::Infallible>(serve_connection_request(shared, request).await) }
    });
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection broke");
    }
}

async fn serve_connection_request(
    shared: Arc<ConnectionContext>,
    request: http::Request<Incoming>,
) -> Response<Body> {
    let (mut head, body) = request.into_parts();
    let now = shared.core.clock.now().as_second();
    let user = request_filters::check_host_and_origin(&head, &shared.hosts)
        .and_then(|()| {
            crate::auth::bearer_token::authenticate(&head, &shared.core.authenticator, now)
        })
        .and_then(
            |user| match is_deleted_service_account(&shared.core.objects(), &user) {
                true => Err(crate::auth::bearer_token::unauthorized()),
                false => Ok(user),
            },
        )
        .and_then(|user| crate::auth::impersonation::impersonate(&mut head, user));
    let user = match user {
        Ok(user) => user,
        Err(error) => return endpoints::error_response(&error),
    };
    let request = http::Request::from_parts(head, body);
    let response = tower_service::read_and_handle(shared.core.clone(), request, user).await;
    let stop = shared.stop.clone();
    response.map(|body| body.until(stop.cancelled_owned()))
}

//! Serving on the network: one listener, TLS, bounded connections, and a clean stop.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
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

use super::Body;
use super::guard::{self, Hosts};
use super::identity::User;
use super::kubeconfig::{kubeconfig, write_private};
use super::service;
use super::tls::{Authority, NAMES, SERVICE_ADDRESS, TlsError};
use crate::handlers;
use crate::server::{ApiServer, Core};

/// Connections open at the same time.
const CONNECTIONS: usize = 1024;
/// Requests open at the same time on one HTTP/2 connection.
const STREAMS: u32 = 250;
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

/// A server that listens. Dropping it stops it at once; [`Serving::shutdown`] lets requests finish.
pub struct Serving {
    address: SocketAddr,
    kubeconfig: String,
    authority: String,
    stop: CancellationToken,
    open: TaskTracker,
    listener: JoinHandle<()>,
}

/// What all connections share.
struct Shared {
    core: Arc<Core>,
    hosts: Hosts,
    stop: CancellationToken,
}

impl ApiServer {
    /// Starts serving over TLS.
    ///
    /// # Errors
    /// [`ServeError`] when the address cannot be listened on or TLS cannot be set up.
    pub async fn serve(&self, options: ServeOptions) -> Result<Serving, ServeError> {
        let asked = SocketAddr::new(options.address, options.port);
        let listen = |source| ServeError::Listen {
            address: asked,
            source,
        };
        let listener = TcpListener::bind(asked).await.map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;

        let names: Vec<String> = NAMES
            .iter()
            .map(ToString::to_string)
            .chain(options.names)
            .collect();
        let mut addresses: Vec<IpAddr> = vec![
            Ipv4Addr::LOCALHOST.into(),
            Ipv6Addr::LOCALHOST.into(),
            address.ip(),
        ];
        addresses.extend(SERVICE_ADDRESS.parse::<IpAddr>());
        addresses.dedup();
        let authority = Authority::generate()?;
        let acceptor = TlsAcceptor::from(authority.server(&addresses, &names)?);

        let reachable = if address.ip().is_unspecified() {
            SocketAddr::new(Ipv4Addr::LOCALHOST.into(), address.port())
        } else {
            address
        };
        let kubeconfig = kubeconfig(
            &options.name,
            &format!("https://{reachable}"),
            authority.pem(),
            self.core.identity.token(),
        );
        let stop = CancellationToken::new();
        let open = TaskTracker::new();
        let shared = Arc::new(Shared {
            core: self.core.clone(),
            hosts: Hosts { names, addresses },
            stop: stop.clone(),
        });
        let listener = tokio::spawn(accept(listener, acceptor, shared, open.clone()));
        Ok(Serving {
            address,
            kubeconfig,
            authority: authority.pem().to_string(),
            stop,
            open,
            listener,
        })
    }
}

impl Serving {
    /// The address listened on, with the port that was taken.
    pub fn addr(&self) -> SocketAddr {
        self.address
    }

    /// A kubeconfig that makes its holder the administrator.
    pub fn kubeconfig(&self) -> &str {
        &self.kubeconfig
    }

    /// The certificate (PEM) of the authority that signed the server's certificate.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Writes the kubeconfig to a file only its owner can read (0600), replacing what is there.
    ///
    /// # Errors
    /// What the file system says.
    pub fn write_kubeconfig(&self, path: &Path) -> io::Result<()> {
        write_private(path, &self.kubeconfig)
    }

    /// Stops listening, ends all watches, and gives other requests a moment to finish.
    pub async fn shutdown(self) {
        self.stop.cancel();
        self.open.close();
        // Whoever is still there after that is cut off.
        let _ = tokio::time::timeout(STOP_TIMEOUT, self.open.wait()).await;
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.stop.cancel();
        self.listener.abort();
    }
}

async fn accept(
    listener: TcpListener,
    acceptor: TlsAcceptor,
    shared: Arc<Shared>,
    open: TaskTracker,
) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
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
            connection(stream, &acceptor, shared).await;
            drop(place);
        });
    }
}

async fn connection(stream: TcpStream, acceptor: &TlsAcceptor, shared: Arc<Shared>) {
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
        .max_concurrent_streams(STREAMS)
        .max_header_list_size(HEADERS_MAX as u32)
        .keep_alive_interval(PING_PERIOD)
        .keep_alive_timeout(HEAD_TIMEOUT);
    let stop = shared.stop.clone();
    let service = service_fn(move |request| {
        let shared = shared.clone();
        async move { Ok::<_, std::convert::Infallible>(answer(shared, request).await) }
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

async fn answer(shared: Arc<Shared>, request: http::Request<Incoming>) -> Response<Body> {
    let (mut head, body) = request.into_parts();
    let now = shared.core.clock.now().as_second();
    let user = guard::check(&head, &shared.hosts)
        .and_then(|()| guard::authenticate(&head, &shared.core.identity, now))
        .and_then(|user| match shared.core.is_gone(&user) {
            true => Err(guard::unauthorized()),
            false => Ok(user),
        })
        .and_then(|user| guard::impersonate(&mut head, user));
    let user = match user {
        Ok(user) => user,
        Err(error) => return handlers::refuse(&error),
    };
    let request = http::Request::from_parts(head, body);
    let response = service::answer(shared.core.clone(), request, user).await;
    let stop = shared.stop.clone();
    response.map(|body| body.until(stop.cancelled_owned()))
}

impl Core {
    /// Whether a user is a service account that is not there any more, or another of the same name.
    fn is_gone(&self, user: &User) -> bool {
        let account = user.name.strip_prefix("system:serviceaccount:");
        let Some((namespace, name)) = account.and_then(|a| a.split_once(':')) else {
            return false;
        };
        let served = self.registry.find("", "v1", "serviceaccounts");
        let space = served.and_then(|served| served.space.clone());
        let there = space.and_then(|space| space.get(&format!("{namespace}/{name}")));
        there.is_none_or(|there| there.value()["metadata"]["uid"] != user.uid.as_str())
    }
}

impl Body {
    /// The same body; a stream ends when `end` happens.
    fn until(self, end: impl Future<Output = ()> + Send + 'static) -> Self {
        self.map_stream(|stream| stream.take_until(Box::pin(end)).boxed())
    }
}

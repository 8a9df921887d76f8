//! [`HttpServer`]: a listener and the loop that accepts connections.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::HttpService;
use crate::connection::Connection;
use crate::connection_pool::{ConnectionPool, UnauthenticatedLimits};

/// Delay after a failed `accept`: usually the process is out of file descriptors until connections
/// close.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

/// Limits of one server. The numbers of connections are lower if the limit of open file descriptors is.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Connections open at the same time. More wait until one of these ends or has no request. With
    /// `unauthenticated` it counts authenticated connections only.
    pub max_connections: usize,
    /// Limits of connections until [`ConnectionSlot::set_authenticated`]; `None` if the server does
    /// not authenticate clients.
    ///
    /// [`ConnectionSlot::set_authenticated`]: crate::ConnectionSlot::set_authenticated
    pub unauthenticated: Option<UnauthenticatedLimits>,
    /// Timeout of the TLS handshake and of the headers of an HTTP/1 request.
    pub header_timeout: Duration,
    /// Bytes of all headers of a request; `None` is hyper's default.
    pub max_header_bytes: Option<u32>,
    /// Requests open at the same time on one HTTP/2 connection; `None` is hyper's default.
    pub max_concurrent_streams: Option<u32>,
    /// Period of HTTP/2 PING frames on an idle connection, which is closed if none is acknowledged
    /// within `header_timeout`. `None` serves HTTP/1 only.
    pub http2_ping_interval: Option<Duration>,
}

/// A bound listener; [`HttpServer::serve`] accepts connections.
pub struct HttpServer {
    name: &'static str,
    limits: Limits,
    listener: TcpListener,
    address: SocketAddr,
    tls: Option<Arc<rustls::ServerConfig>>,
}

impl HttpServer {
    /// Binds the address; port 0 is any free port. `name` identifies the server in logs.
    ///
    /// # Errors
    /// The address cannot be bound.
    pub async fn bind(name: &'static str, address: SocketAddr, limits: Limits) -> io::Result<Self> {
        let listener = kueue_lab_host::listen(address)?;
        Ok(Self {
            name,
            limits,
            address: listener.local_addr()?,
            listener,
            tls: None,
        })
    }

    /// Serves HTTPS instead of HTTP.
    #[must_use]
    pub fn with_tls(mut self, config: Arc<rustls::ServerConfig>) -> Self {
        self.tls = Some(config);
        self
    }

    /// The bound address, with the port that was chosen.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Accepts connections and calls `service` for each request until `stop` is cancelled; then
    /// stops accepting, and returns when the open connections have finished their requests.
    /// Dropping the future aborts all connections.
    ///
    /// Each request carries [`PeerAddr`](crate::PeerAddr) in its extensions.
    pub async fn serve(self, service: impl HttpService, stop: CancellationToken) {
        let Self {
            name,
            limits,
            listener,
            tls,
            ..
        } = self;
        let limits = Arc::new(limits);
        let pool = ConnectionPool::new(&limits);
        let mut connections = JoinSet::new();
        loop {
            let (accepts, next_close) = pool.accepts();
            let accepted = tokio::select! {
                biased;
                () = stop.cancelled() => break,
                Some(_) = connections.join_next() => continue,
                accepted = listener.accept(), if accepts => accepted,
                () = pool.changed(), if !accepts => continue,
                () = sleep_until(next_close), if next_close.is_some() => continue,
            };
            match accepted {
                Ok((stream, peer)) => {
                    let connection = Connection {
                        limits: limits.clone(),
                        tls: tls.clone(),
                        peer,
                        stop: stop.clone(),
                        slot: pool.admit(peer.ip()),
                    };
                    let span = tracing::debug_span!("connection", server = name, %peer);
                    let serving = connection.serve(stream, service.clone());
                    connections.spawn(serving.instrument(span));
                }
                Err(error) => {
                    tracing::warn!(%error, server = name, "cannot accept a connection");
                    pool.free_descriptor();
                    tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                }
            }
        }
        drop(listener);
        while connections.join_next().await.is_some() {}
    }
}

async fn sleep_until(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

//! One connection: TLS handshake, HTTP/1 or HTTP/2 with the limits of its server, graceful
//! shutdown.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::Request;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use rustls::pki_types::CertificateDer;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use crate::connection_pool::ConnectionSlot;
use crate::{HttpService, Limits};

/// The address of the client, in the extensions of each request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerAddr(pub SocketAddr);

/// The certificates of the client, its own first, in the extensions of each request of a TLS
/// connection with a client certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerCertificates(pub Arc<[CertificateDer<'static>]>);

/// The time that the requests of an unauthenticated connection have to end after its timeout.
const GRACE_PERIOD: Duration = Duration::from_secs(1);

/// A connection that was accepted.
pub(crate) struct Connection {
    pub(crate) limits: Arc<Limits>,
    pub(crate) tls: Option<TlsAcceptor>,
    pub(crate) peer: SocketAddr,
    pub(crate) stop: CancellationToken,
    /// The slot, if the limits of authenticated connections differ.
    pub(crate) slot: Option<ConnectionSlot>,
}

impl Connection {
    /// Serves the connection until it is closed, or until its slot is taken or ends.
    pub(crate) async fn serve(mut self, stream: TcpStream, service: impl HttpService) {
        let (Some(slot), Some(limits)) = (&self.slot, self.limits.unauthenticated) else {
            return self.serve_stream(stream, service).await;
        };
        let slot = slot.clone();
        self.stop = self.stop.child_token();
        let stop = self.stop.clone();
        let expire = async {
            tokio::select! {
                () = slot.authenticated() => std::future::pending().await,
                () = tokio::time::sleep(limits.timeout) => {}
            }
            stop.cancel();
            tokio::time::sleep(GRACE_PERIOD).await;
        };
        tokio::select! {
            () = self.serve_stream(stream, service) => {}
            () = slot.evicted() => tracing::debug!("an unauthenticated connection is closed for another"),
            () = expire => tracing::debug!("an unauthenticated connection is closed"),
        }
    }

    async fn serve_stream(self, stream: TcpStream, service: impl HttpService) {
        // Small responses are sent without delay.
        let _ = stream.set_nodelay(true);
        let Some(tls) = &self.tls else {
            return self.serve_http(stream, None, service).await;
        };
        match tokio::time::timeout(self.limits.header_timeout, tls.accept(stream)).await {
            Ok(Ok(stream)) => {
                let certificates = stream.get_ref().1.peer_certificates();
                let certificates = certificates.map(|all| PeerCertificates(all.to_vec().into()));
                self.serve_http(stream, certificates, service).await;
            }
            Ok(Err(error)) => tracing::debug!(%error, "TLS handshake failed"),
            Err(_) => tracing::debug!("TLS handshake timed out"),
        }
    }

    async fn serve_http<I>(
        self,
        stream: I,
        certificates: Option<PeerCertificates>,
        service: impl HttpService,
    ) where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let Self {
            limits,
            peer,
            stop,
            slot,
            ..
        } = self;
        let builder = connection_builder(&limits);
        let service = service.map_request(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(PeerAddr(peer));
            if let Some(slot) = &slot {
                request.extensions_mut().insert(slot.clone());
            }
            if let Some(certificates) = &certificates {
                request.extensions_mut().insert(certificates.clone());
            }
            request
        });
        let connection = builder.serve_connection_with_upgrades(
            TokioIo::new(stream),
            TowerToHyperService::new(service),
        );
        tokio::pin!(connection);
        let result = tokio::select! {
            result = connection.as_mut() => result,
            () = stop.cancelled() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = result {
            tracing::debug!(%error, "connection failed");
        }
    }
}

fn connection_builder(limits: &Limits) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    let mut http1 = builder.http1();
    http1
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_timeout);
    if let Some(bytes) = limits.max_header_bytes {
        http1.max_buf_size(bytes as usize);
    }
    let Some(ping_interval) = limits.http2_ping_interval else {
        return builder.http1_only();
    };
    let mut http2 = builder.http2();
    http2
        .timer(TokioTimer::new())
        .keep_alive_interval(ping_interval)
        .keep_alive_timeout(limits.header_timeout);
    if let Some(streams) = limits.max_concurrent_streams {
        http2.max_concurrent_streams(streams);
    }
    if let Some(bytes) = limits.max_header_bytes {
        http2.max_header_list_size(bytes);
    }
    builder
}

//! One connection: TLS handshake, HTTP/1 or HTTP/2 with the limits of its server, graceful
//! shutdown.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response, StatusCode};
use http_body::Body;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use rustls::pki_types::CertificateDer;
use rustls::server::Acceptor;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::LazyConfigAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;
use tower::{ServiceExt, service_fn};

use crate::client_stream::{ClientStream, has_unread_bytes};
use crate::connection_pool::{ConnectionSlot, RequestInFlight};
use crate::{HttpService, Limits};

/// The address of the client, in the extensions of each request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerAddr(pub SocketAddr);

/// The certificates of the client, its own first, in the extensions of each request of a TLS
/// connection with a client certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerCertificates(pub Arc<[CertificateDer<'static>]>);

/// The time that the requests of an unauthenticated connection have to end after its timeout, and
/// that a connection has to end when it is closed for another.
const GRACE_PERIOD: Duration = Duration::from_secs(1);

/// A connection that was accepted.
pub(crate) struct Connection {
    pub(crate) limits: Arc<Limits>,
    pub(crate) tls: Option<Arc<ServerConfig>>,
    pub(crate) peer: SocketAddr,
    pub(crate) stop: CancellationToken,
    pub(crate) slot: ConnectionSlot,
}

impl Connection {
    /// Serves the connection until it is closed, or until its slot is taken or ends.
    pub(crate) async fn serve(self, stream: TcpStream, service: impl HttpService) {
        if !self.receives_bytes(&stream).await {
            return;
        }
        self.slot.received();
        tokio::select! {
            () = self.stop.cancelled() => return,
            () = self.slot.start() => {}
        }
        // A connection without a byte needs little memory.
        Box::pin(self.serve_started(stream, service)).await;
    }

    /// Whether the client sends a byte before the timeout and before it is closed for another.
    async fn receives_bytes(&self, stream: &TcpStream) -> bool {
        let timeout = tokio::time::sleep(self.limits.header_timeout);
        tokio::pin!(timeout);
        loop {
            tokio::select! {
                biased;
                readable = stream.readable() => return readable.is_ok(),
                () = self.stop.cancelled() => return false,
                () = &mut timeout => return false,
                () = self.slot.closing() => {
                    if !has_unread_bytes(stream) {
                        return false;
                    }
                    self.slot.keep();
                }
            }
        }
    }

    async fn serve_started(mut self, stream: TcpStream, service: impl HttpService) {
        let slot = self.slot.clone();
        self.stop = self.stop.child_token();
        let stop = self.stop.clone();
        let timeout = self.limits.unauthenticated.map(|limits| limits.timeout);
        let expire = async {
            let timeout = timeout.map(tokio::time::sleep);
            match timeout {
                None => std::future::pending().await,
                Some(timeout) => tokio::select! {
                    () = slot.authenticated() => std::future::pending().await,
                    () = timeout => {}
                },
            }
            stop.cancel();
            tokio::time::sleep(GRACE_PERIOD).await;
        };
        // A read or write of the connection fails when it is closed for another. This ends one that
        // does neither.
        let close = async {
            loop {
                slot.closing().await;
                tokio::time::sleep(GRACE_PERIOD).await;
                if slot.is_closing() {
                    return;
                }
            }
        };
        let drain = async {
            slot.drained().await;
            stop.cancel();
            std::future::pending().await
        };
        tokio::select! {
            () = self.serve_stream(stream, service) => {}
            () = close => tracing::debug!("a connection without progress is closed for another"),
            () = expire => tracing::debug!("an unauthenticated connection is closed"),
            () = drain => {}
        }
    }

    async fn serve_stream(mut self, stream: TcpStream, service: impl HttpService) {
        // Small responses are sent without delay.
        let _ = stream.set_nodelay(true);
        let stream = ClientStream::new(stream, self.slot.clone());
        let Some(tls) = self.tls.take() else {
            return self.serve_http(stream, None, service).await;
        };
        let handshake = handshake(stream, tls, &self.slot);
        match tokio::time::timeout(self.limits.header_timeout, handshake).await {
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
        let service = service_fn(move |mut request: Request<Incoming>| {
            let in_flight = slot.begin_request();
            request.extensions_mut().insert(PeerAddr(peer));
            request.extensions_mut().insert(slot.clone());
            if let Some(certificates) = &certificates {
                request.extensions_mut().insert(certificates.clone());
            }
            let response = service.clone().oneshot(request);
            async move { response.await.map(|response| hold(response, in_flight)) }
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

/// Serves the TLS handshake. Its steps are the ClientHello and the end.
async fn handshake(
    stream: ClientStream,
    config: Arc<ServerConfig>,
    slot: &ConnectionSlot,
) -> io::Result<TlsStream<ClientStream>> {
    let hello = LazyConfigAcceptor::new(Acceptor::default(), stream).await?;
    slot.step();
    let stream = hello.into_stream(config).await?;
    slot.step();
    Ok(stream)
}

/// A response whose request is in flight until its body is sent.
fn hold<B>(
    response: Response<B>,
    in_flight: RequestInFlight,
) -> Response<impl Body<Data = B::Data, Error = B::Error>>
where
    B: Body,
{
    let in_flight = match response.status() {
        StatusCode::SWITCHING_PROTOCOLS => {
            in_flight.upgrade();
            None
        }
        _ => Some(in_flight),
    };
    response.map(|body| {
        body.map_err(move |error| {
            let _held = &in_flight;
            error
        })
    })
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

//! [`WebhookServer`]: the webhooks over HTTPS.
//!
//! Anybody on the network may ask; an answer says no more than the same write would tell its writer.
//! What comes in is bounded in size, number and time.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;

use super::admission_review::{self, ReviewError};
use super::certificates::{CertificateError, ServingCertificate};
use super::webhook_definitions::AdmissionPhase;
use super::{AdmissionHandler, conversion_review};
use kueue_lab_runtime::Tasks;

/// Where objects may be changed.
pub const MUTATE: &str = "/mutate";
/// Where objects may be refused.
pub const VALIDATE: &str = "/validate";
/// Where objects are converted.
pub const CONVERT: &str = "/convert";

/// Connections open at the same time; an API server needs a few.
const CONNECTIONS: usize = 256;
/// Requests open at the same time on one connection.
const STREAMS: u32 = 250;
/// How long a client may take for the handshake or the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(15);
/// How long a request may take altogether; API servers wait 30 seconds at most.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// The largest review of a write: an object as it was and is to be, each 3 MiB at most.
const REVIEW_LIMIT: usize = 16 << 20;
/// The largest review of a conversion, which may hold a whole list.
const CONVERSION_LIMIT: usize = 128 << 20;

/// Why the webhooks cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The address cannot be listened on.
    #[error("cannot listen on {address} for the webhooks: {source}")]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The certificate cannot be used.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
}

/// A server of webhooks; it runs until the tasks it was started in are told to stop.
#[derive(Clone, Debug)]
pub struct WebhookServer {
    address: SocketAddr,
}

impl WebhookServer {
    /// Starts to listen and to answer what `policy` says.
    ///
    /// # Errors
    /// The address is taken, or the certificates cannot be used.
    pub async fn start(
        tasks: &Tasks,
        listen: SocketAddr,
        policy: Arc<AdmissionHandler>,
        certificates: &ServingCertificate,
    ) -> Result<Self, ServerError> {
        let cannot = |source| ServerError::Listen {
            address: listen,
            source,
        };
        let acceptor = TlsAcceptor::from(certificates.server_config()?);
        let listener = TcpListener::bind(listen).await.map_err(cannot)?;
        let address = listener.local_addr().map_err(cannot)?;
        let all = tasks.clone();
        tasks.spawn("webhooks", async move {
            accept(listener, acceptor, policy, all).await;
        });
        Ok(Self { address })
    }

    /// The address listened on, with the port that was taken.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

async fn accept(
    listener: TcpListener,
    acceptor: TlsAcceptor,
    policy: Arc<AdmissionHandler>,
    tasks: Tasks,
) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(place) = places.clone().acquire_owned().await else {
            return;
        };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Out of file descriptors, most likely; it passes when connections close.
                tracing::warn!(%error, "cannot accept a connection for webhooks");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let (acceptor, policy) = (acceptor.clone(), policy.clone());
        tasks.spawn("webhook-connection", async move {
            connection(stream, &acceptor, policy).await;
            drop(place);
        });
    }
}

async fn connection(stream: TcpStream, acceptor: &TlsAcceptor, policy: Arc<AdmissionHandler>) {
    // Small answers must not wait for more.
    let _ = stream.set_nodelay(true);
    let stream = match tokio::time::timeout(HEAD_TIMEOUT, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => {
            tracing::debug!(%error, "a handshake of webhooks failed");
            return;
        }
        Err(_) => return,
    };
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS)
        .keep_alive_interval(HEAD_TIMEOUT)
        .keep_alive_timeout(HEAD_TIMEOUT);
    let service = service_fn(move |request| {
        let policy = policy.clone();
        async move { Ok::<_, Infallible>(answer(&policy, request).await) }
    });
    if let Err(error) = builder
        .serve_connection(TokioIo::new(stream), service)
        .await
    {
        tracing::debug!(%error, "a connection of webhooks broke");
    }
}

fn text(status: StatusCode, text: impl Into<String>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(text.into() + "\n")));
    *response.status_mut() = status;
    response
}

async fn answer(policy: &AdmissionHandler, request: Request<Incoming>) -> Response<Full<Bytes>> {
    match tokio::time::timeout(ANSWER_TIMEOUT, reply(policy, request)).await {
        Ok(Ok(review)) => {
            let mut response = Response::new(Full::new(Bytes::from(review.to_string())));
            let json = http::HeaderValue::from_static("application/json");
            response.headers_mut().insert(CONTENT_TYPE, json);
            response
        }
        Ok(Err((status, why))) => text(status, why),
        Err(_) => text(StatusCode::GATEWAY_TIMEOUT, "no answer in time"),
    }
}

async fn reply(
    policy: &AdmissionHandler,
    request: Request<Incoming>,
) -> Result<Value, (StatusCode, String)> {
    let limit = match request.uri().path() {
        MUTATE | VALIDATE => REVIEW_LIMIT,
        CONVERT => CONVERSION_LIMIT,
        _ => return Err((StatusCode::NOT_FOUND, "there is nothing here".into())),
    };
    if request.method() != Method::POST {
        let why = "reviews are posted".to_owned();
        return Err((StatusCode::METHOD_NOT_ALLOWED, why));
    }
    let path = request.uri().path().to_owned();
    let body = Limited::new(request.into_body(), limit).collect().await;
    let body = body.map_err(|e| match e.is::<LengthLimitError>() {
        true => (
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("a review may have {limit} bytes at most"),
        ),
        false => (StatusCode::BAD_REQUEST, e.to_string()),
    })?;
    let wrong = |why: String| (StatusCode::BAD_REQUEST, why);
    let mut review: Value =
        serde_json::from_slice(&body.to_bytes()).map_err(|e| wrong(e.to_string()))?;
    let phase = match path.as_str() {
        MUTATE => AdmissionPhase::Mutate,
        VALIDATE => AdmissionPhase::Validate,
        _ => return conversion_review::handle(&review).map_err(wrong),
    };
    let answer = admission_review::handle(policy, &mut review, phase).await;
    answer.map_err(|e| match e {
        ReviewError::Malformed => wrong(e.to_string()),
        ReviewError::NotReady => (StatusCode::SERVICE_UNAVAILABLE, e.to_string()),
    })
}

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
use kueue_lab_http::{HttpServer, Limits};
use serde_json::Value;
use tower::service_fn;

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

/// An API server needs a few connections.
const LIMITS: Limits = Limits {
    max_connections: 256,
    header_timeout: Duration::from_secs(15),
    max_header_bytes: None,
    max_concurrent_streams: Some(250),
    http2_ping_interval: Some(Duration::from_secs(15)),
};
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
        let tls = certificates.server_config()?;
        let server = HttpServer::bind("webhooks", listen, LIMITS)
            .await
            .map_err(cannot)?
            .with_tls(tls);
        let address = server.local_addr();
        let service = service_fn(move |request| {
            let policy = policy.clone();
            async move { Ok::<_, Infallible>(answer(&policy, request).await) }
        });
        tasks.spawn("webhooks", server.serve(service, tasks.token()));
        Ok(Self { address })
    }

    /// The address listened on, with the port that was taken.
    pub fn address(&self) -> SocketAddr {
        self.address
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

//! [`WebhookServer`]: the admission and conversion webhooks over HTTPS.
//!
//! Clients are not authenticated; a response contains no more than the response to the same write.
//! The size, number and duration of requests are limited, and the bytes of all bodies together.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use kueue_lab_http::{HttpServer, Limits};
use serde_json::Value;
use tower::service_fn;

use super::admission_review::{self, ReviewError};
use super::body_budget::BodyBudget;
use super::certificates::{CertificateError, ServingCertificate};
use super::webhook_definitions::AdmissionPhase;
use super::{AdmissionHandler, conversion_review};
use kueue_lab_controller_runtime::Tasks;

/// Path of the mutating webhooks.
pub const MUTATE: &str = "/mutate";
/// Path of the validating webhooks.
pub const VALIDATE: &str = "/validate";
/// Path of the conversion webhook.
pub const CONVERT: &str = "/convert";

/// Limits for a few connections of API servers.
const LIMITS: Limits = Limits {
    max_connections: 256,
    unauthenticated: None,
    header_timeout: Duration::from_secs(15),
    max_header_bytes: None,
    max_concurrent_streams: Some(250),
    http2_ping_interval: Some(Duration::from_secs(15)),
};
/// Timeout of a request; API servers use at most 30 seconds.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum bytes of an AdmissionReview: object and old object, each at most 3 MiB.
const REVIEW_LIMIT: usize = 16 << 20;
/// Maximum bytes of a ConversionReview, which may contain all objects of a list.
const CONVERSION_LIMIT: usize = 128 << 20;
/// Maximum bytes of all bodies in memory.
const BODIES_LIMIT: usize = CONVERSION_LIMIT;

/// The error of starting the webhook server.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The address cannot be bound.
    #[error("cannot listen on {address} for the webhooks: {source}")]
    Listen {
        /// The requested address.
        address: SocketAddr,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The certificate cannot be used.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
}

/// A running webhook server; it stops when its task group is shut down.
#[derive(Clone, Debug)]
pub struct WebhookServer {
    address: SocketAddr,
}

impl WebhookServer {
    /// Binds the address and serves the webhooks of `policy`.
    ///
    /// # Errors
    /// The address cannot be bound, or the certificates cannot be used.
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
        let bodies = BodyBudget::new(BODIES_LIMIT);
        let service = service_fn(move |request| {
            let (policy, bodies) = (policy.clone(), bodies.clone());
            async move { Ok::<_, Infallible>(handle(&policy, &bodies, request).await) }
        });
        tasks.spawn("webhooks", server.serve(service, tasks.token()));
        Ok(Self { address })
    }

    /// The bound address, with the port that was chosen.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

fn text(status: StatusCode, text: impl Into<String>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(text.into() + "\n")));
    *response.status_mut() = status;
    response
}

async fn handle(
    policy: &AdmissionHandler,
    bodies: &Arc<BodyBudget>,
    request: Request<Incoming>,
) -> Response<Full<Bytes>> {
    match tokio::time::timeout(REQUEST_TIMEOUT, respond(policy, bodies, request)).await {
        Ok(Ok(review)) => {
            let mut response = Response::new(Full::new(Bytes::from(review.to_string())));
            let json = http::HeaderValue::from_static("application/json");
            response.headers_mut().insert(CONTENT_TYPE, json);
            response
        }
        Ok(Err((status, reason))) => text(status, reason),
        Err(_) => text(StatusCode::GATEWAY_TIMEOUT, "timeout"),
    }
}

async fn respond(
    policy: &AdmissionHandler,
    bodies: &Arc<BodyBudget>,
    request: Request<Incoming>,
) -> Result<Value, (StatusCode, String)> {
    let limit = match request.uri().path() {
        MUTATE | VALIDATE => REVIEW_LIMIT,
        CONVERT => CONVERSION_LIMIT,
        _ => return Err((StatusCode::NOT_FOUND, "404 page not found".into())),
    };
    if request.method() != Method::POST {
        let message = "the method must be POST".to_owned();
        return Err((StatusCode::METHOD_NOT_ALLOWED, message));
    }
    let path = request.uri().path().to_owned();
    let (body, _held) = bodies.read(request.into_body(), limit).await?;
    let bad_request = |message: String| (StatusCode::BAD_REQUEST, message);
    let mut review: Value =
        serde_json::from_slice(&body).map_err(|e| bad_request(e.to_string()))?;
    let phase = match path.as_str() {
        MUTATE => AdmissionPhase::Mutate,
        VALIDATE => AdmissionPhase::Validate,
        _ => {
            let response = conversion_review::handle(&review);
            return response.map_err(|error| bad_request(error.to_string()));
        }
    };
    let response = admission_review::handle(policy, &mut review, phase).await;
    response.map_err(|e| match e {
        ReviewError::Malformed => bad_request(e.to_string()),
        ReviewError::NotReady => (StatusCode::SERVICE_UNAVAILABLE, e.to_string()),
    })
}

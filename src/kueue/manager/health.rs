//! Health and metrics over plain HTTP, for kubelets and Prometheus.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use tower::service_fn;

use super::operator::OperatorError;
use kueue_lab_api::config::ControllerHealth;
use kueue_lab_controller_runtime::Tasks;
use kueue_lab_http::{HttpServer, Limits, text_response};

/// HTTP/1 only.
const LIMITS: Limits = Limits {
    max_connections: 64,
    unauthenticated: None,
    header_timeout: Duration::from_secs(10),
    max_header_bytes: None,
    max_concurrent_streams: None,
    http2_ping_interval: None,
};

/// Why a health check fails.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HealthError {
    /// The instance has failed.
    #[error("{0}")]
    Failed(Arc<OperatorError>),
    /// The webhooks do not know all objects yet.
    #[error("the informers are not synced yet")]
    NotSynced,
}

/// The source of health and metrics.
pub(crate) trait HealthChecker: Send + Sync + 'static {
    /// The liveness check.
    ///
    /// # Errors
    /// The check fails; the error is the response body.
    fn live(&self) -> Result<(), HealthError>;

    /// The readiness check: the process is live and can serve webhooks.
    ///
    /// # Errors
    /// The check fails; the error is the response body.
    fn ready(&self) -> Result<(), HealthError>;

    /// The paths of the liveness and readiness checks.
    fn endpoints(&self) -> &HealthEndpoints;

    /// The content type and text of the metrics.
    fn metrics(&self) -> (&'static str, String);
}

/// The paths of the health checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HealthEndpoints {
    /// The liveness check.
    pub liveness: String,
    /// The readiness check.
    pub readiness: String,
}

impl HealthEndpoints {
    /// The paths of a configuration, by default `/healthz` and `/readyz`.
    pub(crate) fn new(health: &ControllerHealth) -> Self {
        let path = |configured: &str, default: &str| match configured {
            "" => default.to_owned(),
            path => format!("/{}", path.trim_start_matches('/')),
        };
        Self {
            liveness: path(&health.liveness_endpoint_name, "/healthz"),
            readiness: path(&health.readiness_endpoint_name, "/readyz"),
        }
    }
}

/// The endpoints served at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServedPaths {
    /// The health checks.
    Health,
    /// `/metrics`.
    Metrics,
    /// Both.
    All,
}

/// Serves the endpoints in `tasks`. Returns the bound address, with the port that was chosen.
///
/// # Errors
/// The address cannot be bound.
pub(crate) async fn serve(
    tasks: &Tasks,
    listen: SocketAddr,
    checker: Arc<dyn HealthChecker>,
    paths: ServedPaths,
) -> std::io::Result<SocketAddr> {
    let server = HttpServer::bind("health", listen, LIMITS).await?;
    let address = server.local_addr();
    let service = service_fn(move |request| {
        let response = respond(&*checker, paths, &request);
        async move { Ok::<_, Infallible>(response) }
    });
    tasks.spawn("health", server.serve(service, tasks.token()));
    Ok(address)
}

fn respond(
    checker: &dyn HealthChecker,
    paths: ServedPaths,
    request: &Request<Incoming>,
) -> Response<Full<Bytes>> {
    let probe = |outcome: Result<(), HealthError>| match outcome {
        Ok(()) => (StatusCode::OK, "ok".to_owned()),
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, error.to_string()),
    };
    let endpoints = checker.endpoints();
    let plain = "text/plain; charset=utf-8";
    let readable = matches!(*request.method(), Method::GET | Method::HEAD);
    let ((status, text), kind) = match request.uri().path() {
        _ if !readable => ((StatusCode::METHOD_NOT_ALLOWED, String::new()), plain),
        path if paths != ServedPaths::Metrics && path == endpoints.liveness => {
            (probe(checker.live()), plain)
        }
        path if paths != ServedPaths::Metrics && path == endpoints.readiness => {
            (probe(checker.ready()), plain)
        }
        "/metrics" if paths != ServedPaths::Health => {
            let (kind, text) = checker.metrics();
            ((StatusCode::OK, text), kind)
        }
        _ => (
            (StatusCode::NOT_FOUND, "404 page not found".to_owned()),
            plain,
        ),
    };
    text_response(status, kind, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoint_names_are_configurable() {
        let configured = ControllerHealth {
            readiness_endpoint_name: "ready".to_owned(),
            ..ControllerHealth::default()
        };
        let endpoints = HealthEndpoints::new(&configured);
        assert_eq!(
            (endpoints.liveness.as_str(), endpoints.readiness.as_str()),
            ("/healthz", "/ready")
        );
    }
}

//! The metrics Service of the controller manager, answered by this process.

use async_trait::async_trait;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request, Response, StatusCode};

use super::controller_instances::ControllerInstances;
use super::{METRICS_SERVICE, NAMESPACE};
use kueue_lab_cluster::plugins::ServiceBackend;
use kueue_lab_metrics::CONTENT_TYPE as METRICS_CONTENT_TYPE;

/// The Service `kueue-controller-manager-metrics-service`.
pub(crate) struct MetricsService {
    instances: ControllerInstances,
}

impl MetricsService {
    /// The metrics of the instances.
    pub(crate) fn new(instances: &ControllerInstances) -> Self {
        Self {
            instances: instances.clone(),
        }
    }
}

#[async_trait]
impl ServiceBackend for MetricsService {
    fn name(&self) -> (&str, &str) {
        (NAMESPACE, METRICS_SERVICE)
    }

    async fn call(&self, request: Request<Bytes>) -> Response<Bytes> {
        let (status, content_type, text) = match (request.uri().path(), request.method()) {
            ("/metrics", &Method::GET) => {
                let controller = self.instances.current().get();
                let text = self.instances.metrics().text(Some(controller.shared()));
                (StatusCode::OK, METRICS_CONTENT_TYPE, text)
            }
            ("/metrics", _) => (
                StatusCode::METHOD_NOT_ALLOWED,
                "text/plain; charset=utf-8",
                "Method Not Allowed\n".to_owned(),
            ),
            _ => (
                StatusCode::NOT_FOUND,
                "text/plain; charset=utf-8",
                "404 page not found\n".to_owned(),
            ),
        };
        let mut response = Response::new(Bytes::from(text));
        *response.status_mut() = status;
        let content_type = HeaderValue::from_static(content_type);
        response.headers_mut().insert(CONTENT_TYPE, content_type);
        response
    }
}

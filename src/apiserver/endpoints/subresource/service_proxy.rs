//! `services/proxy` of Services that this process answers.

use std::sync::Arc;

use http::{Request, Uri};

use crate::apimachinery::api_error::ApiError;
use crate::endpoints::request_context::RequestContext;
use crate::endpoints::response::ApiResponse;
use crate::plugins::ServiceBackend;
use kueue_lab_json::ValueExt;

/// The response to a request through the proxy of a Service that this process answers; `None` for others.
pub(super) async fn proxy(
    call: &RequestContext<'_>,
    name: &str,
    port: &str,
) -> Option<Result<ApiResponse, ApiError>> {
    let backend = backend(call, name)?;
    Some(proxy_to(call, &*backend, name, port).await)
}

async fn proxy_to(
    call: &RequestContext<'_>,
    backend: &dyn ServiceBackend,
    name: &str,
    port: &str,
) -> Result<ApiResponse, ApiError> {
    let object = call.storage()?.get(&call.storage_key(name));
    let object = object.ok_or_else(|| call.not_found(name))?;
    let service = call.transformer.decoded(&object)?;
    let is_port = |p: &serde_json::Value| {
        port.is_empty() || p.text("/name") == port || p.int("/port").to_string() == port
    };
    if !service.list("/spec/ports").iter().any(is_port) {
        let message = format!("no service port {port:?} found for service {name:?}");
        return Err(ApiError::new(503, "ServiceUnavailable", message));
    }
    let query = call.request.parts.uri.query();
    let query = query.map_or(String::new(), |query| format!("?{query}"));
    let uri = format!("/{}{query}", call.path.rest);
    let uri: Uri = uri
        .parse()
        .map_err(|e| ApiError::bad_request(format!("{e}")))?;
    let mut request = Request::new(call.request.body.clone());
    *request.method_mut() = call.request.parts.method.clone();
    *request.uri_mut() = uri;
    let (head, body) = backend.call(request).await.into_parts();
    let headers = head.headers.iter();
    let headers = headers.map(|(name, value)| (name.clone(), value.clone()));
    Ok(ApiResponse::proxied(
        head.status.as_u16(),
        headers.collect(),
        body.into(),
    ))
}

/// What answers the requests of a Service in this process.
fn backend(call: &RequestContext<'_>, name: &str) -> Option<Arc<dyn ServiceBackend>> {
    (call.path.resource == "services")
        .then(|| call.core.plugins.service(&call.path.namespace, name))
        .flatten()
}

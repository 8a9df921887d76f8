//! `services/proxy` of Services that this process answers.

use std::sync::Arc;

use http::{Request, Uri};

use super::connect;
use crate::apimachinery::api_error::ApiError;
use crate::endpoints::request_context::RequestContext;
use crate::endpoints::response::ApiResponse;
use crate::plugins::ServiceBackend;
use kueue_lab_json::ValueExt;

/// Handles a request through the proxy of a Service, named `[SCHEME:]NAME[:PORT]`.
pub(super) async fn proxy(call: &RequestContext<'_>) -> Result<ApiResponse, ApiError> {
    let Some((name, port)) = split_scheme_name_port(&call.path.name) else {
        let message = format!("invalid service request {:?}", call.path.name);
        return Err(ApiError::bad_request(message));
    };
    let Some(backend) = backend(call, name) else {
        return connect::not_implemented(call);
    };
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

/// Name and port of `[SCHEME:]NAME[:PORT]`, as `SplitSchemeNamePort`.
fn split_scheme_name_port(id: &str) -> Option<(&str, &str)> {
    let parts: Vec<&str> = id.split(':').collect();
    let (name, port) = match parts.as_slice() {
        [name] => (*name, ""),
        [name, port] => (*name, *port),
        ["" | "http" | "https", name, port] => (*name, *port),
        _ => return None,
    };
    (!name.is_empty()).then_some((name, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_named_with_scheme_and_port() {
        for (id, expected) in [
            ("a", Some(("a", ""))),
            ("a:1", Some(("a", "1"))),
            ("https:a:p", Some(("a", "p"))),
            ("https:a:", Some(("a", ""))),
            ("ftp:a:1", None),
            ("", None),
            (":a:1:2", None),
        ] {
            assert_eq!(split_scheme_name_port(id), expected, "{id}");
        }
    }
}

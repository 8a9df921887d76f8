//! The deadline of requests that are not long-running, as `WithTimeoutForNonLongRunningRequests`.

use std::sync::Arc;

use futures::future::BoxFuture;
use http::header::ACCEPT;
use http::{Request, Response};
use hyper::body::Incoming;

use super::filter::{Inner, respond};
use super::secure_serving::ConnectionContext;
use crate::endpoints::response_body::Body;
use crate::endpoints::{self, RequestAttributes};
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_apimachinery::status_reason::StatusReason;

/// Ends a request with 504 at its deadline.
pub(super) fn limit_time(
    context: Arc<ConnectionContext>,
    request: Request<Incoming>,
    inner: impl Inner,
) -> BoxFuture<'static, Response<Body>> {
    Box::pin(async move {
        let attributes: Option<&Arc<RequestAttributes>> = request.extensions().get();
        let Some(attributes) = attributes.filter(|attributes| !attributes.is_long_running()) else {
            return respond(inner, request).await;
        };
        let attributes = attributes.clone();
        let accept = request.headers().get(ACCEPT).cloned();
        let timeout = context.core.request_limits.request_timeout;
        match tokio::time::timeout(timeout, respond(inner, request)).await {
            Ok(response) => response,
            Err(_) => {
                context.core.metrics.observe_termination("request-timeout");
                let text = format!(
                    "Timeout: request did not complete within the allotted timeout (request-timeout, {timeout:?})"
                );
                let error = ApiError::new(504, StatusReason::Timeout, text);
                endpoints::rejection(&context.core, accept.as_ref(), &attributes, &error)
            }
        }
    })
}

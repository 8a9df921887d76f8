//! Limits of the requests in flight by API Priority and Fairness, and of open watches.

use std::sync::Arc;

use futures::future::BoxFuture;
use http::header::{ACCEPT, RETRY_AFTER};
use http::{HeaderName, HeaderValue, Request, Response};
use hyper::body::Incoming;

use super::body_reader::too_many_requests;
use super::filter::{Inner, respond};
use super::secure_serving::ConnectionContext;
use crate::auth::user::User;
use crate::endpoints::flow_control::{FlowControl, classify};
use crate::endpoints::response_body::Body;
use crate::endpoints::{self, RequestAttributes};
use crate::flow_control::seats::RejectReason;

/// Headers that name the flow control of a request.
const FLOW_SCHEMA_UID: HeaderName = HeaderName::from_static("x-kubernetes-pf-flowschema-uid");
const PRIORITY_LEVEL_UID: HeaderName = HeaderName::from_static("x-kubernetes-pf-prioritylevel-uid");
/// The part of the request timeout that a request may wait for a seat.
const QUEUE_WAIT_DIVISOR: u32 = 4;

/// In the extensions of a request of the exempt priority level.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExemptFromLimits;

/// Gives the request a seat of its priority level, or rejects it with 429.
pub(super) fn limit_in_flight(
    context: Arc<ConnectionContext>,
    request: Request<Incoming>,
    inner: impl Inner,
) -> BoxFuture<'static, Response<Body>> {
    Box::pin(async move {
        let core = &context.core;
        let limits = &core.request_limits;
        let (head, body) = request.into_parts();
        let user: Option<&User> = head.extensions.get();
        let attributes: Option<&Arc<RequestAttributes>> = head.extensions.get();
        let (Some(user), Some(attributes)) = (user, attributes) else {
            return endpoints::error_response(&crate::auth::bearer_token::unauthorized());
        };
        let seats = limits.max_requests_inflight;
        let flow_control = classify(core, &head, attributes, user, seats);
        let is_exempt = flow_control
            .as_ref()
            .is_some_and(|flow| flow.priority_level.seats.is_none());
        let reject = |message: String| {
            let error = too_many_requests(message);
            let mut response =
                endpoints::rejection(core, head.headers.get(ACCEPT), attributes, &error);
            let headers = response.headers_mut();
            headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
            response
        };
        let mut watch = None;
        if attributes.is_watch() && !is_exempt {
            let mut permit = context.watches.permit(&user.name);
            if !permit.extend(1) {
                core.metrics.observe_termination("watches");
                return reject(format!(
                    "Too many requests, please try again later: user {:?} has {} open watches (watches-per-user)",
                    user.name, limits.max_watches_per_user
                ));
            }
            watch = Some(permit);
        }
        let mut seat = None;
        if let Some(flow) = &flow_control {
            let max_wait = limits.request_timeout / QUEUE_WAIT_DIVISOR;
            let level = &flow.priority_level;
            match context.seats.acquire(level, &flow.flow, max_wait).await {
                Ok(acquired) => seat = acquired,
                Err(reason) => {
                    let (schema, label) = (&flow.flow_schema, reason.label());
                    core.metrics.observe_rejection(&level.name, schema, label);
                    return reject(rejection(flow, reason, seats));
                }
            }
        }
        let mut request = Request::from_parts(head, body);
        if is_exempt {
            request.extensions_mut().insert(ExemptFromLimits);
        }
        let mut response = respond(inner, request).await;
        // A stream that has begun is not in flight any more.
        drop(seat);
        if let Some(flow_control) = flow_control {
            add_flow_control_headers(&mut response, &flow_control);
        }
        match watch {
            Some(permit) => response.map(|body| body.holding(permit)),
            None => response,
        }
    })
}

fn rejection(flow: &FlowControl, reason: RejectReason, seats: usize) -> String {
    let level = &flow.priority_level;
    format!(
        "Too many requests, please try again later: priority level {:?} has {} of {seats} seats \
         (max-requests-inflight), and the requests of its flow {:?} are rejected: {}",
        level.name,
        level.seats.unwrap_or(0),
        flow.flow,
        reason.label()
    )
}

fn add_flow_control_headers(response: &mut Response<Body>, flow_control: &FlowControl) {
    for (name, uid) in [
        (FLOW_SCHEMA_UID, &flow_control.flow_schema_uid),
        (PRIORITY_LEVEL_UID, &flow_control.priority_level_uid),
    ] {
        if let Ok(uid) = HeaderValue::from_str(uid) {
            response.headers_mut().insert(name, uid);
        }
    }
}

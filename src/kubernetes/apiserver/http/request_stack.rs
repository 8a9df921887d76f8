//! The layers in front of the handlers of network requests, outermost first. No layer before the
//! last one reads the body.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use http::header::{ACCEPT, AUTHORIZATION, DATE, RETRY_AFTER};
use http::request::Parts;
use http::{HeaderValue, Request, Response};
use hyper::body::Incoming;
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimePrinter;
use kueue_lab_http::{ConnectionSlot, HttpService, PeerCertificates};
use tower::{ServiceBuilder, service_fn};

use super::audit_id::{AUDIT_ID, audit_id};
use super::body_reader::read_body;
use super::filter::{Inner, filter, respond};
use super::heavy_flow::HeavyFlow;
use super::priority_and_fairness::{ExemptFromLimits, limit_in_flight};
use super::request_deadline::limit_time;
use super::secure_serving::ConnectionContext;
use super::{gzip, host_check as request_filters};
use crate::auth::user::User;
use crate::auth::{bearer_token, impersonation};
use crate::endpoints::response_body::Body;
use crate::endpoints::{self, AuthenticatedRequest, RequestAttributes};
use crate::flow_control::response_bytes::ResponseBytes;
use kueue_lab_apimachinery::api_error::ApiError;

/// The size of a body above which its request does not run on the threads that serve, in bytes.
const HEAVY_BODY: usize = 32 << 10;

/// The service of all network requests.
pub(super) fn request_stack(context: Arc<ConnectionContext>) -> impl HttpService {
    let handler = {
        let context = context.clone();
        service_fn(move |request| {
            let context = context.clone();
            async move { Ok(read_and_handle(context, request).await) }
        })
    };
    ServiceBuilder::new()
        .layer(filter(&context, finish_response))
        .layer(filter(&context, recover_panics))
        .layer(filter(&context, check_host_and_origin))
        .layer(filter(&context, authenticate))
        .layer(filter(&context, limit_time))
        .layer(filter(&context, limit_in_flight))
        .layer(filter(&context, authorize))
        .service(handler)
}

/// Adds the `Audit-ID` and the `Date` in lab time, compresses the response, and ends streams with
/// the server.
fn finish_response(
    context: Arc<ConnectionContext>,
    request: Request<Incoming>,
    inner: impl Inner,
) -> BoxFuture<'static, Response<Body>> {
    Box::pin(async move {
        let id = audit_id(request.headers(), &context.core.entropy);
        let accepts_gzip = gzip::accepts_gzip(request.headers());
        let mut response = respond(inner, request).await;
        let flow = response.extensions_mut().remove::<HeavyFlow>();
        if accepts_gzip {
            response = gzip::compress(response, flow.as_ref()).await;
        }
        if let Some(id) = id {
            response.headers_mut().insert(AUDIT_ID, id);
        }
        if let Some(date) = http_date(context.core.clock.now()) {
            response.headers_mut().insert(DATE, date);
        }
        let stop = context.stop.clone();
        response.map(|body| body.until(stop.cancelled_owned()))
    })
}

/// A time as a value of the header `Date`, in whole seconds.
fn http_date(time: Timestamp) -> Option<HeaderValue> {
    let text = DateTimePrinter::new().timestamp_to_rfc9110_string(&time);
    HeaderValue::try_from(text.ok()?).ok()
}

/// A panic is the error of its request only, as `WithPanicRecovery`.
fn recover_panics(
    context: Arc<ConnectionContext>,
    request: Request<Incoming>,
    inner: impl Inner,
) -> BoxFuture<'static, Response<Body>> {
    Box::pin(async move {
        let what = format!("{} {}", request.method(), request.uri().path());
        let response = AssertUnwindSafe(respond(inner, request)).catch_unwind();
        response.await.unwrap_or_else(|_| {
            tracing::error!(request = what, "apiserver panic'd");
            context.core.metrics.observe_panic();
            let text = "This request caused apiserver to panic. Look in the logs for details.";
            endpoints::error_response(&ApiError::internal(text))
        })
    })
}

fn check_host_and_origin(
    context: Arc<ConnectionContext>,
    request: Request<Incoming>,
    inner: impl Inner,
) -> BoxFuture<'static, Response<Body>> {
    Box::pin(async move {
        let (head, body) = request.into_parts();
        match request_filters::check_host_and_origin(&head, &context.hosts) {
            Ok(()) => respond(inner, Request::from_parts(head, body)).await,
            Err(error) => endpoints::error_response(&error),
        }
    })
}

/// Adds the [`User`] and the [`RequestAttributes`] to the extensions of the request.
fn authenticate(
    context: Arc<ConnectionContext>,
    request: Request<Incoming>,
    inner: impl Inner,
) -> BoxFuture<'static, Response<Body>> {
    Box::pin(async move {
        let (mut head, body) = request.into_parts();
        let objects = context.core.objects();
        let user = user_of(&context, &head).and_then(|user| {
            if user != User::anonymous()
                && let Some(slot) = head.extensions.get::<ConnectionSlot>()
            {
                slot.set_authenticated();
            }
            impersonation::impersonate(&head, &objects, user)
        });
        match user {
            Ok(user) => {
                let attributes = RequestAttributes::parse(&head);
                head.extensions.insert(Arc::new(attributes));
                head.extensions.insert(user);
                respond(inner, Request::from_parts(head, body)).await
            }
            Err(error) => endpoints::error_response(&error),
        }
    })
}

/// The user of the client certificate of a connection, or of the bearer token. As in Kubernetes, a
/// certificate that is not valid is no error beside a valid token.
fn user_of(context: &ConnectionContext, head: &Parts) -> Result<User, ApiError> {
    let now = context.core.clock.now().as_second();
    let certificates: Option<&PeerCertificates> = head.extensions.get();
    let verifier = &context.client_certificates;
    let of_certificate = certificates.map(|all| verifier.authenticate(&all.0, now));
    match of_certificate {
        Some(Some(user)) => return Ok(user),
        Some(None) if !head.headers.contains_key(AUTHORIZATION) => {
            return Err(bearer_token::unauthorized());
        }
        _ => {}
    }
    let objects = context.core.objects();
    bearer_token::authenticate(head, &context.core.authenticator, &objects, now)
}

fn authorize(
    context: Arc<ConnectionContext>,
    request: Request<Incoming>,
    inner: impl Inner,
) -> BoxFuture<'static, Response<Body>> {
    Box::pin(async move {
        let (head, body) = request.into_parts();
        let user: Option<&User> = head.extensions.get();
        let attributes: Option<&Arc<RequestAttributes>> = head.extensions.get();
        let (Some(user), Some(attributes)) = (user, attributes) else {
            return endpoints::error_response(&bearer_token::unauthorized());
        };
        match endpoints::authorize(&context.core, &head, attributes, user) {
            Ok(()) => respond(inner, Request::from_parts(head, body)).await,
            Err(error) => {
                let accept = head.headers.get(ACCEPT);
                endpoints::rejection(&context.core, accept, attributes, &error)
            }
        }
    })
}

/// Reads the body of an authorized request and handles it.
async fn read_and_handle(
    context: Arc<ConnectionContext>,
    request: Request<Incoming>,
) -> Response<Body> {
    let (mut head, body) = request.into_parts();
    let user = head.extensions.remove::<User>();
    let attributes = head.extensions.remove::<Arc<RequestAttributes>>();
    let (Some(user), Some(attributes)) = (user, attributes) else {
        return endpoints::error_response(&bearer_token::unauthorized());
    };
    let is_exempt = head.extensions.get::<ExemptFromLimits>().is_some();
    let limit = (!is_exempt).then_some(&context.body_bytes);
    let body = match read_body(body, limit, &user.name).await {
        Ok(body) => body,
        Err(error) => {
            if error.code == 429 {
                context
                    .core
                    .metrics
                    .observe_termination("request-body-bytes");
            }
            return endpoints::rejection(
                &context.core,
                head.headers.get(ACCEPT),
                &attributes,
                &error,
            );
        }
    };
    // Sessions end with the server.
    head.extensions.insert(context.stop.clone());
    let is_heavy = body.bytes.len() > HEAVY_BODY || attributes.is_expensive(&context.core);
    let user_name = user.name.clone();
    let response_bytes = (!is_exempt).then(|| {
        let limit = &context.response_bytes;
        ResponseBytes::new(limit.permit(&user_name), limit.per_user())
    });
    if let Some(bytes) = &response_bytes {
        head.extensions.insert(bytes.clone());
    }
    let incoming = AuthenticatedRequest {
        parts: head,
        body: body.bytes,
        user,
    };
    let handled = endpoints::handle(
        context.core.clone(),
        incoming,
        Arc::unwrap_or_clone(attributes),
    );
    let flow = HeavyFlow::new(&context, is_exempt, user_name);
    let mut response = match is_heavy {
        true => flow.run(handled).await,
        false => handled.await,
    };
    drop(body.permit);
    let length = response.body().length().unwrap_or_default();
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    if let Some(bytes) = response_bytes {
        if bytes.is_refused() || bytes.set(length).is_err() {
            context.core.metrics.observe_termination("response-bytes");
            let mut rejected = endpoints::error_response(&bytes.error());
            let retry_after = HeaderValue::from_static("1");
            rejected.headers_mut().insert(RETRY_AFTER, retry_after);
            return rejected;
        }
        response = response.map(|body| body.holding(bytes));
    }
    response.extensions_mut().insert(flow);
    response
}

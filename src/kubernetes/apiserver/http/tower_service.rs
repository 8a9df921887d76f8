//! The server as a `tower::Service` for in-process kube clients.

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use http::header::USER_AGENT;
use http::{HeaderValue, Request, Response};
use http_body_util::{BodyExt, Limited};
use tower::BoxError;

use super::body_reader::{BODY_LIMIT, body_read_error};
use crate::auth::user::User;
use crate::endpoints::response_body::Body;
use crate::endpoints::{self, AuthenticatedRequest, RequestAttributes};
use crate::server_state::ServerState;

/// The share of a task's budget that a request takes: a task yields to others after eight requests.
const REQUEST_COST: usize = 16;

/// Yields to other tasks if this one has called the server several times. A request in the process may not wait for
/// anything, so that a controller that creates hundreds of objects would keep a thread until it is done.
async fn yield_between_requests() {
    for _ in 0..REQUEST_COST {
        tokio::task::consume_budget().await;
    }
}

/// The in-process service: no socket, no TLS, authenticated as the administrator.
#[derive(Clone)]
pub(crate) struct InProcessService {
    core: Arc<ServerState>,
    user_agent: Option<HeaderValue>,
}

impl InProcessService {
    pub(crate) fn new(core: Arc<ServerState>) -> Self {
        Self {
            core,
            user_agent: None,
        }
    }

    /// Sets the user agent of requests that have none.
    pub(crate) fn with_user_agent(mut self, user_agent: &str) -> Self {
        self.user_agent = HeaderValue::from_str(user_agent).ok();
        self
    }
}

impl<B> tower::Service<Request<B>> for InProcessService
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        if let Some(user_agent) = &self.user_agent {
            let headers = request.headers_mut();
            headers
                .entry(USER_AGENT)
                .or_insert_with(|| user_agent.clone());
        }
        let core = self.core.clone();
        async move {
            yield_between_requests().await;
            let (parts, body) = request.into_parts();
            let attributes = RequestAttributes::parse(&parts);
            let incoming = match Limited::new(body, BODY_LIMIT).collect().await {
                Ok(body) => AuthenticatedRequest {
                    parts,
                    body: body.to_bytes(),
                    user: User::admin(),
                },
                Err(error) => return Ok(endpoints::error_response(&body_read_error(&*error))),
            };
            Ok(endpoints::handle(core, incoming, attributes).await)
        }
        .boxed()
    }
}

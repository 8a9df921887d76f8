//! The server as a `tower::Service`, for in-process kube clients and for hyper.

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use http::header::USER_AGENT;
use http::{HeaderValue, Request, Response};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tower::BoxError;

use crate::apimachinery::api_error::ApiError;
use crate::auth::user::User;
use crate::endpoints::response_body::Body;
use crate::endpoints::{self, AuthenticatedRequest};
use crate::server_state::ServerState;

/// The maximum request body, in bytes, as in Kubernetes.
pub(crate) const BODY_LIMIT: usize = 3 << 20;

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
        async move { Ok(read_and_handle(core, request, User::admin()).await) }.boxed()
    }
}

/// Reads the complete request and handles it.
pub(super) async fn read_and_handle<B>(
    core: Arc<ServerState>,
    request: Request<B>,
    user: User,
) -> Response<Body>
where
    B: http_body::Body<Data = Bytes> + Send,
    B::Error: Into<BoxError>,
{
    let (head, body) = request.into_parts();
    let mut incoming = AuthenticatedRequest {
        parts: head,
        body: Bytes::new(),
        user,
    };
    match Limited::new(body, BODY_LIMIT).collect().await {
        Ok(body) => incoming.body = body.to_bytes(),
        Err(error) => return endpoints::error_response(&body_read_error(&*error)),
    }
    endpoints::handle(core, incoming).await
}

fn body_read_error(error: &(dyn std::error::Error + Send + Sync + 'static)) -> ApiError {
    if error.is::<LengthLimitError>() {
        return ApiError::new(
            413,
            "RequestEntityTooLarge",
            format!("Request entity too large: limit is {BODY_LIMIT}"),
        );
    }
    ApiError::bad_request(format!("error reading the request body: {error}"))
}

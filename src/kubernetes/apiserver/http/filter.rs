//! A tower layer that is a function of the request and the inner service.

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use http::{Request, Response};
use hyper::body::Incoming;
use tower::{Layer, Service, ServiceExt};

use super::secure_serving::ConnectionContext;
use crate::endpoints::response_body::Body;

/// The inner service of a filter.
pub(super) trait Inner:
    Service<Request<Incoming>, Response = Response<Body>, Error = Infallible, Future: Send>
    + Clone
    + Send
    + 'static
{
}

impl<S> Inner for S where
    S: Service<Request<Incoming>, Response = Response<Body>, Error = Infallible, Future: Send>
        + Clone
        + Send
        + 'static
{
}

/// The function of a filter.
type FilterFn<S> =
    fn(Arc<ConnectionContext>, Request<Incoming>, S) -> BoxFuture<'static, Response<Body>>;

/// The layer of a filter; see [`filter`].
#[derive(Clone)]
pub(super) struct FilterLayer<S> {
    context: Arc<ConnectionContext>,
    function: FilterFn<S>,
}

/// The service of a filter.
#[derive(Clone)]
pub(super) struct Filter<S> {
    context: Arc<ConnectionContext>,
    function: FilterFn<S>,
    inner: S,
}

/// A layer that handles requests with `function`.
pub(super) fn filter<S>(context: &Arc<ConnectionContext>, function: FilterFn<S>) -> FilterLayer<S> {
    FilterLayer {
        context: context.clone(),
        function,
    }
}

/// The response of the inner service.
pub(super) async fn respond(inner: impl Inner, request: Request<Incoming>) -> Response<Body> {
    let Ok(response) = inner.oneshot(request).await;
    response
}

impl<S> Layer<S> for FilterLayer<S> {
    type Service = Filter<S>;

    fn layer(&self, inner: S) -> Filter<S> {
        Filter {
            context: self.context.clone(),
            function: self.function,
            inner,
        }
    }
}

impl<S: Inner> Service<Request<Incoming>> for Filter<S> {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Incoming>) -> Self::Future {
        let response = (self.function)(self.context.clone(), request, self.inner.clone());
        Box::pin(async move { Ok(response.await) })
    }
}

//! [`HttpService`]: the service that a server calls for each request.

use std::convert::Infallible;
use std::error::Error;

use http::{Request, Response};
use hyper::body::Incoming;
use tower::Service;

/// A [`tower::Service`] that handles HTTP requests. Implemented for every service with these
/// bounds.
pub trait HttpService:
    Service<
        Request<Incoming>,
        Response = Response<<Self as HttpService>::Body>,
        Error = Infallible,
        Future: Send + 'static,
    > + Clone
    + Send
    + 'static
{
    /// The body of a response.
    type Body: http_body::Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>>
        + Send
        + 'static;
}

impl<S, B> HttpService for S
where
    S: Service<
            Request<Incoming>,
            Response = Response<B>,
            Error = Infallible,
            Future: Send + 'static,
        > + Clone
        + Send
        + 'static,
    B: http_body::Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
{
    type Body = B;
}

//! HTTP/1 connections within the process, as those to a simulated pod or node.

use std::convert::Infallible;
use std::error::Error;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request, Response, StatusCode};
use http_body::Body;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};

/// Bytes that are buffered in each direction of a connection.
const BUFFER: usize = 64 << 10;

/// A connection in memory: its end at the client, and its end at the server.
pub fn memory_connection() -> (DuplexStream, DuplexStream) {
    tokio::io::duplex(BUFFER)
}

/// Serves HTTP/1 on a connection until it is closed; `respond` answers each request.
///
/// # Errors
/// The connection failed, or the client sent no HTTP.
pub async fn serve_http1<F, B>(
    connection: impl AsyncRead + AsyncWrite + Unpin,
    respond: impl Fn(Request<Incoming>) -> F,
) -> Result<(), hyper::Error>
where
    F: Future<Output = Response<B>>,
    B: Body<Error: Into<Box<dyn Error + Send + Sync>>> + 'static,
{
    let service = service_fn(|request| {
        let response = respond(request);
        async move { Ok::<_, Infallible>(response.await) }
    });
    http1::Builder::new()
        .serve_connection(TokioIo::new(connection), service)
        .await
}

/// A response with a text of this content type.
pub fn text_response(
    status: StatusCode,
    content_type: &'static str,
    text: String,
) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    let content_type = HeaderValue::from_static(content_type);
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    response
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn requests_are_answered_until_the_connection_is_closed() {
        let (mut client, server) = memory_connection();
        let served = tokio::spawn(serve_http1(server, async |request| {
            let path = request.uri().path().to_owned();
            text_response(StatusCode::OK, "text/plain", path)
        }));
        let requests = b"GET /a HTTP/1.1\r\nHost: h\r\n\r\n\
            GET /b HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
        client.write_all(requests).await.unwrap();
        let mut responses = String::new();
        client.read_to_string(&mut responses).await.unwrap();
        assert!(served.await.unwrap().is_ok());
        assert_eq!(responses.matches("HTTP/1.1 200 OK").count(), 2);
        assert_eq!(responses.matches("content-type: text/plain").count(), 2);
        let (a, b) = (responses.find("/a"), responses.find("/b"));
        assert!(a.is_some() && a < b, "{responses}");
    }
}

//! Connections of an attacker.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use futures::channel::mpsc;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Incoming;
use hyper::client::conn::http2::SendRequest;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

/// Longer than any of these tests takes; a test that reaches it fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// The body of a request whose sender does not end it.
pub(crate) type OpenBody = mpsc::UnboundedSender<Result<Frame<Bytes>, Infallible>>;
type AttackerBody = StreamBody<mpsc::UnboundedReceiver<Result<Frame<Bytes>, Infallible>>>;

/// An HTTP/2 connection of an attacker. It answers PING.
pub(crate) struct Attacker {
    sender: SendRequest<AttackerBody>,
    connection: JoinHandle<()>,
    authority: String,
}

impl Attacker {
    /// Opens a connection.
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        let stream = kueue_lab_http::connect_tls_insecure(stream, "127.0.0.1")
            .await
            .unwrap();
        let handshake =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream));
        let (sender, connection) = handshake.await.unwrap();
        Self {
            sender,
            connection: tokio::spawn(async move { drop(connection.await) }),
            authority: address.to_string(),
        }
    }

    /// Sends the head of a request, whose body stays open as long as the sender lives.
    pub(crate) fn request(
        &mut self,
        method: &str,
        path: &str,
        token: Option<&str>,
    ) -> (
        OpenBody,
        impl Future<Output = hyper::Result<Response<Incoming>>> + Send + 'static,
    ) {
        self.request_of(method, path, token, "application/json")
    }

    /// As [`request`](Self::request), with a body of another media type.
    pub(crate) fn request_of(
        &mut self,
        method: &str,
        path: &str,
        token: Option<&str>,
        media_type: &str,
    ) -> (
        OpenBody,
        impl Future<Output = hyper::Result<Response<Incoming>>> + Send + 'static,
    ) {
        let (sender, body) = mpsc::unbounded();
        let mut request = Request::builder()
            .method(method)
            .uri(format!("https://{}{path}", self.authority))
            .header("content-type", media_type);
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let request = request.body(StreamBody::new(body)).unwrap();
        (sender, self.sender.send_request(request))
    }

    /// Whether the server closes the connection.
    pub(crate) async fn closes(self) -> bool {
        tokio::time::timeout(PATIENCE, self.connection)
            .await
            .is_ok()
    }
}

/// The status and the body of a response.
pub(crate) async fn answer(
    response: impl Future<Output = hyper::Result<Response<Incoming>>>,
) -> (u16, Value) {
    let response = tokio::time::timeout(PATIENCE, response).await.unwrap();
    let response = response.unwrap();
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&body).unwrap_or_default())
}

/// Bytes of a body.
pub(crate) fn data(bytes: impl Into<Bytes>) -> Result<Frame<Bytes>, Infallible> {
    Ok(Frame::data(bytes.into()))
}

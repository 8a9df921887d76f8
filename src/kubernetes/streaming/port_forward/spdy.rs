//! Port forwarding over SPDY, alone or in a WebSocket tunnel: a data and an error stream for each
//! connection.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use http::Response;
use http::request::Parts;
use tokio::io::{AsyncRead, AsyncWrite};

use super::forwarder::{ClientSink, ClientStream, PortForwarder, forward};
use crate::handshake::{HandshakeError, spdy_handshake, websocket_handshake};
use crate::session::Session;
use crate::spdy::{Connection, SpdyStream, StreamReader, StreamWriter, serve_connection};
use crate::websocket::tunnel;

/// The subprotocol of SPDY.
const PORT_FORWARD_V1: &str = "portforward.k8s.io";
/// The subprotocol of a WebSocket tunnel.
const TUNNEL: &str = "SPDY/3.1+portforward.k8s.io";
/// Maximum number of streams that wait for the other one of their pair.
const WAITING: usize = 128;

/// Whether a WebSocket subprotocol is a SPDY tunnel.
pub(super) fn is_tunnel(protocol: &str) -> bool {
    protocol.starts_with("SPDY/3.1+") && protocol.ends_with(".k8s.io")
}

/// Serves a SPDY connection.
pub(super) fn serve(
    head: &Parts,
    session: Session,
    forwarder: Arc<dyn PortForwarder>,
) -> Result<Response<()>, HandshakeError> {
    let (_, response) = spdy_handshake(head, &[PORT_FORWARD_V1])?;
    session.spawn(move |transport| run(transport, forwarder));
    Ok(response)
}

/// Serves a SPDY connection inside a WebSocket connection.
pub(super) fn serve_tunnel(
    head: &Parts,
    session: Session,
    forwarder: Arc<dyn PortForwarder>,
) -> Result<Response<()>, HandshakeError> {
    let (_, response) = websocket_handshake(head, &[TUNNEL])?;
    session.spawn(move |transport| async move {
        let (transport, copy) = tunnel(transport);
        tokio::join!(run(transport, forwarder), copy);
    });
    Ok(response)
}

async fn run<T>(transport: T, forwarder: Arc<dyn PortForwarder>)
where
    T: AsyncRead + AsyncWrite + Send,
{
    serve_connection(transport, |connection| {
        forward_streams(connection, forwarder)
    })
    .await;
}

/// The streams of one forwarded connection.
#[derive(Default)]
struct StreamPair {
    data: Option<SpdyStream>,
    error: Option<SpdyStream>,
}

async fn forward_streams(mut connection: Connection, forwarder: Arc<dyn PortForwarder>) {
    let mut waiting: HashMap<String, StreamPair> = HashMap::new();
    let mut open = FuturesUnordered::new();
    loop {
        let stream = tokio::select! {
            stream = connection.accept() => stream,
            Some(()) = open.next(), if !open.is_empty() => continue,
        };
        let Some(stream) = stream else { break };
        if check(&stream).is_none() || waiting.len() >= WAITING {
            stream.split().1.reset().await;
            continue;
        }
        let request = request_id(&stream);
        let pair = waiting.entry(request.clone()).or_default();
        let slot = match stream.header("streamtype") {
            "error" => &mut pair.error,
            _ => &mut pair.data,
        };
        *slot = Some(stream);
        if pair.data.is_some()
            && pair.error.is_some()
            && let Some(pair) = waiting.remove(&request)
        {
            open.push(forward_pair(pair, forwarder.clone()));
        }
    }
    while open.next().await.is_some() {}
}

/// The port of a valid stream.
fn check(stream: &SpdyStream) -> Option<u16> {
    let port: u16 = stream.header("port").parse().ok()?;
    let known = matches!(stream.header("streamtype"), "data" | "error");
    (port > 0 && known).then_some(port)
}

/// The identifier that both streams of a connection have. Old clients send none; their data stream
/// follows the error stream.
fn request_id(stream: &SpdyStream) -> String {
    match (stream.header("requestid"), stream.header("streamtype")) {
        ("", "error") => stream.id().to_string(),
        ("", _) => stream.id().saturating_sub(2).to_string(),
        (id, _) => id.to_owned(),
    }
}

async fn forward_pair(pair: StreamPair, forwarder: Arc<dyn PortForwarder>) {
    let (Some(data), Some(error)) = (pair.data, pair.error) else {
        return;
    };
    let Some(port) = check(&data) else { return };
    let (mut reader, mut writer) = data.split();
    let (_, error) = error.split();
    let outcome = forward(&forwarder, port, &mut reader, &mut writer).await;
    if let Err(failure) = outcome {
        error.write(failure.to_string().as_bytes()).await;
    }
    error.close().await;
    StreamWriter::close(&writer).await;
}

#[async_trait]
impl ClientStream for StreamReader {
    async fn read(&mut self) -> Option<Bytes> {
        StreamReader::read(self).await
    }
}

#[async_trait]
impl ClientSink for StreamWriter {
    async fn write(&mut self, data: &[u8]) -> bool {
        StreamWriter::write(self, data).await
    }
}

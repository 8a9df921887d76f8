//! A byte stream in the binary messages of a WebSocket connection (`TunnelingConnection`).

use bytes::Bytes;
use futures::{SinkExt, StreamExt};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::Role;

use super::channels::{config, normal_closure};

/// Bytes that are buffered in each direction, and the size of a message.
const BUFFER: usize = 64 << 10;

/// The byte stream inside a connection, and the future that copies it.
pub(crate) fn tunnel<S>(connection: S) -> (DuplexStream, impl Future<Output = ()> + Send)
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let (inner, outer) = tokio::io::duplex(BUFFER);
    (inner, copy(connection, outer))
}

async fn copy<S>(connection: S, bytes: DuplexStream)
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let socket = WebSocketStream::from_raw_socket(connection, Role::Server, Some(config())).await;
    let (mut sink, mut source) = socket.split();
    let (mut from_inner, mut to_inner) = tokio::io::split(bytes);
    let inbound = async {
        while let Some(Ok(message)) = source.next().await {
            match message {
                Message::Binary(data) if to_inner.write_all(&data).await.is_err() => break,
                Message::Close(_) => break,
                _ => {}
            }
        }
        let _ = to_inner.shutdown().await;
    };
    let outbound = async {
        let mut buffer = vec![0; BUFFER];
        loop {
            match from_inner.read(&mut buffer).await {
                Ok(0) | Err(_) => break,
                Ok(length) => {
                    let data = Bytes::copy_from_slice(&buffer[..length]);
                    if sink.send(Message::Binary(data)).await.is_err() {
                        break;
                    }
                }
            }
        }
        let _ = sink.send(normal_closure()).await;
    };
    // Either end closes the connection.
    tokio::select! {
        () = inbound => {}
        () = outbound => {}
    }
}

//! Connections to the ports of a pod.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Size of a piece of data, in bytes.
const BUFFER: usize = 32 << 10;

/// A byte stream in both directions.
pub trait Transport: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Transport for T {}

/// A connection to a port of a pod.
pub type PodConnection = Box<dyn Transport>;

/// Opens connections to the ports of a pod.
#[async_trait]
pub trait PortForwarder: Send + Sync {
    /// Connects to a port on the loopback interface of the pod.
    ///
    /// # Errors
    /// The text of the container runtime.
    async fn connect(&self, port: u16) -> Result<PodConnection, String>;

    /// The identifier of the pod in error messages.
    fn pod(&self) -> String;
}

/// The client's end of a forwarded connection.
#[async_trait]
pub(super) trait ClientStream: Send {
    /// The next data of the client; `None` when it has closed its half.
    async fn read(&mut self) -> Option<Bytes>;
}

/// The destination of the data of the pod.
#[async_trait]
pub(super) trait ClientSink: Send {
    /// Sends data to the client. False if the client is gone.
    async fn write(&mut self, data: &[u8]) -> bool;
}

/// Forwards one connection until both ends have closed it.
///
/// # Errors
/// The message for the error stream.
pub(super) async fn forward(
    forwarder: &Arc<dyn PortForwarder>,
    port: u16,
    client: &mut dyn ClientStream,
    sink: &mut dyn ClientSink,
) -> Result<(), String> {
    let connection = forwarder.connect(port).await.map_err(|error| {
        let pod = forwarder.pod();
        format!("error forwarding port {port} to pod {pod}, uid : {error}")
    })?;
    let (mut from_pod, mut to_pod) = tokio::io::split(connection);
    let inbound = async {
        while let Some(data) = client.read().await {
            if to_pod.write_all(&data).await.is_err() {
                // The pod has closed the connection; the data that it has sent is still read.
                return;
            }
        }
        let _ = to_pod.shutdown().await;
    };
    let outbound = async {
        let mut buffer = vec![0; BUFFER];
        while let Ok(length @ 1..) = from_pod.read(&mut buffer).await {
            if !sink.write(&buffer[..length]).await {
                return;
            }
        }
    };
    // The end of the pod's data ends the connection, as `socat` does.
    tokio::pin!(inbound, outbound);
    tokio::select! {
        () = &mut outbound => {}
        () = &mut inbound => outbound.await,
    }
    Ok(())
}

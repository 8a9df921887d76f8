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

/// A connection to an address of the cluster that is not opened, with the message of Go's `net.Dial`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DialError {
    /// Nothing has the address.
    #[error("dial tcp {0}: connect: no route to host")]
    NoRoute(String),
    /// Nothing listens at the address.
    #[error("dial tcp {0}: connect: connection refused")]
    Refused(String),
}

/// A port of a pod at which nothing listens, with the message of the container runtime.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "failed to execute portforward in network namespace \"/var/run/netns/cni-{uid}\": failed to connect to localhost:{port} inside namespace \"{pod}\", IPv4: dial tcp4 127.0.0.1:{port}: connect: connection refused IPv6 dial tcp6: address localhost: no suitable address "
)]
pub struct PodPortRefused {
    /// The UID of the pod.
    pub uid: String,
    /// The identifier of the pod.
    pub pod: String,
    /// The port.
    pub port: u16,
}

/// A connection that is not forwarded, with the message for the error stream.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("error forwarding port {port} to pod {pod}, uid : {source}")]
pub(super) struct ForwardError {
    port: u16,
    pod: String,
    source: PodPortRefused,
}

/// Opens connections to the ports of a pod.
#[async_trait]
pub trait PortForwarder: Send + Sync {
    /// Connects to a port on the loopback interface of the pod.
    ///
    /// # Errors
    /// Nothing listens at the port.
    async fn connect(&self, port: u16) -> Result<PodConnection, PodPortRefused>;

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
/// The pod refuses the connection.
pub(super) async fn forward(
    forwarder: &Arc<dyn PortForwarder>,
    port: u16,
    client: &mut dyn ClientStream,
    sink: &mut dyn ClientSink,
) -> Result<(), ForwardError> {
    let connection = forwarder.connect(port).await;
    let connection = connection.map_err(|source| ForwardError {
        port,
        pod: forwarder.pod(),
        source,
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

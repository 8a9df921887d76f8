//! Remote commands over WebSocket: the channels stdin, stdout, stderr, error and resize.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Response;
use http::request::Parts;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};

use super::process::{
    ClientStreams, RemoteCommand, ResizeDecoder, StreamOptions, TerminalSize, output, streams,
};
use super::serve::StartError;
use super::status::{StatusFormat, encode_outcome, encode_start_error};
use crate::handshake::{HandshakeError, websocket_handshake};
use crate::session::{FINISH_TIMEOUT, Session};
use crate::websocket::{ChannelCodec, ChannelMessage, ChannelReader, ChannelWriter, open_channels};

const STDIN: u8 = 0;
const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const ERROR: u8 = 3;
const RESIZE: u8 = 4;

/// The subprotocol with the close signal.
pub(super) const V5: &str = "v5.channel.k8s.io";
const V4: &str = "v4.channel.k8s.io";
const V4_BASE64: &str = "v4.base64.channel.k8s.io";
const PRE_V4: &str = "channel.k8s.io";
const PRE_V4_BASE64: &str = "base64.channel.k8s.io";

/// Maximum number of bytes of input that wait for the process; a message is smaller.
const BUFFERED: usize = 32 << 20;
/// The timeout for writing the status.
const WRITE_TIMEOUT: Duration = Duration::from_secs(60);

/// A subprotocol.
#[derive(Clone, Copy)]
struct Protocol {
    codec: ChannelCodec,
    format: StatusFormat,
    is_v5: bool,
}

/// Serves v5, which the API server translates to the protocol of the kubelet.
pub(super) fn serve_v5(
    head: &Parts,
    session: Session,
    options: StreamOptions,
    command: Result<RemoteCommand, StartError>,
) -> Result<Response<()>, HandshakeError> {
    let (_, response) = websocket_handshake(head, &[V5])?;
    let protocol = Protocol {
        codec: ChannelCodec::Raw,
        format: StatusFormat::Json,
        is_v5: true,
    };
    session.spawn(move |connection| run(connection, protocol, options, command));
    Ok(response)
}

/// Serves the subprotocols of the kubelet.
pub(super) fn serve(
    head: &Parts,
    session: Session,
    options: StreamOptions,
    command: RemoteCommand,
) -> Result<Response<()>, HandshakeError> {
    let supported = [V4, V4_BASE64, PRE_V4, PRE_V4_BASE64, ""];
    let (selected, response) = websocket_handshake(head, &supported)?;
    let protocol = Protocol {
        codec: match selected {
            V4_BASE64 | PRE_V4_BASE64 => ChannelCodec::Base64,
            _ => ChannelCodec::Raw,
        },
        format: match selected {
            V4 | V4_BASE64 => StatusFormat::Json,
            _ => StatusFormat::Text,
        },
        is_v5: false,
    };
    session.spawn(move |connection| run(connection, protocol, options, Ok(command)));
    Ok(response)
}

async fn run<S>(
    connection: S,
    protocol: Protocol,
    options: StreamOptions,
    command: Result<RemoteCommand, StartError>,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let (reader, mut writer) = open_channels(connection, protocol.codec, protocol.is_v5).await;
    let (activity, active) = watch::channel(());
    let (container, client) = streams(options);
    let ClientStreams {
        stdin,
        stdout,
        stderr,
        resize,
    } = client;
    let (queue, queued) = mpsc::unbounded_channel();
    let input = async {
        // A process that does not read its input must not hide the end of the connection.
        let copy = copy_stdin(queued, stdin);
        let read = read_input(reader, queue, resize, &activity);
        tokio::pin!(copy, read);
        tokio::select! {
            () = &mut read => {}
            () = &mut copy => read.await,
        }
    };
    let serving = async {
        // An empty message shows the client that the connection is established.
        let first = match options {
            StreamOptions { stdout: true, .. } => STDOUT,
            StreamOptions { stderr: true, .. } => STDERR,
            _ => ERROR,
        };
        writer.write(first, &[]).await?;
        let status = match command {
            Err(error) => encode_start_error(&error),
            Ok(command) => {
                let process = command(container);
                let outputs = write_outputs(&mut writer, stdout, stderr, &activity);
                let (outcome, written) = tokio::join!(process, outputs);
                written?;
                encode_outcome(&outcome, protocol.format, protocol.is_v5)
            }
        };
        let finish = async {
            if !status.is_empty() {
                writer.write(ERROR, &status).await?;
            }
            writer.close().await
        };
        match tokio::time::timeout(WRITE_TIMEOUT, finish).await {
            Ok(Ok(())) => {
                // The client closes the connection when it has read everything.
                tokio::time::sleep(FINISH_TIMEOUT).await;
                Ok(())
            }
            Ok(Err(error)) => Err(error),
            Err(_) => Ok(()),
        }
    };
    tokio::select! {
        result = serving => {
            if let Err(error) = result {
                tracing::debug!(%error, "WebSocket connection failed");
            }
        }
        () = input => {}
        () = crate::session::idle(active) => {}
    }
}

/// Copies the output of the process to its channels until the process has closed them.
async fn write_outputs<S>(
    writer: &mut ChannelWriter<S>,
    mut stdout: Option<mpsc::Receiver<Bytes>>,
    mut stderr: Option<mpsc::Receiver<Bytes>>,
    activity: &watch::Sender<()>,
) -> Result<(), tokio_tungstenite::tungstenite::Error>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    while stdout.is_some() || stderr.is_some() {
        let (channel, data) = tokio::select! {
            data = output(&mut stdout) => (STDOUT, data),
            data = output(&mut stderr) => (STDERR, data),
        };
        if let Some(data) = data {
            writer.write(channel, &data).await?;
            let _ = activity.send(());
        }
    }
    Ok(())
}

/// Input that waits for the process; counts as buffered until it is dropped.
type QueuedInput = (Bytes, OwnedSemaphorePermit);

/// Copies queued input to the process.
async fn copy_stdin(
    mut queued: mpsc::UnboundedReceiver<QueuedInput>,
    stdin: Option<mpsc::Sender<Bytes>>,
) {
    let Some(stdin) = stdin else { return };
    while let Some((data, _buffered)) = queued.recv().await {
        if !data.is_empty() && stdin.send(data).await.is_err() {
            return;
        }
    }
}

/// Dispatches the messages of the client; completes when the client has closed the connection.
async fn read_input<S>(
    mut reader: ChannelReader<S>,
    stdin: mpsc::UnboundedSender<QueuedInput>,
    resize: mpsc::Sender<TerminalSize>,
    activity: &watch::Sender<()>,
) where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let buffered = Arc::new(Semaphore::new(BUFFERED));
    let mut stdin = Some(stdin);
    let mut sizes = ResizeDecoder::default();
    while let Some(message) = reader.next().await {
        let _ = activity.send(());
        match message {
            ChannelMessage::Data(STDIN, data) => {
                if let Some(queue) = &stdin
                    && !queue.is_closed()
                    && let Ok(permit) = buffered.clone().acquire_many_owned(data.len() as u32).await
                {
                    let _ = queue.send((data, permit));
                }
            }
            ChannelMessage::Data(RESIZE, data) => {
                for size in sizes.decode(&data) {
                    let _ = resize.try_send(size);
                }
            }
            ChannelMessage::Close(STDIN) => stdin = None,
            ChannelMessage::Close(channel) if channel > RESIZE => return,
            _ => {}
        }
    }
}

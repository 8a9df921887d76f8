//! A process and its streams.

use bytes::Bytes;
use futures::future::BoxFuture;
use serde::Deserialize;
use tokio::sync::mpsc;

/// Pieces of data that wait in a stream.
pub(super) const QUEUE: usize = 16;

/// The streams that a client requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamOptions {
    /// Input of the process.
    pub stdin: bool,
    /// Output of the process.
    pub stdout: bool,
    /// Error output of the process; not with a terminal.
    pub stderr: bool,
    /// Whether the process has a terminal.
    pub tty: bool,
}

/// The size of a terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct TerminalSize {
    /// Columns.
    pub width: u16,
    /// Lines.
    pub height: u16,
}

/// The streams of a process. A stream that the client did not request is absent.
#[derive(Debug)]
pub struct ContainerStreams {
    /// Input; ends when the client closes it.
    pub stdin: Option<mpsc::Receiver<Bytes>>,
    /// Output, closed when dropped.
    pub stdout: Option<mpsc::Sender<Bytes>>,
    /// Error output, closed when dropped.
    pub stderr: Option<mpsc::Sender<Bytes>>,
    /// Sizes of the terminal, the first one when it is opened.
    pub resize: mpsc::Receiver<TerminalSize>,
}

/// The failure of a command.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// The process exited with this code, which is not 0.
    #[error("command terminated with exit code {0}")]
    ExitCode(i32),
    /// The process could not be executed; the text of the container runtime.
    #[error("{0}")]
    Runtime(String),
}

/// Runs a process with the streams of a client. Dropping the future kills it.
pub type RemoteCommand =
    Box<dyn FnOnce(ContainerStreams) -> BoxFuture<'static, Result<(), CommandError>> + Send>;

/// The client's ends of the streams of a process.
pub(super) struct ClientStreams {
    pub(super) stdin: Option<mpsc::Sender<Bytes>>,
    pub(super) stdout: Option<mpsc::Receiver<Bytes>>,
    pub(super) stderr: Option<mpsc::Receiver<Bytes>>,
    pub(super) resize: mpsc::Sender<TerminalSize>,
}

/// Both ends of the streams of a process.
pub(super) fn streams(options: StreamOptions) -> (ContainerStreams, ClientStreams) {
    let channel = |wanted: bool| wanted.then(|| mpsc::channel(QUEUE)).unzip();
    let (stdin_sender, stdin) = channel(options.stdin);
    let (stdout, stdout_receiver) = channel(options.stdout);
    let (stderr, stderr_receiver) = channel(options.stderr);
    let (resize_sender, resize) = mpsc::channel(QUEUE);
    let container = ContainerStreams {
        stdin,
        stdout,
        stderr,
        resize,
    };
    let client = ClientStreams {
        stdin: stdin_sender,
        stdout: stdout_receiver,
        stderr: stderr_receiver,
        resize: resize_sender,
    };
    (container, client)
}

/// The next piece of output; waits forever for a stream that is absent, and resets it at its end.
pub(super) async fn output(stream: &mut Option<mpsc::Receiver<Bytes>>) -> Option<Bytes> {
    let Some(receiver) = stream else {
        return std::future::pending().await;
    };
    let data = receiver.recv().await;
    if data.is_none() {
        *stream = None;
    }
    data
}

/// Decodes the JSON values of a resize stream, which messages may divide at any byte.
#[derive(Default)]
pub(super) struct ResizeDecoder(Vec<u8>);

/// Maximum number of bytes of an incomplete value.
const RESIZE_BUFFER: usize = 4 << 10;

impl ResizeDecoder {
    /// The sizes that are complete with `data`.
    pub(super) fn decode(&mut self, data: &[u8]) -> Vec<TerminalSize> {
        self.0.extend_from_slice(data);
        let mut values = serde_json::Deserializer::from_slice(&self.0).into_iter();
        let mut sizes = Vec::new();
        let mut invalid = false;
        for value in values.by_ref() {
            match value {
                Ok(size) => sizes.push(size),
                Err(error) => {
                    invalid = !error.is_eof();
                    break;
                }
            }
        }
        let read = values.byte_offset();
        self.0.drain(..read.min(self.0.len()));
        if invalid || self.0.len() > RESIZE_BUFFER {
            self.0.clear();
        }
        sizes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_decoded_across_messages() {
        let mut decoder = ResizeDecoder::default();
        assert_eq!(decoder.decode(b"{\"Width\":80,"), []);
        let size = |width, height| TerminalSize { width, height };
        let sizes = decoder.decode(b"\"Height\":24}\n{\"Width\":100,\"Height\":30}{");
        assert_eq!(sizes, [size(80, 24), size(100, 30)]);
        assert_eq!(decoder.decode(b"?"), []);
        assert_eq!(decoder.decode(b"{\"Width\":1,\"Height\":2}"), [size(1, 2)]);
    }
}

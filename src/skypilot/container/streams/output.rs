//! Output of processes.

use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::mpsc;

use crate::container::Container;
use crate::memory::MemoryReservation;

/// Maximum size of a piece of output, in bytes.
const PIECE: usize = 32 << 10;

/// The reader is gone, or the output has no space left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Closed;

/// Keeps the output of a process.
pub(crate) trait RecordOutput: Send + Sync {
    /// Records data.
    ///
    /// # Errors
    /// The process has ended, or its limits are exceeded.
    fn write(&self, data: &[u8]) -> Result<(), Closed>;
}

/// The output of a process. Clones write to the same place.
#[derive(Clone)]
pub(crate) struct Output(Kind);

#[derive(Clone)]
enum Kind {
    Channel(mpsc::Sender<Bytes>),
    /// A channel to a terminal, which starts new lines with a carriage return.
    Terminal(mpsc::Sender<Bytes>),
    Buffer(Arc<Mutex<CapturedOutput>>),
    File(Arc<Container>, Arc<str>),
    Recorded(Arc<dyn RecordOutput>),
    Null,
}

/// The output of a command substitution.
pub(crate) struct CapturedOutput {
    data: Vec<u8>,
    reservation: MemoryReservation,
}

impl CapturedOutput {
    /// The data so far.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        self.reservation.shrink(self.data.len());
        std::mem::take(&mut self.data)
    }
}

impl Output {
    pub(crate) fn channel(sender: mpsc::Sender<Bytes>) -> Self {
        Self(Kind::Channel(sender))
    }

    pub(crate) fn terminal(sender: mpsc::Sender<Bytes>) -> Self {
        Self(Kind::Terminal(sender))
    }

    /// Output that is recorded.
    pub(crate) fn recorded(recorder: Arc<dyn RecordOutput>) -> Self {
        Self(Kind::Recorded(recorder))
    }

    pub(crate) fn null() -> Self {
        Self(Kind::Null)
    }

    /// Appends to a file.
    pub(crate) fn file(container: Arc<Container>, path: &str) -> Self {
        Self(Kind::File(container, path.into()))
    }

    /// Output that is collected in memory, and counts for `reservation`.
    pub(crate) fn buffer(reservation: MemoryReservation) -> (Self, Arc<Mutex<CapturedOutput>>) {
        let captured = CapturedOutput {
            data: Vec::new(),
            reservation,
        };
        let buffer = Arc::new(Mutex::new(captured));
        (Self(Kind::Buffer(buffer.clone())), buffer)
    }

    /// Whether it is a terminal.
    pub(crate) fn is_terminal(&self) -> bool {
        matches!(self.0, Kind::Terminal(_))
    }

    /// Writes data.
    pub(crate) async fn write(&self, data: impl AsRef<[u8]>) -> Result<(), Closed> {
        let data = data.as_ref();
        match &self.0 {
            Kind::Null => {}
            Kind::Recorded(recorder) => recorder.write(data)?,
            Kind::Channel(sender) => {
                for piece in data.chunks(PIECE) {
                    send(sender, Bytes::copy_from_slice(piece)).await?;
                }
            }
            Kind::Terminal(sender) => {
                for piece in data.chunks(PIECE) {
                    let mut text = Vec::with_capacity(piece.len() + 16);
                    for byte in piece {
                        if *byte == b'\n' {
                            text.push(b'\r');
                        }
                        text.push(*byte);
                    }
                    send(sender, text.into()).await?;
                }
            }
            Kind::Buffer(buffer) => {
                let mut buffer = buffer.lock();
                if !buffer.reservation.grow(data.len()) {
                    return Err(Closed);
                }
                buffer.data.extend_from_slice(data);
            }
            Kind::File(container, path) => {
                let now = container.system().now();
                let files = container.files();
                files.append("/", path, data, now).map_err(|_| Closed)?;
            }
        }
        Ok(())
    }

    /// Writes a line.
    pub(crate) async fn line(&self, text: impl AsRef<str>) -> Result<(), Closed> {
        let mut line = text.as_ref().to_owned();
        line.push('\n');
        self.write(line).await
    }
}

async fn send(sender: &mpsc::Sender<Bytes>, data: Bytes) -> Result<(), Closed> {
    sender.send(data).await.map_err(|_| Closed)
}

//! One stream of a connection.

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use super::frame::Frame;

/// Maximum size of a data frame that is sent, in bytes.
const DATA_SIZE: usize = 32 << 10;

/// Data of the client; counts as buffered until it is dropped.
pub(super) struct Received {
    pub(super) data: Bytes,
    pub(super) _buffered: OwnedSemaphorePermit,
}

/// A stream that the client has created.
pub(crate) struct SpdyStream {
    pub(super) id: u32,
    pub(super) headers: Vec<(String, String)>,
    pub(super) received: mpsc::UnboundedReceiver<Received>,
    pub(super) frames: mpsc::Sender<Frame>,
}

/// The sending half of a stream.
#[derive(Clone)]
pub(crate) struct StreamWriter {
    id: u32,
    frames: mpsc::Sender<Frame>,
}

/// The receiving half of a stream.
pub(crate) struct StreamReader {
    received: mpsc::UnboundedReceiver<Received>,
}

impl SpdyStream {
    /// The identifier of the stream.
    pub(crate) fn id(&self) -> u32 {
        self.id
    }

    /// The value of a header; empty if it is absent.
    pub(crate) fn header(&self, name: &str) -> &str {
        let mut headers = self.headers.iter();
        let found = headers.find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map_or("", |(_, value)| value)
    }

    /// Both halves.
    pub(crate) fn split(self) -> (StreamReader, StreamWriter) {
        let reader = StreamReader {
            received: self.received,
        };
        let writer = StreamWriter {
            id: self.id,
            frames: self.frames,
        };
        (reader, writer)
    }
}

impl StreamReader {
    /// The next data; `None` when the client has closed its half.
    pub(crate) async fn read(&mut self) -> Option<Bytes> {
        self.received.recv().await.map(|received| received.data)
    }
}

impl StreamWriter {
    /// Sends data. False if the connection is closed.
    pub(crate) async fn write(&self, data: &[u8]) -> bool {
        for piece in data.chunks(DATA_SIZE) {
            let frame = Frame::Data {
                stream: self.id,
                fin: false,
                data: Bytes::copy_from_slice(piece),
            };
            if self.frames.send(frame).await.is_err() {
                return false;
            }
        }
        true
    }

    /// Closes the sending half.
    pub(crate) async fn close(&self) {
        let frame = Frame::Data {
            stream: self.id,
            fin: true,
            data: Bytes::new(),
        };
        let _ = self.frames.send(frame).await;
    }

    /// Closes both halves at once.
    pub(crate) async fn reset(&self) {
        let frame = Frame::RstStream {
            stream: self.id,
            status: super::connection::PROTOCOL_ERROR,
        };
        let _ = self.frames.send(frame).await;
    }
}

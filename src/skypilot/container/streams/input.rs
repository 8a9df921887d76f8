//! Input that processes share.

use std::sync::Arc;

use bytes::{Buf, Bytes, BytesMut};
use tokio::sync::{Mutex, mpsc};

use crate::memory::MemoryReservation;

/// Size of a piece of a file, in bytes.
const PIECE: usize = 64 << 10;
/// Maximum length of a line, in bytes.
const LINE: usize = 1 << 20;

/// The input of a process. Clones read from the same position.
#[derive(Clone)]
pub(crate) struct Input(Arc<Mutex<Reader>>);

struct Reader {
    source: Option<mpsc::Receiver<Bytes>>,
    /// The rest of a file, which is shared with the file system.
    file: Bytes,
    buffer: BytesMut,
}

impl Reader {
    /// Reads more into the buffer. False at the end.
    async fn fill(&mut self) -> bool {
        if !self.file.is_empty() {
            let length = self.file.len().min(PIECE);
            self.buffer.extend_from_slice(&self.file.split_to(length));
            return true;
        }
        let Some(source) = &mut self.source else {
            return false;
        };
        match source.recv().await {
            Some(data) => {
                self.buffer.extend_from_slice(&data);
                true
            }
            None => {
                self.source = None;
                false
            }
        }
    }
}

impl Input {
    fn new(source: Option<mpsc::Receiver<Bytes>>, file: Bytes) -> Self {
        Self(Arc::new(Mutex::new(Reader {
            source,
            file,
            buffer: BytesMut::new(),
        })))
    }

    /// Input without data.
    pub(crate) fn empty() -> Self {
        Self::new(None, Bytes::new())
    }

    /// The content of a file.
    pub(crate) fn bytes(data: impl Into<Bytes>) -> Self {
        Self::new(None, data.into())
    }

    /// The data of a channel.
    pub(crate) fn channel(source: mpsc::Receiver<Bytes>) -> Self {
        Self::new(Some(source), Bytes::new())
    }

    /// The next data; `None` at the end.
    pub(crate) async fn read(&self) -> Option<Bytes> {
        let mut reader = self.0.lock().await;
        while reader.buffer.is_empty() {
            if !reader.fill().await {
                return None;
            }
        }
        Some(reader.buffer.split().freeze())
    }

    /// The next line with its line feed, which the last line may lack; `None` at the end.
    pub(crate) async fn read_line(&self) -> Option<Vec<u8>> {
        let mut reader = self.0.lock().await;
        let mut searched = 0;
        loop {
            let rest = &reader.buffer[searched..];
            if let Some(at) = rest.iter().position(|byte| *byte == b'\n') {
                let length = searched + at + 1;
                return Some(take(&mut reader.buffer, length));
            }
            searched = reader.buffer.len();
            if searched >= LINE || !reader.fill().await {
                let length = reader.buffer.len();
                return (length > 0).then(|| take(&mut reader.buffer, length));
            }
        }
    }

    /// All data up to the end, or until `reservation` has no space, which ends the process.
    pub(crate) async fn read_all(&self, reservation: &mut MemoryReservation) -> Vec<u8> {
        let mut reader = self.0.lock().await;
        let mut reserved = 0;
        loop {
            let length = reader.buffer.len();
            if !reservation.grow(length - reserved) {
                return Vec::new();
            }
            reserved = length;
            if !reader.fill().await {
                return take(&mut reader.buffer, length);
            }
        }
    }
}

fn take(buffer: &mut BytesMut, length: usize) -> Vec<u8> {
    let data = buffer[..length].to_vec();
    buffer.advance(length);
    data
}

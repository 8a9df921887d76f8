//! Writes the server's stream.

use bytes::Bytes;
use tokio::sync::mpsc;

use crate::error::RsyncError;
use crate::reader::{DATA, DONE};

/// Maximum size of a message, in bytes.
const MESSAGE: usize = 32 << 10;
/// The code of an error message about one file.
const ERROR: u8 = DATA + 1;

/// The server's stream.
pub(crate) struct Writer {
    target: mpsc::Sender<Bytes>,
    buffer: Vec<u8>,
    multiplexed: bool,
    index: i32,
}

impl Writer {
    pub(crate) fn new(target: mpsc::Sender<Bytes>) -> Self {
        Self {
            target,
            buffer: Vec::new(),
            multiplexed: false,
            index: -1,
        }
    }

    /// From now on the stream has messages.
    pub(crate) async fn multiplex(&mut self) -> Result<(), RsyncError> {
        self.send().await?;
        self.multiplexed = true;
        Ok(())
    }

    /// Sends the written bytes.
    pub(crate) async fn send(&mut self) -> Result<(), RsyncError> {
        let data = std::mem::take(&mut self.buffer);
        if self.multiplexed {
            for piece in data.chunks(MESSAGE) {
                self.message(DATA, piece).await?;
            }
        } else if !data.is_empty() {
            let sent = self.target.send(data.into()).await;
            sent.map_err(|_| RsyncError::closed())?;
        }
        Ok(())
    }

    async fn message(&mut self, code: u8, data: &[u8]) -> Result<(), RsyncError> {
        let length = u32::try_from(data.len()).map_err(|_| RsyncError::protocol("too long"))?;
        let header = u32::from(code) << 24 | length;
        let message = [&header.to_le_bytes()[..], data].concat();
        let sent = self.target.send(message.into()).await;
        sent.map_err(|_| RsyncError::closed())
    }

    /// Sends an error message about a file, which the client prints.
    pub(crate) async fn error(&mut self, text: &str) -> Result<(), RsyncError> {
        self.send().await?;
        for piece in format!("rsync: {text}\n").as_bytes().chunks(MESSAGE) {
            self.message(ERROR, piece).await?;
        }
        Ok(())
    }

    pub(crate) async fn bytes(&mut self, bytes: &[u8]) -> Result<(), RsyncError> {
        self.buffer.extend_from_slice(bytes);
        match self.buffer.len() >= MESSAGE {
            true => self.send().await,
            false => Ok(()),
        }
    }

    pub(crate) async fn int(&mut self, number: i32) -> Result<(), RsyncError> {
        self.bytes(&number.to_le_bytes()).await
    }

    pub(crate) async fn short(&mut self, number: u16) -> Result<(), RsyncError> {
        self.bytes(&number.to_le_bytes()).await
    }

    /// A number of variable length, with at least `min` bytes.
    pub(crate) async fn variable(&mut self, number: u64, min: usize) -> Result<(), RsyncError> {
        let bytes = number.to_le_bytes();
        let zeros = number.leading_zeros() as usize / 8;
        let length = (bytes.len() - zeros).max(min);
        let bit = 1_u16 << (7 + min - length);
        let high = u16::from(bytes[length - 1]);
        let ones = |bit: u16| u8::try_from(0xff & !(bit - 1)).unwrap_or(0xff);
        let mut encoded = Vec::with_capacity(9);
        if high >= bit {
            encoded.push(ones(bit));
            encoded.extend_from_slice(&bytes[..length]);
        } else {
            let prefix = if length > min { ones(bit * 2) } else { 0 };
            encoded.push(bytes[length - 1] | prefix);
            encoded.extend_from_slice(&bytes[..length - 1]);
        }
        self.bytes(&encoded).await
    }

    /// A string of less than 128 bytes with its length.
    pub(crate) async fn string(&mut self, text: &str) -> Result<(), RsyncError> {
        let length = u8::try_from(text.len()).unwrap_or(0x7f).min(0x7f);
        self.bytes(&[length]).await?;
        self.bytes(&text.as_bytes()[..usize::from(length)]).await
    }

    /// An index of the file list, or [`DONE`].
    pub(crate) async fn index(&mut self, index: i32) -> Result<(), RsyncError> {
        if index == DONE {
            return self.bytes(&[0]).await;
        }
        let difference = index - self.index;
        self.index = index;
        match u8::try_from(difference) {
            Ok(small @ 1..=0xfd) => self.bytes(&[small]).await,
            _ => match u16::try_from(difference) {
                Ok(difference @ ..=0x7fff) => {
                    let [high, low] = difference.to_be_bytes();
                    self.bytes(&[0xfe, high, low]).await
                }
                _ => {
                    let [lowest, low, middle, high] = index.to_le_bytes();
                    self.bytes(&[0xfe, high | 0x80, lowest, low, middle]).await
                }
            },
        }
    }
}

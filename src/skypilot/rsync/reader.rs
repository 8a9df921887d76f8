//! Reads the client's stream.

use bytes::{Buf, Bytes, BytesMut};
use tokio::sync::mpsc;

use crate::error::RsyncError;

/// The number of the first multiplexed message, which has data.
pub(crate) const DATA: u8 = 7;

/// The end of a phase, as an index of the file list.
pub(crate) const DONE: i32 = -1;

/// The client's stream.
pub(crate) struct Reader {
    source: mpsc::Receiver<Bytes>,
    buffer: BytesMut,
    /// The bytes of the current message; `None` before messages are multiplexed.
    message: Option<usize>,
    positive: u32,
    negative: u32,
}

impl Reader {
    pub(crate) fn new(source: mpsc::Receiver<Bytes>) -> Self {
        Self {
            source,
            buffer: BytesMut::new(),
            message: None,
            positive: u32::MAX,
            negative: 1,
        }
    }

    /// From now on the stream has messages.
    pub(crate) fn multiplex(&mut self) {
        self.message = Some(0);
    }

    async fn fill(&mut self) -> Result<(), RsyncError> {
        while self.buffer.is_empty() {
            let data = self.source.recv().await.ok_or_else(RsyncError::closed)?;
            self.buffer.extend_from_slice(&data);
        }
        Ok(())
    }

    async fn raw(&mut self, mut target: &mut [u8]) -> Result<(), RsyncError> {
        while !target.is_empty() {
            self.fill().await?;
            let length = target.len().min(self.buffer.len());
            let (now, rest) = target.split_at_mut(length);
            self.buffer.copy_to_slice(now);
            target = rest;
        }
        Ok(())
    }

    /// Reads the header of the next message with data; other messages are skipped.
    async fn next_message(&mut self) -> Result<usize, RsyncError> {
        loop {
            let mut header = [0; 4];
            self.raw(&mut header).await?;
            let [low, middle, high, code] = header;
            let length = usize::from(low) | usize::from(middle) << 8 | usize::from(high) << 16;
            if code == DATA {
                return Ok(length);
            }
            if code < DATA {
                return Err(RsyncError::protocol("unexpected message"));
            }
            let mut skipped = vec![0; length];
            self.raw(&mut skipped).await?;
        }
    }

    async fn exact(&mut self, target: &mut [u8]) -> Result<(), RsyncError> {
        let mut done = 0;
        while let Some(left) = self.message {
            let rest = target.len() - done;
            if rest == 0 {
                return Ok(());
            }
            if left == 0 {
                self.message = Some(self.next_message().await?);
                continue;
            }
            let length = rest.min(left);
            self.raw(&mut target[done..done + length]).await?;
            self.message = Some(left - length);
            done += length;
        }
        self.raw(&mut target[done..]).await
    }

    pub(crate) async fn bytes(&mut self, length: usize) -> Result<Vec<u8>, RsyncError> {
        let mut bytes = vec![0; length];
        self.exact(&mut bytes).await?;
        Ok(bytes)
    }

    pub(crate) async fn array<const N: usize>(&mut self) -> Result<[u8; N], RsyncError> {
        let mut bytes = [0; N];
        self.exact(&mut bytes).await?;
        Ok(bytes)
    }

    pub(crate) async fn byte(&mut self) -> Result<u8, RsyncError> {
        Ok(u8::from_le_bytes(self.array().await?))
    }

    pub(crate) async fn short(&mut self) -> Result<u16, RsyncError> {
        Ok(u16::from_le_bytes(self.array().await?))
    }

    pub(crate) async fn int(&mut self) -> Result<i32, RsyncError> {
        Ok(i32::from_le_bytes(self.array().await?))
    }

    /// A number of variable length, with at least `min` bytes.
    pub(crate) async fn variable(&mut self, min: usize) -> Result<u64, RsyncError> {
        let first = self.byte().await?;
        let mut bytes = [0; 8];
        self.exact(&mut bytes[..min - 1]).await?;
        let extra = (first.leading_ones() as usize).min(6);
        let length = min - 1 + extra;
        if length >= bytes.len() {
            return Err(RsyncError::protocol("number is too large"));
        }
        self.exact(&mut bytes[min - 1..length]).await?;
        bytes[length] = match extra {
            0 => first,
            extra => first & ((1 << (8 - extra)) - 1),
        };
        Ok(u64::from_le_bytes(bytes))
    }

    /// A number of 32 bits.
    pub(crate) async fn variable_int(&mut self) -> Result<u32, RsyncError> {
        let number = self.variable(1).await?;
        u32::try_from(number).map_err(|_| RsyncError::protocol("number is too large"))
    }

    /// A string with its length.
    pub(crate) async fn string(&mut self) -> Result<String, RsyncError> {
        let mut length = usize::from(self.byte().await?);
        if length & 0x80 != 0 {
            length = (length & 0x7f) << 8 | usize::from(self.byte().await?);
        }
        let bytes = self.bytes(length).await?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// An index of the file list, or [`DONE`].
    pub(crate) async fn index(&mut self) -> Result<i32, RsyncError> {
        let mut first = self.byte().await?;
        let is_negative = first == 0xff;
        if first == 0 {
            return Ok(DONE);
        }
        if is_negative {
            first = self.byte().await?;
        }
        let before = match is_negative {
            true => self.negative,
            false => self.positive,
        };
        let number = match first {
            0xfe => match self.array::<2>().await? {
                [high, lowest] if high & 0x80 != 0 => {
                    let [low, middle] = self.array().await?;
                    u32::from_le_bytes([lowest, low, middle, high & 0x7f])
                }
                difference => before.wrapping_add(u32::from(u16::from_be_bytes(difference))),
            },
            difference => before.wrapping_add(u32::from(difference)),
        };
        let signed = i32::try_from(number).map_err(|_| RsyncError::protocol("invalid index"))?;
        match is_negative {
            true => self.negative = number,
            false => self.positive = number,
        }
        Ok(if is_negative { -signed } else { signed })
    }
}

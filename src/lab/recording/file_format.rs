//! The file format of recordings (docs/recording.md).

use flate2::{Compress, Compression, Crc, Decompress, FlushCompress, FlushDecompress, Status};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::recorded_kind::RecordedKind;
use super::recording_error::RecordingError;

/// The first bytes of a file.
pub(crate) const MAGIC: [u8; 20] = *b"kueue-lab recording\n";
/// The name of the format in the header.
pub(crate) const FORMAT: &str = "kueue-lab recording";
/// The version of the format.
pub(crate) const VERSION: u64 = 1;
/// The bytes before the data of a frame: its length, that of its text, and the checksum of the text.
pub(crate) const FRAME_HEAD: usize = 12;
/// The size of a frame's text at which a recorder begins the next one, in bytes.
pub(crate) const FRAME_SIZE: usize = 1 << 20;
/// The largest text of a frame, in bytes.
pub(crate) const MAX_FRAME: usize = 16 << 20;

/// The header of a recording.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RecordingHeader {
    /// `kueue-lab recording`.
    pub format: String,
    /// The version of the format.
    pub version: u64,
    /// The version of the kueue-lab that recorded it.
    pub lab: String,
    /// The lab time at the begin.
    pub start: Timestamp,
    /// The name of the cluster.
    pub cluster: String,
    /// Lab seconds per second at the begin.
    pub speed: f64,
    /// The recorded kinds; entries name them by their index.
    pub kinds: Vec<RecordedKind>,
}

/// A line of a frame's text: an entry.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Line {
    /// The microseconds since the entry before, or since the start.
    pub(crate) t: u64,
    /// The index of a kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) k: Option<u16>,
    /// The object: `namespace/name`, or `name` of an object in no namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) n: Option<String>,
    /// The change of the object; without it the object is deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) d: Option<Value>,
    /// Lab seconds per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) speed: Option<f64>,
    /// Whether lab time is paused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) paused: Option<bool>,
    /// Why the kind cannot be observed; empty at the end of the gap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) gap: Option<String>,
    /// `true`: the recording has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) end: Option<bool>,
}

/// Encodes frames: one raw deflate stream, flushed at the end of each frame.
pub(crate) struct FrameEncoder(Compress);

impl FrameEncoder {
    pub(crate) fn new() -> Self {
        Self(Compress::new(Compression::default(), false))
    }

    /// The frame of a text.
    ///
    /// # Errors
    /// The text cannot be compressed, or is too large for a frame.
    pub(crate) fn encode(&mut self, text: &[u8]) -> Result<Vec<u8>, RecordingError> {
        if text.len() > MAX_FRAME {
            return Err(RecordingError::TooLarge(format!(
                "an object has more than {} MiB",
                MAX_FRAME >> 20
            )));
        }
        let mut frame = vec![0; FRAME_HEAD];
        let mut read = 0;
        loop {
            frame.reserve((text.len() - read) / 4 + 1024);
            let before = self.0.total_in();
            let compressed = self
                .0
                .compress_vec(&text[read..], &mut frame, FlushCompress::Sync);
            compressed.map_err(|error| RecordingError::Io(error.into()))?;
            read += usize::try_from(self.0.total_in() - before).unwrap_or_default();
            // The flush is complete when it leaves room for more.
            if read == text.len() && frame.len() < frame.capacity() {
                break;
            }
        }
        let mut checksum = Crc::new();
        checksum.update(text);
        let length = |size: usize| u32::try_from(size).unwrap_or(u32::MAX).to_le_bytes();
        let size = length(frame.len() - FRAME_HEAD);
        frame[..4].copy_from_slice(&size);
        frame[4..8].copy_from_slice(&length(text.len()));
        frame[8..12].copy_from_slice(&checksum.sum().to_le_bytes());
        Ok(frame)
    }
}

/// A decoded frame.
pub(crate) struct DecodedFrame<'b> {
    /// The text.
    pub(crate) text: Vec<u8>,
    /// The bytes after the frame.
    pub(crate) rest: &'b [u8],
}

/// Decodes the frames of [`FrameEncoder`] in their order.
pub(crate) struct FrameDecoder(Decompress);

impl FrameDecoder {
    pub(crate) fn new() -> Self {
        Self(Decompress::new(false))
    }

    /// The text of the first frame of `bytes`, and the rest; `None` if the frame is not complete.
    ///
    /// # Errors
    /// It is no frame.
    pub(crate) fn decode<'b>(
        &mut self,
        bytes: &'b [u8],
    ) -> Result<Option<DecodedFrame<'b>>, RecordingError> {
        let Some((head, rest)) = bytes.split_first_chunk::<FRAME_HEAD>() else {
            return Ok(None);
        };
        let field =
            |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let size = |at: usize| usize::try_from(field(at)).unwrap_or(usize::MAX);
        let (length, text_length, checksum) = (size(0), size(4), field(8));
        if text_length > MAX_FRAME || length > MAX_FRAME + MAX_FRAME / 8 {
            return Err(damaged("a frame has an impossible length"));
        }
        let Some((data, rest)) = rest.split_at_checked(length) else {
            return Ok(None);
        };
        let mut text = Vec::with_capacity(text_length.max(1));
        let mut read = 0;
        while read < data.len() {
            let before = (self.0.total_in(), self.0.total_out());
            let status = self
                .0
                .decompress_vec(&data[read..], &mut text, FlushDecompress::Sync);
            let status = status.map_err(|_| damaged("a frame cannot be decompressed"))?;
            let after = (self.0.total_in(), self.0.total_out());
            read += usize::try_from(after.0 - before.0).unwrap_or_default();
            if status == Status::StreamEnd || before == after || text.len() > text_length {
                break;
            }
        }
        let mut sum = Crc::new();
        sum.update(&text);
        match read == data.len() && text.len() == text_length && sum.sum() == checksum {
            true => Ok(Some(DecodedFrame { text, rest })),
            false => Err(damaged("a frame has other data than its checksum says")),
        }
    }
}

pub(crate) fn damaged(what: &str) -> RecordingError {
    RecordingError::Damaged(what.to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn frames_are_decoded_as_they_were_encoded(texts in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..5000), 0..6)) {
            let mut encoder = FrameEncoder::new();
            let file: Vec<u8> = texts.iter().flat_map(|text| encoder.encode(text).unwrap()).collect();
            let (mut decoder, mut rest) = (FrameDecoder::new(), &file[..]);
            for text in &texts {
                let decoded = decoder.decode(rest).unwrap().unwrap();
                prop_assert_eq!(&decoded.text, text);
                rest = decoded.rest;
            }
            prop_assert!(decoder.decode(rest).unwrap().is_none());
        }
    }
}

//! Frames: decoding from a buffer, and encoding.

use bytes::{Buf, BufMut, Bytes, BytesMut};

use super::header_block::{HeaderCompressor, HeaderDecompressor, Headers};

/// The protocol version in control frames.
const VERSION: u16 = 3;
/// Size of the header of a frame, in bytes.
const FRAME_HEADER: usize = 8;
/// Maximum payload of a control frame, in bytes.
const CONTROL_PAYLOAD: usize = 64 << 10;
/// Maximum size of one piece of a data frame, in bytes.
const DATA_PIECE: usize = 32 << 10;
/// The flag of the last frame of a stream.
const FLAG_FIN: u8 = 1;

const SYN_STREAM: u16 = 1;
const SYN_REPLY: u16 = 2;
const RST_STREAM: u16 = 3;
const SETTINGS: u16 = 4;
const PING: u16 = 6;
const GOAWAY: u16 = 7;
const HEADERS: u16 = 8;
const WINDOW_UPDATE: u16 = 9;

/// A frame, as far as its fields are used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    SynStream {
        stream: u32,
        fin: bool,
        headers: Headers,
    },
    SynReply {
        stream: u32,
        fin: bool,
        headers: Headers,
    },
    RstStream {
        stream: u32,
        status: u32,
    },
    Settings,
    Ping {
        id: u32,
    },
    GoAway {
        last_good_stream: u32,
        status: u32,
    },
    Headers {
        stream: u32,
        fin: bool,
        headers: Headers,
    },
    WindowUpdate {
        stream: u32,
        delta: u32,
    },
    /// A data frame, or a piece of one; `fin` is set in the last piece.
    Data {
        stream: u32,
        fin: bool,
        data: Bytes,
    },
}

/// An error that ends the connection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum FrameError {
    #[error("unsupported SPDY version {0}")]
    Version(u16),
    #[error("control frame of {0} bytes is too large")]
    TooLarge(usize),
    #[error("control frame of type {0} is too short")]
    TooShort(u16),
    #[error("invalid header block: {0}")]
    HeaderBlock(&'static str),
}

/// Decodes the frames of a connection.
pub(super) struct FrameDecoder {
    headers: HeaderDecompressor,
    /// The data frame that is being read: stream, FIN flag, remaining bytes.
    data: Option<(u32, bool, usize)>,
    /// The bytes that remain of a control frame of another type.
    skip: usize,
}

impl FrameDecoder {
    pub(super) fn new() -> Self {
        Self {
            headers: HeaderDecompressor::new(),
            data: None,
            skip: 0,
        }
    }

    /// Takes the next frame from `buffer`; `None` if it is not complete. Large data frames are
    /// returned in pieces.
    ///
    /// # Errors
    /// The frame is invalid.
    pub(super) fn decode(&mut self, buffer: &mut BytesMut) -> Result<Option<Frame>, FrameError> {
        loop {
            if self.skip > 0 {
                let skipped = self.skip.min(buffer.len());
                buffer.advance(skipped);
                self.skip -= skipped;
                if self.skip > 0 {
                    return Ok(None);
                }
            }
            if let Some(frame) = self.data_piece(buffer) {
                return Ok(Some(frame));
            }
            if self.data.is_some() || buffer.len() < FRAME_HEADER {
                return Ok(None);
            }
            let mut head = &buffer[..FRAME_HEADER];
            let first = head.get_u32();
            let flags_and_length = head.get_u32();
            let length = (flags_and_length & 0x00ff_ffff) as usize;
            let fin = (flags_and_length >> 24) as u8 & FLAG_FIN != 0;
            if first >> 31 == 0 {
                buffer.advance(FRAME_HEADER);
                self.data = Some((first, fin, length));
                continue;
            }
            let version = (first >> 16) as u16 & 0x7fff;
            if version != VERSION {
                return Err(FrameError::Version(version));
            }
            if length > CONTROL_PAYLOAD {
                return Err(FrameError::TooLarge(length));
            }
            let kind = (first & 0xffff) as u16;
            if !(SYN_STREAM..=WINDOW_UPDATE).contains(&kind) {
                buffer.advance(FRAME_HEADER);
                self.skip = length;
                continue;
            }
            if buffer.len() < FRAME_HEADER + length {
                return Ok(None);
            }
            buffer.advance(FRAME_HEADER);
            let payload = buffer.split_to(length).freeze();
            if let Some(frame) = self.control(kind, fin, payload)? {
                return Ok(Some(frame));
            }
        }
    }

    fn data_piece(&mut self, buffer: &mut BytesMut) -> Option<Frame> {
        let (stream, fin, left) = self.data?;
        if left > 0 && buffer.is_empty() {
            return None;
        }
        let data = buffer.split_to(left.min(buffer.len()).min(DATA_PIECE));
        let left = left - data.len();
        self.data = (left > 0).then_some((stream, fin, left));
        Some(Frame::Data {
            stream,
            fin: fin && left == 0,
            data: data.freeze(),
        })
    }

    fn control(
        &mut self,
        kind: u16,
        fin: bool,
        mut payload: Bytes,
    ) -> Result<Option<Frame>, FrameError> {
        let mut number = || {
            let short = FrameError::TooShort(kind);
            payload.try_get_u32().map_err(|_| short)
        };
        Ok(Some(match kind {
            SYN_STREAM => {
                let stream = number()? & 0x7fff_ffff;
                number()?;
                if payload.remaining() < 2 {
                    return Err(FrameError::TooShort(kind));
                }
                payload.advance(2);
                let headers = self.headers.decode(&payload)?;
                Frame::SynStream {
                    stream,
                    fin,
                    headers,
                }
            }
            SYN_REPLY | HEADERS => {
                let stream = number()? & 0x7fff_ffff;
                let headers = self.headers.decode(&payload)?;
                match kind {
                    SYN_REPLY => Frame::SynReply {
                        stream,
                        fin,
                        headers,
                    },
                    _ => Frame::Headers {
                        stream,
                        fin,
                        headers,
                    },
                }
            }
            RST_STREAM => Frame::RstStream {
                stream: number()? & 0x7fff_ffff,
                status: number()?,
            },
            SETTINGS => Frame::Settings,
            PING => Frame::Ping { id: number()? },
            GOAWAY => Frame::GoAway {
                last_good_stream: number()? & 0x7fff_ffff,
                status: number()?,
            },
            WINDOW_UPDATE => Frame::WindowUpdate {
                stream: number()? & 0x7fff_ffff,
                delta: number()? & 0x7fff_ffff,
            },
            _ => return Ok(None),
        }))
    }
}

/// Encodes the frames of a connection.
pub(super) struct FrameEncoder {
    headers: HeaderCompressor,
}

impl FrameEncoder {
    pub(super) fn new() -> Self {
        Self {
            headers: HeaderCompressor::new(),
        }
    }

    /// Appends a frame to `out`. The data of a frame must be shorter than 16 MiB.
    ///
    /// # Errors
    /// The headers cannot be compressed.
    pub(super) fn encode(&mut self, frame: &Frame, out: &mut BytesMut) -> Result<(), FrameError> {
        let mut payload = BytesMut::new();
        let (kind, fin) = match frame {
            Frame::Data { stream, fin, data } => {
                out.put_u32(stream & 0x7fff_ffff);
                put_flags_and_length(out, *fin, data.len());
                out.put_slice(data);
                return Ok(());
            }
            Frame::SynStream {
                stream,
                fin,
                headers,
            } => {
                payload.put_u32(*stream);
                payload.put_u32(0);
                payload.put_u16(0);
                self.headers.encode(headers, &mut payload)?;
                (SYN_STREAM, *fin)
            }
            Frame::SynReply {
                stream,
                fin,
                headers,
            } => {
                payload.put_u32(*stream);
                self.headers.encode(headers, &mut payload)?;
                (SYN_REPLY, *fin)
            }
            Frame::Headers {
                stream,
                fin,
                headers,
            } => {
                payload.put_u32(*stream);
                self.headers.encode(headers, &mut payload)?;
                (HEADERS, *fin)
            }
            Frame::RstStream { stream, status } => {
                payload.put_u32(*stream);
                payload.put_u32(*status);
                (RST_STREAM, false)
            }
            Frame::Settings => {
                payload.put_u32(0);
                (SETTINGS, false)
            }
            Frame::Ping { id } => {
                payload.put_u32(*id);
                (PING, false)
            }
            Frame::GoAway {
                last_good_stream,
                status,
            } => {
                payload.put_u32(*last_good_stream);
                payload.put_u32(*status);
                (GOAWAY, false)
            }
            Frame::WindowUpdate { stream, delta } => {
                payload.put_u32(*stream);
                payload.put_u32(*delta);
                (WINDOW_UPDATE, false)
            }
        };
        out.put_u16(0x8000 | VERSION);
        out.put_u16(kind);
        put_flags_and_length(out, fin, payload.len());
        out.put_slice(&payload);
        Ok(())
    }
}

fn put_flags_and_length(out: &mut BytesMut, fin: bool, length: usize) {
    out.put_u8(if fin { FLAG_FIN } else { 0 });
    out.put_uint(length as u64 & 0x00ff_ffff, 3);
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn headers() -> impl Strategy<Value = Headers> {
        let header = ("[a-z-]{1,20}", "[ -~]{0,40}");
        vec(header, 0..8)
    }

    fn frame() -> impl Strategy<Value = Frame> {
        let stream = 0..0x8000_0000_u32;
        prop_oneof![
            (stream.clone(), any::<bool>(), headers()).prop_map(|(stream, fin, headers)| {
                Frame::SynStream {
                    stream,
                    fin,
                    headers,
                }
            }),
            (stream.clone(), any::<bool>(), headers()).prop_map(|(stream, fin, headers)| {
                Frame::SynReply {
                    stream,
                    fin,
                    headers,
                }
            }),
            (stream.clone(), any::<bool>(), headers()).prop_map(|(stream, fin, headers)| {
                Frame::Headers {
                    stream,
                    fin,
                    headers,
                }
            }),
            (stream.clone(), any::<u32>())
                .prop_map(|(stream, status)| Frame::RstStream { stream, status }),
            Just(Frame::Settings),
            any::<u32>().prop_map(|id| Frame::Ping { id }),
            (stream.clone(), any::<u32>()).prop_map(|(last_good_stream, status)| {
                Frame::GoAway {
                    last_good_stream,
                    status,
                }
            }),
            (stream.clone(), 0..0x8000_0000_u32)
                .prop_map(|(stream, delta)| Frame::WindowUpdate { stream, delta }),
            (stream, any::<bool>(), vec(any::<u8>(), 0..200)).prop_map(|(stream, fin, data)| {
                Frame::Data {
                    stream,
                    fin,
                    data: data.into(),
                }
            }),
        ]
    }

    /// Joins the pieces of data frames.
    fn join(frames: Vec<Frame>) -> Vec<Frame> {
        let mut joined: Vec<Frame> = Vec::new();
        let mut open = false;
        for next in frames {
            let whole = match (joined.last_mut(), &next) {
                (
                    Some(Frame::Data { fin, data, .. }),
                    Frame::Data {
                        fin: last,
                        data: more,
                        ..
                    },
                ) if open => {
                    *data = [&data[..], &more[..]].concat().into();
                    *fin = *last;
                    false
                }
                _ => true,
            };
            open = matches!(next, Frame::Data { .. });
            if whole {
                joined.push(next);
            }
        }
        joined
    }

    proptest! {
        #[test]
        fn frames_are_decoded_as_they_were_encoded(frames in vec(frame(), 0..12), split in 1..50_usize) {
            let mut encoder = FrameEncoder::new();
            let mut bytes = BytesMut::new();
            for frame in &frames {
                encoder.encode(frame, &mut bytes).unwrap();
            }
            let mut decoder = FrameDecoder::new();
            let (mut buffer, mut decoded) = (BytesMut::new(), Vec::new());
            for piece in bytes.chunks(split) {
                buffer.extend_from_slice(piece);
                while let Some(frame) = decoder.decode(&mut buffer).unwrap() {
                    decoded.push(frame);
                }
            }
            prop_assert!(buffer.is_empty());
            prop_assert_eq!(join(decoded), join(frames));
        }

        #[test]
        fn no_bytes_panic(bytes in vec(any::<u8>(), 0..400)) {
            let mut decoder = FrameDecoder::new();
            let mut buffer = BytesMut::from(&bytes[..]);
            while let Ok(Some(_)) = decoder.decode(&mut buffer) {}
        }

        #[test]
        fn no_control_frame_panics(kind in 0..12_u16, payload in vec(any::<u8>(), 0..60)) {
            let mut buffer = BytesMut::new();
            buffer.put_u16(0x8003);
            buffer.put_u16(kind);
            put_flags_and_length(&mut buffer, false, payload.len());
            buffer.put_slice(&payload);
            let _ = FrameDecoder::new().decode(&mut buffer);
        }
    }

    #[test]
    fn large_control_frames_are_rejected() {
        let mut buffer = BytesMut::from(&b"\x80\x03\x00\x01\x00\xff\xff\xff"[..]);
        let error = FrameDecoder::new().decode(&mut buffer).unwrap_err();
        assert_eq!(error, FrameError::TooLarge(0xff_ffff));
        let mut buffer = BytesMut::from(&b"\x80\x02\x00\x01\x00\x00\x00\x00"[..]);
        let error = FrameDecoder::new().decode(&mut buffer).unwrap_err();
        assert_eq!(error, FrameError::Version(2));
    }
}

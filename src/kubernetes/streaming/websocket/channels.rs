//! Multiplexed channels of one WebSocket connection (`wsstream`): each message starts with the
//! number of its channel.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::{Bytes, BytesMut};
use futures::stream::{SplitSink, SplitStream};
use futures::{SinkExt, StreamExt};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message, Utf8Bytes};

/// The first byte of a message that closes a channel (v5).
const STREAM_CLOSE_SIGNAL: u8 = 255;
/// Maximum size of a message, in bytes.
const MESSAGE_SIZE: usize = 16 << 20;

/// The encoding of data in messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChannelCodec {
    /// Binary messages.
    Raw,
    /// Text messages with base64.
    Base64,
}

/// A message of the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ChannelMessage {
    /// Data of a channel.
    Data(u8, Bytes),
    /// The client closes a channel.
    Close(u8),
}

/// The messages of the client.
pub(crate) struct ChannelReader<S> {
    messages: SplitStream<WebSocketStream<S>>,
    codec: ChannelCodec,
    /// Whether the subprotocol has the close signal.
    half_close: bool,
}

/// The messages to the client.
pub(crate) struct ChannelWriter<S> {
    messages: SplitSink<WebSocketStream<S>, Message>,
    codec: ChannelCodec,
}

/// The configuration of a connection.
pub(super) fn config() -> WebSocketConfig {
    WebSocketConfig::default()
        .max_message_size(Some(MESSAGE_SIZE))
        .max_frame_size(Some(MESSAGE_SIZE))
}

/// The close frame at the end of a session.
pub(super) fn normal_closure() -> Message {
    Message::Close(Some(CloseFrame {
        code: CloseCode::Normal,
        reason: Utf8Bytes::default(),
    }))
}

/// Opens the channels of an upgraded connection.
pub(crate) async fn open_channels<S>(
    connection: S,
    codec: ChannelCodec,
    half_close: bool,
) -> (ChannelReader<S>, ChannelWriter<S>)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let socket = WebSocketStream::from_raw_socket(connection, Role::Server, Some(config())).await;
    let (writer, reader) = socket.split();
    let reader = ChannelReader {
        messages: reader,
        codec,
        half_close,
    };
    let writer = ChannelWriter {
        messages: writer,
        codec,
    };
    (reader, writer)
}

impl<S: AsyncRead + AsyncWrite + Unpin> ChannelReader<S> {
    /// The next message; `None` at the end of the connection or after an invalid message.
    pub(crate) async fn next(&mut self) -> Option<ChannelMessage> {
        loop {
            let data = match self.messages.next().await? {
                Ok(Message::Binary(data)) => data,
                Ok(Message::Text(text)) => Bytes::from(text),
                Ok(Message::Close(_)) => return None,
                Ok(_) => continue,
                Err(error) => {
                    tracing::debug!(%error, "WebSocket connection failed");
                    return None;
                }
            };
            if data.is_empty() {
                continue;
            }
            match decode(data, self.codec, self.half_close) {
                Ok(Some(message)) => return Some(message),
                Ok(None) => {}
                Err(()) => return None,
            }
        }
    }
}

/// Decodes a message; `None` if it is ignored.
fn decode(
    mut data: Bytes,
    codec: ChannelCodec,
    half_close: bool,
) -> Result<Option<ChannelMessage>, ()> {
    let first = data.split_to(1)[0];
    if half_close && first == STREAM_CLOSE_SIGNAL {
        return match data[..] {
            [channel] => Ok(Some(ChannelMessage::Close(channel))),
            _ => Err(()),
        };
    }
    Ok(match codec {
        ChannelCodec::Raw => Some(ChannelMessage::Data(first, data)),
        ChannelCodec::Base64 => {
            let decoded = STANDARD.decode(&data).ok();
            decoded.map(|data| ChannelMessage::Data(first.wrapping_sub(b'0'), data.into()))
        }
    })
}

impl<S: AsyncRead + AsyncWrite + Unpin> ChannelWriter<S> {
    /// Sends data of a channel.
    pub(crate) async fn write(&mut self, channel: u8, data: &[u8]) -> Result<(), Error> {
        let message = match self.codec {
            ChannelCodec::Raw => {
                let mut frame = BytesMut::with_capacity(data.len() + 1);
                frame.extend_from_slice(&[channel]);
                frame.extend_from_slice(data);
                Message::Binary(frame.freeze())
            }
            ChannelCodec::Base64 => {
                let mut text = char::from(b'0'.wrapping_add(channel)).to_string();
                STANDARD.encode_string(data, &mut text);
                Message::Text(text.into())
            }
        };
        self.messages.send(message).await
    }

    /// Sends the close frame.
    pub(crate) async fn close(&mut self) -> Result<(), Error> {
        self.messages.send(normal_closure()).await
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bytes(data: &'static [u8]) -> Bytes {
        Bytes::from_static(data)
    }

    #[test]
    fn messages_are_decoded() {
        let data = |channel, data| Ok(Some(ChannelMessage::Data(channel, bytes(data))));
        assert_eq!(
            decode(bytes(b"\x00ls"), ChannelCodec::Raw, true),
            data(0, b"ls")
        );
        assert_eq!(
            decode(bytes(b"0bHM="), ChannelCodec::Base64, false),
            data(0, b"ls")
        );
        assert_eq!(decode(bytes(b"0?"), ChannelCodec::Base64, false), Ok(None));
        let close = decode(bytes(b"\xff\x00"), ChannelCodec::Raw, true);
        assert_eq!(close, Ok(Some(ChannelMessage::Close(0))));
        assert_eq!(decode(bytes(b"\xff"), ChannelCodec::Raw, true), Err(()));
        assert_eq!(
            decode(bytes(b"\xff\x00"), ChannelCodec::Raw, false),
            data(255, b"\0")
        );
    }

    proptest! {
        #[test]
        fn no_message_panics(data: Vec<u8>, base64: bool, half_close: bool) {
            prop_assume!(!data.is_empty());
            let codec = if base64 { ChannelCodec::Base64 } else { ChannelCodec::Raw };
            let _ = decode(data.into(), codec, half_close);
        }
    }
}

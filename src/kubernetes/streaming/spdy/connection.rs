//! One connection: reads frames, replies to PING, and dispatches data to streams.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{Semaphore, mpsc};

use super::frame::{Frame, FrameDecoder, FrameEncoder, FrameError};
use super::stream::{Received, SpdyStream};
use crate::session::{FINISH_TIMEOUT, idle};

/// Maximum number of streams that are open at the same time.
const STREAMS: usize = 512;
/// Maximum number of bytes that are received and not consumed.
const BUFFERED: usize = 16 << 20;
/// Frames that wait to be sent.
const FRAMES: usize = 32;
/// The status of a stream that violates the protocol.
pub(super) const PROTOCOL_ERROR: u32 = 1;
/// The status of a rejected stream (`REFUSED_STREAM`).
const REFUSED_STREAM: u32 = 3;

/// The streams of a connection.
pub(crate) struct Connection {
    streams: mpsc::Receiver<SpdyStream>,
    frames: mpsc::Sender<Frame>,
}

impl Connection {
    /// The next stream that the client creates; `None` at the end of the connection.
    pub(crate) async fn accept(&mut self) -> Option<SpdyStream> {
        self.streams.recv().await
    }

    /// Sends GOAWAY and waits for the client to close the connection, which ends
    /// [`serve_connection`].
    pub(crate) async fn close(self) {
        let frame = Frame::GoAway {
            last_good_stream: 0,
            status: 0,
        };
        let _ = self.frames.send(frame).await;
        tokio::time::sleep(FINISH_TIMEOUT).await;
    }
}

/// Serves a connection: `serve` gets its streams. Ends with either of them, or when there is no
/// traffic for the idle timeout.
pub(crate) async fn serve_connection<T, F, S>(transport: T, serve: F)
where
    T: AsyncRead + AsyncWrite + Send,
    F: FnOnce(Connection) -> S,
    S: Future<Output = ()> + Send,
{
    let (reader, writer) = tokio::io::split(transport);
    let (frames, outgoing) = mpsc::channel(FRAMES);
    let (created, streams) = mpsc::channel(FRAMES);
    let connection = Connection {
        streams,
        frames: frames.clone(),
    };
    let (activity, active) = tokio::sync::watch::channel(());
    let dispatcher = Dispatcher {
        streams: HashMap::new(),
        created: Some(created),
        frames,
        buffered: Arc::new(Semaphore::new(BUFFERED)),
    };
    let read = async {
        if let Err(error) = dispatcher.read(reader, &activity).await {
            tracing::debug!(%error, "SPDY connection failed");
        }
    };
    let write = async {
        // A client that has closed the connection fails the next read.
        let _ = write_frames(writer, outgoing, &activity).await;
    };
    let serving = serve(connection);
    tokio::select! {
        () = serving => {}
        () = read => {}
        () = write => {}
        () = idle(active) => {}
    }
}

/// An error of a connection.
#[derive(Debug, thiserror::Error)]
enum ConnectionError {
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error(transparent)]
    Frame(#[from] FrameError),
}

async fn write_frames<W: AsyncWrite + Unpin>(
    mut writer: W,
    mut outgoing: mpsc::Receiver<Frame>,
    activity: &tokio::sync::watch::Sender<()>,
) -> Result<(), ConnectionError> {
    let mut encoder = FrameEncoder::new();
    let mut buffer = BytesMut::new();
    while let Some(frame) = outgoing.recv().await {
        encoder.encode(&frame, &mut buffer)?;
        while let Ok(frame) = outgoing.try_recv() {
            encoder.encode(&frame, &mut buffer)?;
        }
        writer.write_all_buf(&mut buffer).await?;
        writer.flush().await?;
        let _ = activity.send(());
    }
    Ok(())
}

/// Dispatches the frames of the client.
struct Dispatcher {
    /// The streams whose receiving half is open.
    streams: HashMap<u32, mpsc::UnboundedSender<Received>>,
    created: Option<mpsc::Sender<SpdyStream>>,
    frames: mpsc::Sender<Frame>,
    buffered: Arc<Semaphore>,
}

impl Dispatcher {
    async fn read<R: AsyncRead + Unpin>(
        mut self,
        mut reader: R,
        activity: &tokio::sync::watch::Sender<()>,
    ) -> Result<(), ConnectionError> {
        let mut decoder = FrameDecoder::new();
        let mut buffer = BytesMut::with_capacity(32 << 10);
        loop {
            while let Some(frame) = decoder.decode(&mut buffer)? {
                self.dispatch(frame).await;
            }
            if reader.read_buf(&mut buffer).await? == 0 {
                break;
            }
            let _ = activity.send(());
        }
        // The streams end; what they send is dropped with the connection.
        Ok(())
    }

    async fn dispatch(&mut self, frame: Frame) {
        match frame {
            Frame::SynStream {
                stream,
                fin,
                headers,
            } => self.create(stream, fin, headers).await,
            Frame::Data { stream, fin, data } => {
                if let Some(receiver) = self.streams.get(&stream)
                    && !data.is_empty()
                    && let Ok(buffered) = self
                        .buffered
                        .clone()
                        .acquire_many_owned(data.len() as u32)
                        .await
                {
                    let _ = receiver.send(Received {
                        data,
                        _buffered: buffered,
                    });
                }
                if fin {
                    self.streams.remove(&stream);
                }
            }
            Frame::RstStream { stream, .. } => {
                self.streams.remove(&stream);
            }
            Frame::Headers {
                stream, fin: true, ..
            } => {
                self.streams.remove(&stream);
            }
            // A PING with an even identifier is a reply.
            Frame::Ping { id } if id % 2 == 1 => {
                let _ = self.frames.send(Frame::Ping { id }).await;
            }
            // No further streams follow.
            Frame::GoAway { .. } => self.created = None,
            Frame::Headers { .. }
            | Frame::Ping { .. }
            | Frame::SynReply { .. }
            | Frame::Settings
            | Frame::WindowUpdate { .. } => {}
        }
    }

    async fn create(&mut self, id: u32, fin: bool, headers: Vec<(String, String)>) {
        let reset = |status| Frame::RstStream { stream: id, status };
        // Clients use odd identifiers.
        if id.is_multiple_of(2) || self.streams.contains_key(&id) {
            let _ = self.frames.send(reset(PROTOCOL_ERROR)).await;
            return;
        }
        self.streams.retain(|_, receiver| !receiver.is_closed());
        let Some(created) = self
            .created
            .clone()
            .filter(|_| self.streams.len() < STREAMS)
        else {
            let _ = self.frames.send(reset(REFUSED_STREAM)).await;
            return;
        };
        let (data, received) = mpsc::unbounded_channel();
        if !fin {
            self.streams.insert(id, data);
        }
        let syn_reply = Frame::SynReply {
            stream: id,
            fin: false,
            headers: Vec::new(),
        };
        let _ = self.frames.send(syn_reply).await;
        let stream = SpdyStream {
            id,
            headers,
            received,
            frames: self.frames.clone(),
        };
        let _ = created.send(stream).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn write(
        frames: &[Frame],
        encoder: &mut FrameEncoder,
        to: &mut (impl AsyncWrite + Unpin),
    ) {
        let mut bytes = BytesMut::new();
        for frame in frames {
            encoder.encode(frame, &mut bytes).unwrap();
        }
        to.write_all(&bytes).await.unwrap();
    }

    async fn read(
        decoder: &mut FrameDecoder,
        buffer: &mut BytesMut,
        from: &mut (impl AsyncRead + Unpin),
    ) -> Frame {
        loop {
            if let Some(frame) = decoder.decode(buffer).unwrap() {
                return frame;
            }
            assert_ne!(
                from.read_buf(buffer).await.unwrap(),
                0,
                "the connection is open"
            );
        }
    }

    #[tokio::test]
    async fn streams_echo_until_their_end() {
        let (mut client, server) = tokio::io::duplex(1 << 10);
        let server = tokio::spawn(serve_connection(server, |mut connection| async move {
            let stream = connection.accept().await.unwrap();
            assert_eq!(stream.header("StreamType"), "data");
            let (mut reader, writer) = stream.split();
            while let Some(data) = reader.read().await {
                assert!(writer.write(&data).await);
            }
            writer.close().await;
            connection.close().await;
        }));
        let (mut encoder, mut decoder) = (FrameEncoder::new(), FrameDecoder::new());
        let mut buffer = BytesMut::new();
        let data = |fin, data: &'static str| Frame::Data {
            stream: 1,
            fin,
            data: data.into(),
        };
        let frames = [
            Frame::SynStream {
                stream: 1,
                fin: false,
                headers: vec![("streamtype".into(), "data".into())],
            },
            Frame::Ping { id: 7 },
            data(false, "hello"),
            data(true, ""),
        ];
        write(&frames, &mut encoder, &mut client).await;
        let mut seen = Vec::new();
        for _ in 0..5 {
            seen.push(read(&mut decoder, &mut buffer, &mut client).await);
        }
        assert_eq!(
            seen.iter()
                .filter(|f| matches!(f, Frame::SynReply { stream: 1, .. }))
                .count(),
            1
        );
        assert!(seen.contains(&Frame::Ping { id: 7 }));
        seen.retain(|frame| matches!(frame, Frame::Data { .. } | Frame::GoAway { .. }));
        let goaway = Frame::GoAway {
            last_good_stream: 0,
            status: 0,
        };
        assert_eq!(seen, [data(false, "hello"), data(true, ""), goaway]);
        drop(client);
        server.await.unwrap();
    }
}

//! Response bodies: bytes, a sequence of chunks, or an unbounded stream.

use std::any::Any;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{Stream, StreamExt};
use http_body::{Frame, SizeHint};

/// A response body. It never fails: a broken stream ends.
pub(crate) struct Body {
    content: BodyContent,
    /// Dropped with the body.
    held: Option<Box<dyn Any + Send>>,
}

enum BodyContent {
    Chunks {
        remaining: u64,
        chunks: VecDeque<Bytes>,
    },
    /// Chunks that are made when they are sent.
    Encoded {
        chunks: BoxedChunks,
        is_at_end: bool,
    },
    Stream(BoxStream<'static, Bytes>),
}

/// An iterator of chunks.
type BoxedChunks = Box<dyn Iterator<Item = Bytes> + Send>;

impl Body {
    /// A body of the given chunks, with known length.
    pub(crate) fn chunks(chunks: impl Into<VecDeque<Bytes>>) -> Self {
        let chunks = chunks.into();
        let remaining = chunks.iter().map(|p| p.len() as u64).sum();
        Self::new(BodyContent::Chunks { remaining, chunks })
    }

    /// A body that sends the items of a stream as they become ready.
    pub(crate) fn stream(stream: BoxStream<'static, Bytes>) -> Self {
        Self::new(BodyContent::Stream(stream))
    }

    /// A body whose chunks are made one by one when they are sent, so that a client that reads slowly
    /// does not keep them in memory. Each has to be cheap.
    pub(crate) fn encoded_while_sent(chunks: impl Iterator<Item = Bytes> + Send + 'static) -> Self {
        Self::new(BodyContent::Encoded {
            chunks: Box::new(chunks),
            is_at_end: false,
        })
    }

    /// Whether the chunks are made when they are sent.
    pub(crate) fn is_encoded_while_sent(&self) -> bool {
        matches!(self.content, BodyContent::Encoded { .. })
    }

    /// The same body with other chunks, if they are made when they are sent.
    pub(crate) fn map_chunks<I>(self, function: impl FnOnce(BoxedChunks) -> I) -> Self
    where
        I: Iterator<Item = Bytes> + Send + 'static,
    {
        let content = match self.content {
            BodyContent::Encoded { chunks, is_at_end } => BodyContent::Encoded {
                chunks: Box::new(function(chunks)),
                is_at_end,
            },
            other => other,
        };
        Self { content, ..self }
    }

    fn new(content: BodyContent) -> Self {
        Self {
            content,
            held: None,
        }
    }

    /// The same body, which holds `permit` until it is sent or dropped.
    #[must_use]
    pub(crate) fn holding(self, permit: impl Any + Send) -> Self {
        Self {
            held: Some(Box::new((self.held, permit))),
            ..self
        }
    }

    /// The length in bytes; `None` if it is not known.
    pub(crate) fn length(&self) -> Option<u64> {
        match &self.content {
            BodyContent::Chunks { remaining, .. } => Some(*remaining),
            BodyContent::Encoded { .. } | BodyContent::Stream(_) => None,
        }
    }

    /// The chunks of the body, and what it holds.
    ///
    /// # Errors
    /// The body itself if its chunks do not exist yet.
    pub(crate) fn into_chunks(self) -> Result<(VecDeque<Bytes>, impl Any + Send), Self> {
        match self.content {
            BodyContent::Chunks { chunks, .. } => Ok((chunks, self.held)),
            _ => Err(self),
        }
    }

    /// The same body; a stream ends when `end` completes.
    pub(crate) fn until(self, end: impl Future<Output = ()> + Send + 'static) -> Self {
        let content = match self.content {
            BodyContent::Stream(stream) => {
                BodyContent::Stream(stream.take_until(Box::pin(end)).boxed())
            }
            chunks => chunks,
        };
        Self { content, ..self }
    }
}

impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Self {
        let chunks: VecDeque<Bytes> = if bytes.is_empty() {
            VecDeque::new()
        } else {
            [bytes].into()
        };
        Self::chunks(chunks)
    }
}

impl From<String> for Body {
    fn from(text: String) -> Self {
        Bytes::from(text).into()
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut self.content {
            BodyContent::Chunks { remaining, chunks } => {
                Poll::Ready(chunks.pop_front().map(|chunk| {
                    *remaining -= chunk.len() as u64;
                    Ok(Frame::data(chunk))
                }))
            }
            BodyContent::Encoded { chunks, is_at_end } => {
                let chunk = chunks.next();
                *is_at_end |= chunk.is_none();
                Poll::Ready(chunk.map(|chunk| Ok(Frame::data(chunk))))
            }
            BodyContent::Stream(stream) => Pin::new(stream)
                .poll_next(cx)
                .map(|next| next.map(|b| Ok(Frame::data(b)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.content {
            BodyContent::Chunks { chunks, .. } => chunks.is_empty(),
            BodyContent::Encoded { is_at_end, .. } => *is_at_end,
            BodyContent::Stream(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            BodyContent::Chunks { remaining, .. } => SizeHint::with_exact(*remaining),
            BodyContent::Encoded { .. } | BodyContent::Stream(_) => SizeHint::default(),
        }
    }
}

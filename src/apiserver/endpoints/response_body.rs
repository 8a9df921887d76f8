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
    Stream(BoxStream<'static, Bytes>),
}

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

    /// The length in bytes; `None` of a stream.
    pub(crate) fn length(&self) -> Option<u64> {
        match &self.content {
            BodyContent::Chunks { remaining, .. } => Some(*remaining),
            BodyContent::Stream(_) => None,
        }
    }

    /// The chunks of the body.
    ///
    /// # Errors
    /// The body itself if it is a stream.
    pub(crate) fn into_chunks(self) -> Result<VecDeque<Bytes>, Self> {
        match self.content {
            BodyContent::Chunks { chunks, .. } => Ok(chunks),
            BodyContent::Stream(_) => Err(self),
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
            BodyContent::Stream(stream) => Pin::new(stream)
                .poll_next(cx)
                .map(|next| next.map(|b| Ok(Frame::data(b)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.content, BodyContent::Chunks { chunks, .. } if chunks.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            BodyContent::Chunks { remaining, .. } => SizeHint::with_exact(*remaining),
            BodyContent::Stream(_) => SizeHint::default(),
        }
    }
}

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
    Pieces { left: u64, pieces: VecDeque<Bytes> },
    Stream(BoxStream<'static, Bytes>),
}

impl Body {
    /// A body of the given chunks, with known length.
    pub(crate) fn pieces(pieces: impl Into<VecDeque<Bytes>>) -> Self {
        let pieces = pieces.into();
        let left = pieces.iter().map(|p| p.len() as u64).sum();
        Self::new(BodyContent::Pieces { left, pieces })
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
            BodyContent::Pieces { left, .. } => Some(*left),
            BodyContent::Stream(_) => None,
        }
    }

    /// The chunks of the body.
    ///
    /// # Errors
    /// The body itself if it is a stream.
    pub(crate) fn into_pieces(self) -> Result<VecDeque<Bytes>, Self> {
        match self.content {
            BodyContent::Pieces { pieces, .. } => Ok(pieces),
            BodyContent::Stream(_) => Err(self),
        }
    }

    /// The same body; a stream ends when `end` completes.
    pub(crate) fn until(self, end: impl Future<Output = ()> + Send + 'static) -> Self {
        let content = match self.content {
            BodyContent::Stream(stream) => {
                BodyContent::Stream(stream.take_until(Box::pin(end)).boxed())
            }
            pieces => pieces,
        };
        Self { content, ..self }
    }
}

impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Self {
        let pieces: VecDeque<Bytes> = if bytes.is_empty() {
            VecDeque::new()
        } else {
            [bytes].into()
        };
        Self::pieces(pieces)
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
            BodyContent::Pieces { left, pieces } => Poll::Ready(pieces.pop_front().map(|piece| {
                *left -= piece.len() as u64;
                Ok(Frame::data(piece))
            })),
            BodyContent::Stream(stream) => Pin::new(stream)
                .poll_next(cx)
                .map(|next| next.map(|b| Ok(Frame::data(b)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.content, BodyContent::Pieces { pieces, .. } if pieces.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            BodyContent::Pieces { left, .. } => SizeHint::with_exact(*left),
            BodyContent::Stream(_) => SizeHint::default(),
        }
    }
}

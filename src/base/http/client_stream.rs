//! [`ClientStream`]: the TCP connection of a client, which ends when its pool closes it.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::connection_pool::ConnectionSlot;

/// Whether the client has sent bytes that are not read yet, or has closed the connection. Asks the
/// operating system: the runtime may not have seen them yet.
pub(crate) fn has_unread_bytes(stream: &TcpStream) -> bool {
    let mut descriptors = [PollFd::new(stream, PollFlags::IN)];
    let at_once = Timespec::default();
    poll(&mut descriptors, Some(&at_once)).is_ok_and(|ready| ready > 0)
}

/// A connection whose reads and writes fail when it is closed for another one. A client whose bytes
/// wait to be read keeps it.
pub(crate) struct ClientStream {
    stream: TcpStream,
    slot: ConnectionSlot,
}

impl ClientStream {
    pub(crate) fn new(stream: TcpStream, slot: ConnectionSlot) -> Self {
        Self { stream, slot }
    }

    fn unless_closing<T>(&self, polled: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if polled.is_pending() && self.slot.is_closing() {
            if !has_unread_bytes(&self.stream) {
                return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
            }
            self.slot.keep();
        }
        polled
    }
}

impl AsyncRead for ClientStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.unless_closing(polled)
    }
}

impl AsyncWrite for ClientStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.unless_closing(polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.unless_closing(polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(context);
        self.unless_closing(polled)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

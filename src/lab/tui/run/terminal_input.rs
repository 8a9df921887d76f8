//! The events of the terminal, which end when it hangs up.

use std::task::Poll;

use crossterm::event::{Event, EventStream};
use futures::{Stream, StreamExt, stream};

/// The events of the terminal on stdin; ends when the terminal is gone. crossterm reads the end of its input
/// repeatedly without returning.
pub(super) fn terminal_events() -> impl Stream<Item = std::io::Result<Event>> + Unpin {
    let mut events = EventStream::new();
    stream::poll_fn(move |context| match is_hung_up() {
        true => Poll::Ready(None),
        false => events.poll_next_unpin(context),
    })
}

/// Whether the terminal has hung up.
#[cfg(unix)]
fn is_hung_up() -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let stdin = std::io::stdin();
    let mut polled = [PollFd::new(&stdin, PollFlags::IN)];
    let hung_up = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
    poll(&mut polled, Some(&Timespec::default())).is_ok()
        && polled.iter().any(|fd| fd.revents().intersects(hung_up))
}

/// It is not known.
#[cfg(not(unix))]
fn is_hung_up() -> bool {
    false
}

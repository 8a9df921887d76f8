//! [`EventStream`]: the events of a watch as values.

use std::fmt;
use std::sync::Arc;

use futures::stream::BoxStream;
use parking_lot::Mutex;

use super::SharedObject;

/// The extension of a watch request whose client takes an [`EventStream`].
#[derive(Clone, Copy, Debug)]
pub struct TakesEventStream;

/// The extension of the response to such a request: its events, in place of a body. The stream has
/// no bookmarks except the end of the initial events, and no timeout.
#[derive(Clone)]
pub struct EventStream(Arc<Mutex<Option<BoxStream<'static, WatchEvent>>>>);

impl EventStream {
    /// A stream of these events.
    pub fn new(events: BoxStream<'static, WatchEvent>) -> Self {
        Self(Arc::new(Mutex::new(Some(events))))
    }

    /// The events; `None` if they were taken before.
    pub fn take(&self) -> Option<BoxStream<'static, WatchEvent>> {
        self.0.lock().take()
    }
}

impl fmt::Debug for EventStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EventStream")
    }
}

/// An event of a watch.
#[derive(Clone, Debug)]
pub enum WatchEvent {
    /// An object was added or modified, or existed at the start.
    Applied(SharedObject),
    /// An object was deleted; its last state.
    Deleted(SharedObject),
    /// All objects that existed at the start were sent.
    InitialEventsEnd {
        /// The resource version of the list of these objects.
        resource_version: u64,
    },
    /// The watch has failed.
    Error {
        /// The error, a Status in JSON.
        status: String,
    },
}

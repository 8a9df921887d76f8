//! Watches of an API server in the same process: a client that requests an [`EventStream`] receives
//! stored objects, which all such clients decode once, in place of a body of encoded events.

mod decoded_forms;
mod event_stream;
mod shared_object;

pub use decoded_forms::DecodedForms;
pub use event_stream::{EventStream, TakesEventStream, WatchEvent};
pub use shared_object::{HasDecodedForms, SharedObject};

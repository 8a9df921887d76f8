//! What surrounds the views: header, tabs, the running demo, messages, keys.

mod footer;
mod header;
mod message;
mod story;
mod tabs;

pub(super) use footer::footer;
pub(super) use header::header;
pub(super) use message::{message, message_height};
pub(super) use story::{story, story_height};
pub(super) use tabs::{tab_at, tabs};

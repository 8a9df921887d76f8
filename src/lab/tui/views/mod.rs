//! The views: each is one file that implements [`View`], an identifier in
//! [`ViewId`](crate::state::ViewId), a line in `by_id.rs` and the keys in `keymap/bindings.rs`.

mod by_id;
mod details;
mod events;
mod evictions;
mod jobs;
mod name_pattern;
mod nodes;
mod presets;
mod queues;
mod row_query;
mod view;
mod view_info;
mod workloads;

pub(crate) use by_id::{by_id, of_row};
pub(crate) use queues::{QueueRow, QueuesView};
pub(crate) use row_query::RowQuery;
pub(crate) use view::{Deletion, RelatedWorkloads, View, ViewRows};
pub(crate) use view_info::ViewInfo;
pub(crate) use workloads::WorkloadsView;

//! The views: each is one file that implements [`View`], and one line in `by_id.rs`.

mod any_view;
mod by_id;
mod events;
mod evictions;
mod filter_rows;
mod name_pattern;
mod nodes;
mod presets;
mod queues;
mod typed_list;
mod view;
mod workloads;

pub(crate) use any_view::AnyView;
pub(crate) use by_id::{by_id, of_row};
pub(crate) use queues::{QueueRow, QueuesView};
pub(crate) use typed_list::TypedList;
pub(crate) use view::{Deletion, ListArea, RelatedWorkloads, View, ViewRows};
pub(crate) use workloads::WorkloadsView;

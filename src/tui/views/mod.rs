//! The views: each is one file that implements [`View`] and one line in the table below.

mod any_view;
mod events;
mod evictions;
mod filter_rows;
mod name_pattern;
mod nodes;
mod presets;
mod queues;
mod row_id;
mod typed_list;
mod view;
mod view_id;
mod workloads;

pub(crate) use any_view::AnyView;
#[cfg(test)]
pub(crate) use nodes::NodesView;
pub(crate) use queues::{QueueRow, QueuesView};
pub(crate) use row_id::RowId;
pub(crate) use typed_list::TypedList;
pub(crate) use view::{Deletion, ListArea, RelatedWorkloads, View, ViewRows};
pub(crate) use workloads::WorkloadsView;

use crate::actions::{Action, GoToView};

view_id::views! {
    /// Cohorts, ClusterQueues and LocalQueues.
    Queues => queues::QueuesView,
    /// Workloads.
    Workloads => workloads::WorkloadsView,
    /// Evictions and preemptions.
    Evictions => evictions::EvictionsView,
    /// Nodes and their devices.
    Nodes => nodes::NodesView,
    /// Presets.
    Presets => presets::PresetsView,
    /// Events.
    Events => events::EventsView,
}

/// A view in the table above.
pub(crate) trait RegisteredView: View {
    /// Its identifier.
    const ID: ViewId;
}

impl Default for ViewId {
    fn default() -> Self {
        Self::ALL[0]
    }
}

impl ViewId {
    /// The index from the left, from zero.
    pub fn index(self) -> usize {
        self as usize
    }

    /// The view `steps` to the right, wrapping around.
    #[must_use]
    pub fn step(self, steps: isize) -> Self {
        let n = Self::ALL.len() as isize;
        Self::ALL[(self.index() as isize + steps).rem_euclid(n) as usize]
    }
}

//! The views by their identifiers.

use super::View;
use super::events::EventsView;
use super::evictions::EvictionsView;
use super::jobs::JobsView;
use super::nodes::NodesView;
use super::presets::PresetsView;
use super::queues::QueuesView;
use super::workloads::WorkloadsView;
use crate::state::{RowId, ViewId};

/// The view of an identifier.
pub(crate) fn by_id(id: ViewId) -> &'static dyn View {
    match id {
        ViewId::Queues => &QueuesView,
        ViewId::Workloads => &WorkloadsView,
        ViewId::Evictions => &EvictionsView,
        ViewId::Nodes => &NodesView,
        ViewId::Presets => &PresetsView,
        ViewId::Events => &EventsView,
        ViewId::Jobs => &JobsView,
    }
}

/// The view of a row.
pub(crate) fn of_row(row: &RowId) -> &'static dyn View {
    by_id(row.view())
}

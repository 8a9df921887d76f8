//! Going to the ClusterQueue related to a row.

use super::{Action, navigation};
use crate::model::cohort_tree::QuotaNode;
use crate::msg::Cmd;
use crate::state::{State, UnavailableReason, ViewId};
use crate::views::{self, QueueRow, QueuesView};

/// Goes to the ClusterQueue of a Workload, or to that of the preemptor of an eviction.
#[derive(Debug)]
pub(crate) struct GoToClusterQueue;

impl Action for GoToClusterQueue {
    fn can(&self, state: &State) -> Result<(), UnavailableReason> {
        let queue = cluster_queue(state).map(|_| ());
        queue.ok_or_else(|| UnavailableReason::because("its ClusterQueue is not known"))
    }

    fn run(&self, state: &mut State) -> Vec<Cmd> {
        let Some(name) = cluster_queue(state) else {
            return Vec::new();
        };
        let node = QuotaNode::ClusterQueue(name);
        let path = state.derived.cohort_tree.path(&node);
        for cohort in path {
            state
                .ui
                .folded
                .remove(&QuotaNode::Cohort(cohort.to_owned()));
        }
        navigation::open_view(state, ViewId::Queues);
        let row = QueuesView::row_id(QueueRow::Node(node));
        state.ui.list_mut().filter = None;
        state.ui.list_mut().select_row(row);
        Vec::new()
    }
}

fn cluster_queue(state: &State) -> Option<String> {
    let row = state.current_row()?;
    let name = views::of_row(row).cluster_queue(state, row)?;
    (!name.is_empty()).then_some(name)
}

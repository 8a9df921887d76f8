//! Folding branches of the cohort tree.

use super::Action;
use crate::model::cohort_tree::QuotaNode;
use crate::msg::Cmd;
use crate::state::{State, UnavailableReason, requires};
use crate::views::{QueueRow, QueuesView};

/// Folds or unfolds the branch of the selected row.
#[derive(Debug)]
pub(crate) enum Fold {
    /// Folds an unfolded branch and unfolds a folded one.
    Toggle,
    /// Folds the branch; on a folded branch or inside one, selects the node above.
    Close,
    /// Unfolds the branch.
    Open,
}

impl Action for Fold {
    fn can(&self, state: &State) -> Result<(), UnavailableReason> {
        requires::list(state)?;
        branch(state)
            .map(|_| ())
            .ok_or(UnavailableReason::NotApplicable)
    }

    fn run(&self, state: &mut State) -> Vec<Cmd> {
        let Some((node, is_head)) = branch(state) else {
            return Vec::new();
        };
        let folded = state.ui.folded.contains(&node);
        match self {
            Self::Close if is_head && folded => {
                let parent = state.derived.cohort_tree.path(&node).pop();
                if let Some(name) = parent.map(str::to_owned) {
                    select(state, QuotaNode::Cohort(name));
                }
            }
            Self::Close if !is_head => select(state, node),
            Self::Close => {
                state.ui.folded.insert(node);
            }
            Self::Open => {
                state.ui.folded.remove(&node);
            }
            Self::Toggle if folded => {
                state.ui.folded.remove(&node);
            }
            Self::Toggle => {
                select(state, node.clone());
                state.ui.folded.insert(node);
            }
        }
        Vec::new()
    }
}

/// The branch of the selected row, and whether the row is its head.
fn branch(state: &State) -> Option<(QuotaNode, bool)> {
    match state.ui.list().selected()?.get::<QueueRow>()? {
        QueueRow::Node(node) => Some((node.clone(), true)),
        QueueRow::Quota(node, _) => Some((node.clone(), false)),
        QueueRow::LocalQueue(key) => {
            let lq = state.data.local_queues.get(key)?;
            Some((QuotaNode::ClusterQueue(lq.cluster_queue.clone()), false))
        }
    }
}

fn select(state: &mut State, node: QuotaNode) {
    let row = QueuesView::row_id(QueueRow::Node(node));
    state.ui.list_mut().select_row(row);
}

//! Loading the preemption candidates of the Workload whose details are open.

use jiff::Timestamp;

use crate::backend::Backend;
use crate::model::ObjectKey;
use crate::model::workload::WorkloadState;
use crate::msg::{Cmd, Msg};
use crate::operation::Operation;
use crate::state::{CandidatesOfPage, PageKind, State};
use crate::views;

/// The command that loads the candidates of the pending Workload whose details are open, unless they were requested with
/// its conditions as they are.
pub(super) fn load_candidates(state: &mut State) -> Option<Cmd> {
    let page = state.ui.page.as_ref();
    let page = page.filter(|page| page.kind == PageKind::Details)?;
    let row = page.row.as_ref().filter(|_| state.env.can_explain)?;
    let key = views::of_row(row).workload(state, row)?;
    let workload = state.data.workloads.get(&key)?;
    if !matches!(
        workload.state(),
        WorkloadState::Pending | WorkloadState::Evicted
    ) {
        return None;
    }
    let known = &mut state.candidates;
    let is_same = known.workload.as_ref() == Some(&key);
    if is_same && known.conditions == workload.conditions {
        return None;
    }
    *known = CandidatesOfPage {
        // Until the answer the previous ones are the best known.
        text: known.text.take().filter(|_| is_same),
        workload: Some(key.clone()),
        conditions: workload.conditions.clone(),
    };
    Some(Cmd::operation(LoadCandidates(key)))
}

/// Loads the preemption candidates of a Workload.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LoadCandidates(pub(crate) ObjectKey);

impl Operation for LoadCandidates {
    async fn run(self, backend: Backend, _: Timestamp) -> Msg {
        let text = match backend.explainer {
            // The page has the conditions without them; `x` shows the error.
            Some(explainer) => explainer.candidates(&self.0).await.unwrap_or_default(),
            None => None,
        };
        Msg::CandidatesLoaded(self.0, text)
    }
}

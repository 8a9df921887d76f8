//! Going to the workloads related to a row.

use super::{Action, navigation};
use crate::model::{ObjectKey, Row};
use crate::msg::Cmd;
use crate::state::{Filter, Severity, State, UnavailableReason, ViewId};
use crate::views::{self, RelatedWorkloads, WorkloadsView};

/// Goes to the Workloads of a queue or node, or to the Workload of an eviction or Event.
#[derive(Debug)]
pub(crate) struct GoToWorkloads;

impl Action for GoToWorkloads {
    fn can(&self, state: &State) -> Result<(), UnavailableReason> {
        let related = related(state).map(|_| ());
        related.ok_or(UnavailableReason::NotApplicable)
    }

    fn run(&self, state: &mut State) -> Vec<Cmd> {
        match related(state) {
            Some(RelatedWorkloads::Filter(text)) => {
                navigation::open_view(state, ViewId::Workloads);
                state.ui.list_mut().filter = Filter::parse(&text).ok().flatten();
            }
            Some(RelatedWorkloads::One(key)) => open_workload(state, key),
            Some(RelatedWorkloads::None(message)) => state.notify(Severity::Info, message),
            None => {}
        }
        Vec::new()
    }
}

fn related(state: &State) -> Option<RelatedWorkloads> {
    let row = state.current_row()?;
    views::of_row(row).related_workloads(state, row)
}

/// Selects a Workload in the view of workloads.
fn open_workload(state: &mut State, key: Option<ObjectKey>) {
    let workload = key.and_then(|key| state.data.workloads.get(&key));
    let Some((key, finished)) = workload.map(|wl| (wl.key().clone(), wl.state().is_finished()))
    else {
        state.notify(Severity::Info, "the workload no longer exists");
        return;
    };
    navigation::open_view(state, ViewId::Workloads);
    state.ui.page = None;
    state.ui.hide_finished &= !finished;
    state.ui.list_mut().filter = None;
    let row = WorkloadsView::row_id(key);
    state.ui.list_mut().select_row(row);
}

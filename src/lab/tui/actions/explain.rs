//! Explaining why a workload is not admitted.

use jiff::Timestamp;

use super::{Action, navigation};
use crate::backend::{Backend, OperationError};
use crate::model::ObjectKey;
use crate::msg::{Cmd, Msg};
use crate::operation::Operation;
use crate::state::{PageKind, State, UnavailableReason, requires};
use crate::views;

const NO_EXPLAINER: &str =
    "no explanation here: another controller decides; enter shows its conditions";

/// Shows why the Workload of the current row is not admitted.
#[derive(Debug)]
pub(crate) struct Explain;

impl Action for Explain {
    fn can(&self, state: &State) -> Result<(), UnavailableReason> {
        if !state.env.can_explain {
            return Err(UnavailableReason::Unsupported(NO_EXPLAINER));
        }
        let workload = workload(state)
            .ok_or_else(|| UnavailableReason::because("only workloads can be explained"))?;
        requires::other_page(state, &PageKind::Explain(workload))
    }

    fn run(&self, state: &mut State) -> Vec<Cmd> {
        match workload(state) {
            Some(key) => navigation::open_row_page(state, PageKind::Explain(key)),
            None => Vec::new(),
        }
    }
}

fn workload(state: &State) -> Option<ObjectKey> {
    let row = state.current_row()?;
    views::of_row(row).workload(state, row)
}

/// Explains a Workload for a page.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ExplainWorkload(pub(crate) ObjectKey);

impl Operation for ExplainWorkload {
    async fn run(self, backend: Backend, _: Timestamp) -> Msg {
        let text = match backend.explainer {
            Some(explainer) => explainer.explain(&self.0).await,
            None => Err(OperationError(NO_EXPLAINER.to_owned())),
        };
        Msg::PageLoaded(PageKind::Explain(self.0), text)
    }
}

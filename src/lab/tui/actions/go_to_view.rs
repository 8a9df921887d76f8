//! Going to a view.

use std::sync::LazyLock;

use super::{Action, navigation};
use crate::msg::Cmd;
use crate::state::{Filter, Severity, State, UnavailableReason, ViewId};
use crate::views;

/// Goes to a view; as a command also narrows it to a namespace or filter.
#[derive(Debug)]
pub(crate) struct GoToView(ViewId);

static ALL: LazyLock<[GoToView; ViewId::ALL.len()]> = LazyLock::new(|| ViewId::ALL.map(GoToView));

impl GoToView {
    /// The action that goes to `view`.
    pub(crate) fn to(view: ViewId) -> &'static Self {
        &ALL[view.index()]
    }
}

impl Action for GoToView {
    fn run(&self, state: &mut State) -> Vec<Cmd> {
        navigation::open_view(state, self.0);
        Vec::new()
    }

    fn run_with(&self, state: &mut State, argument: &str) -> Vec<Cmd> {
        navigation::open_view(state, self.0);
        if let Some(text) = argument.strip_prefix('/') {
            match Filter::parse(text) {
                Ok(filter) => state.ui.list_mut().filter = filter,
                Err(error) => state.notify(Severity::Error, error.to_string()),
            }
        } else if argument == "all" {
            state.ui.namespace = None;
        } else if !argument.is_empty() {
            state.ui.namespace = Some(argument.to_owned());
        }
        Vec::new()
    }

    fn complete(&self, state: &State) -> Vec<String> {
        match views::by_id(self.0).info().namespaced {
            true => state.namespaces(),
            false => Vec::new(),
        }
    }
}

/// Goes to a neighboring view, to the right for positive steps.
#[derive(Debug)]
pub(crate) struct StepView(pub(crate) isize);

impl Action for StepView {
    fn run(&self, state: &mut State) -> Vec<Cmd> {
        navigation::open_view(state, state.ui.view.step(self.0));
        Vec::new()
    }
}

/// Goes to the previous view.
#[derive(Debug)]
pub(crate) struct LastView;

impl Action for LastView {
    fn can(&self, state: &State) -> Result<(), UnavailableReason> {
        let last = state.ui.last_view;
        last.map(|_| ()).ok_or(UnavailableReason::NotApplicable)
    }

    fn run(&self, state: &mut State) -> Vec<Cmd> {
        if let Some(view) = state.ui.last_view {
            navigation::open_view(state, view);
        }
        Vec::new()
    }
}

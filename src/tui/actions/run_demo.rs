//! Running a demo.

use jiff::Timestamp;

use super::{Action, navigation};
use crate::backend::{Backend, OperationError};
use crate::msg::{Cmd, Msg};
use crate::operation::Operation;
use crate::state::{ActionId, Dialog, Menu, Severity, State, UnavailableReason, ViewId, requires};
use crate::text::sanitize;

/// Runs the default demo; as a command without an argument opens the menu of demos.
#[derive(Debug)]
pub(crate) struct RunDemo;

impl Action for RunDemo {
    fn can(&self, state: &State) -> Result<(), UnavailableReason> {
        requires::demos(state).map(|_| ())
    }

    fn run(&self, state: &mut State) -> Vec<Cmd> {
        match state.env.demos.first().map(|demo| demo.name.clone()) {
            Some(name) => self.chosen(state, &name),
            None => Vec::new(),
        }
    }

    fn run_with(&self, state: &mut State, name: &str) -> Vec<Cmd> {
        if name.is_empty() {
            let demos = state.env.demos.iter();
            let items = demos.map(|d| (d.name.clone(), sanitize(&d.summary)));
            state.ui.dialog = Some(Dialog::Menu(Menu {
                title: "Run a demo",
                items: items.collect(),
                selected: 0,
                action: ActionId::RunDemo,
            }));
            return Vec::new();
        }
        if !state.env.demos.iter().any(|d| d.name == name) {
            let text = format!("there is no demo {name}; :demo lists them");
            state.notify(Severity::Hint, text);
            return Vec::new();
        }
        self.chosen(state, name)
    }

    fn complete(&self, state: &State) -> Vec<String> {
        state.env.demos.iter().map(|d| d.name.clone()).collect()
    }

    /// Starts the demo and opens the view of workloads.
    fn chosen(&self, state: &mut State, item: &str) -> Vec<Cmd> {
        navigation::open_view(state, ViewId::Workloads);
        vec![Cmd::operation(StartDemo(item.to_owned()))]
    }
}

/// Starts a demo.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StartDemo(pub(crate) String);

impl Operation for StartDemo {
    async fn run(self, backend: Backend, _: Timestamp) -> Msg {
        Msg::OperationFinished(match backend.demos {
            Some(demos) => demos.start(&self.0).await,
            None => {
                let reason = UnavailableReason::NoLab("demos").to_string();
                Err(OperationError(reason))
            }
        })
    }
}

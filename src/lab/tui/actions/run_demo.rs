//! Running a demo.

use jiff::Timestamp;

use super::{Action, navigation};
use crate::backend::{Backend, Demo, OperationError};
use crate::msg::{Cmd, Msg};
use crate::operation::Operation;
use crate::state::{
    self, Confirmation, Dialog, Menu, OnChoose, OnConfirm, Severity, State, UnavailableReason,
    ViewId, requires,
};
use crate::text::sanitize;

/// Runs the demo of the active preset; if it has none or several, or as a command without an argument,
/// opens the menu of demos, those of the active preset first.
#[derive(Debug)]
pub(crate) struct RunDemo;

impl Action for RunDemo {
    fn can(&self, state: &State) -> Result<(), UnavailableReason> {
        requires::demos(state).map(|_| ())
    }

    fn run(&self, state: &mut State) -> Vec<Cmd> {
        match state::only_demo(state).map(|demo| demo.name.clone()) {
            Some(name) => choose(state, &name),
            None => self.run_with(state, ""),
        }
    }

    fn run_with(&self, state: &mut State, name: &str) -> Vec<Cmd> {
        if name.is_empty() {
            let mut demos: Vec<&Demo> = state.env.demos.iter().collect();
            demos.sort_by_key(|demo| !state::is_of_active(state, demo));
            let items = demos.iter();
            let items = items.map(|d| (d.name.clone(), sanitize(&d.summary)));
            state.ui.dialog = Some(Dialog::Menu(Menu {
                title: "Run a demo",
                items: items.collect(),
                selected: 0,
                on_choose: OnChoose::StartDemo,
            }));
            return Vec::new();
        }
        if !state.env.demos.iter().any(|d| d.name == name) {
            let text = format!("there is no demo {name}; :demo lists them");
            state.notify(Severity::Hint, text);
            return Vec::new();
        }
        choose(state, name)
    }

    fn complete(&self, state: &State) -> Vec<String> {
        state.env.demos.iter().map(|d| d.name.clone()).collect()
    }
}

/// Starts the demo and opens the view of workloads; asks before the demo switches the preset.
pub(crate) fn choose(state: &mut State, item: &str) -> Vec<Cmd> {
    let demo = state.env.demos.iter().find(|demo| demo.name == item);
    let preset = demo.and_then(|demo| demo.preset.clone());
    let active = state.applied_preset().map(|preset| preset.name.clone());
    if let (Some(preset), Some(active)) = (preset, active)
        && preset != active
    {
        state.ui.dialog = Some(Dialog::Confirm(Confirmation {
            title: "Run a demo",
            text: vec![format!(
                "The demo {item} switches from the preset {active} to {preset}, and back at its end. The objects of {active} are deleted during the demo."
            )],
            on_confirm: OnConfirm::StartDemo(item.to_owned()),
        }));
        return Vec::new();
    }
    start(state, item)
}

/// Starts a demo and opens the view of workloads.
pub(crate) fn start(state: &mut State, demo: &str) -> Vec<Cmd> {
    navigation::open_view(state, ViewId::Workloads);
    vec![Cmd::operation(StartDemo(demo.to_owned()))]
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

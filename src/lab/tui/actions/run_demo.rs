//! Running a demo.

use jiff::Timestamp;

use super::{Action, navigation};
use crate::backend::{
    Backend, Demo, DemoPace, DemoStart, DemoStarted, OperationError, OtherWorkloads,
};
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

    fn run_with(&self, state: &mut State, argument: &str) -> Vec<Cmd> {
        let (name, pace) = match argument.split_once(' ') {
            None => (argument, DemoPace::Pauses),
            Some((name, pace)) => match pace.trim().parse::<f64>() {
                Ok(pace) if kueue_lab_clock::SPEED_RANGE.contains(&pace) => {
                    (name, DemoPace::Speed(pace))
                }
                _ => {
                    let text = format!(
                        "not a pace: {pace:?}; write :demo {name} 5 for five lab seconds per second"
                    );
                    state.notify(Severity::Hint, text);
                    return Vec::new();
                }
            },
        };
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
        choose_at_pace(state, name, pace)
    }

    fn complete(&self, state: &State) -> Vec<String> {
        state.env.demos.iter().map(|d| d.name.clone()).collect()
    }
}

/// Starts the demo with a pause before each step, and opens the view of workloads; asks before the demo switches the
/// preset.
pub(crate) fn choose(state: &mut State, item: &str) -> Vec<Cmd> {
    choose_at_pace(state, item, DemoPace::Pauses)
}

/// As [`choose`], at a pace.
fn choose_at_pace(state: &mut State, item: &str, pace: DemoPace) -> Vec<Cmd> {
    let demo = state.env.demos.iter().find(|demo| demo.name == item);
    let preset = demo.and_then(|demo| demo.preset.clone());
    let active = state.applied_preset().map(|preset| preset.name.clone());
    let start_of_demo = DemoStart {
        name: item.to_owned(),
        pace,
        other_workloads: OtherWorkloads::Refuse,
    };
    if let (Some(preset), Some(active)) = (preset, active)
        && preset != active
    {
        state.ui.dialog = Some(Dialog::Confirm(Confirmation {
            title: "Run a demo",
            text: vec![format!(
                "The demo {item} switches from the preset {active} to {preset}. The objects of {active} are deleted; p switches back."
            )],
            on_confirm: OnConfirm::StartDemo(start_of_demo),
        }));
        return Vec::new();
    }
    start(state, start_of_demo)
}

/// Starts a demo and opens the view of workloads.
pub(crate) fn start(state: &mut State, demo: DemoStart) -> Vec<Cmd> {
    navigation::open_view(state, ViewId::Workloads);
    vec![Cmd::operation(StartDemo(demo))]
}

/// The most workloads that the question about other workloads names.
const MAX_NAMES: usize = 6;

/// Asks whether the workloads in the way of a demo are deleted.
pub(crate) fn ask_about_other_workloads(state: &mut State, demo: DemoStart, names: &[String]) {
    let named = names.iter().take(MAX_NAMES).map(|name| sanitize(name));
    let mut list = named.collect::<Vec<String>>().join(", ");
    if names.len() > MAX_NAMES {
        list.push_str(&format!(" and {} more", names.len() - MAX_NAMES));
    }
    let text = vec![
        format!(
            "Unfinished workloads can use the quota of the demo {}: {list}.",
            demo.name
        ),
        "Delete them with their jobs, and start the demo?".to_owned(),
        format!("kueue-lab demo {} runs it in a lab of its own.", demo.name),
    ];
    state.ui.dialog = Some(Dialog::Confirm(Confirmation {
        title: "Run a demo",
        text,
        on_confirm: OnConfirm::StartDemo(DemoStart {
            other_workloads: OtherWorkloads::Delete,
            ..demo
        }),
    }));
}

/// Starts a demo.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StartDemo(pub(crate) DemoStart);

impl Operation for StartDemo {
    async fn run(self, backend: Backend, _: Timestamp) -> Msg {
        let Some(demos) = backend.demos else {
            let reason = UnavailableReason::NoLab("demos").to_string();
            return Msg::OperationFinished(Err(OperationError(reason)));
        };
        match demos.start(&self.0).await {
            Ok(DemoStarted::Running(text)) => Msg::OperationFinished(Ok(text)),
            Ok(DemoStarted::OtherWorkloads(names)) => Msg::OtherWorkloads(self.0, names),
            Err(error) => Msg::OperationFinished(Err(error)),
        }
    }
}

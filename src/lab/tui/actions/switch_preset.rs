//! Switching the preset.

use jiff::Timestamp;

use super::Action;
use crate::backend::{Backend, OperationError, Preset, PresetState};
use crate::msg::{Cmd, Msg};
use crate::operation::Operation;
use crate::state::{Dialog, Menu, OnChoose, Severity, State, UnavailableReason, requires};
use crate::text::first_sentence;
use crate::views;

/// Opens the menu of presets; as a command with an argument switches at once.
#[derive(Debug)]
pub(crate) struct OpenPresetMenu;

impl Action for OpenPresetMenu {
    fn can(&self, state: &State) -> Result<(), UnavailableReason> {
        can_switch(state)
    }

    fn run(&self, state: &mut State) -> Vec<Cmd> {
        let Ok(list) = requires::presets(state) else {
            return Vec::new();
        };
        let items = list.presets.iter();
        let items = items.map(|p| (p.name.clone(), note(p))).collect();
        let active = state.applied_preset().map(|p| &p.name);
        let selected = list.presets.iter().position(|p| Some(&p.name) == active);
        state.ui.dialog = Some(Dialog::Menu(Menu {
            title: "Switch preset",
            items,
            selected: selected.unwrap_or(0),
            on_choose: OnChoose::SwitchPreset,
        }));
        Vec::new()
    }

    fn run_with(&self, state: &mut State, name: &str) -> Vec<Cmd> {
        if name.is_empty() {
            return self.run(state);
        }
        let known = self.complete(state);
        if !known.iter().any(|n| n == name) {
            let known = known.join(", ");
            let text = format!("there is no preset {name}; the presets are: {known}");
            state.notify(Severity::Hint, text);
            return Vec::new();
        }
        vec![Cmd::operation(SwitchPreset(name.to_owned()))]
    }

    fn complete(&self, state: &State) -> Vec<String> {
        let presets = state.presets.iter().flat_map(|list| &list.presets);
        presets.map(|p| p.name.clone()).collect()
    }
}

/// The description of a preset in the menu.
fn note(preset: &Preset) -> String {
    let state = match preset.state {
        PresetState::Active => "active; ",
        PresetState::Applying => "being applied; ",
        PresetState::Held { .. } => "save held; ",
        PresetState::Invalid { .. } => "invalid; ",
        PresetState::Idle => "",
    };
    format!("{state}{}", first_sentence(&preset.description))
}

/// Switches to the preset of the current row.
#[derive(Debug)]
pub(crate) struct ApplyPreset;

impl Action for ApplyPreset {
    fn can(&self, state: &State) -> Result<(), UnavailableReason> {
        can_switch(state)?;
        let preset = current_preset(state).map(|_| ());
        preset.ok_or(UnavailableReason::NotApplicable)
    }

    fn run(&self, state: &mut State) -> Vec<Cmd> {
        let operation = current_preset(state).map(SwitchPreset);
        operation.map(Cmd::operation).into_iter().collect()
    }
}

fn can_switch(state: &State) -> Result<(), UnavailableReason> {
    requires::presets(state).map(|_| ())
}

fn current_preset(state: &State) -> Option<String> {
    let row = state.current_row()?;
    views::of_row(row).preset(state, row)
}

/// Switches to a preset.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SwitchPreset(pub(crate) String);

impl Operation for SwitchPreset {
    async fn run(self, backend: Backend, _: Timestamp) -> Msg {
        Msg::OperationFinished(match backend.presets {
            Some(presets) => presets.switch(&self.0).await,
            None => {
                let reason = UnavailableReason::NoLab("presets").to_string();
                Err(OperationError(reason))
            }
        })
    }
}

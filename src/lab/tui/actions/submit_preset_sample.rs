//! Submitting a sample of the active preset.

use jiff::Timestamp;

use super::Action;
use crate::backend::{Backend, OperationError};
use crate::msg::{Cmd, Msg};
use crate::operation::Operation;
use crate::state::{Dialog, Menu, OnChoose, State, UnavailableReason, requires};
use crate::text::sanitize;
use crate::views;

/// Opens the menu of the samples of the active preset.
#[derive(Debug)]
pub(crate) struct OpenSampleMenu;

impl Action for OpenSampleMenu {
    fn can(&self, state: &State) -> Result<(), UnavailableReason> {
        requires::submission(state)?;
        let applied = state.applied_preset();
        let selected = state.current_row();
        let selected = selected.and_then(|row| views::of_row(row).preset(state, row));
        if let Some(name) = selected.filter(|name| applied.is_none_or(|p| p.name != *name)) {
            let reason = format!("preset {name} is not active: a applies it, then S its samples");
            return Err(UnavailableReason::Because(reason));
        }
        let reason = match applied {
            None => "no preset is applied; p selects one, s submits any workload",
            Some(preset) if preset.samples.is_empty() => {
                "the active preset has no samples; s submits any workload"
            }
            Some(_) => return Ok(()),
        };
        Err(UnavailableReason::because(reason))
    }

    fn run(&self, state: &mut State) -> Vec<Cmd> {
        let samples = state.applied_preset().map(|preset| &preset.samples);
        let items = samples.into_iter().flatten();
        state.ui.dialog = Some(Dialog::Menu(Menu {
            title: "Submit a sample of the preset",
            items: items
                .map(|(name, about)| (name.clone(), sanitize(about)))
                .collect(),
            selected: 0,
            on_choose: OnChoose::SubmitSample,
        }));
        Vec::new()
    }
}

/// Submits a sample of the active preset.
pub(crate) fn choose(state: &mut State, item: &str) -> Vec<Cmd> {
    let operation = state.applied_preset().map(|preset| SubmitPresetSample {
        preset: preset.name.clone(),
        sample: item.to_owned(),
    });
    operation.map(Cmd::operation).into_iter().collect()
}

/// Submits a sample of a preset.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SubmitPresetSample {
    preset: String,
    sample: String,
}

impl Operation for SubmitPresetSample {
    async fn run(self, backend: Backend, _: Timestamp) -> Msg {
        Msg::OperationFinished(match backend.presets {
            Some(presets) => presets.submit_sample(&self.preset, &self.sample).await,
            None => {
                let reason = UnavailableReason::NoLab("presets").to_string();
                Err(OperationError(reason))
            }
        })
    }
}

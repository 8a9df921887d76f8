//! The update function.

use std::sync::Arc;

use crate::actions;
use crate::backend::ScenarioOutcome;
use crate::msg::{Cmd, Msg};
use crate::state::{PageContent, Severity, State, WrappedLines};
use crate::text::{sanitize, sanitize_lines};

use super::candidates::load_candidates;
use super::preset_changes::notify_preset_changes;
use super::refresh::refresh;
use super::{keys, prompt};

/// The most columns drawn.
const MAX_COLUMNS: u16 = 1_000;
/// The most rows drawn.
const MAX_ROWS: u16 = 500;
/// The most lines of a fetched text.
const MAX_LINES: usize = 50_000;

/// Handles a message. Watch events and ticks change the data only; all other messages also refresh
/// the state, ready to be drawn and for the next key.
pub fn update(state: &mut State, msg: Msg) -> Vec<Cmd> {
    let mut cmds = match msg {
        Msg::WatchUpdate(change) => {
            state.data.apply(change);
            return Vec::new();
        }
        Msg::Tick(now) => {
            state.data.now = now;
            return load_candidates(state).into_iter().collect();
        }
        Msg::Moment(now, past) => {
            if now < state.data.now {
                state.data.forget_after(now);
            }
            state.data.now = now;
            state.ui.past = past;
            return Vec::new();
        }
        Msg::Restarted => {
            state.clear_data();
            return Vec::new();
        }
        Msg::Found(found) => {
            let severity = if found.is_ok() {
                Severity::Info
            } else {
                Severity::Hint
            };
            let (Ok(text) | Err(text)) = found;
            state.notify(severity, text);
            return Vec::new();
        }
        Msg::Key(key) => keys::handle_key(state, key),
        Msg::Paste(text) => {
            prompt::paste(state, &text);
            Vec::new()
        }
        Msg::Scroll(lines) => {
            keys::handle_scroll(state, lines);
            Vec::new()
        }
        Msg::Click(x, y) => keys::handle_click(state, x, y),
        Msg::Resize(width, height) => {
            state.ui.width = width.min(MAX_COLUMNS);
            state.ui.height = height.min(MAX_ROWS);
            Vec::new()
        }
        Msg::InvalidObject(kind, key, error) => {
            let text = format!("{} {key} cannot be read: {error}", kind.name());
            state.notify(Severity::Warning, text);
            Vec::new()
        }
        Msg::Presets(list) => {
            notify_preset_changes(state, &list);
            let before = state.applied_preset().map(|preset| preset.name.clone());
            state.presets = Some(list);
            let now = state.applied_preset().map(|preset| &preset.name);
            // The finished demo was of the other preset.
            state.ui.scenario_closed |= before.is_some() && before.as_ref() != now;
            Vec::new()
        }
        Msg::DeletedNodes(names) => {
            for name in names.difference(&state.deleted_nodes.clone()) {
                let text = format!(
                    "node {name} was deleted; a save of the node-pool file creates it again"
                );
                state.notify(Severity::Info, text);
            }
            state.deleted_nodes = names;
            Vec::new()
        }
        Msg::ClockChanged(clock) => {
            (state.env.speed, state.env.is_paused) = (clock.speed, clock.is_paused);
            state.clock = Some(clock);
            Vec::new()
        }
        Msg::ScenarioProgress(progress) => {
            let outcome = progress.outcome.clone();
            let before = state.scenario.as_ref().and_then(|s| s.outcome.clone());
            let name = sanitize(&progress.name);
            state.ui.scenario_closed &= progress.outcome.is_some();
            state.scenario = Some(progress);
            match outcome.filter(|e| before.as_ref() != Some(e)) {
                Some(ScenarioOutcome::Passed(text)) => {
                    state.notify(Severity::Info, format!("{name}: {text}"));
                }
                Some(ScenarioOutcome::Failed(text)) => {
                    state.notify(Severity::Error, format!("{name}: {text}"));
                }
                None => {}
            }
            Vec::new()
        }
        Msg::OtherWorkloads(demo, names) => {
            actions::ask_about_other_workloads(state, demo, &names);
            Vec::new()
        }
        Msg::OperationFinished(Ok(text)) => {
            state.notify(Severity::Info, text);
            Vec::new()
        }
        Msg::OperationFinished(Err(error)) => {
            state.notify(Severity::Error, error.to_string());
            Vec::new()
        }
        Msg::CandidatesLoaded(workload, text) => {
            if state.candidates.workload.as_ref() == Some(&workload) {
                state.candidates.text = text.as_deref().map(sanitize);
            }
            Vec::new()
        }
        Msg::PageLoaded(kind, result) => {
            if let Some(page) = &mut state.ui.page
                && page.kind == kind
            {
                page.content = match result {
                    Ok(text) => fetched_text(&text),
                    Err(error) => PageContent::Failed(sanitize(&error.to_string())),
                };
            }
            Vec::new()
        }
    };
    refresh(state);
    cmds.extend(load_candidates(state));
    cmds
}

fn fetched_text(text: &str) -> PageContent {
    PageContent::Fetched(
        Arc::new(sanitize_lines(text, MAX_LINES)),
        WrappedLines::default(),
    )
}

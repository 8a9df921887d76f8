//! What happens to the state: messages in, changed state and wishes out. Pure: no terminal, no
//! cluster, no clock.

mod command;
mod dialog;
mod keys;
mod navigation;
mod prompt;
mod refresh;
mod related;
mod rows;

pub use command::{COMMANDS, Command};
pub(crate) use keys::scopes;
pub use refresh::refresh;

use std::sync::Arc;

use super::model::meta::Labels;
use super::msg::{Cmd, FetchedObject, Msg};
use super::operations::{PresetList, PresetState};
use super::state::State;
use super::text::{sanitize, sanitize_lines};
use super::ui_state::{PageContent, PageKind, Severity, WrappedLines};

/// The most columns that are drawn.
const MAX_COLUMNS: u16 = 1_000;
/// The most rows that are drawn.
const MAX_ROWS: u16 = 500;
/// The most lines of fetched text that are kept.
const MAX_LINES: usize = 50_000;

/// Takes in a message. News only changes the data; everything else leaves the state settled, ready
/// to be drawn or to take the next key.
pub fn update(state: &mut State, msg: Msg) -> Vec<Cmd> {
    let cmds = match msg {
        Msg::WatchUpdate(news) => {
            state.data.apply(news);
            return Vec::new();
        }
        Msg::Tick(now) => {
            state.data.now = now;
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
        Msg::InvalidObject(kind, key, why) => {
            let kind = kind.name();
            notify(
                state,
                Severity::Warning,
                format!("{kind} {key} cannot be read: {why}"),
            );
            Vec::new()
        }
        Msg::Presets(board) => {
            notify_preset_changes(state, &board);
            state.presets = Some(board);
            Vec::new()
        }
        Msg::ScenarioProgress(story) => {
            let ended = story.outcome.clone();
            let before = state.scenario.as_ref().and_then(|s| s.outcome.clone());
            let name = sanitize(&story.name);
            state.ui.scenario_closed &= story.outcome.is_some();
            state.scenario = Some(story);
            match ended.filter(|e| before.as_ref() != Some(e)) {
                Some(Ok(text)) => notify(state, Severity::Info, format!("{name}: {text}")),
                Some(Err(text)) => notify(state, Severity::Error, format!("{name}: {text}")),
                None => {}
            }
            Vec::new()
        }
        Msg::OperationFinished(Ok(text)) => {
            notify(state, Severity::Info, text);
            Vec::new()
        }
        Msg::OperationFinished(Err(error)) => {
            notify(state, Severity::Error, error.to_string());
            Vec::new()
        }
        Msg::Fetched(object, result) => {
            if let Some(page) = &mut state.ui.page {
                let pick: fn(&FetchedObject) -> &String = match &page.kind {
                    PageKind::Yaml(o) if *o == object => |f| &f.yaml,
                    PageKind::Describe(o) if *o == object => |f| &f.description,
                    _ => return Vec::new(),
                };
                page.content = match result {
                    Ok(fetched) => fetched_text(pick(&fetched)),
                    Err(why) => PageContent::Failed(sanitize(&why)),
                };
            }
            Vec::new()
        }
        Msg::Explained(key, result) => {
            if let Some(page) = &mut state.ui.page
                && page.kind == PageKind::Explain(key)
            {
                page.content = match result {
                    Ok(text) => fetched_text(&text),
                    Err(why) => PageContent::Failed(sanitize(&why)),
                };
            }
            Vec::new()
        }
    };
    refresh(state);
    cmds
}

/// Puts a message into the message line.
fn notify(state: &mut State, tone: Severity, text: impl AsRef<str>) {
    let text = sanitize(text.as_ref());
    state.ui.notifications.add(state.data.now, tone, text);
}

fn fetched_text(text: &str) -> PageContent {
    PageContent::Fetched(
        Arc::new(sanitize_lines(text, MAX_LINES)),
        WrappedLines::default(),
    )
}

/// Says what changed about presets since the last time.
fn notify_preset_changes(state: &mut State, board: &PresetList) {
    let before = state.presets.clone();
    for old in before.iter().flat_map(|b| &b.presets) {
        if !board.presets.iter().any(|p| p.name == old.name) {
            state
                .ui
                .notifications
                .resolve(&format!("preset {}", old.name));
        }
    }
    for preset in &board.presets {
        let old = before
            .iter()
            .flat_map(|b| &b.presets)
            .find(|p| p.name == preset.name);
        if old.is_some_and(|old| old.state == preset.state && old.revision == preset.revision) {
            continue;
        }
        let name = &preset.name;
        let about = format!("preset {name}");
        state.ui.notifications.resolve(&about);
        let mut say = |tone, text: String| {
            let at = state.data.now;
            let notes = &mut state.ui.notifications;
            notes.add_for_subject(Some(&about), at, tone, sanitize(&text));
        };
        match &preset.state {
            PresetState::Active if old.is_some() => {
                let summary = &preset.summary;
                say(Severity::Info, format!("{about}: {summary}"));
                for warning in &preset.warnings {
                    say(Severity::Warning, format!("{about}: {warning}"));
                }
            }
            PresetState::Invalid {
                diagnostics: faults,
                last_good_applied: last_good_in_force,
            } => {
                let first = faults.first();
                let place = first.map(|f| board.location(f)).unwrap_or_default();
                let reason = first.map_or("", |f| f.reason.as_str());
                let more = match faults.len() {
                    0 | 1 => String::new(),
                    n => format!(" (and {} more, see Presets)", n - 1),
                };
                let kept = if *last_good_in_force {
                    "; the last good state stays in force"
                } else {
                    ""
                };
                // A place that begins with the preset's folder names it already.
                let whose = if place.starts_with(&format!("{name}/")) {
                    String::new()
                } else {
                    format!("{about}: ")
                };
                say(
                    Severity::Error,
                    format!("{whose}{place}: {reason}{more}{kept}"),
                );
            }
            _ => {}
        }
    }
}

/// No labels, for rows that have none.
static NO_LABELS: Labels = Labels::new();

//! What happens to the state: messages in, changed state and wishes out. Pure: no terminal, no
//! cluster, no clock.

mod command;
mod input;
mod keys;
mod open;
mod overlay;
mod related;
mod rows;
mod settle;

pub use command::{COMMANDS, Command};
pub(crate) use keys::scopes;
pub use settle::settle;

use std::sync::Arc;

use super::actions::{PresetBoard, PresetState};
use super::model::meta::Labels;
use super::msg::{Cmd, Fetched, Msg};
use super::state::State;
use super::text::{clean, clean_lines};
use super::ui::{Broken, Content, PageKind, Tone};

/// The most columns that are drawn.
const WIDEST: u16 = 1_000;
/// The most rows that are drawn.
const TALLEST: u16 = 500;
/// The most lines of fetched text that are kept.
const MOST_LINES: usize = 50_000;

/// Takes in a message. News only changes the data; everything else leaves the state settled, ready
/// to be drawn or to take the next key.
pub fn update(state: &mut State, msg: Msg) -> Vec<Cmd> {
    let cmds = match msg {
        Msg::News(news) => {
            state.data.learn(news);
            return Vec::new();
        }
        Msg::Tick(now) => {
            state.data.now = now;
            return Vec::new();
        }
        Msg::Key(key) => keys::press(state, key),
        Msg::Paste(text) => {
            input::paste(state, &text);
            Vec::new()
        }
        Msg::Wheel(lines) => {
            keys::wheel(state, lines);
            Vec::new()
        }
        Msg::Click(x, y) => keys::click(state, x, y),
        Msg::Resize(width, height) => {
            state.ui.width = width.min(WIDEST);
            state.ui.height = height.min(TALLEST);
            Vec::new()
        }
        Msg::Unreadable(kind, key, why) => {
            let kind = kind.name();
            say(
                state,
                Tone::Warning,
                format!("{kind} {key} cannot be read: {why}"),
            );
            Vec::new()
        }
        Msg::Presets(board) => {
            tell_of_presets(state, &board);
            state.presets = Some(board);
            Vec::new()
        }
        Msg::Story(story) => {
            let ended = story.outcome.clone();
            let before = state.story.as_ref().and_then(|s| s.outcome.clone());
            let name = clean(&story.name);
            state.ui.story_closed &= story.outcome.is_some();
            state.story = Some(story);
            match ended.filter(|e| before.as_ref() != Some(e)) {
                Some(Ok(text)) => say(state, Tone::Done, format!("{name}: {text}")),
                Some(Err(text)) => say(state, Tone::Error, format!("{name}: {text}")),
                None => {}
            }
            Vec::new()
        }
        Msg::Done(Ok(text)) => {
            say(state, Tone::Done, text);
            Vec::new()
        }
        Msg::Done(Err(error)) => {
            say(state, Tone::Error, error.to_string());
            Vec::new()
        }
        Msg::Fetched(object, result) => {
            if let Some(page) = &mut state.ui.page {
                let pick: fn(&Fetched) -> &String = match &page.kind {
                    PageKind::Yaml(o) if *o == object => |f| &f.yaml,
                    PageKind::Describe(o) if *o == object => |f| &f.described,
                    _ => return Vec::new(),
                };
                page.content = match result {
                    Ok(fetched) => fetched_text(pick(&fetched)),
                    Err(why) => Content::Failed(clean(&why)),
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
                    Err(why) => Content::Failed(clean(&why)),
                };
            }
            Vec::new()
        }
    };
    settle(state);
    cmds
}

/// Puts a message into the message line.
fn say(state: &mut State, tone: Tone, text: impl AsRef<str>) {
    let text = clean(text.as_ref());
    state.ui.notes.add(state.data.now, tone, text);
}

fn fetched_text(text: &str) -> Content {
    Content::Fetched(Arc::new(clean_lines(text, MOST_LINES)), Broken::default())
}

/// Says what changed about presets since the last time.
fn tell_of_presets(state: &mut State, board: &PresetBoard) {
    let before = state.presets.clone();
    for old in before.iter().flat_map(|b| &b.presets) {
        if !board.presets.iter().any(|p| p.name == old.name) {
            state.ui.notes.settle(&format!("preset {}", old.name));
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
        state.ui.notes.settle(&about);
        let mut say = |tone, text: String| {
            let at = state.data.now;
            let notes = &mut state.ui.notes;
            notes.add_about(Some(&about), at, tone, clean(&text));
        };
        match &preset.state {
            PresetState::Active if old.is_some() => {
                let summary = &preset.summary;
                say(Tone::Done, format!("{about}: {summary}"));
                for warning in &preset.warnings {
                    say(Tone::Warning, format!("{about}: {warning}"));
                }
            }
            PresetState::Broken {
                faults,
                last_good_in_force,
            } => {
                let first = faults.first();
                let place = first.map(|f| board.place(f)).unwrap_or_default();
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
                say(Tone::Error, format!("{whose}{place}: {reason}{more}{kept}"));
            }
            _ => {}
        }
    }
}

/// No labels, for rows that have none.
static NO_LABELS: Labels = Labels::new();

//! Questions, menus and forms.

use crate::actions::{Preset, PresetState};
use crate::keymap::{self, Act, Key};
use crate::model::quota::Member;
use crate::model::{self, Row};
use crate::msg::Cmd;
use crate::state::State;
use crate::text::{clean, first_sentence};
use crate::ui::{
    Choice, FieldId, Menu, Overlay, PageKind, Question, RowId, SampleForm, Tone, ViewId,
};

use super::{keys, open, say};

/// A key was pressed while something lies over everything.
pub(super) fn press(state: &mut State, key: Key) -> Vec<Cmd> {
    let act = keymap::act(keys::scopes(state), key);
    match state.ui.overlay.take() {
        Some(Overlay::Confirm(question)) => confirm(state, question, act),
        Some(Overlay::Menu(menu)) => choose(state, menu, act),
        Some(Overlay::Sample(form)) => fill(state, form, act, key),
        None => Vec::new(),
    }
}

/// Whether changing things is forbidden; says so.
pub(super) fn refused(state: &mut State, what: &str) -> bool {
    if state.env.read_only {
        say(
            state,
            Tone::Warning,
            format!("read-only: cannot {what} (started with --read-only or --observe)"),
        );
    }
    state.env.read_only
}

fn confirm(state: &mut State, question: Question, act: Option<Act>) -> Vec<Cmd> {
    match (act, question) {
        (Some(Act::Yes | Act::Quit), Question::Quit) => vec![Cmd::Quit],
        (Some(Act::Yes), Question::Delete(objects, _)) => vec![Cmd::Delete(objects)],
        (Some(Act::No | Act::Quit), _) => Vec::new(),
        (_, question) => {
            state.ui.overlay = Some(Overlay::Confirm(question));
            Vec::new()
        }
    }
}

fn choose(state: &mut State, mut menu: Menu, act: Option<Act>) -> Vec<Cmd> {
    let last = menu.items.len().saturating_sub(1);
    match act {
        Some(Act::Back) => return Vec::new(),
        Some(Act::Up) => menu.at = menu.at.saturating_sub(1),
        Some(Act::Down) => menu.at = (menu.at + 1).min(last),
        Some(Act::Enter) => {
            let Some((name, _)) = menu.items.get(menu.at) else {
                return Vec::new();
            };
            return match menu.choice {
                Choice::Preset => vec![Cmd::SwitchPreset(name.clone())],
                Choice::Demo => start(state, name.clone()),
                Choice::Sample => match state.preset_in_force() {
                    Some(preset) => vec![Cmd::SubmitNamed(preset.name.clone(), name.clone())],
                    None => Vec::new(),
                },
            };
        }
        _ => {}
    }
    state.ui.overlay = Some(Overlay::Menu(menu));
    Vec::new()
}

fn fill(state: &mut State, mut form: SampleForm, act: Option<Act>, key: Key) -> Vec<Cmd> {
    match act {
        Some(Act::Back) => return Vec::new(),
        Some(Act::NextField) => form.step(true),
        Some(Act::PreviousField) => form.step(false),
        Some(Act::Left | Act::Right) => {
            if let Some(field) = form.field_mut() {
                field.step(act == Some(Act::Right));
                if field.id == FieldId::Queue {
                    form.follow_queue(&state.data);
                }
            }
        }
        Some(Act::Enter) => {
            let sample = form.sample();
            state.ui.last_sample = Some(form);
            return sample.map(Cmd::Submit).into_iter().collect();
        }
        _ => {
            let digit = key.typed().and_then(|c| c.to_digit(10));
            if let (Some(field), Some(digit)) = (form.field_mut(), digit) {
                field.digit(digit);
            } else if let (Some(field), true) = (
                form.field_mut(),
                key.code == crossterm::event::KeyCode::Backspace,
            ) {
                field.rub_out();
            }
        }
    }
    state.ui.overlay = Some(Overlay::Sample(form));
    Vec::new()
}

/// Opens the form for sample workloads, for the queue of the selected row.
pub(super) fn sample(state: &mut State) {
    if refused(state, "submit workloads") {
        return;
    }
    let preferred = preferred_queue(state);
    let form = match (&state.ui.last_sample, &preferred) {
        (Some(last), None) => {
            let mut last = last.clone();
            let queue = last.queue();
            if queue.is_some_and(|q| state.data.local_queues.get(&q).is_some()) {
                last.follow_queue(&state.data);
                Some(last)
            } else {
                SampleForm::new(&state.data, None)
            }
        }
        _ => SampleForm::new(&state.data, preferred.as_ref()),
    };
    match form {
        Some(form) => state.ui.overlay = Some(Overlay::Sample(form)),
        None => say(
            state,
            Tone::Warning,
            "there is no LocalQueue to submit to; apply a preset with one (p)",
        ),
    }
}

/// The LocalQueue that the selected row has to do with.
fn preferred_queue(state: &State) -> Option<model::Key> {
    let first_to = |cq: &str| state.data.queues_to(cq).next().map(|q| q.key().clone());
    match state.subject()? {
        RowId::LocalQueue(key) => Some(key.clone()),
        RowId::Member(Member::ClusterQueue(name)) | RowId::Quota(Member::ClusterQueue(name), _) => {
            first_to(name)
        }
        RowId::Workload(key) => {
            let wl = state.data.workloads.get(key)?;
            let queue = model::Key::new(&key.namespace, &wl.queue);
            state.data.local_queues.get(&queue).map(|q| q.key().clone())
        }
        _ => None,
    }
}

/// Asks whether to delete what the page or selected row is about.
pub(super) fn delete(state: &mut State) {
    if refused(state, "delete") {
        return;
    }
    let id = match state.ui.page.as_ref().map(|p| &p.kind) {
        Some(PageKind::Explain(key)) => Some(RowId::Workload(key.clone())),
        Some(PageKind::Describe(_) | PageKind::Yaml(_)) => state.ui.list().selected().cloned(),
        _ => state.subject().cloned(),
    };
    let Some(id) = id else { return };
    match state.deletion(&id) {
        Ok((objects, remark)) if !objects.is_empty() => {
            state.ui.overlay = Some(Overlay::Confirm(Question::Delete(objects, remark)));
        }
        Ok(_) => say(state, Tone::Warning, "there is nothing to delete"),
        Err(why) => say(state, Tone::Warning, why),
    }
}

/// Opens the menu of presets.
pub(super) fn presets(state: &mut State) {
    if refused(state, "switch presets") {
        return;
    }
    let Some(board) = &state.presets else {
        say(
            state,
            Tone::Warning,
            "there are no presets here: this window has no lab behind it; start one with `kueue-lab up`",
        );
        return;
    };
    let remark = |p: &Preset| {
        let state = match p.state {
            PresetState::Active => "active; ",
            PresetState::Applying => "being applied; ",
            PresetState::Broken { .. } => "broken; ",
            PresetState::Idle => "",
        };
        format!("{state}{}", first_sentence(&p.teaches))
    };
    let items: Vec<_> = board
        .presets
        .iter()
        .map(|p| (p.name.clone(), remark(p)))
        .collect();
    let name = state.preset_in_force().map(|p| &p.name);
    let at = board.presets.iter().position(|p| Some(&p.name) == name);
    state.ui.overlay = Some(Overlay::Menu(Menu {
        choice: Choice::Preset,
        items,
        at: at.unwrap_or(0),
    }));
}

/// Opens the menu of samples of the preset in force.
pub(super) fn samples(state: &mut State) {
    if refused(state, "submit workloads") {
        return;
    }
    let preset = state.preset_in_force().filter(|p| !p.samples.is_empty());
    let Some(preset) = preset else {
        say(
            state,
            Tone::Warning,
            "the preset in force has no samples; s submits any workload",
        );
        return;
    };
    let pairs = preset.samples.iter();
    let items = pairs
        .map(|(name, about)| (name.clone(), clean(about)))
        .collect();
    state.ui.overlay = Some(Overlay::Menu(Menu {
        choice: Choice::Sample,
        items,
        at: 0,
    }));
}

/// Starts a demo and goes where it can be watched.
fn start(state: &mut State, name: String) -> Vec<Cmd> {
    open::view(state, ViewId::Workloads);
    vec![Cmd::RunDemo(name)]
}

/// Runs the demo of that name, or the first there is; opens the menu where `name` is empty.
pub(super) fn demo(state: &mut State, name: Option<&str>) -> Vec<Cmd> {
    if refused(state, "run a demo") {
        return Vec::new();
    }
    let Some(first) = state.env.demos.first() else {
        say(
            state,
            Tone::Warning,
            "there are no demos here: this window has no lab behind it; start one with `kueue-lab up`",
        );
        return Vec::new();
    };
    match name {
        None => {
            let name = first.name.clone();
            start(state, name)
        }
        Some("") => {
            let demos = &state.env.demos;
            let items = demos
                .iter()
                .map(|d| (d.name.clone(), clean(&d.summary)))
                .collect();
            state.ui.overlay = Some(Overlay::Menu(Menu {
                choice: Choice::Demo,
                items,
                at: 0,
            }));
            Vec::new()
        }
        Some(name) if state.env.demos.iter().any(|d| d.name == name) => {
            start(state, name.to_owned())
        }
        Some(name) => {
            say(
                state,
                Tone::Error,
                format!("there is no demo {name}; :demo lists them"),
            );
            Vec::new()
        }
    }
}

//! Questions, menus and forms.

use crate::keymap::{self, ActionId, Key};
use crate::model::cohort_tree::QuotaNode;
use crate::model::{self, Row};
use crate::msg::Cmd;
use crate::operations::{Preset, PresetState};
use crate::state::State;
use crate::text::{first_sentence, sanitize};
use crate::ui_state::{
    Confirmation, Dialog, FieldId, Menu, MenuKind, PageKind, RowId, Severity, SubmitForm, ViewId,
};

use super::{keys, navigation, notify};

/// A key was pressed while something lies over everything.
pub(super) fn handle_key(state: &mut State, key: Key) -> Vec<Cmd> {
    let act = keymap::lookup(keys::scopes(state), key);
    match state.ui.dialog.take() {
        Some(Dialog::Confirm(question)) => handle_confirmation(state, question, act),
        Some(Dialog::Menu(menu)) => handle_menu(state, menu, act),
        Some(Dialog::Form(form)) => handle_form(state, form, act, key),
        None => Vec::new(),
    }
}

/// Whether changing things is forbidden; says so.
pub(super) fn refuse_if_read_only(state: &mut State, what: &str) -> bool {
    if state.env.read_only {
        notify(
            state,
            Severity::Warning,
            format!("read-only: cannot {what} (started with --read-only or --observe)"),
        );
    }
    state.env.read_only
}

fn handle_confirmation(
    state: &mut State,
    question: Confirmation,
    act: Option<ActionId>,
) -> Vec<Cmd> {
    match (act, question) {
        (Some(ActionId::Yes | ActionId::Quit), Confirmation::Quit) => vec![Cmd::Quit],
        (Some(ActionId::Yes), Confirmation::Delete(objects, _)) => vec![Cmd::Delete(objects)],
        (Some(ActionId::No | ActionId::Quit), _) => Vec::new(),
        (_, question) => {
            state.ui.dialog = Some(Dialog::Confirm(question));
            Vec::new()
        }
    }
}

fn handle_menu(state: &mut State, mut menu: Menu, act: Option<ActionId>) -> Vec<Cmd> {
    let last = menu.items.len().saturating_sub(1);
    match act {
        Some(ActionId::Back) => return Vec::new(),
        Some(ActionId::Up) => menu.at = menu.at.saturating_sub(1),
        Some(ActionId::Down) => menu.at = (menu.at + 1).min(last),
        Some(ActionId::Enter) => {
            let Some((name, _)) = menu.items.get(menu.at) else {
                return Vec::new();
            };
            return match menu.kind {
                MenuKind::Preset => vec![Cmd::SwitchPreset(name.clone())],
                MenuKind::Demo => start_demo(state, name.clone()),
                MenuKind::Sample => match state.applied_preset() {
                    Some(preset) => {
                        vec![Cmd::SubmitPresetSample(preset.name.clone(), name.clone())]
                    }
                    None => Vec::new(),
                },
            };
        }
        _ => {}
    }
    state.ui.dialog = Some(Dialog::Menu(menu));
    Vec::new()
}

fn handle_form(
    state: &mut State,
    mut form: SubmitForm,
    act: Option<ActionId>,
    key: Key,
) -> Vec<Cmd> {
    match act {
        Some(ActionId::Back) => return Vec::new(),
        Some(ActionId::NextField) => form.step_field(true),
        Some(ActionId::PreviousField) => form.step_field(false),
        Some(ActionId::Left | ActionId::Right) => {
            if let Some(field) = form.field_mut() {
                field.step_value(act == Some(ActionId::Right));
                if field.id == FieldId::Queue {
                    form.reload_resources(&state.data);
                }
            }
        }
        Some(ActionId::Enter) => {
            let sample = form.sample_job();
            state.ui.last_form = Some(form);
            return sample.map(Cmd::SubmitJob).into_iter().collect();
        }
        _ => {
            let digit = key.character().and_then(|c| c.to_digit(10));
            if let (Some(field), Some(digit)) = (form.field_mut(), digit) {
                field.digit(digit);
            } else if let (Some(field), true) = (
                form.field_mut(),
                key.code == crossterm::event::KeyCode::Backspace,
            ) {
                field.delete_digit();
            }
        }
    }
    state.ui.dialog = Some(Dialog::Form(form));
    Vec::new()
}

/// Opens the form for sample workloads, for the queue of the selected row.
pub(super) fn open_submit_form(state: &mut State) {
    if refuse_if_read_only(state, "submit workloads") {
        return;
    }
    let preferred = preferred_queue(state);
    let form = match (&state.ui.last_form, &preferred) {
        (Some(last), None) => {
            let mut last = last.clone();
            let queue = last.queue();
            if queue.is_some_and(|q| state.data.local_queues.get(&q).is_some()) {
                last.reload_resources(&state.data);
                Some(last)
            } else {
                SubmitForm::new(&state.data, None)
            }
        }
        _ => SubmitForm::new(&state.data, preferred.as_ref()),
    };
    match form {
        Some(form) => state.ui.dialog = Some(Dialog::Form(form)),
        None => notify(
            state,
            Severity::Warning,
            "there is no LocalQueue to submit to; apply a preset with one (p)",
        ),
    }
}

/// The LocalQueue that the selected row has to do with.
fn preferred_queue(state: &State) -> Option<model::NamespacedName> {
    let first_to = |cq: &str| {
        state
            .data
            .local_queues_of(cq)
            .next()
            .map(|q| q.key().clone())
    };
    match state.current_row()? {
        RowId::LocalQueue(key) => Some(key.clone()),
        RowId::QuotaNode(QuotaNode::ClusterQueue(name))
        | RowId::Quota(QuotaNode::ClusterQueue(name), _) => first_to(name),
        RowId::Workload(key) => {
            let wl = state.data.workloads.get(key)?;
            let queue = model::NamespacedName::new(&key.namespace, &wl.queue);
            state.data.local_queues.get(&queue).map(|q| q.key().clone())
        }
        _ => None,
    }
}

/// Asks whether to delete what the page or selected row is about.
pub(super) fn open_delete_confirmation(state: &mut State) {
    if refuse_if_read_only(state, "delete") {
        return;
    }
    let id = match state.ui.page.as_ref().map(|p| &p.kind) {
        Some(PageKind::Explain(key)) => Some(RowId::Workload(key.clone())),
        Some(PageKind::Describe(_) | PageKind::Yaml(_)) => state.ui.list().selected().cloned(),
        _ => state.current_row().cloned(),
    };
    let Some(id) = id else { return };
    match state.deletion_targets(&id) {
        Ok((objects, remark)) if !objects.is_empty() => {
            state.ui.dialog = Some(Dialog::Confirm(Confirmation::Delete(objects, remark)));
        }
        Ok(_) => notify(state, Severity::Warning, "there is nothing to delete"),
        Err(why) => notify(state, Severity::Warning, why),
    }
}

/// Opens the menu of presets.
pub(super) fn open_preset_menu(state: &mut State) {
    if refuse_if_read_only(state, "switch presets") {
        return;
    }
    let Some(board) = &state.presets else {
        notify(
            state,
            Severity::Warning,
            "there are no presets here: this window has no lab behind it; start one with `kueue-lab up`",
        );
        return;
    };
    let remark = |p: &Preset| {
        let state = match p.state {
            PresetState::Active => "active; ",
            PresetState::Applying => "being applied; ",
            PresetState::Invalid { .. } => "broken; ",
            PresetState::Idle => "",
        };
        format!("{state}{}", first_sentence(&p.description))
    };
    let items: Vec<_> = board
        .presets
        .iter()
        .map(|p| (p.name.clone(), remark(p)))
        .collect();
    let name = state.applied_preset().map(|p| &p.name);
    let at = board.presets.iter().position(|p| Some(&p.name) == name);
    state.ui.dialog = Some(Dialog::Menu(Menu {
        kind: MenuKind::Preset,
        items,
        at: at.unwrap_or(0),
    }));
}

/// Opens the menu of samples of the preset in force.
pub(super) fn open_preset_sample_menu(state: &mut State) {
    if refuse_if_read_only(state, "submit workloads") {
        return;
    }
    let preset = state.applied_preset().filter(|p| !p.samples.is_empty());
    let Some(preset) = preset else {
        notify(
            state,
            Severity::Warning,
            "the preset in force has no samples; s submits any workload",
        );
        return;
    };
    let pairs = preset.samples.iter();
    let items = pairs
        .map(|(name, about)| (name.clone(), sanitize(about)))
        .collect();
    state.ui.dialog = Some(Dialog::Menu(Menu {
        kind: MenuKind::Sample,
        items,
        at: 0,
    }));
}

/// Starts a demo and goes where it can be watched.
fn start_demo(state: &mut State, name: String) -> Vec<Cmd> {
    navigation::open_view(state, ViewId::Workloads);
    vec![Cmd::RunDemo(name)]
}

/// Runs the demo of that name, or the first there is; opens the menu where `name` is empty.
pub(super) fn run_demo(state: &mut State, name: Option<&str>) -> Vec<Cmd> {
    if refuse_if_read_only(state, "run a demo") {
        return Vec::new();
    }
    let Some(first) = state.env.demos.first() else {
        notify(
            state,
            Severity::Warning,
            "there are no demos here: this window has no lab behind it; start one with `kueue-lab up`",
        );
        return Vec::new();
    };
    match name {
        None => {
            let name = first.name.clone();
            start_demo(state, name)
        }
        Some("") => {
            let demos = &state.env.demos;
            let items = demos
                .iter()
                .map(|d| (d.name.clone(), sanitize(&d.summary)))
                .collect();
            state.ui.dialog = Some(Dialog::Menu(Menu {
                kind: MenuKind::Demo,
                items,
                at: 0,
            }));
            Vec::new()
        }
        Some(name) if state.env.demos.iter().any(|d| d.name == name) => {
            start_demo(state, name.to_owned())
        }
        Some(name) => {
            notify(
                state,
                Severity::Error,
                format!("there is no demo {name}; :demo lists them"),
            );
            Vec::new()
        }
    }
}

//! Keys of confirmations, menus and forms.

use crossterm::event::KeyCode;

use crate::actions::{self, CancelManagedJob, DeleteObjects, SubmitJob, SwitchPreset};
use crate::input::{InputKey, Key};
use crate::keymap::{self, Target};
use crate::msg::Cmd;
use crate::state::{Confirmation, Dialog, FieldId, Menu, OnChoose, OnConfirm, State, SubmitForm};

/// Handles a key while a dialog is open.
pub(super) fn handle_key(state: &mut State, key: Key) -> Vec<Cmd> {
    let input = match keymap::lookup(&keymap::scopes(state), key) {
        Some(Target::Input(input)) => Some(input),
        Some(Target::Action(_)) | None => None,
    };
    match state.ui.dialog.take() {
        Some(Dialog::Confirm(confirmation)) => handle_confirmation(state, confirmation, input),
        Some(Dialog::Menu(menu)) => handle_menu(state, menu, input),
        Some(Dialog::Form(form)) => handle_form(state, form, input, key),
        None => Vec::new(),
    }
}

fn handle_confirmation(
    state: &mut State,
    confirmation: Confirmation,
    input: Option<InputKey>,
) -> Vec<Cmd> {
    match input {
        Some(InputKey::Yes) => confirmed(state, confirmation.on_confirm),
        Some(InputKey::Quit | InputKey::Accept) if confirmation.on_confirm == OnConfirm::Quit => {
            vec![Cmd::Quit]
        }
        Some(InputKey::No | InputKey::Quit) => Vec::new(),
        _ => {
            state.ui.dialog = Some(Dialog::Confirm(confirmation));
            Vec::new()
        }
    }
}

/// The commands of a yes.
fn confirmed(state: &mut State, on_confirm: OnConfirm) -> Vec<Cmd> {
    match on_confirm {
        OnConfirm::Quit => vec![Cmd::Quit],
        OnConfirm::Delete(objects) => vec![Cmd::operation(DeleteObjects(objects))],
        OnConfirm::CancelManagedJob(job) => vec![Cmd::operation(CancelManagedJob(job))],
        OnConfirm::StartDemo(demo) => actions::start_demo(state, demo),
    }
}

fn handle_menu(state: &mut State, mut menu: Menu, input: Option<InputKey>) -> Vec<Cmd> {
    let last = menu.items.len().saturating_sub(1);
    match input {
        Some(InputKey::Cancel) => return Vec::new(),
        Some(InputKey::Up) => menu.selected = menu.selected.saturating_sub(1),
        Some(InputKey::Down) => menu.selected = (menu.selected + 1).min(last),
        Some(InputKey::Accept) => {
            return match menu.items.get(menu.selected) {
                Some((name, _)) => chosen(state, menu.on_choose, name),
                None => Vec::new(),
            };
        }
        _ => {}
    }
    state.ui.dialog = Some(Dialog::Menu(menu));
    Vec::new()
}

/// The commands of a chosen item.
fn chosen(state: &mut State, on_choose: OnChoose, item: &str) -> Vec<Cmd> {
    match on_choose {
        OnChoose::StartDemo => actions::choose_demo(state, item),
        OnChoose::SubmitSample => actions::choose_sample(state, item),
        OnChoose::SwitchPreset => vec![Cmd::operation(SwitchPreset(item.to_owned()))],
    }
}

fn handle_form(
    state: &mut State,
    mut form: SubmitForm,
    input: Option<InputKey>,
    key: Key,
) -> Vec<Cmd> {
    match input {
        Some(InputKey::Cancel) => return Vec::new(),
        Some(InputKey::NextField) => form.step_field(true),
        Some(InputKey::PreviousField) => form.step_field(false),
        Some(InputKey::Left | InputKey::Right) => {
            if let Some(field) = form.field_mut() {
                field.step_value(input == Some(InputKey::Right));
                if field.id == FieldId::Queue {
                    form.reload_resources(&state.data);
                }
            }
        }
        Some(InputKey::Accept) => {
            let sample = form.sample_job();
            state.ui.last_form = Some(form);
            let operation = sample.map(SubmitJob);
            return operation.map(Cmd::operation).into_iter().collect();
        }
        _ => {
            let digit = key.character().and_then(|c| c.to_digit(10));
            if let Some(field) = form.field_mut() {
                if let Some(digit) = digit {
                    field.digit(digit);
                } else if key.code == KeyCode::Backspace {
                    field.delete_digit();
                }
            }
        }
    }
    state.ui.dialog = Some(Dialog::Form(form));
    Vec::new()
}

//! Keys and the mouse.

use crate::actions::{OpenDetails, navigation};
use crate::input::Key;
use crate::keymap::{self, Target};
use crate::msg::Cmd;
use crate::screen::layout::{self, ClickTarget};
use crate::state::State;

use super::dispatch::dispatch;
use super::{dialog, prompt};

/// Seconds a result is shown at least.
const NOTIFICATION_SECONDS: f64 = 4.0;
/// Lines that one step of the wheel scrolls.
const WHEEL_LINES: isize = 3;

/// Handles a key.
pub(super) fn handle_key(state: &mut State, key: Key) -> Vec<Cmd> {
    if state.ui.prompt.is_some() {
        return prompt::handle_key(state, key);
    }
    if state.ui.dialog.is_some() {
        return dialog::handle_key(state, key);
    }
    let Some(Target::Action(action)) = keymap::lookup(&keymap::scopes(state), key) else {
        return Vec::new();
    };
    if action.expires_notifications() {
        expire_notifications(state);
    }
    dispatch(state, action, None)
}

/// Dismisses results that were shown long enough to be read.
fn expire_notifications(state: &mut State) {
    let seconds = (NOTIFICATION_SECONDS * state.env.speed).clamp(0.0, 1e6);
    let span = jiff::SignedDuration::from_secs_f64(seconds);
    if let Ok(before) = state.data.now.checked_sub(span) {
        state.ui.notifications.expire(before);
    }
}

/// Handles the mouse wheel, which scrolls unless a dialog or the prompt is open.
pub(super) fn handle_scroll(state: &mut State, steps: isize) {
    if state.ui.dialog.is_none() && state.ui.prompt.is_none() {
        let lines = steps * WHEEL_LINES;
        match &mut state.ui.page {
            Some(page) => page.scroll(lines),
            None => state.ui.list_mut().move_by(lines),
        }
    }
}

/// Handles a click: it selects a tab or a row; on the selected row it opens the details.
pub(super) fn handle_click(state: &mut State, x: u16, y: u16) -> Vec<Cmd> {
    if state.ui.dialog.is_some() || state.ui.prompt.is_some() {
        return Vec::new();
    }
    match layout::click_target(state, x, y) {
        Some(ClickTarget::Tab(view)) => navigation::open_view(state, view),
        Some(ClickTarget::Row(line)) if state.ui.page.is_none() => {
            let list = state.ui.list_mut();
            let at = list.offset + line;
            if at < list.rows.len() {
                if list.selected_index == at {
                    return dispatch(state, &OpenDetails, None);
                }
                list.select_index(at);
            }
        }
        Some(ClickTarget::Row(_)) | None => {}
    }
    Vec::new()
}

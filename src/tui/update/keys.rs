//! What keys and the mouse do.

use crate::keymap::{self, ActionId, Key, Scope};
use crate::msg::Cmd;
use crate::state::State;
use crate::ui_state::{
    Confirmation, Dialog, PageContent, PageKind, Prompt, PromptMode, RowId, Severity, Sort, ViewId,
};
use crate::view::layout::{self, ClickTarget};

use super::{dialog, navigation, notify, prompt, refresh, related};

/// Seconds in which a result is read.
const NOTIFICATION_SECONDS: f64 = 4.0;

/// A key was pressed.
pub(super) fn handle_key(state: &mut State, key: Key) -> Vec<Cmd> {
    if state.ui.prompt.is_some() {
        return prompt::handle_key(state, key);
    }
    if state.ui.dialog.is_some() {
        return dialog::handle_key(state, key);
    }
    let act = keymap::lookup(scopes(state), key);
    // Whoever presses the next key some seconds later has read what was done.
    if act.is_some_and(|act| act != ActionId::Notifications) {
        let seconds = (NOTIFICATION_SECONDS * state.env.speed).clamp(0.0, 1e6);
        let span = jiff::SignedDuration::from_secs_f64(seconds);
        if let Ok(before) = state.data.now.checked_sub(span) {
            state.ui.notifications.expire(before);
        }
    }
    match act {
        Some(act) => perform_action(state, act),
        None => Vec::new(),
    }
}

/// The scopes that are open, innermost first.
pub(crate) fn scopes(state: &State) -> &'static [Scope] {
    use Scope::{
        Confirm, Events, Evictions, Form, Global, List, Menu, Nodes, ObjectPage, Presets, Prompt,
        Queues, TextPage, Workloads,
    };
    if state.ui.prompt.is_some() {
        return &[Prompt];
    }
    match &state.ui.dialog {
        Some(Dialog::Confirm(_)) => return &[Confirm],
        Some(Dialog::Menu(_)) => return &[Menu],
        Some(Dialog::Form(_)) => return &[Form],
        None => {}
    }
    match state.ui.page.as_ref().map(|p| &p.kind) {
        Some(PageKind::Help | PageKind::Notifications) => return &[TextPage, Global],
        Some(_) => return &[ObjectPage, TextPage, Global],
        None => {}
    }
    match state.ui.view {
        ViewId::Queues => &[Queues, List, Global],
        ViewId::Workloads => &[Workloads, List, Global],
        ViewId::Evictions => &[Evictions, List, Global],
        ViewId::Nodes => &[Nodes, List, Global],
        ViewId::Presets => &[Presets, List, Global],
        ViewId::Events => &[Events, List, Global],
    }
}

/// Does what a key asks for.
fn perform_action(state: &mut State, act: ActionId) -> Vec<Cmd> {
    match act {
        ActionId::Quit => return quit(state),
        ActionId::Back => back(state),
        ActionId::Help => navigation::open_page(state, PageKind::Help),
        ActionId::Notifications => navigation::open_page(state, PageKind::Notifications),
        ActionId::CommandPrompt => state.ui.prompt = Some(Prompt::new(PromptMode::Command, "")),
        ActionId::FilterPrompt => {
            let text = state.ui.list().filter.as_ref().map(|f| f.text.clone());
            state.ui.prompt = Some(Prompt::new(PromptMode::Filter, text.unwrap_or_default()));
        }
        ActionId::View(view) => navigation::open_view(state, view),
        ActionId::NextView => navigation::open_view(state, state.ui.view.step(1)),
        ActionId::PreviousView => navigation::open_view(state, state.ui.view.step(-1)),
        ActionId::LastView => {
            if let Some(view) = state.ui.last_view {
                navigation::open_view(state, view);
            }
        }
        ActionId::HistoryBack => return navigation::go_history(state, true),
        ActionId::HistoryForward => return navigation::go_history(state, false),
        ActionId::Up => scroll(state, -1),
        ActionId::Down => scroll(state, 1),
        ActionId::PageUp => scroll(state, -page_step(state)),
        ActionId::PageDown => scroll(state, page_step(state)),
        ActionId::Top => scroll(state, isize::MIN),
        ActionId::Bottom => scroll(state, isize::MAX),
        ActionId::Left => fold(state, Some(true)),
        ActionId::Right => fold(state, Some(false)),
        ActionId::Fold => fold(state, None),
        ActionId::Enter => {
            if let Some(id) = state.ui.list().selected().cloned() {
                navigation::open_page(state, PageKind::Details(id));
            }
        }
        ActionId::Describe => return navigation::open_object_page(state, PageKind::Describe),
        ActionId::Yaml => return navigation::open_object_page(state, PageKind::Yaml),
        ActionId::Explain => return navigation::open_explanation(state),
        ActionId::SubmitJob => dialog::open_submit_form(state),
        ActionId::Delete => dialog::open_delete_confirmation(state),
        ActionId::Presets => dialog::open_preset_menu(state),
        ActionId::ApplyPreset => return apply_selected_preset(state),
        ActionId::SubmitPresetSample => dialog::open_preset_sample_menu(state),
        ActionId::RunDemo => return dialog::run_demo(state, None),
        ActionId::CopyName => return copy_name(state),
        ActionId::GoToWorkloads => related::go_to_workloads(state),
        ActionId::GoToClusterQueue => related::go_to_cluster_queue(state),
        ActionId::ToggleFinished => state.ui.hide_finished = !state.ui.hide_finished,
        ActionId::AllNamespaces => state.ui.namespace = None,
        ActionId::Sort(by) => {
            let list = state.ui.list_mut();
            let reversed = list.sort.is_some_and(|s| s.by == by && !s.reversed);
            list.sort = Some(Sort { by, reversed });
        }
        ActionId::NextField | ActionId::PreviousField | ActionId::Yes | ActionId::No => {}
    }
    Vec::new()
}

/// Leaves; asks first where that stops the lab.
pub(super) fn quit(state: &mut State) -> Vec<Cmd> {
    if state.env.stops_lab {
        state.ui.dialog = Some(Dialog::Confirm(Confirmation::Quit));
        Vec::new()
    } else {
        vec![Cmd::Quit]
    }
}

/// Closes what is on top: page, message, ended demo, filter, in this order.
fn back(state: &mut State) {
    if state.ui.page.is_some() {
        navigation::close_page(state);
    } else if state.ui.notifications.dismiss() {
    } else if state
        .visible_scenario()
        .is_some_and(|s| s.outcome.is_some())
    {
        state.ui.scenario_closed = true;
    } else {
        state.ui.list_mut().filter = None;
    }
}

/// Lines in the window of what takes the keys.
fn page_step(state: &State) -> isize {
    let height = match &state.ui.page {
        Some(page) => page.height,
        None => state.ui.list().height,
    };
    height.saturating_sub(1).max(1) as isize
}

fn scroll(state: &mut State, lines: isize) {
    match &mut state.ui.page {
        Some(page) => page.scroll(lines),
        None => state.ui.list_mut().move_by(lines),
    }
}

/// The wheel moves like keys do, wherever no question is asked.
pub(super) fn handle_scroll(state: &mut State, lines: isize) {
    if state.ui.dialog.is_none() && state.ui.prompt.is_none() {
        scroll(state, lines * 3);
    }
}

/// A click selects a tab or a row; on the selected row it opens the details.
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
                    return perform_action(state, ActionId::Enter);
                }
                list.select_index(at);
            }
        }
        Some(ClickTarget::Row(_)) | None => {}
    }
    Vec::new()
}

/// Closes or opens the selected branch; closing what has none goes to the branch above.
fn fold(state: &mut State, close: Option<bool>) {
    let Some(id) = state.ui.list().selected().cloned() else {
        return;
    };
    let (member, on_branch) = match &id {
        RowId::QuotaNode(member) => (member.clone(), true),
        RowId::Quota(member, _) => (member.clone(), false),
        RowId::LocalQueue(key) => match state.data.local_queues.get(key) {
            Some(lq) => (
                crate::model::cohort_tree::QuotaNode::ClusterQueue(lq.cluster_queue.clone()),
                false,
            ),
            None => return,
        },
        _ => return,
    };
    let folded = state.ui.folded.contains(&member);
    match close {
        Some(true) if on_branch && folded => {
            let parent = state
                .derived
                .cohort_tree
                .path(&member)
                .pop()
                .map(str::to_owned);
            if let Some(name) = parent {
                let up = RowId::QuotaNode(crate::model::cohort_tree::QuotaNode::Cohort(name));
                state.ui.list_mut().select_row(up);
            }
        }
        Some(true) if !on_branch => state.ui.list_mut().select_row(RowId::QuotaNode(member)),
        Some(true) => {
            state.ui.folded.insert(member);
        }
        Some(false) => {
            state.ui.folded.remove(&member);
        }
        None if folded => {
            state.ui.folded.remove(&member);
        }
        None => {
            state
                .ui
                .list_mut()
                .select_row(RowId::QuotaNode(member.clone()));
            state.ui.folded.insert(member);
        }
    }
    refresh(state);
}

/// Switches to the selected preset.
fn apply_selected_preset(state: &mut State) -> Vec<Cmd> {
    match state.ui.list().selected().cloned() {
        Some(RowId::Preset(name)) if !dialog::refuse_if_read_only(state, "switch presets") => {
            vec![Cmd::SwitchPreset(name)]
        }
        _ => Vec::new(),
    }
}

/// Copies the name of what the page or the selected row is about; on fetched pages all their text.
fn copy_name(state: &mut State) -> Vec<Cmd> {
    let fetched = state.ui.page.as_ref().and_then(|p| match &p.content {
        PageContent::Fetched(lines, _) => Some(lines.join("\n")),
        _ => None,
    });
    let text = fetched.or_else(|| match state.current_row()? {
        RowId::QuotaNode(m) | RowId::Quota(m, _) => Some(m.name().to_owned()),
        RowId::Workload(key) | RowId::LocalQueue(key) | RowId::Event(key) => Some(key.name.clone()),
        RowId::Eviction(uid, at) => Some(state.eviction(uid, *at)?.victim.key.name.clone()),
        RowId::Node(name) | RowId::Preset(name) => Some(name.clone()),
    });
    let Some(text) = text else { return Vec::new() };
    let what = if text.contains('\n') { "page" } else { &text };
    notify(state, Severity::Info, format!("copied {what}"));
    vec![Cmd::Copy(text)]
}

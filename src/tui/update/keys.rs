//! What keys and the mouse do.

use crate::keymap::{self, Act, Key, Scope};
use crate::msg::Cmd;
use crate::state::State;
use crate::ui::{
    Content, Overlay, PageKind, Prompt, PromptKind, Question, RowId, Sort, Tone, ViewId,
};
use crate::view::layout::{self, Spot};

use super::{input, open, overlay, related, say, settle};

/// Seconds in which a result is read.
const READING: f64 = 4.0;

/// A key was pressed.
pub(super) fn press(state: &mut State, key: Key) -> Vec<Cmd> {
    if state.ui.prompt.is_some() {
        return input::press(state, key);
    }
    if state.ui.overlay.is_some() {
        return overlay::press(state, key);
    }
    let act = keymap::act(scopes(state), key);
    // Whoever presses the next key some seconds later has read what was done.
    if act.is_some_and(|act| act != Act::Notes) {
        let seconds = (READING * state.env.speed).clamp(0.0, 1e6);
        let span = jiff::SignedDuration::from_secs_f64(seconds);
        if let Ok(before) = state.data.now.checked_sub(span) {
            state.ui.notes.fade(before);
        }
    }
    match act {
        Some(act) => perform(state, act),
        None => Vec::new(),
    }
}

/// The scopes that are open, innermost first.
pub(crate) fn scopes(state: &State) -> &'static [Scope] {
    use Scope::{
        Anywhere, Confirm, Events, Form, List, Menu, Nodes, Object, Page, Preemptions, Presets,
        Prompt, Queues, Workloads,
    };
    if state.ui.prompt.is_some() {
        return &[Prompt];
    }
    match &state.ui.overlay {
        Some(Overlay::Confirm(_)) => return &[Confirm],
        Some(Overlay::Menu(_)) => return &[Menu],
        Some(Overlay::Sample(_)) => return &[Form],
        None => {}
    }
    match state.ui.page.as_ref().map(|p| &p.kind) {
        Some(PageKind::Help | PageKind::Notes) => return &[Page, Anywhere],
        Some(_) => return &[Object, Page, Anywhere],
        None => {}
    }
    match state.ui.view {
        ViewId::Queues => &[Queues, List, Anywhere],
        ViewId::Workloads => &[Workloads, List, Anywhere],
        ViewId::Preemptions => &[Preemptions, List, Anywhere],
        ViewId::Nodes => &[Nodes, List, Anywhere],
        ViewId::Presets => &[Presets, List, Anywhere],
        ViewId::Events => &[Events, List, Anywhere],
    }
}

/// Does what a key asks for.
fn perform(state: &mut State, act: Act) -> Vec<Cmd> {
    match act {
        Act::Quit => return quit(state),
        Act::Back => back(state),
        Act::Help => open::page(state, PageKind::Help),
        Act::Notes => open::page(state, PageKind::Notes),
        Act::Command => state.ui.prompt = Some(Prompt::new(PromptKind::Command, "")),
        Act::Filter => {
            let text = state.ui.list().filter.as_ref().map(|f| f.text.clone());
            state.ui.prompt = Some(Prompt::new(PromptKind::Filter, text.unwrap_or_default()));
        }
        Act::View(view) => open::view(state, view),
        Act::NextView => open::view(state, state.ui.view.step(1)),
        Act::PreviousView => open::view(state, state.ui.view.step(-1)),
        Act::LastView => {
            if let Some(view) = state.ui.last_view {
                open::view(state, view);
            }
        }
        Act::Older => return open::history(state, true),
        Act::Newer => return open::history(state, false),
        Act::Up => scroll(state, -1),
        Act::Down => scroll(state, 1),
        Act::PageUp => scroll(state, -window(state)),
        Act::PageDown => scroll(state, window(state)),
        Act::Top => scroll(state, isize::MIN),
        Act::Bottom => scroll(state, isize::MAX),
        Act::Left => fold(state, Some(true)),
        Act::Right => fold(state, Some(false)),
        Act::Fold => fold(state, None),
        Act::Enter => {
            if let Some(id) = state.ui.list().selected().cloned() {
                open::page(state, PageKind::Details(id));
            }
        }
        Act::Describe => return open::object(state, PageKind::Describe),
        Act::Yaml => return open::object(state, PageKind::Yaml),
        Act::Explain => return open::explain(state),
        Act::Submit => overlay::sample(state),
        Act::Delete => overlay::delete(state),
        Act::Presets => overlay::presets(state),
        Act::Apply => return apply(state),
        Act::Samples => overlay::samples(state),
        Act::Demo => return overlay::demo(state, None),
        Act::Copy => return copy(state),
        Act::ToWorkloads => related::workloads(state),
        Act::ToQueue => related::queue(state),
        Act::ToggleOver => state.ui.hide_over = !state.ui.hide_over,
        Act::AllNamespaces => state.ui.namespace = None,
        Act::Sort(by) => {
            let list = state.ui.list_mut();
            let reversed = list.sort.is_some_and(|s| s.by == by && !s.reversed);
            list.sort = Some(Sort { by, reversed });
        }
        Act::NextField | Act::PreviousField | Act::Yes | Act::No => {}
    }
    Vec::new()
}

/// Leaves; asks first where that stops the lab.
pub(super) fn quit(state: &mut State) -> Vec<Cmd> {
    if state.env.stops_lab {
        state.ui.overlay = Some(Overlay::Confirm(Question::Quit));
        Vec::new()
    } else {
        vec![Cmd::Quit]
    }
}

/// Closes what is on top: page, message, ended demo, filter, in this order.
fn back(state: &mut State) {
    if state.ui.page.is_some() {
        open::close(state);
    } else if state.ui.notes.dismiss() {
    } else if state.running_story().is_some_and(|s| s.outcome.is_some()) {
        state.ui.story_closed = true;
    } else {
        state.ui.list_mut().filter = None;
    }
}

/// Lines in the window of what takes the keys.
fn window(state: &State) -> isize {
    let height = match &state.ui.page {
        Some(page) => page.height,
        None => state.ui.list().height,
    };
    height.saturating_sub(1).max(1) as isize
}

fn scroll(state: &mut State, lines: isize) {
    match &mut state.ui.page {
        Some(page) => page.scroll(lines),
        None => state.ui.list_mut().step(lines),
    }
}

/// The wheel moves like keys do, wherever no question is asked.
pub(super) fn wheel(state: &mut State, lines: isize) {
    if state.ui.overlay.is_none() && state.ui.prompt.is_none() {
        scroll(state, lines * 3);
    }
}

/// A click selects a tab or a row; on the selected row it opens the details.
pub(super) fn click(state: &mut State, x: u16, y: u16) -> Vec<Cmd> {
    if state.ui.overlay.is_some() || state.ui.prompt.is_some() {
        return Vec::new();
    }
    match layout::spot(state, x, y) {
        Some(Spot::Tab(view)) => open::view(state, view),
        Some(Spot::Row(line)) if state.ui.page.is_none() => {
            let list = state.ui.list_mut();
            let at = list.offset + line;
            if at < list.rows.len() {
                if list.at == at {
                    return perform(state, Act::Enter);
                }
                list.go(at);
            }
        }
        Some(Spot::Row(_)) | None => {}
    }
    Vec::new()
}

/// Closes or opens the selected branch; closing what has none goes to the branch above.
fn fold(state: &mut State, close: Option<bool>) {
    let Some(id) = state.ui.list().selected().cloned() else {
        return;
    };
    let (member, on_branch) = match &id {
        RowId::Member(member) => (member.clone(), true),
        RowId::Quota(member, _) => (member.clone(), false),
        RowId::LocalQueue(key) => match state.data.local_queues.get(key) {
            Some(lq) => (
                crate::model::quota::Member::ClusterQueue(lq.cluster_queue.clone()),
                false,
            ),
            None => return,
        },
        _ => return,
    };
    let folded = state.ui.folded.contains(&member);
    match close {
        Some(true) if on_branch && folded => {
            let parent = state.derived.forest.path(&member).pop().map(str::to_owned);
            if let Some(name) = parent {
                let up = RowId::Member(crate::model::quota::Member::Cohort(name));
                state.ui.list_mut().seek(up);
            }
        }
        Some(true) if !on_branch => state.ui.list_mut().seek(RowId::Member(member)),
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
            state.ui.list_mut().seek(RowId::Member(member.clone()));
            state.ui.folded.insert(member);
        }
    }
    settle(state);
}

/// Switches to the selected preset.
fn apply(state: &mut State) -> Vec<Cmd> {
    match state.ui.list().selected().cloned() {
        Some(RowId::Preset(name)) if !overlay::refused(state, "switch presets") => {
            vec![Cmd::SwitchPreset(name)]
        }
        _ => Vec::new(),
    }
}

/// Copies the name of what the page or the selected row is about; on fetched pages all their text.
fn copy(state: &mut State) -> Vec<Cmd> {
    let fetched = state.ui.page.as_ref().and_then(|p| match &p.content {
        Content::Fetched(lines, _) => Some(lines.join("\n")),
        _ => None,
    });
    let text = fetched.or_else(|| match state.subject()? {
        RowId::Member(m) | RowId::Quota(m, _) => Some(m.name().to_owned()),
        RowId::Workload(key) | RowId::LocalQueue(key) | RowId::Event(key) => Some(key.name.clone()),
        RowId::Eviction(uid, at) => Some(state.eviction(uid, *at)?.victim.key.name.clone()),
        RowId::Node(name) | RowId::Preset(name) => Some(name.clone()),
    });
    let Some(text) = text else { return Vec::new() };
    let what = if text.contains('\n') { "page" } else { &text };
    say(state, Tone::Done, format!("copied {what}"));
    vec![Cmd::Copy(text)]
}

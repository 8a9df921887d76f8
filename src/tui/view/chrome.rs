//! What surrounds the views: header, tabs, the running demo, messages, keys.

use ratatui::layout::Rect;
use ratatui::text::Span;

use super::Cursor;
use super::canvas::{Canvas, spans_width};
use super::caption;
use crate::tui::actions::{PresetState, StepState, Story};
use crate::tui::keymap::{self, Act};
use crate::tui::model::Kind;
use crate::tui::model::health::{Health, Trouble};
use crate::tui::model::meta::Requests;
use crate::tui::model::node::is_device;
use crate::tui::model::workload::WorkloadState;
use crate::tui::state::State;
use crate::tui::text::{amount_text, clean, clock_time, resource_label, width};
use crate::tui::theme::Role;
use crate::tui::ui::{PromptKind, Tone, ViewId};
use crate::tui::update::scopes;

/// Columns from which words are written out.
const ROOMY: u16 = 110;

/// Cluster, clock and totals, as many as there is room for.
pub(super) fn header(state: &State, area: Rect, canvas: &mut Canvas<'_>) {
    if area.height == 0 {
        return;
    }
    let mut groups = vec![vec![
        canvas.span(" kueue-lab ", Role::Title),
        canvas.span(clean(&state.env.cluster), Role::Strong),
    ]];
    if state.env.read_only {
        groups.push(vec![canvas.span("READ-ONLY", Role::Lost)]);
    }
    if let Some(ns) = &state.ui.namespace {
        groups.push(vec![canvas.span(format!("ns {ns}"), Role::Half)]);
    }
    if let Some(trouble) = trouble(state) {
        groups.push(vec![canvas.span(trouble, Role::Bad)]);
    }
    groups.push(vec![canvas.span(clock(state), Role::Text)]);
    groups.push(workload_totals(state, canvas, area.width < ROOMY));
    for text in node_totals(state) {
        groups.push(vec![canvas.span(text, Role::Text)]);
    }
    let gap = "  ";
    let mut line: Vec<Span<'static>> = Vec::new();
    for group in groups {
        let more = spans_width(&group) + if line.is_empty() { 0 } else { gap.len() };
        if spans_width(&line) + more > usize::from(area.width) && !line.is_empty() {
            continue;
        }
        if !line.is_empty() {
            line.push(canvas.span(gap, Role::Text));
        }
        line.extend(group);
    }
    canvas.spans(area.x, area.y, area.width, &line);
}

/// The time of day; with seconds where lab time runs faster, and how much faster.
fn clock(state: &State) -> String {
    let time = clock_time(state.data.now, &state.env.zone);
    if state.env.speed == 1.0 {
        time.get(..5).unwrap_or(&time).to_owned()
    } else {
        format!("{time} at {}x", state.env.speed)
    }
}

/// Watches that fail, in a word.
fn trouble(state: &State) -> Option<String> {
    let failing: Vec<&str> = state
        .data
        .health
        .iter()
        // A cluster with an old Kueue has no Cohort objects, which is no trouble.
        .filter(|(kind, h)| match h {
            Health::Failing(Trouble::NotInstalled) => **kind != Kind::Cohort,
            Health::Failing(_) => true,
            _ => false,
        })
        .map(|(kind, _)| kind.plural())
        .collect();
    match failing.as_slice() {
        [] => None,
        [one] => Some(format!("cannot watch {one}")),
        many => Some(format!("cannot watch {} kinds", many.len())),
    }
}

fn workload_totals(state: &State, canvas: &Canvas<'_>, short: bool) -> Vec<Span<'static>> {
    let mut spans = Vec::new();
    for (at, words, role) in [
        (WorkloadState::Pending, ["pending", "pend"], Role::Wait),
        (
            WorkloadState::QuotaReserved,
            ["reserved", "resv"],
            Role::Half,
        ),
        (WorkloadState::Admitted, ["admitted", "adm"], Role::Fine),
        (WorkloadState::Evicted, ["evicted", "evict"], Role::Lost),
        (WorkloadState::Failed, ["failed", "fail"], Role::Bad),
    ] {
        let number = state.derived.totals.in_state(at);
        let always = matches!(at, WorkloadState::Pending | WorkloadState::Admitted);
        if number > 0 || always {
            if !spans.is_empty() {
                spans.push(canvas.span(" ", Role::Text));
            }
            let role = if number > 0 { role } else { Role::Dim };
            let word = words[usize::from(short)];
            spans.push(canvas.span(format!("{number} {word}"), role));
        }
    }
    spans
}

/// What of the nodes is occupied: devices first, then cpu and memory.
fn node_totals(state: &State) -> Vec<String> {
    let totals = &state.derived.totals;
    let mut out = Vec::new();
    let on = |list: &Requests, name: &str| list.get(name).copied().unwrap_or_default();
    let names = totals.allocatable.keys().filter(|name| is_device(name));
    for name in names.map(String::as_str).chain(["cpu", "memory"]) {
        let (used, all) = (on(&totals.occupied, name), on(&totals.allocatable, name));
        if !all.is_zero() {
            out.push(format!(
                "{} {}/{}",
                resource_label(name),
                amount_text(name, used),
                amount_text(name, all)
            ));
        }
    }
    let nodes = state.data.nodes.len();
    if nodes > 0 {
        out.push(format!("nodes {}/{nodes}", totals.nodes_ready));
    }
    out
}

/// The tabs: place and text of each.
fn tab_texts(state: &State) -> Vec<(ViewId, u16, String)> {
    let broken = state
        .presets
        .iter()
        .flat_map(|b| &b.presets)
        .any(|p| matches!(p.state, PresetState::Broken { .. }));
    let mut x = 1;
    let mut out = Vec::new();
    for (n, view) in ViewId::ALL.into_iter().enumerate() {
        let flag = if view == ViewId::Presets && broken {
            "!"
        } else {
            ""
        };
        let text = format!("{} {}{flag}", n + 1, view.title());
        let wide = width(&text) as u16;
        out.push((view, x, text));
        x += wide + 2;
    }
    out
}

/// The tab at a column.
pub(super) fn tab_at(state: &State, x: u16) -> Option<ViewId> {
    tab_texts(state)
        .into_iter()
        .find(|(_, start, text)| (*start..*start + width(text) as u16).contains(&x))
        .map(|(view, ..)| view)
}

/// The views, and the filter of the open one.
pub(super) fn tabs(state: &State, area: Rect, canvas: &mut Canvas<'_>) {
    if area.height == 0 {
        return;
    }
    let mut end = area.x;
    for (view, x, text) in tab_texts(state) {
        let role = if view == state.ui.view {
            Role::TabOn
        } else {
            Role::TabOff
        };
        let room = area.width.saturating_sub(x);
        end = x + canvas.text(x, area.y, room, &text, role);
    }
    let list = state.ui.list();
    let status = match &list.filter {
        Some(filter) if state.ui.view == ViewId::Queues => format!("/{}", filter.text),
        Some(filter) => format!("/{} {}/{}", filter.text, list.rows.len(), list.unfiltered),
        None if list.rows.is_empty() || state.ui.view == ViewId::Queues => String::new(),
        None => format!("{}/{}", list.at + 1, list.rows.len()),
    };
    let room = area.width.saturating_sub(end + 2);
    let x = area
        .width
        .saturating_sub(width(&status) as u16 + 1)
        .max(end + 2);
    canvas.text(x, area.y, room, &status, Role::Half);
}

/// How many lines the running demo gets.
pub(super) fn story_height(story: &Story, height: u16) -> u16 {
    let most = if height < 30 { 2 } else { (height / 4).min(10) };
    (story.steps.len() as u16 + 1).min(most)
}

/// The running demo: its name, and the steps around the one under way.
pub(super) fn story(state: &State, area: Rect, canvas: &mut Canvas<'_>) {
    let Some(story) = state.running_story() else {
        return;
    };
    if area.height == 0 {
        return;
    }
    let done = story
        .steps
        .iter()
        .filter(|s| s.state == StepState::Done)
        .count();
    let (end, role) = match &story.outcome {
        None => ("running".to_owned(), Role::Half),
        Some(Ok(text)) => (clean(text), Role::Fine),
        Some(Err(text)) => (clean(text), Role::Bad),
    };
    let title = [
        canvas.span(" demo ", Role::Title),
        canvas.span(clean(&story.name), Role::Strong),
        canvas.span(format!("  {done}/{} steps  ", story.steps.len()), Role::Dim),
        canvas.span(end, role),
    ];
    canvas.spans(area.x, area.y, area.width, &title);
    let lines = usize::from(area.height) - 1;
    let now = story
        .steps
        .iter()
        .position(|s| matches!(s.state, StepState::Running | StepState::Failed(_)))
        .unwrap_or(done.saturating_sub(1));
    let most = story.steps.len().saturating_sub(lines);
    let first = (now + 1).saturating_sub(lines.max(1)).min(most);
    for (step, y) in story
        .steps
        .iter()
        .skip(first)
        .zip(area.y + 1..area.bottom())
    {
        let g = canvas.glyphs;
        let (sign, role, more) = match &step.state {
            StepState::Ahead => (g.off, Role::Dim, String::new()),
            StepState::Running => (g.here, Role::Strong, String::new()),
            StepState::Done => (g.done, Role::Fine, String::new()),
            StepState::Failed(saw) => (g.failed, Role::Bad, format!(": {}", clean(saw))),
        };
        let at = step
            .at
            .map(|at| clock_time(at, &state.env.zone))
            .unwrap_or_default();
        let line = [
            canvas.span(format!(" {sign} "), role),
            canvas.span(format!("{at:8} "), Role::Dim),
            canvas.span(format!("{}{more}", clean(&step.text)), role),
        ];
        canvas.spans(area.x, y, area.width, &line);
    }
}

/// The line being typed, or the message that waits to be read.
pub(super) fn message(state: &State, area: Rect, canvas: &mut Canvas<'_>) -> Cursor {
    if area.height == 0 {
        return None;
    }
    if let Some(prompt) = &state.ui.prompt {
        let text = format!("{}{}", prompt.kind.sign(), prompt.text);
        // The end of what is typed stays visible.
        let mut shown = text.as_str();
        while width(shown) + 2 > usize::from(area.width) && !shown.is_empty() {
            let skip = shown.chars().next().map_or(1, char::len_utf8);
            shown = &shown[skip..];
        }
        let used = canvas.text(area.x + 1, area.y, area.width, shown, Role::Input);
        let end = area.x + 1 + used;
        let others: Vec<&str> = prompt.completions.iter().map(String::as_str).collect();
        if prompt.kind == PromptKind::Command && prompt.taken.is_none() {
            let room = area.width.saturating_sub(end + 3);
            canvas.text(end + 3, area.y, room, &others.join("  "), Role::Dim);
        }
        return Some((end.min(area.right().saturating_sub(1)), area.y));
    }
    let Some((note, more)) = state.ui.notes.current() else {
        let caption = caption::of(state);
        canvas.text(
            area.x + 1,
            area.y,
            area.width.saturating_sub(2),
            &caption,
            Role::Dim,
        );
        return None;
    };
    let (word, role) = match note.tone {
        Tone::Done => ("", Role::Fine),
        Tone::Warning => ("note: ", Role::Lost),
        Tone::Error => ("error: ", Role::Bad),
    };
    let hint = match (note.tone, more) {
        (Tone::Done, 0) => String::new(),
        (_, 0) => "  esc dismisses".to_owned(),
        (_, n) => format!("  +{n} (m lists, esc dismisses)"),
    };
    let room = area.width.saturating_sub(width(&hint) as u16 + 2);
    let text = [
        canvas.span(word, role),
        canvas.span(note.text.clone(), role),
    ];
    let long = spans_width(&text) > usize::from(room);
    let used = canvas.spans(area.x + 1, area.y, room, &text);
    let hint = if long && more == 0 {
        "  m shows all".to_owned()
    } else {
        hint
    };
    canvas.text(area.x + 1 + used, area.y, area.width, &hint, Role::Dim);
    None
}

/// The most useful keys, as many as there is room for.
pub(super) fn footer(state: &State, area: Rect, canvas: &mut Canvas<'_>) {
    if area.height == 0 {
        return;
    }
    let mut x = area.x + 1;
    for (key, word, act) in keymap::hints(scopes(state)) {
        let absent = match act {
            Act::Demo => state.env.demos.is_empty() || state.env.read_only,
            Act::Presets | Act::Apply => state.presets.is_none() || state.env.read_only,
            Act::Submit | Act::Samples => state.env.read_only,
            Act::Explain => !state.env.can_explain,
            _ => false,
        };
        if absent {
            continue;
        }
        let wide = (width(key) + width(word) + 3) as u16;
        if x + wide > area.right() {
            break;
        }
        x += canvas.text(x, area.y, wide, key, Role::Key) + 1;
        x += canvas.text(x, area.y, wide, word, Role::Dim) + 2;
    }
}

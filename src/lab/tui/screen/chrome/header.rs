//! The first line: cluster, preset, clock and totals.

use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::model::meta::Requests;
use crate::model::node::is_extended_resource;
use crate::model::watch_status::{WatchFailure, WatchStatus};
use crate::model::workload::WorkloadState;
use crate::state::{Past, State};
use crate::text::{amount_text, clock_time, resource_label, sanitize};
use crate::theme::Role;
use crate::widgets::{Canvas, spans_width};

/// Width from which labels are not abbreviated.
const LONG_LABELS_MIN_WIDTH: u16 = 110;

/// Draws cluster, clock and totals, as many as fit.
pub(in crate::screen) fn header(state: &State, area: Rect, canvas: &mut Canvas<'_>) {
    if area.height == 0 {
        return;
    }
    let mut groups = groups(state, canvas, area.width < LONG_LABELS_MIN_WIDTH);
    let width = |groups: &[Group]| -> usize {
        let texts: usize = groups.iter().map(|(_, g)| spans_width(g)).sum();
        texts + GAP.len() * groups.len().saturating_sub(1)
    };
    while groups.len() > 1 && width(&groups) > usize::from(area.width) {
        let least = (0..groups.len()).max_by_key(|i| groups[*i].0);
        least.map(|i| groups.remove(i));
    }
    let mut line: Vec<Span<'static>> = Vec::new();
    for (_, group) in groups {
        if !line.is_empty() {
            line.push(canvas.span(GAP, Role::Text));
        }
        line.extend(group);
    }
    canvas.spans(area.x, area.y, area.width, &line);
}

/// Spans with a rank; groups of a higher rank are left out first.
type Group = (usize, Vec<Span<'static>>);

/// The gap between two groups.
const GAP: &str = "  ";

/// All groups from left to right.
fn groups(state: &State, canvas: &Canvas<'_>, short: bool) -> Vec<Group> {
    let name = vec![
        canvas.span(" kueue-lab ", Role::Title),
        canvas.span(sanitize(&state.env.cluster), Role::Bold),
    ];
    let mut groups = vec![(0, name)];
    if state.ui.past.is_none()
        && let Some(preset) = state.applied_preset()
    {
        let word = if short { "" } else { "preset " };
        let text = format!("{word}{}", sanitize(&preset.name));
        groups.push((7, vec![canvas.span(text, Role::InProgress)]));
    }
    if let Some(past) = &state.ui.past {
        groups.push((0, vec![canvas.span(moment(state, past), Role::Warning)]));
    } else if state.env.read_only {
        groups.push((1, vec![canvas.span("READ-ONLY", Role::Warning)]));
    }
    if let Some(ns) = &state.ui.namespace {
        groups.push((2, vec![canvas.span(format!("ns {ns}"), Role::InProgress)]));
    }
    if let Some(failure) = failing_watches(state) {
        groups.push((3, vec![canvas.span(failure, Role::Error)]));
    }
    if state.ui.past.is_none() {
        groups.push((5, vec![canvas.span(clock(state), Role::Text)]));
    }
    groups.push((4, workload_totals(state, canvas, short)));
    for (n, text) in node_totals(state).into_iter().enumerate() {
        let rank = if n == 0 { 6 } else { 7 + n };
        groups.push((rank, vec![canvas.span(text, Role::Text)]));
    }
    groups
}

/// The shown moment of the past, and how it is played.
fn moment(state: &State, past: &Past) -> String {
    let time = clock_time(state.data.now, &state.env.zone);
    match (past.is_playing, past.speed) {
        (false, _) => format!("as of {time}"),
        (true, 1.0) => format!("as of {time}, playing"),
        (true, speed) => format!("as of {time}, playing at {speed}x"),
    }
}

/// The time of day; with seconds and speed if the speed is not 1, and with seconds if lab time is paused or runs to an
/// event.
fn clock(state: &State) -> String {
    let time = clock_time(state.data.now, &state.env.zone);
    if state.env.is_paused {
        format!("{time} paused")
    } else if let Some(event) = state.clock.as_ref().and_then(|clock| clock.until) {
        format!("{time} to the next {event}")
    } else if state.env.speed == 1.0 {
        time.get(..5).unwrap_or(&time).to_owned()
    } else {
        format!("{time} at {}x", state.env.speed)
    }
}

/// A summary of failing watches.
fn failing_watches(state: &State) -> Option<String> {
    let failing: Vec<&str> = state
        .data
        .watch_statuses
        .iter()
        .filter(|(kind, h)| match h {
            WatchStatus::Failing(WatchFailure::NotInstalled) => !kind.is_optional(),
            // A role for Kueue does not permit what an existing cluster does not have.
            WatchStatus::Failing(WatchFailure::Forbidden(_)) => !kind.may_be_forbidden(),
            WatchStatus::Failing(_) => true,
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
        (WorkloadState::Pending, ["pending", "pend"], Role::Waiting),
        (
            WorkloadState::QuotaReserved,
            ["reserved", "resv"],
            Role::InProgress,
        ),
        (WorkloadState::Admitted, ["admitted", "adm"], Role::Success),
        (WorkloadState::Evicted, ["evicted", "evict"], Role::Warning),
        (WorkloadState::Failed, ["failed", "fail"], Role::Error),
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

/// Allocated and allocatable resources of all nodes: devices first, then cpu and memory.
fn node_totals(state: &State) -> Vec<String> {
    let totals = &state.derived.totals;
    let mut out = Vec::new();
    let on = |list: &Requests, name: &str| list.get(name).copied().unwrap_or_default();
    let names = totals
        .allocatable
        .keys()
        .filter(|name| is_extended_resource(name));
    for name in names.map(String::as_str).chain(["cpu", "memory"]) {
        let (used, all) = (on(&totals.allocated, name), on(&totals.allocatable, name));
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

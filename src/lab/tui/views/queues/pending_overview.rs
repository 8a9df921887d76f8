//! The lines below the cohort tree: pending workloads with their reasons, and latest evictions.

use ratatui::layout::Rect;

use crate::model::Row;
use crate::model::workload::{WorkloadRow, WorkloadState, status_reason};
use crate::state::{State, only_demo, requires};
use crate::text::{clock_time, pad, sanitize, truncate_middle};
use crate::theme::Role;
use crate::widgets::Canvas;
use crate::widgets::format::reason_spans;

/// The minimum lines.
const MIN_HEIGHT: u16 = 6;
/// Columns of a name.
const NAME: usize = 34;

/// Draws pod groups without a Workload; returns the used lines.
pub(in crate::views) fn draw_incomplete_pod_groups(
    state: &State,
    area: Rect,
    canvas: &mut Canvas<'_>,
) -> u16 {
    let mut groups = state
        .derived
        .incomplete_pod_groups()
        .filter(|(key, _)| state.shows_namespace(&key.namespace))
        .peekable();
    if groups.peek().is_none() || area.height < 3 {
        return 0;
    }
    let mut y = area.y + 1;
    canvas.text(
        area.x + 2,
        y,
        area.width,
        "Incomplete pod groups",
        Role::Title,
    );
    for (key, group) in groups {
        y += 1;
        if y >= area.bottom() {
            break;
        }
        let text = format!(
            "pod group {key}: {} of {} pods exist, Kueue waits for all",
            group.pods, group.of
        );
        let max_width = area.width.saturating_sub(3);
        canvas.text(area.x + 2, y, max_width, &text, Role::Waiting);
    }
    (y + 1).min(area.bottom()) - area.y
}

/// Draws as much as fits.
pub(super) fn draw(state: &State, area: Rect, canvas: &mut Canvas<'_>) {
    if area.height < MIN_HEIGHT {
        return;
    }
    let used = draw_incomplete_pod_groups(state, area, canvas);
    let area = Rect {
        y: area.y + used,
        height: area.height - used,
        ..area
    };
    let pending: Vec<&WorkloadRow> = {
        let mut all: Vec<(usize, &WorkloadRow)> = state
            .data
            .workloads
            .iter()
            .filter(|wl| state.shows_namespace(&wl.key().namespace))
            .filter(|wl| wl.state() == WorkloadState::Pending)
            .map(|wl| {
                let position = state.derived.position(wl.key());
                (position.map_or(usize::MAX, |p| p.number), wl)
            })
            .collect();
        all.sort_by_key(|(position, wl)| (*position, wl.meta.created));
        all.into_iter().map(|(_, wl)| wl).collect()
    };
    let evictions: Vec<_> = state
        .data
        .evictions
        .newest_first()
        .filter(|e| state.shows_namespace(&e.evicted.key.namespace))
        .collect();
    let sections = u16::from(!pending.is_empty()) + u16::from(!evictions.is_empty());
    if sections == 0 {
        if state.data.workloads.is_empty() {
            draw_getting_started(state, area, canvas);
        }
        return;
    }
    let each = usize::from(area.height / sections).saturating_sub(2);
    let mut y = area.y + 1;
    if !pending.is_empty() {
        let title = format!("Pending ({})", pending.len());
        canvas.text(area.x + 2, y, area.width, &title, Role::Title);
        y += 1;
        for wl in pending.iter().take(each) {
            let name =
                truncate_middle(&wl.key().to_string(), NAME, canvas.glyphs.ellipsis).into_owned();
            let mut spans = vec![canvas.span(pad(&name, NAME + 1, false), Role::Text)];
            spans.extend(reason_spans(
                canvas,
                &status_reason(wl, &state.data, &state.derived),
            ));
            canvas.spans(area.x + 2, y, area.width.saturating_sub(3), &spans);
            y += 1;
        }
        y += 1;
    }
    if !evictions.is_empty() && y + 1 < area.bottom() {
        canvas.text(area.x + 2, y, area.width, "Latest evictions", Role::Title);
        y += 1;
        for e in evictions
            .into_iter()
            .take(usize::from(area.bottom().saturating_sub(y)))
        {
            let by = match &e.preemptor {
                Some(p) => format!(" for {}", p.display_name()),
                None => String::new(),
            };
            let spans = [
                canvas.span(
                    format!("{}  ", clock_time(e.at, &state.env.zone)),
                    Role::Dim,
                ),
                canvas.span(e.evicted.display_name(), Role::Warning),
                canvas.span(format!("{by}: {}", e.reason_text()), Role::Text),
            ];
            canvas.spans(area.x + 2, y, area.width.saturating_sub(3), &spans);
            y += 1;
        }
    }
}

/// Draws the first steps in an empty cluster.
fn draw_getting_started(state: &State, area: Rect, canvas: &mut Canvas<'_>) {
    let mut lines: Vec<(&str, String)> = Vec::new();
    if requires::demos(state).is_ok() {
        let does = match only_demo(state) {
            Some(demo) => format!("runs the demo {}", sanitize(&demo.name)),
            None => "lists the demos".to_owned(),
        };
        lines.push(("D", does));
    }
    if requires::submission(state).is_ok() {
        lines.push(("s", "submits sample workloads".to_owned()));
    }
    if requires::presets(state).is_ok() {
        lines.push((
            "p",
            "switches preset; save a file of it to change queues".to_owned(),
        ));
    }
    lines.push(("?", "lists all keys".to_owned()));
    canvas.text(
        area.x + 2,
        area.y + 1,
        area.width,
        "No workloads yet",
        Role::Title,
    );
    let mut y = area.y + 2;
    for (key, text) in lines {
        if y >= area.bottom() {
            return;
        }
        canvas.text(area.x + 2, y, 2, key, Role::Key);
        canvas.text(
            area.x + 5,
            y,
            area.width.saturating_sub(6),
            &text,
            Role::Text,
        );
        y += 1;
    }
    if let Some(access) = &state.env.kubectl_command
        && y + 1 < area.bottom()
    {
        let max_width = area.width.saturating_sub(3);
        canvas.text(area.x + 2, y + 1, max_width, &sanitize(access), Role::Dim);
    }
}

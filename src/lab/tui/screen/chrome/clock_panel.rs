//! The panel of a paused clock: the heads of the next scheduling cycle, and what it does with each.

use ratatui::layout::Rect;

use kueue_lab_reason::HeadOutcome;

use crate::backend::ClockState;
use crate::state::State;
use crate::text::{ShortTexts, pad, sanitize, truncate_middle, width};
use crate::theme::Role;
use crate::widgets::Canvas;

/// The hints in the title.
const HINTS: &str = "  space resumes, . steps";
/// The widest column of workloads.
const MAX_NAME_WIDTH: usize = 40;
/// Columns from which ClusterQueues are shown.
const CLUSTER_QUEUES_MIN_WIDTH: u16 = 120;

/// The lines of the panel on a screen of `height` rows; 0 if the clock is not paused.
pub(in crate::screen) fn clock_panel_height(state: &State, height: u16) -> u16 {
    let Some(clock) = paused(state) else {
        return 0;
    };
    let most = match height {
        0..20 => 2,
        20..30 => 5,
        _ => (height / 4).min(12),
    };
    let heads = u16::try_from(clock.heads.len().max(1)).unwrap_or(u16::MAX);
    heads.saturating_add(1).min(most)
}

fn paused(state: &State) -> Option<&ClockState> {
    let clock = state.clock.as_deref();
    clock.filter(|clock| clock.is_paused && state.ui.past.is_none())
}

/// Draws why the clock is paused, and the heads of the next cycle, as many as fit.
pub(in crate::screen) fn clock_panel(state: &State, area: Rect, canvas: &mut Canvas<'_>) {
    let Some(clock) = paused(state).filter(|_| area.height > 0) else {
        return;
    };
    let lines = usize::from(area.height) - 1;
    let hidden = clock.heads.len().saturating_sub(lines);
    let more = if hidden > 0 && lines > 0 {
        format!(
            "  {} of {} heads",
            clock.heads.len() - hidden,
            clock.heads.len()
        )
    } else {
        String::new()
    };
    let title = [
        canvas.span(" clock ", Role::Title),
        canvas.span(sanitize(&clock.summary), Role::Warning),
        canvas.span(more, Role::Dim),
        canvas.span(HINTS, Role::Dim),
    ];
    canvas.spans(area.x, area.y, area.width, &title);
    if clock.heads.is_empty() && lines > 0 {
        let text = "   no workload is the head of a ClusterQueue now";
        canvas.text(area.x, area.y + 1, area.width, text, Role::Dim);
    }
    let names = clock.heads.iter().map(|head| width(&head.workload));
    let most = MAX_NAME_WIDTH.min(usize::from(area.width) / 3);
    let column = names.max().unwrap_or_default().min(most);
    let rows = clock
        .heads
        .iter()
        .enumerate()
        .zip(area.y + 1..area.bottom());
    for ((n, head), y) in rows {
        let name = sanitize(&head.workload);
        let name = pad(
            &truncate_middle(&name, column, canvas.glyphs.ellipsis),
            column,
            false,
        );
        let queue = match area.width >= CLUSTER_QUEUES_MIN_WIDTH {
            true => format!("  {}  ", sanitize(&head.cluster_queue)),
            false => "  ".to_owned(),
        };
        let role = match head.outcome {
            HeadOutcome::Admits { .. } => Role::Success,
            HeadOutcome::Preempts { .. } => Role::Warning,
            HeadOutcome::Waits { .. } => Role::Waiting,
        };
        let line = [
            canvas.span(format!(" {:>2} ", n + 1), Role::Dim),
            canvas.span(name, Role::Bold),
            canvas.span(queue, Role::Dim),
            canvas.span(sanitize(&head.outcome.text(&ShortTexts)), role),
        ];
        canvas.spans(area.x, y, area.width, &line);
    }
}

//! The scenario panel: name, steps and outcome of the demo.

use ratatui::layout::Rect;

use crate::backend::{ScenarioOutcome, ScenarioProgress, StepState};
use crate::state::State;
use crate::text::{clock_time, sanitize};
use crate::theme::Role;
use crate::widgets::Canvas;

/// The lines of the panel on a screen of `height` rows with `free` unused lines.
pub(in crate::screen) fn scenario_panel_height(
    progress: &ScenarioProgress,
    height: u16,
    free: u16,
) -> u16 {
    let most = match height {
        0..20 => 2,
        20..30 => 3,
        _ => (height / 4).min(10),
    };
    let steps = u16::try_from(progress.steps.len()).unwrap_or(u16::MAX);
    steps.saturating_add(1).min(most.max(free))
}

/// Draws the name and outcome of the demo, and the steps around the running one.
pub(in crate::screen) fn scenario_panel(state: &State, area: Rect, canvas: &mut Canvas<'_>) {
    let Some(progress) = state.visible_scenario() else {
        return;
    };
    if area.height == 0 {
        return;
    }
    let done = progress
        .steps
        .iter()
        .filter(|s| s.state == StepState::Done)
        .count();
    let (end, role) = match &progress.outcome {
        None if progress.steps.iter().any(|s| s.state == StepState::Waiting) => {
            ("waits for space".to_owned(), Role::Warning)
        }
        None => ("running".to_owned(), Role::InProgress),
        Some(ScenarioOutcome::Passed(text)) => (sanitize(text), Role::Success),
        Some(ScenarioOutcome::Failed(text)) => (sanitize(text), Role::Error),
    };
    let title = [
        canvas.span(" demo ", Role::Title),
        canvas.span(sanitize(&progress.name), Role::Bold),
        canvas.span(
            format!("  {done}/{} steps  ", progress.steps.len()),
            Role::Dim,
        ),
        canvas.span(end, role),
        canvas.span(
            if progress.outcome.is_some() {
                "  esc closes"
            } else {
                ""
            },
            Role::Dim,
        ),
    ];
    canvas.spans(area.x, area.y, area.width, &title);
    let lines = usize::from(area.height) - 1;
    let now = progress
        .steps
        .iter()
        .position(|s| {
            matches!(
                s.state,
                StepState::Waiting | StepState::Running | StepState::Failed(_)
            )
        })
        .unwrap_or(done.saturating_sub(1));
    let most = progress.steps.len().saturating_sub(lines);
    let first = (now + 1).saturating_sub(lines.max(1)).min(most);
    for (step, y) in progress
        .steps
        .iter()
        .skip(first)
        .zip(area.y + 1..area.bottom())
    {
        let g = canvas.glyphs;
        let (sign, role, more) = match &step.state {
            StepState::Pending => (g.inactive, Role::Dim, String::new()),
            StepState::Waiting => (g.highlight, Role::Warning, "  space goes on".to_owned()),
            StepState::Running => (g.highlight, Role::Bold, String::new()),
            StepState::Done => (g.done, Role::Success, String::new()),
            StepState::Failed(saw) => (g.failed, Role::Error, format!(": {}", sanitize(saw))),
        };
        let at = step
            .at
            .map(|at| clock_time(at, &state.env.zone))
            .unwrap_or_default();
        let line = [
            canvas.span(format!(" {sign} "), role),
            canvas.span(format!("{at:8} "), Role::Dim),
            canvas.span(format!("{}{more}", sanitize(&step.text)), role),
        ];
        canvas.spans(area.x, y, area.width, &line);
    }
}

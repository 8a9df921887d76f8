//! The running demo: its name, its steps, how it ended.

use ratatui::layout::Rect;

use crate::backend::{ScenarioProgress, StepState};
use crate::state::State;
use crate::text::{clock_time, sanitize};
use crate::theme::Role;
use crate::view::canvas::Canvas;

/// How many lines the running demo gets on a screen of that height, on which `free` lines would
/// otherwise stay empty.
pub(in crate::view) fn scenario_panel_height(
    story: &ScenarioProgress,
    height: u16,
    free: u16,
) -> u16 {
    let most = match height {
        0..20 => 2,
        20..30 => 3,
        _ => (height / 4).min(10),
    };
    let steps = u16::try_from(story.steps.len()).unwrap_or(u16::MAX);
    steps.saturating_add(1).min(most.max(free))
}

/// The running demo: its name, and the steps around the one under way.
pub(in crate::view) fn scenario_panel(state: &State, area: Rect, canvas: &mut Canvas<'_>) {
    let Some(story) = state.visible_scenario() else {
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
        None => ("running".to_owned(), Role::InProgress),
        Some(Ok(text)) => (sanitize(text), Role::Success),
        Some(Err(text)) => (sanitize(text), Role::Error),
    };
    let title = [
        canvas.span(" demo ", Role::Title),
        canvas.span(sanitize(&story.name), Role::Bold),
        canvas.span(format!("  {done}/{} steps  ", story.steps.len()), Role::Dim),
        canvas.span(end, role),
        canvas.span(
            if story.outcome.is_some() {
                "  esc closes"
            } else {
                ""
            },
            Role::Dim,
        ),
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
            StepState::Pending => (g.inactive, Role::Dim, String::new()),
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

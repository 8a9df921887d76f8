//! Details of a preset: state, diagnostics, description, samples and files.

use crate::backend::PresetState;
use crate::state::{State, requires};
use crate::text::{age, sanitize, sanitize_lines, wrap, wrap_indented};
use crate::theme::Role;
use crate::widgets::PageBuilder;

/// The most lines of a plan.
const MAX_PLAN_LINES: usize = 500;

/// Writes the details of a preset.
pub(crate) fn write(state: &State, name: &str, doc: &mut PageBuilder<'_>) {
    let mut all = state.presets.iter().flat_map(|b| &b.presets);
    let Some(preset) = all.find(|p| p.name == name) else {
        doc.not_found("preset", name);
        return;
    };
    let (word, role) = match &preset.state {
        PresetState::Idle if requires::presets(state).is_ok() => ("idle; a applies it", Role::Text),
        PresetState::Idle => ("idle", Role::Text),
        PresetState::Applying => ("being applied", Role::InProgress),
        PresetState::Active => ("active", Role::Success),
        PresetState::Held { .. } => ("the last save is held; a applies it", Role::Warning),
        PresetState::Invalid {
            last_good_applied: true,
            ..
        } => (
            "invalid; the last valid revision stays applied",
            Role::Error,
        ),
        PresetState::Invalid { .. } => ("invalid", Role::Error),
    };
    doc.field("State", word, role);
    if preset.revision > 0 {
        let ago = age(state.data.now, preset.applied_at);
        let summary = sanitize(&preset.summary);
        doc.field("Applied", &format!("{ago} ago: {summary}"), Role::Text);
        doc.field(
            "Objects",
            &format!("{} applied", preset.objects),
            Role::Text,
        );
    }
    doc.field("Folder", &sanitize(&preset.folder), Role::Text);
    if let PresetState::Invalid { diagnostics, .. } = &preset.state {
        doc.section("Errors");
        for diagnostic in diagnostics {
            let location = state.presets.as_ref().map(|b| b.location(diagnostic));
            doc.text(&sanitize(&location.unwrap_or_default()), Role::Bold);
            if let Some(object) = &diagnostic.object {
                doc.indented(&sanitize(object), Role::Text);
            }
            doc.indented(&sanitize(&diagnostic.reason), Role::Error);
            if let Some(remedy) = &diagnostic.remedy {
                doc.indented(&sanitize(remedy), Role::Text);
            }
        }
    }
    if let PresetState::Held { hold_reason } = &preset.state {
        doc.section("Reason of the hold");
        doc.text(&sanitize(hold_reason), Role::Warning);
    }
    if !preset.plan.is_empty() {
        doc.section("Plan of the last save");
        for line in sanitize_lines(&preset.plan, MAX_PLAN_LINES) {
            for line in wrap_indented(&line, doc.width()) {
                let span = doc.span(line, Role::Text);
                doc.line(vec![span]);
            }
        }
    }
    if !preset.warnings.is_empty() {
        doc.section("Warnings");
        for warning in &preset.warnings {
            doc.text(&sanitize(warning), Role::Warning);
        }
    }
    doc.section("Description");
    if preset.description.trim().is_empty() {
        doc.text("The files have no leading comment.", Role::Dim);
    }
    for paragraph in paragraphs(&sanitize_lines(&preset.description, 200)) {
        // An example keeps its indentation.
        let lines = match paragraph.starts_with(' ') {
            true => wrap_indented(&paragraph, doc.width()),
            false => wrap(&paragraph, doc.width()),
        };
        for line in lines {
            let span = doc.span(line, Role::Text);
            doc.line(vec![span]);
        }
    }
    if !preset.samples.is_empty() {
        let applied = state.applied_preset().is_some_and(|p| p.name == name);
        doc.section(match applied && requires::submission(state).is_ok() {
            true => "Samples (S submits one)",
            false => "Samples",
        });
        for (name, about) in &preset.samples {
            doc.field(&sanitize(name), &sanitize(about), Role::Text);
        }
    }
    if !preset.files.is_empty() {
        doc.section("Files");
        for file in &preset.files {
            doc.text(&sanitize(file), Role::Text);
        }
    }
}

/// Joins the lines of each paragraph; indented lines are kept.
fn paragraphs(lines: &[String]) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut open = false;
    for line in lines {
        let apart = line.trim().is_empty() || line.starts_with(' ');
        match out.last_mut() {
            Some(last) if open && !apart => {
                last.push(' ');
                last.push_str(line);
            }
            _ => out.push(line.clone()),
        }
        open = !apart;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_lines_are_joined_and_examples_are_not() {
        let lines: Vec<String> = [
            "Two queues",
            "share.",
            "",
            "Try:",
            "  a",
            "  b",
            "End",
            "of it.",
        ]
        .map(str::to_owned)
        .into();
        assert_eq!(
            paragraphs(&lines),
            ["Two queues share.", "", "Try:", "  a", "  b", "End of it."]
        );
    }
}

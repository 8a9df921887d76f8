//! Details of a preset: state, faults with their places, what it teaches, what is applied of it.

use super::doc::Doc;
use crate::actions::PresetState;
use crate::state::State;
use crate::text::{age, clean, clean_lines, wrap, wrap_indented};
use crate::theme::Role;

/// Writes the details.
pub(super) fn write(state: &State, name: &str, doc: &mut Doc<'_>) {
    let mut all = state.presets.iter().flat_map(|b| &b.presets);
    let Some(preset) = all.find(|p| p.name == name) else {
        doc.gone("preset", name);
        return;
    };
    let (word, role) = match &preset.state {
        PresetState::Idle => ("idle; a applies it", Role::Text),
        PresetState::Applying => ("being applied", Role::Half),
        PresetState::Active => ("active", Role::Fine),
        PresetState::Broken {
            last_good_in_force: true,
            ..
        } => ("broken; the last good state stays in force", Role::Bad),
        PresetState::Broken { .. } => ("broken", Role::Bad),
    };
    doc.field("State", word, role);
    if preset.revision > 0 {
        let ago = age(state.data.now, preset.applied_at);
        let summary = clean(&preset.summary);
        doc.field("Applied", &format!("{ago} ago: {summary}"), Role::Text);
        doc.field(
            "In force",
            &format!("{} objects", preset.objects),
            Role::Text,
        );
    }
    if let Some(board) = &state.presets {
        let place = format!("{}/{}", clean(&board.folder), clean(&preset.name));
        doc.field("Folder", &place, Role::Text);
    }
    if let PresetState::Broken { faults, .. } = &preset.state {
        doc.section("What is wrong");
        for fault in faults {
            let place = state.presets.as_ref().map(|b| b.place(fault));
            doc.text(&clean(&place.unwrap_or_default()), Role::Strong);
            if let Some(object) = &fault.object {
                doc.indented(&clean(object), Role::Text);
            }
            doc.indented(&clean(&fault.reason), Role::Bad);
            if let Some(remedy) = &fault.remedy {
                doc.indented(&clean(remedy), Role::Text);
            }
        }
    }
    if !preset.warnings.is_empty() {
        doc.section("Warnings");
        for warning in &preset.warnings {
            doc.text(&clean(warning), Role::Lost);
        }
    }
    doc.section("What it teaches");
    if preset.teaches.trim().is_empty() {
        doc.text("Its files begin with no comment.", Role::Dim);
    }
    for paragraph in paragraphs(&clean_lines(&preset.teaches, 200)) {
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
        doc.section("Samples (S submits one)");
        for (name, about) in &preset.samples {
            doc.field(&clean(name), &clean(about), Role::Text);
        }
    }
    if !preset.files.is_empty() {
        doc.section("Files");
        for file in &preset.files {
            doc.text(&clean(file), Role::Text);
        }
    }
}

/// Lines joined where only the width of a file broke them. Indented lines stand for themselves.
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

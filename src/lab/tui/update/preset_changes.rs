//! Notifications about presets.

use crate::backend::{PresetList, PresetState};
use crate::state::{Severity, State};
use crate::text::sanitize;

/// Notifies about the changes of presets since the last update.
pub(super) fn notify_preset_changes(state: &mut State, list: &PresetList) {
    let before = state.presets.clone();
    for old in before.iter().flat_map(|list| &list.presets) {
        if !list.presets.iter().any(|p| p.name == old.name) {
            state
                .ui
                .notifications
                .resolve(&format!("preset {}", old.name));
        }
    }
    for preset in &list.presets {
        let old = before
            .iter()
            .flat_map(|list| &list.presets)
            .find(|p| p.name == preset.name);
        if old.is_some_and(|old| old.state == preset.state && old.revision == preset.revision) {
            continue;
        }
        let name = &preset.name;
        let about = format!("preset {name}");
        state.ui.notifications.resolve(&about);
        let mut notify = |tone, text: String| {
            let at = state.data.now;
            let notes = &mut state.ui.notifications;
            notes.add_for_subject(Some(&about), at, tone, sanitize(&text));
        };
        match &preset.state {
            PresetState::Active if old.is_some() => {
                let summary = &preset.summary;
                notify(Severity::Info, format!("{about}: {summary}"));
                for warning in &preset.warnings {
                    notify(Severity::Warning, format!("{about}: {warning}"));
                }
            }
            PresetState::Held { hold_reason } => notify(
                Severity::Warning,
                format!("{about}: {hold_reason}; a in Presets applies the save"),
            ),
            PresetState::Invalid {
                diagnostics,
                last_good_applied,
            } => {
                let first = diagnostics.first();
                let location = first.map(|f| list.location(f)).unwrap_or_default();
                let reason = first.map_or("", |f| f.reason.as_str());
                let more = match diagnostics.len() {
                    0 | 1 => String::new(),
                    n => format!(" (and {} more, see Presets)", n - 1),
                };
                let kept = if *last_good_applied {
                    "; the last valid revision stays applied"
                } else {
                    ""
                };
                // A location below the folder of the preset names it already.
                let prefix = if location.starts_with(&format!("{name}/")) {
                    String::new()
                } else {
                    format!("{about}: ")
                };
                notify(
                    Severity::Error,
                    format!("{prefix}{location}: {reason}{more}{kept}"),
                );
            }
            _ => {}
        }
    }
}

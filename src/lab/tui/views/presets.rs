//! The view of presets: state, description, and the first diagnostic of an invalid preset.

use std::hash::{DefaultHasher, Hash};

use super::details::preset;
use super::row_query::NO_LABELS;
use super::{Deletion, RowQuery, View, ViewInfo, ViewRows};
use crate::backend::{Preset, PresetList, PresetState};
use crate::state::{ListState, RowId, SortBy, State, TypedList, UnavailableReason, ViewId};
use crate::text::{age, first_sentence, sanitize};
use crate::theme::Role;
use crate::widgets::table::{self, Cell, Column, ListArea};
use crate::widgets::{Canvas, PageBuilder};

const COLUMNS: [Column; 4] = [
    Column::new("PRESET", 12, 40, 0)
        .name()
        .sort_by(SortBy::Name),
    Column::new("STATE", 10, 22, 1).no_truncate(),
    Column::new("APPLIED", 7, 8, 3).right().no_truncate(),
    Column::new("DESCRIPTION OR ERROR", 20, 160, 2).fraction(2),
];

/// The view of presets; a row is a preset name.
pub(crate) struct PresetsView;

impl View for PresetsView {
    fn info(&self) -> &'static ViewInfo {
        &ViewInfo {
            title: "Presets",
            help: "presets",
            command_names: &["presets", "presetlist"],
            kind: None,
            namespaced: false,
            side_panel: true,
            sorts: &[SortBy::Name],
        }
    }

    fn badge(&self, state: &State) -> &'static str {
        let mut presets = state.presets.iter().flat_map(|list| &list.presets);
        let invalid = presets.any(|p| matches!(p.state, PresetState::Invalid { .. }));
        if invalid { "!" } else { "" }
    }

    fn hash_revision(&self, state: &State, hasher: &mut DefaultHasher) {
        for preset in state.presets.iter().flat_map(|list| &list.presets) {
            preset.name.hash(hasher);
            preset.description.hash(hasher);
        }
    }

    fn rows(&self, state: &State, query: RowQuery<'_>) -> ViewRows {
        let presets = || state.presets.iter().flat_map(|list| &list.presets);
        let text = |p: &Preset| format!("{} {}", p.name, p.description);
        let rows = presets()
            .filter(|p| query.passes(|| text(p), &NO_LABELS))
            .map(|p| p.name.clone());
        query.in_direction(ViewId::Presets, rows, presets().count())
    }

    fn draw(&self, state: &State, area: ListArea, list: &ListState, canvas: &mut Canvas<'_>) {
        let list = TypedList::<String>::new(list);
        table::draw(canvas, area, &COLUMNS, list, |c, name| {
            let list = state.presets.as_ref()?;
            Some(row(state, c, list, list.named(name)?))
        });
    }

    fn empty_text(&self, state: &State) -> String {
        match state.presets {
            None => "No presets: this UI is not connected to a lab. `kueue-lab up` starts one.",
            Some(_) => "No presets in the folder.",
        }
        .to_owned()
    }

    fn row_title(&self, id: &RowId) -> Option<String> {
        let name = id.get::<String>()?;
        Some(format!("Preset {name}"))
    }

    fn row_name(&self, _: &State, id: &RowId) -> Option<String> {
        let name = id.get::<String>()?;
        Some(name.clone())
    }

    fn caption(&self, state: &State, id: &RowId) -> Option<String> {
        let name = id.get::<String>()?;
        let list = state.presets.as_ref()?;
        let preset = list.named(name)?;
        Some(match &preset.state {
            PresetState::Invalid { diagnostics, .. } => {
                let first = diagnostics.first()?;
                sanitize(&format!("{}: {}", list.location(first), first.reason))
            }
            PresetState::Held { hold_reason } => sanitize(hold_reason),
            _ => first_sentence(&preset.description),
        })
    }

    fn details(&self, state: &State, id: &RowId, page: &mut PageBuilder<'_>) {
        let Some(name) = id.get::<String>() else {
            return;
        };
        preset::write(state, name, page);
    }

    fn deletion(&self, _: &State, _: &RowId) -> Result<Deletion, UnavailableReason> {
        Err(UnavailableReason::because(
            "presets are folders; delete the folder to delete the preset",
        ))
    }

    fn preset(&self, _: &State, id: &RowId) -> Option<String> {
        let name = id.get::<String>()?;
        Some(name.clone())
    }
}

/// The state with its glyph and role.
fn state_text(c: &Canvas<'_>, preset: &Preset) -> (String, Role) {
    let g = c.glyphs;
    match &preset.state {
        PresetState::Idle => (format!("{} idle", g.inactive), Role::Dim),
        PresetState::Applying => (format!("{} applying", g.active), Role::InProgress),
        PresetState::Active if preset.warnings.is_empty() => {
            (format!("{} active", g.active), Role::Success)
        }
        PresetState::Active => (format!("{} active, warnings", g.active), Role::Warning),
        PresetState::Held { .. } => (format!("{} save held", g.active), Role::Warning),
        PresetState::Invalid {
            last_good_applied: true,
            ..
        } => (format!("{} invalid, last valid", g.failed), Role::Error),
        PresetState::Invalid { .. } => (format!("{} invalid", g.failed), Role::Error),
    }
}

fn row(state: &State, c: &Canvas<'_>, list: &PresetList, preset: &Preset) -> Vec<Cell> {
    let (word, role) = state_text(c, preset);
    let note = match &preset.state {
        PresetState::Invalid { diagnostics, .. } => diagnostics.first().map(|f| {
            let location = list.location(f);
            let own = format!("{}/", preset.name);
            let location = location.strip_prefix(&own).unwrap_or(&location);
            let text = format!("{location}: {}", f.reason);
            c.span(sanitize(&text), Role::Error)
        }),
        _ => None,
    };
    let note = note.unwrap_or_else(|| {
        let first = first_sentence(&preset.description);
        let text = if first.is_empty() { "-" } else { &first };
        c.span(text, Role::Text)
    });
    vec![
        vec![c.span(sanitize(&preset.name), Role::Bold)],
        vec![c.span(word, role)],
        vec![c.span(age(state.data.now, preset.applied_at), Role::Text)],
        vec![note],
    ]
}

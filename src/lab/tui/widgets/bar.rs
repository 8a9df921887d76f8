//! Bars. Each part has its own glyph, so that a bar is readable without colours.

use ratatui::text::Span;

use super::Canvas;
use crate::model::cohort_tree::QuotaStatus;
use crate::text::{Amount, amount_text};
use crate::theme::Role;

/// A quota bar: used, unused and lent quota up to the nominal mark, borrowed quota beyond it.
pub(crate) fn quota_bar(
    canvas: &Canvas<'_>,
    status: &QuotaStatus,
    width: u16,
) -> Vec<Span<'static>> {
    let width = usize::from(width);
    let full = status
        .potential_available
        .max(status.nominal)
        .max(status.usage);
    let beyond = full > status.nominal && width > 2;
    let cells = width - usize::from(beyond);
    let own = if status.nominal == full {
        cells
    } else {
        status.nominal.bar_cells(full, cells)
    };
    let used = status.usage.min(status.nominal);
    let used_cells = used.bar_cells(full, cells).min(own);
    let lent_cells = status.lent_max.bar_cells(full, cells).min(own - used_cells);
    let free_cells = own - used_cells - lent_cells;
    let borrowed_cells = status.borrowed.bar_cells(full, cells).min(cells - own);
    let g = canvas.glyphs;
    let mut parts = vec![
        (g.used, used_cells, Role::Used),
        (g.free, free_cells, Role::Free),
        (g.lent, lent_cells, Role::Lent),
    ];
    if beyond {
        parts.push((g.nominal_mark, 1, Role::Bold));
        parts.push((g.borrowed, borrowed_cells, Role::Borrowed));
        parts.push((g.borrowable, cells - own - borrowed_cells, Role::Free));
    }
    parts
        .into_iter()
        .filter(|(_, n, _)| *n > 0)
        .map(|(sign, n, role)| canvas.span(sign.repeat(n), role))
        .collect()
}

/// The values of a quota bar as text: used of nominal, borrowed, lent, maximum.
pub(crate) fn quota_status_text(resource: &str, s: &QuotaStatus) -> String {
    let text = |amount| amount_text(resource, amount);
    let mut parts = vec![format!("{}/{}", text(s.usage), text(s.nominal))];
    if !s.borrowed.is_zero() {
        parts.push(format!("{} borrowed", text(s.borrowed)));
    }
    if !s.lent_max.is_zero() {
        if s.lent_min == s.lent_max {
            parts.push(format!("{} lent", text(s.lent_max)));
        } else {
            parts.push(format!("{}-{} lent", text(s.lent_min), text(s.lent_max)));
        }
    }
    if s.potential_available != s.nominal {
        parts.push(format!("max {}", text(s.potential_available)));
    }
    parts.join(", ")
}

/// A bar of used of total.
pub(crate) fn usage_bar(
    canvas: &Canvas<'_>,
    used: Amount,
    full: Amount,
    width: u16,
) -> Vec<Span<'static>> {
    let width = usize::from(width);
    let cells = used.bar_cells(full, width);
    vec![
        canvas.span(canvas.glyphs.used.repeat(cells), Role::Used),
        canvas.span(canvas.glyphs.free.repeat(width - cells), Role::Free),
    ]
}

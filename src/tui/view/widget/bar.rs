//! Bars. Each part has its own sign, so that a bar reads without colours.

use ratatui::text::Span;

use crate::model::quota::Standing;
use crate::text::{Amount, amount_text};
use crate::theme::Role;
use crate::view::canvas::Canvas;

/// A bar of one's own quota up to a mark and of what can be borrowed beyond it: used, unused, lent
/// to others; borrowed.
pub(in crate::view) fn quota_bar(
    canvas: &Canvas<'_>,
    standing: &Standing,
    width: u16,
) -> Vec<Span<'static>> {
    let width = usize::from(width);
    let full = standing.limit.max(standing.nominal).max(standing.used);
    let beyond = full > standing.nominal && width > 2;
    let cells = width - usize::from(beyond);
    let own = if standing.nominal == full {
        cells
    } else {
        standing.nominal.cells(full, cells)
    };
    let used = standing.used.min(standing.nominal);
    let used_cells = used.cells(full, cells).min(own);
    let lent_cells = standing.lent_max.cells(full, cells).min(own - used_cells);
    let free_cells = own - used_cells - lent_cells;
    let borrowed_cells = standing.borrowed.cells(full, cells).min(cells - own);
    let g = canvas.glyphs;
    let mut parts = vec![
        (g.used, used_cells, Role::Used),
        (g.free, free_cells, Role::Free),
        (g.lent, lent_cells, Role::Lent),
    ];
    if beyond {
        parts.push((g.mark, 1, Role::Strong));
        parts.push((g.borrowed, borrowed_cells, Role::Borrowed));
        parts.push((g.beyond, cells - own - borrowed_cells, Role::Free));
    }
    parts
        .into_iter()
        .filter(|(_, n, _)| *n > 0)
        .map(|(sign, n, role)| canvas.span(sign.repeat(n), role))
        .collect()
}

/// The numbers of such a bar in words: used of nominal, borrowed, lent, the most it may use.
pub(in crate::view) fn standing_text(resource: &str, s: &Standing) -> String {
    let text = |amount| amount_text(resource, amount);
    let mut parts = vec![format!("{}/{}", text(s.used), text(s.nominal))];
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
    if s.limit != s.nominal {
        parts.push(format!("max {}", text(s.limit)));
    }
    parts.join(", ")
}

/// A plain bar: so much of so much.
pub(in crate::view) fn fill(
    canvas: &Canvas<'_>,
    used: Amount,
    full: Amount,
    width: u16,
) -> Vec<Span<'static>> {
    let width = usize::from(width);
    let cells = used.cells(full, width);
    vec![
        canvas.span(canvas.glyphs.used.repeat(cells), Role::Used),
        canvas.span(canvas.glyphs.free.repeat(width - cells), Role::Free),
    ]
}

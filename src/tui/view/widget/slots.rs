//! Devices of a node, one sign each.

use ratatui::text::Span;

use crate::theme::Role;
use crate::view::canvas::Canvas;

/// The most devices drawn one by one; beyond that a sign stands for several.
const MOST: usize = 16;

/// Devices that one holder has.
#[derive(Clone, Copy, Debug)]
pub(in crate::view) struct Slot {
    /// How many.
    pub count: usize,
    /// The letter for its holder; none draws the sign for a device in use.
    pub letter: Option<char>,
}

/// Devices in use, holder by holder, then those not in use.
pub(in crate::view) fn slots(
    canvas: &Canvas<'_>,
    used: &[Slot],
    total: usize,
) -> Vec<Span<'static>> {
    let g = canvas.glyphs;
    let count: usize = used.iter().map(|s| s.count).fold(0, usize::saturating_add);
    if total > MOST {
        let cells = match count {
            0 => 0,
            n if n >= total => MOST,
            n => (n * MOST / total).clamp(1, MOST - 1),
        };
        return vec![
            canvas.span(g.slot_used.repeat(cells), Role::Used),
            canvas.span(g.slot_free.repeat(MOST - cells), Role::Free),
        ];
    }
    let mut spans = Vec::new();
    let mut drawn = 0;
    for slot in used {
        let n = slot.count.min(total - drawn);
        drawn += n;
        let text = match slot.letter {
            Some(letter) => letter.to_string().repeat(n),
            None => g.slot_used.repeat(n),
        };
        spans.push(canvas.span(text, Role::Used));
    }
    spans.push(canvas.span(g.slot_free.repeat(total - drawn), Role::Free));
    spans
}

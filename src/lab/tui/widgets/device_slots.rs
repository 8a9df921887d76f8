//! Devices of a node, one glyph each.

use ratatui::text::Span;

use super::Canvas;
use crate::theme::Role;

/// The most devices drawn one by one; beyond that one glyph is several devices.
const MAX_DEVICES: usize = 16;

/// Devices in use by one workload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeviceSlot {
    /// The number of devices.
    pub count: usize,
    /// The letter of the workload; `None` draws the glyph of a device in use.
    pub letter: Option<char>,
}

/// Devices in use by workload, then unused devices.
pub(crate) fn device_slots(
    canvas: &Canvas<'_>,
    used: &[DeviceSlot],
    total: usize,
) -> Vec<Span<'static>> {
    let g = canvas.glyphs;
    let count: usize = used.iter().map(|s| s.count).fold(0, usize::saturating_add);
    if total > MAX_DEVICES {
        let cells = match count {
            0 => 0,
            n if n >= total => MAX_DEVICES,
            n => (n * MAX_DEVICES / total).clamp(1, MAX_DEVICES - 1),
        };
        return vec![
            canvas.span(g.device_used.repeat(cells), Role::Used),
            canvas.span(g.device_free.repeat(MAX_DEVICES - cells), Role::Free),
        ];
    }
    let mut spans = Vec::new();
    let mut drawn = 0;
    for slot in used {
        let n = slot.count.min(total - drawn);
        drawn += n;
        let text = match slot.letter {
            Some(letter) => letter.to_string().repeat(n),
            None => g.device_used.repeat(n),
        };
        spans.push(canvas.span(text, Role::Used));
    }
    spans.push(canvas.span(g.device_free.repeat(total - drawn), Role::Free));
    spans
}

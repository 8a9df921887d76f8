//! Small drawings: bars and slots.

mod bar;
mod slots;

pub(super) use bar::{fill, quota_bar, standing_text};
pub(super) use slots::{Slot, slots};

//! Small drawings: bars and slots.

mod bar;
mod device_slots;

pub(super) use bar::{quota_bar, quota_status_text, usage_bar};
pub(super) use device_slots::{DeviceSlot, device_slots};

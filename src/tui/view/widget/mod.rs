//! Small drawings: bars and slots.

mod bar;
mod device_slots;

pub(crate) use bar::{quota_bar, quota_status_text, usage_bar};
pub(crate) use device_slots::{DeviceSlot, device_slots};

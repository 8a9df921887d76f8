//! Building blocks of screens: canvas, tables, bars, pages and shared formats.

mod bar;
mod canvas;
mod device_slots;
pub(crate) mod format;
mod page_builder;
pub(crate) mod table;
mod table_columns;

pub(crate) use bar::{quota_bar, quota_status_text, usage_bar};
pub(crate) use canvas::{Canvas, spans_width};
pub(crate) use device_slots::{DeviceSlot, device_slots};
pub(crate) use page_builder::PageBuilder;
pub(crate) use table_columns::TableCell;

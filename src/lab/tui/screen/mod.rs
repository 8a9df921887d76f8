//! Drawing: pure functions from the state to a buffer.

mod chrome;
mod dialog;
mod frame;
pub(crate) mod layout;
mod list;
pub(crate) mod page;
mod side_panel;

pub use frame::{Cursor, draw};
pub use page::workload_pages;

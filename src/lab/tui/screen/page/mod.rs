//! Pages: details of a row from watched objects, fetched documents, notifications, help.

mod draw;
mod help;
mod lines;
mod notifications;
mod workload_pages;

pub(super) use draw::draw;
pub(crate) use lines::lines;
pub use workload_pages::workload_pages;

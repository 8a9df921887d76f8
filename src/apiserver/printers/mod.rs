//! What `kubectl get [-o wide]` shows of each built-in kind: columns and cells, as a real API server
//! prints them.

mod admissionregistration;
mod batch;
pub mod cells;
mod core;
mod networking;
mod other_api_groups;
mod persistent_volume;
mod pod;
mod service;
mod storage;
mod table_printer;
mod workload;

pub use table_printer::{DEFAULT, TablePrinter, printer_of};

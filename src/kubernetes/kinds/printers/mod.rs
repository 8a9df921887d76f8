//! Table printers of the built-in kinds: the columns and cells of `kubectl get [-o wide]`, as in
//! `pkg/printers/internalversion`.

mod admissionregistration;
mod batch;
mod column_descriptions;
mod core;
mod networking;
mod other_api_groups;
mod persistent_volume;
mod pod;
mod service;
mod storage;
mod table_printer;
mod workload;

pub(crate) use table_printer::{DEFAULT, TablePrinter, printer_of};

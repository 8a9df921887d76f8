//! Traces of jobs, and the formats they are read from.

mod alibaba_v2020;
mod csv_columns;
mod csv_record;
mod error;
mod fields;
mod format;
mod helios;
mod job;
mod openb;
mod philly;
mod read;
#[cfg(test)]
mod tests;
mod workload_list;

pub use csv_columns::{ColumnError, ColumnMapping};
pub use error::TraceError;
pub use format::TraceFormat;
pub use job::{Trace, TraceJob};
pub use read::{ReadOptions, read_trace};

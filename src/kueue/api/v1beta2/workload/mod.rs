//! Workload: the resource requests of a job, its admission and its status.

mod admission;
#[cfg(test)]
pub(crate) mod cel_rules;
mod spec;
mod status;
mod topology_assignment;
mod topology_encoding;
mod topology_request;
#[expect(clippy::module_inception, reason = "the kind of the folder")]
mod workload;

pub use admission::*;
pub use spec::*;
pub use status::*;
pub use topology_assignment::*;
pub use topology_encoding::*;
pub use topology_request::*;
pub use workload::*;

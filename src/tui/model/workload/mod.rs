//! Workloads as rows: requests, admission, state and status reason.

mod admission_row;
mod assignment_failure;
mod state;
mod status_reason;
mod workload_row;

pub use admission_row::{AdmissionRow, PodSetAssignmentRow, TopologyAssignmentRow};
pub use assignment_failure::{AssignmentFailure, parse_assignment_failures};
pub use state::WorkloadState;
pub use status_reason::{ReasonKind, StatusReason, status_reason};
pub use workload_row::{AdmissionCheckRow, Owner, PodSetRow, WorkloadRow};

//! Workloads as rows: requests, admission, state and status reason.

mod admission_row;
mod pending_reason;
mod state;
mod status_reason;
mod workload_row;

pub(crate) use admission_row::{AdmissionRow, PodSetAssignmentRow, TopologyAssignmentRow};
pub(crate) use state::WorkloadState;
pub(crate) use status_reason::{ReasonKind, StatusReason, status_reason};
pub(crate) use workload_row::{Owner, WorkloadRow};

//! Conditions of a Workload.
//!
//! Must not depend on the condition types.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

use crate::truncate::truncate_condition;
use crate::workload::predicates::generation;
use kueue_lab_api::v1beta2::Workload;

/// A condition with the current generation of the Workload.
pub fn condition(
    wl: &Workload,
    type_: &str,
    status: bool,
    reason: &str,
    message: impl Into<String>,
    now: Timestamp,
) -> Condition {
    Condition {
        type_: type_.to_owned(),
        status: if status { "True" } else { "False" }.to_owned(),
        reason: reason.to_owned(),
        message: truncate_condition(message.into()),
        last_transition_time: Time(now),
        observed_generation: Some(generation(wl)).filter(|&g| g != 0),
    }
}

//! The Active condition of queues.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta, Time};

use kueue_lab_api::constants as c;

/// The Active condition of an object.
pub(super) fn active_condition(
    meta: &ObjectMeta,
    now: jiff::Timestamp,
    active: bool,
    reason: &str,
    message: impl Into<String>,
) -> Condition {
    Condition {
        type_: c::ACTIVE.to_owned(),
        status: if active { "True" } else { "False" }.to_owned(),
        reason: reason.to_owned(),
        message: message.into(),
        last_transition_time: Time(now),
        observed_generation: meta.generation.filter(|g| *g != 0),
    }
}

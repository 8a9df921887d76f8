//! Conditions of a ProvisioningRequest and their timing, with the messages of cluster-autoscaler.

use std::time::Duration;

use jiff::Timestamp;

use super::QUEUED_PROVISIONING;
use super::capacity::CapacityResult;
use kueue_lab_api::provisioning_request::{
    ACCEPTED, BEST_EFFORT_ATOMIC_SCALE_UP, BOOKING_EXPIRED, FAILED, PROVISIONED,
    ProvisioningRequest,
};

/// Delay between acceptance and result of a request.
const PROCESSING_DELAY: Duration = Duration::from_secs(1);
/// Delay until a request without capacity is retried.
pub(super) const RETRY_INTERVAL: Duration = Duration::from_secs(10);
/// How long capacity is booked for a request.
const RESERVATION_TIME: Duration = Duration::from_secs(600);

/// Type, status, reason and message of a condition.
type NewCondition = (&'static str, &'static str, &'static str, String);

/// Conditions to set, and when to requeue.
pub(super) struct ConditionUpdate {
    pub(super) conditions: Vec<NewCondition>,
    pub(super) requeue_after: Option<Duration>,
}

/// The next step of a request.
pub(super) enum RequestState {
    /// Nothing to do.
    Finished,
    /// Requeue after this time.
    Wait(Duration),
    /// Set conditions that do not depend on the cluster.
    SetConditions(ConditionUpdate),
    /// Check the capacity.
    CheckCapacity,
}

/// Whether a request was accepted and is neither provisioned nor failed.
pub(super) fn is_waiting(request: &ProvisioningRequest) -> bool {
    request.is_condition_true(ACCEPTED)
        && !request.is_condition_true(PROVISIONED)
        && !request.is_condition_true(FAILED)
}

/// The next step of a request at `now`.
pub(super) fn request_state(request: &ProvisioningRequest, now: Timestamp) -> RequestState {
    if request.is_condition_true(FAILED) || request.is_condition_true(BOOKING_EXPIRED) {
        return RequestState::Finished;
    }
    let remaining = |since: Timestamp, time: Duration| {
        let passed = Duration::try_from(now.duration_since(since)).unwrap_or_default();
        time.checked_sub(passed)
            .filter(|remaining| !remaining.is_zero())
    };
    if let Some(provisioned) = request.true_condition(PROVISIONED) {
        return match remaining(provisioned.last_transition_time.0, RESERVATION_TIME) {
            Some(time) => RequestState::Wait(time),
            None => RequestState::SetConditions(ConditionUpdate {
                conditions: vec![(
                    BOOKING_EXPIRED,
                    "True",
                    "CapacityReservationTimeExpired",
                    "Capacity reservation time has expired.".into(),
                )],
                requeue_after: None,
            }),
        };
    }
    match request.true_condition(ACCEPTED) {
        None => RequestState::SetConditions(accepted(request)),
        Some(accepted) => match remaining(accepted.last_transition_time.0, PROCESSING_DELAY) {
            Some(time) => RequestState::Wait(time),
            None => RequestState::CheckCapacity,
        },
    }
}

/// The conditions of a request that is accepted. GKE sets all three conditions at once.
fn accepted(request: &ProvisioningRequest) -> ConditionUpdate {
    let mut conditions = vec![(
        ACCEPTED,
        "True",
        "Accepted",
        "ProvisioningRequest was accepted by ClusterAutoscaler.".into(),
    )];
    if request.spec.provisioning_class_name == QUEUED_PROVISIONING {
        conditions.push((
            PROVISIONED,
            "False",
            "NotProvisioned",
            "ProvisioningRequest is not provisioned yet.".into(),
        ));
        conditions.push((
            FAILED,
            "False",
            "NotFailed",
            "ProvisioningRequest has not failed.".into(),
        ));
    }
    ConditionUpdate {
        conditions,
        requeue_after: Some(PROCESSING_DELAY),
    }
}

/// The conditions for the result of a capacity check.
pub(super) fn conditions_for(
    request: &ProvisioningRequest,
    fits: &CapacityResult,
) -> ConditionUpdate {
    let class = request.spec.provisioning_class_name.as_str();
    match fits {
        CapacityResult::Found => ConditionUpdate {
            conditions: vec![(
                PROVISIONED,
                "True",
                if class == kueue_lab_api::provisioning_request::CHECK_CAPACITY {
                    "CapacityIsFound"
                } else {
                    "CapacityIsProvisioned"
                },
                "Capacity is found in the cluster.".into(),
            )],
            requeue_after: Some(RESERVATION_TIME),
        },
        CapacityResult::ScaleUp(_) => ConditionUpdate {
            conditions: vec![(
                PROVISIONED,
                "False",
                "CapacityIsNotProvisioned",
                "Nodes are being added; capacity is not provisioned yet.".into(),
            )],
            // A new node that is ready requeues the request.
            requeue_after: Some(RETRY_INTERVAL),
        },
        CapacityResult::TemplateNotFound(name) => ConditionUpdate {
            conditions: vec![(
                FAILED,
                "True",
                "FailedToCreatePods",
                format!("PodTemplate {name} was not found"),
            )],
            requeue_after: None,
        },
        CapacityResult::NotFound if class == BEST_EFFORT_ATOMIC_SCALE_UP => ConditionUpdate {
            conditions: vec![(
                FAILED,
                "True",
                "CapacityIsNotFound",
                "Capacity is not found, CA will not retry: no node group can grow that far.".into(),
            )],
            requeue_after: None,
        },
        CapacityResult::NotFound => ConditionUpdate {
            conditions: vec![(
                PROVISIONED,
                "False",
                "CapacityIsNotFound",
                if class == QUEUED_PROVISIONING {
                    "Waiting for resources. Currently there are not enough resources available to fulfill the request.".into()
                } else {
                    "Capacity is not found, CA will try to find it later.".into()
                },
            )],
            requeue_after: Some(RETRY_INTERVAL),
        },
    }
}

//! What is said to a ProvisioningRequest and when, in the words of the cluster autoscaler.

use std::time::Duration;

use jiff::Timestamp;

use super::QUEUED_PROVISIONING;
use super::capacity::Fits;
use kueue_lab_api::provisioning::{
    ACCEPTED, BEST_EFFORT_ATOMIC_SCALE_UP, BOOKING_EXPIRED, FAILED, PROVISIONED,
    ProvisioningRequest,
};

/// How long after a request was accepted it is answered.
const THINKS: Duration = Duration::from_secs(1);
/// How long new nodes take to come.
const NODES_COME: Duration = Duration::from_secs(30);
/// How long until a request that found no capacity is looked at again.
const AGAIN: Duration = Duration::from_secs(10);
/// How long capacity is kept for a request.
const BOOKED: Duration = Duration::from_secs(600);

/// Type, status, reason and message of a condition.
type Said = (&'static str, &'static str, &'static str, String);

/// Conditions to set, and when to look again.
pub(super) struct Answer {
    pub(super) conditions: Vec<Said>,
    pub(super) again: Option<Duration>,
}

/// What a request waits for.
pub(super) enum Standing {
    /// Nothing.
    Settled,
    /// Time.
    Wait(Duration),
    /// A word that needs no look at the cluster.
    Say(Answer),
    /// An answer.
    Ask,
}

/// Where a request stands.
pub(super) fn standing(request: &ProvisioningRequest, now: Timestamp) -> Standing {
    let condition = |kind: &str| {
        let all = &request.status.conditions;
        all.iter().find(|c| c.type_ == kind)
    };
    let holds = |kind: &str| condition(kind).is_some_and(|c| c.status == "True");
    if holds(FAILED) || holds(BOOKING_EXPIRED) {
        return Standing::Settled;
    }
    let left = |since: Timestamp, time: Duration| {
        let passed = Duration::try_from(now.duration_since(since)).unwrap_or_default();
        time.checked_sub(passed).filter(|left| !left.is_zero())
    };
    if let Some(provisioned) = condition(PROVISIONED).filter(|c| c.status == "True") {
        return match left(provisioned.last_transition_time.0, BOOKED) {
            Some(time) => Standing::Wait(time),
            None => Standing::Say(Answer {
                conditions: vec![(
                    BOOKING_EXPIRED,
                    "True",
                    "CapacityReservationTimeExpired",
                    "Capacity reservation time has expired.".into(),
                )],
                again: None,
            }),
        };
    }
    match condition(ACCEPTED).filter(|c| c.status == "True") {
        None => Standing::Say(Answer {
            conditions: vec![(
                ACCEPTED,
                "True",
                "Accepted",
                "ProvisioningRequest was accepted by ClusterAutoscaler.".into(),
            )],
            again: Some(THINKS),
        }),
        Some(accepted) => match left(accepted.last_transition_time.0, THINKS) {
            Some(time) => Standing::Wait(time),
            None => Standing::Ask,
        },
    }
}

/// The answer to a request whose pods fit, or do not.
pub(super) fn verdict(request: &ProvisioningRequest, fits: &Fits) -> Answer {
    let class = request.spec.provisioning_class_name.as_str();
    match fits {
        Fits::Now => Answer {
            conditions: vec![(
                PROVISIONED,
                "True",
                if class == super::CHECK_CAPACITY {
                    "CapacityIsFound"
                } else {
                    "CapacityIsProvisioned"
                },
                "Capacity is found in the cluster.".into(),
            )],
            again: Some(BOOKED),
        },
        Fits::WithMore(_) => Answer {
            conditions: vec![(
                PROVISIONED,
                "False",
                "CapacityIsNotProvisioned",
                "Nodes are being added; capacity is not provisioned yet.".into(),
            )],
            again: Some(NODES_COME),
        },
        Fits::NoTemplate(name) => Answer {
            conditions: vec![(
                FAILED,
                "True",
                "FailedToCreatePods",
                format!("PodTemplate {name} was not found"),
            )],
            again: None,
        },
        Fits::Never if class == BEST_EFFORT_ATOMIC_SCALE_UP => Answer {
            conditions: vec![(
                FAILED,
                "True",
                "CapacityIsNotFound",
                "Capacity is not found, CA will not retry: no node group can grow that far.".into(),
            )],
            again: None,
        },
        Fits::Never => Answer {
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
            again: Some(AGAIN),
        },
    }
}

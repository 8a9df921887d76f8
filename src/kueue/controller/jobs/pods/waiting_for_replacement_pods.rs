//! The WaitingForReplacementPods condition of a pod group.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_engine::workload::predicates;

const PODS_FAILED: &str = "PodsFailed";

/// The condition, if it has to change.
pub(super) fn waiting_for_replacement_pods_condition(
    wl: &Workload,
    missing: bool,
    now: Timestamp,
) -> Option<Condition> {
    let type_ = c::WAITING_FOR_REPLACEMENT_PODS;
    let old = wl.condition(type_);
    let (status, reason, message) = match (missing, old) {
        (false, None) => return None,
        (false, Some(old)) if old.status == "False" => return None,
        (false, Some(_)) => ("False", c::PODS_READY, "No pods need replacement"),
        (true, old) => match predicates::true_condition(wl, c::EVICTED) {
            Some(eviction) => ("True", eviction.reason.as_str(), eviction.message.as_str()),
            None => match old {
                Some(old) if old.status == "True" => return None,
                _ => ("True", PODS_FAILED, "Some Failed pods need replacement"),
            },
        },
    };
    let same = old.is_some_and(|o| {
        (o.status.as_str(), o.reason.as_str(), o.message.as_str()) == (status, reason, message)
    });
    (!same).then(|| Condition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        last_transition_time: Time(now),
        observed_generation: Some(predicates::generation(wl)).filter(|g| *g != 0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn condition_follows_missing_pods() {
        let now = Timestamp::UNIX_EPOCH;
        let mut wl = Workload::default();
        assert_eq!(
            waiting_for_replacement_pods_condition(&wl, false, now),
            None
        );
        let set = waiting_for_replacement_pods_condition(&wl, true, now).unwrap();
        assert_eq!(
            (set.status.as_str(), set.reason.as_str()),
            ("True", "PodsFailed")
        );
        wl.status.conditions.push(set);
        assert_eq!(waiting_for_replacement_pods_condition(&wl, true, now), None);
        let unset = waiting_for_replacement_pods_condition(&wl, false, now).unwrap();
        assert_eq!(
            (unset.status.as_str(), unset.reason.as_str()),
            ("False", "PodsReady")
        );
    }
}

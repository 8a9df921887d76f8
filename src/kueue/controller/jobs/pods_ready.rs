//! The PodsReady condition of a job's Workload.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::generic_job::GenericJob;
use super::integration_context::IntegrationContext;
use kueue_lab_api::constants::{self as c, pods_ready};
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_engine::messages::PODS_NOT_READY as NOT_READY;
use kueue_lab_engine::status::condition;
use kueue_lab_engine::workload::predicates;

const WAITING: &str = "At least one pod has failed, waiting for recovery";
const READY: &str = "All pods reached readiness and the workload is running";

/// The condition, if it has to change.
pub(super) fn generate_pods_ready_condition(
    env: &IntegrationContext,
    job: &dyn GenericJob,
    wl: &Workload,
) -> Option<Condition> {
    let old = wl.condition(c::PODS_READY);
    let ready = || job.pods_ready(env);
    let (status, reason, message) = pods_ready_status(predicates::is_admitted(wl), old, ready);
    let same = old.is_some_and(|old| {
        let text = if status { "True" } else { "False" };
        old.status == text && old.reason == reason
    });
    (!same).then(|| condition(wl, c::PODS_READY, status, reason, message, env.shared.now()))
}

fn pods_ready_status(
    admitted: bool,
    old: Option<&Condition>,
    ready: impl Fn() -> bool,
) -> (bool, &'static str, &'static str) {
    if !admitted {
        return (false, pods_ready::WAIT_FOR_START, NOT_READY);
    }
    let old_reason = old.map(|old| old.reason.as_str());
    let recovering = old_reason == Some(pods_ready::WAIT_FOR_RECOVERY);
    if ready() {
        let again = recovering || old_reason == Some(pods_ready::RECOVERED);
        let reason = if again {
            pods_ready::RECOVERED
        } else {
            pods_ready::STARTED
        };
        return (true, reason, READY);
    }
    match old.is_some_and(|old| old.status == "True") || recovering {
        true => (false, pods_ready::WAIT_FOR_RECOVERY, WAITING),
        false => (false, pods_ready::WAIT_FOR_START, NOT_READY),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    fn old(status: &str, reason: &str) -> Condition {
        Condition {
            type_: c::PODS_READY.into(),
            status: status.into(),
            reason: reason.into(),
            message: String::new(),
            last_transition_time: Time(jiff::Timestamp::UNIX_EPOCH),
            observed_generation: None,
        }
    }

    #[test]
    fn pods_ready_reasons_of_start_failure_and_recovery() {
        let of = |admitted, old: Option<Condition>, ready| {
            pods_ready_status(admitted, old.as_ref(), || ready).1
        };
        assert_eq!(of(false, None, true), "WaitForStart");
        assert_eq!(of(true, None, false), "WaitForStart");
        assert_eq!(
            of(true, Some(old("False", "WaitForStart")), true),
            "Started"
        );
        assert_eq!(
            of(true, Some(old("True", "Started")), false),
            "WaitForRecovery"
        );
        assert_eq!(
            of(true, Some(old("False", "WaitForRecovery")), false),
            "WaitForRecovery"
        );
        assert_eq!(
            of(true, Some(old("False", "WaitForRecovery")), true),
            "Recovered"
        );
        assert_eq!(of(true, Some(old("True", "Recovered")), true), "Recovered");
        assert_eq!(
            of(false, Some(old("True", "Started")), true),
            "WaitForStart"
        );
    }
}

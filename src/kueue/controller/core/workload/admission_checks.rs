//! Admission checks of a Workload: syncs the list of checks and evicts on Retry or Rejected.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::deactivation::set_deactivation_target;
use super::evict::evict;
use super::workload_controller::record_event;
use super::workload_queues::WorkloadQueues;
use crate::ControllerContext;
use crate::update;
use crate::workload_patching::{self, StatusApplyMode};
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::{AdmissionCheckState, CheckState, Workload};
use kueue_lab_engine::messages::EventType;
use kueue_lab_engine::status::{Eviction, admission_checks_for_workload};
use kueue_lab_engine::workload::predicates;

/// The latest retry time that a check in state Retry requests.
fn retry_time(wl: &Workload) -> Option<Timestamp> {
    let retries = wl
        .status
        .admission_checks
        .iter()
        .filter(|check| check.state == CheckState::Retry);
    let times = retries.filter_map(|check| {
        let after = SignedDuration::from_secs(check.requeue_after_seconds?.into());
        check
            .last_transition_time
            .as_ref()?
            .0
            .checked_add(after)
            .ok()
    });
    times.max()
}

/// Sets `requeueState.requeueAt` from checks in state Retry. True if it was written.
pub(super) async fn set_requeue_time(
    shared: &ControllerContext,
    wl: &Arc<Workload>,
) -> kube::Result<bool> {
    let now = shared.now();
    let Some(at) = retry_time(wl).filter(|at| *at > now) else {
        return Ok(false);
    };
    let known = wl
        .status
        .requeue_state
        .as_ref()
        .and_then(|s| s.requeue_at.as_ref());
    if known.is_some_and(|known| known.0 >= at) {
        return Ok(false);
    }
    workload_patching::patch_admission_status(shared, wl, StatusApplyMode::Strict, |wl| {
        wl.status.requeue_state.get_or_insert_default().requeue_at = Some(Time(at));
        true
    })
    .await?;
    Ok(true)
}

/// Syncs the list of checks with the ClusterQueue. True if it was written.
pub(super) async fn sync_admission_checks(
    shared: &ControllerContext,
    wl: &Arc<Workload>,
    queues: &WorkloadQueues,
) -> kube::Result<bool> {
    let Some(cq) = &queues.cluster_queue else {
        return Ok(false);
    };
    if super::concurrent_admission::is_concurrent_admission_parent(shared, wl) {
        return Ok(false);
    }
    let needed = admission_checks_for_workload(wl, &cq.spec);
    let Some(checks) = synced_check_states(&wl.status.admission_checks, &needed, shared.now())
    else {
        return Ok(false);
    };
    let mut after = Workload::clone(wl);
    after.status.admission_checks = checks;
    let api = workload_patching::workload_api(shared, predicates::namespace(wl));
    let written = update::update_status(&api, &after).await?;
    shared.informers.workloads.observe_write(written);
    Ok(true)
}

/// The synced list of checks; None if it is unchanged.
fn synced_check_states(
    known: &[AdmissionCheckState],
    needed: &BTreeSet<String>,
    now: Timestamp,
) -> Option<Vec<AdmissionCheckState>> {
    if needed.is_empty() {
        return (!known.is_empty()).then(Vec::new);
    }
    let missing = needed
        .iter()
        .filter(|name| !known.iter().any(|check| check.name == **name));
    let missing: Vec<AdmissionCheckState> = missing
        .map(|name| AdmissionCheckState {
            name: name.clone(),
            state: CheckState::Pending,
            last_transition_time: Some(Time(now)),
            ..Default::default()
        })
        .collect();
    if missing.is_empty() && known.len() <= needed.len() {
        return None;
    }
    let mut checks: Vec<AdmissionCheckState> = known
        .iter()
        .filter(|check| needed.contains(&check.name))
        .cloned()
        .chain(missing)
        .collect();
    checks.sort_by(|a, b| a.name.cmp(&b.name));
    Some(checks)
}

/// `AdmissionCheck in Retry state: "a" (why)`, for all checks in that state.
fn build_admission_checks_message(wl: &Workload, state: CheckState) -> String {
    let checks = wl
        .status
        .admission_checks
        .iter()
        .filter(|check| check.state == state);
    let mut checks: Vec<&AdmissionCheckState> = checks.collect();
    checks.sort_by(|a, b| a.name.cmp(&b.name));
    let parts = checks.iter().map(|check| {
        if check.message.is_empty() {
            format!("\"{}\"", check.name)
        } else {
            format!("\"{}\" ({})", check.name, check.message)
        }
    });
    let parts: Vec<String> = parts.collect();
    let noun = if checks.len() > 1 {
        "AdmissionChecks"
    } else {
        "AdmissionCheck"
    };
    format!("{noun} in {state} state: {}", parts.join("; "))
}

/// Evicts a Workload with a check in state Retry, and sets DeactivationTarget on one with a
/// Rejected check. True if either was written.
pub(super) async fn reconcile_check_based_eviction(
    shared: &ControllerContext,
    wl: &Arc<Workload>,
) -> kube::Result<bool> {
    if super::concurrent_admission::is_concurrent_admission_parent(shared, wl) {
        return Ok(false);
    }
    let has = |state| {
        wl.status
            .admission_checks
            .iter()
            .any(|check| check.state == state)
    };
    if predicates::is_evicted(wl) || !(has(CheckState::Retry) || has(CheckState::Rejected)) {
        return Ok(false);
    }
    if has(CheckState::Rejected) {
        let message = build_admission_checks_message(wl, CheckState::Rejected);
        set_deactivation_target(shared, wl, c::evicted::ADMISSION_CHECK, &message, |_| {}).await?;
        let message = format!("Deactivated due to {message}");
        record_event(
            shared,
            wl,
            EventType::Warning,
            c::event::ADMISSION_CHECK_REJECTED,
            message,
        );
        return Ok(true);
    }
    let message = format!(
        "Evicted due to {}",
        build_admission_checks_message(wl, CheckState::Retry)
    );
    let eviction = Eviction::new(c::evicted::ADMISSION_CHECK, message);
    evict(shared, wl, &eviction, |_| {}).await?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, state: CheckState, message: &str) -> AdmissionCheckState {
        AdmissionCheckState {
            name: name.into(),
            state,
            message: message.into(),
            ..Default::default()
        }
    }

    #[test]
    fn failed_checks_are_sorted_by_name() {
        let mut wl = Workload::named("wl");
        wl.status.admission_checks = vec![
            check("b", CheckState::Retry, "no room"),
            check("c", CheckState::Ready, ""),
            check("a", CheckState::Retry, ""),
        ];
        assert_eq!(
            build_admission_checks_message(&wl, CheckState::Retry),
            "AdmissionChecks in Retry state: \"a\"; \"b\" (no room)"
        );
        assert_eq!(
            build_admission_checks_message(&wl, CheckState::Ready),
            "AdmissionCheck in Ready state: \"c\""
        );
    }

    #[test]
    fn checks_are_synced_with_the_cluster_queue() {
        let now = Timestamp::UNIX_EPOCH;
        let needed = |names: &[&str]| {
            names
                .iter()
                .map(|n| (*n).to_owned())
                .collect::<BTreeSet<_>>()
        };
        let known = vec![check("b", CheckState::Ready, "")];
        assert_eq!(synced_check_states(&known, &needed(&["b"]), now), None);
        let names = |checks: Option<Vec<AdmissionCheckState>>| {
            checks.map(|c| c.into_iter().map(|c| c.name).collect::<Vec<_>>())
        };
        let got = names(synced_check_states(&known, &needed(&["a", "b"]), now));
        assert_eq!(got, Some(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(
            names(synced_check_states(&known, &needed(&[]), now)),
            Some(vec![])
        );
        assert_eq!(
            names(synced_check_states(&known, &needed(&["c"]), now)),
            Some(vec!["c".to_owned()])
        );
    }
}

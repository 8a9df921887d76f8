//! The incremental dispatcher: nominates some clusters, and more of them every five minutes.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use kueue_lab_controller_runtime::{ObjectKey, ReconcileResult, WorkQueue};
use parking_lot::Mutex;

use super::context::MultiKueueContext;
use crate::enqueue_request::enqueue_request_for_object;
use crate::jobs::error::JobError;
use crate::workload_patching::{StatusApplyMode, patch_admission_status};
use kueue_lab_api::config::Feature;
use kueue_lab_engine::workload::predicates;

/// The duration of a round.
const ROUND_TIMEOUT: Duration = Duration::from_secs(5 * 60);
/// The number of clusters that a round adds, unless it is configured.
const DEFAULT_STEP_SIZE: usize = 3;

/// The start of the round of a Workload.
type RoundStartTimes = Mutex<HashMap<ObjectKey, Timestamp>>;

/// Starts the dispatcher.
pub(super) fn start(mk: &MultiKueueContext) {
    let queue = WorkQueue::new(&mk.shared.ctx);
    enqueue_request_for_object(&mk.shared.informers.workloads, &queue);
    let (reconciled, rounds) = (mk.clone(), std::sync::Arc::new(RoundStartTimes::default()));
    let name = "multikueue-incremental-dispatcher";
    queue.run(&mk.shared.ctx, name, 1, move |key| {
        let (mk, rounds) = (reconciled.clone(), rounds.clone());
        async move { reconcile(&mk, &key, &rounds).await }
    });
}

async fn reconcile(
    mk: &MultiKueueContext,
    key: &ObjectKey,
    rounds: &RoundStartTimes,
) -> Result<ReconcileResult, JobError> {
    let wl = mk.shared.informers.workloads.get(key);
    let Some(wl) = wl.filter(|wl| wl.metadata.deletion_timestamp.is_none()) else {
        rounds.lock().remove(key);
        return Ok(ReconcileResult::Done);
    };
    let check = mk.multikueue_check(&wl);
    let elastic = predicates::is_elastic(&wl, &mk.shared.engine_gates);
    let Some(check) =
        check.filter(|c| !predicates::should_skip_cluster_nomination(&wl, Some(c), elastic))
    else {
        return Ok(ReconcileResult::Done);
    };
    let config = mk.config_for_check(&check.name);
    let config = config.map_err(|error| JobError::Retryable(error.to_string()))?;
    if predicates::is_finished(&wl) || !predicates::has_quota_reservation(&wl) {
        rounds.lock().remove(key);
        return Ok(ReconcileResult::Done);
    }
    let now = mk.shared.now();
    let started = rounds.lock().get(key).copied();
    if let Some(remaining) = started.and_then(|started| remaining(started, now)) {
        return Ok(ReconcileResult::RequeueAfter(remaining));
    }
    let settings = &mk.shared.settings;
    let in_config_order =
        settings.enabled(Feature::MultiKueueIncrementalDispatcherRespectConfigOrder);
    let configured = settings.enabled(Feature::MultiKueueIncrementalDispatcherConfig);
    let step_size = mk.step_size().filter(|_| configured);
    let nominated = &wl.status.nominated_cluster_names;
    let next = next_nominated_workers(
        nominated,
        &config.spec.clusters,
        step_size.unwrap_or(DEFAULT_STEP_SIZE),
        in_config_order,
    );
    if next.is_empty() {
        return Err(JobError::Retryable(
            "no more workers to nominate".to_owned(),
        ));
    }
    patch_admission_status(&mk.shared, &wl, StatusApplyMode::Strict, |wl| {
        wl.status.nominated_cluster_names.extend(next);
        true
    })
    .await?;
    rounds.lock().insert(key.clone(), now);
    Ok(ReconcileResult::Done)
}

/// The rest of a round; None if it is over.
fn remaining(started: Timestamp, now: Timestamp) -> Option<Duration> {
    let timeout = SignedDuration::try_from(ROUND_TIMEOUT).ok()?;
    let remaining = timeout - now.duration_since(started);
    // The round includes its end.
    let remaining = remaining.max(SignedDuration::from_nanos(i64::from(remaining.is_zero())));
    Duration::try_from(remaining).ok().filter(|r| !r.is_zero())
}

fn next_nominated_workers(
    nominated: &[String],
    clusters: &[String],
    step_size: usize,
    in_config_order: bool,
) -> Vec<String> {
    let nominated: BTreeSet<&String> = nominated.iter().collect();
    let workers = clusters.iter().filter(|name| !nominated.contains(name));
    let mut workers: Vec<String> = workers.cloned().collect();
    if !in_config_order {
        workers.sort();
    }
    workers.truncate(step_size);
    workers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_round_adds_the_next_clusters() {
        let names = |text: &str| -> Vec<String> { text.split(' ').map(str::to_owned).collect() };
        let all = names("d b a c");
        assert_eq!(next_nominated_workers(&[], &all, 3, true), names("d b a"));
        assert_eq!(next_nominated_workers(&[], &all, 3, false), names("a b c"));
        let nominated = names("d b a");
        assert_eq!(
            next_nominated_workers(&nominated, &all, 3, true),
            names("c")
        );
        assert!(next_nominated_workers(&all, &all, 3, true).is_empty());
    }
}

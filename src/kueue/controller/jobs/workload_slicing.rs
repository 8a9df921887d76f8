//! Elastic jobs: Workload slices.
//!
//! A job that scales up while it has a quota reservation gets a new slice, which replaces the old
//! one when it is admitted. When a job scales down or is pending, the counts of its slice are
//! updated in place.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::error::JobError;
use super::generic_job::GenericJob;
use super::integration_context::IntegrationContext;
use super::patching::{finish_workload, update_workload};
use super::{construct_workload, workload_priority};
use kueue_lab_api::constants::finished;
use kueue_lab_api::v1beta2::{PodSet, Workload};
use kueue_lab_engine::workload::{WorkloadKey, predicates};
use kueue_lab_engine::workload_slicing::replacement_for_key;

/// The time for the scheduler to finish a slice after it reserved quota for the replacement. It
/// does so with its next request; without a network in between, the watch would report the
/// reservation before.
const FINISH_REPLACED_SLICE_TIME: Duration = Duration::from_millis(100);

type PodSetsCounts<'a> = BTreeMap<&'a str, i32>;

fn pod_sets_counts(pod_sets: &[PodSet]) -> PodSetsCounts<'_> {
    pod_sets
        .iter()
        .map(|ps| (ps.name.as_str(), ps.count))
        .collect()
}

fn has_fewer_pods_than(a: &PodSetsCounts<'_>, b: &PodSetsCounts<'_>) -> bool {
    a.iter()
        .any(|(name, count)| b.get(name).is_some_and(|other| count < other))
}

/// The result of [`ensure_workload_slices`].
pub(super) enum EnsuredSlice {
    /// The slice of the job, or none yet.
    Compatible(Option<Arc<Workload>>),
    /// The job changed in more than its counts and is treated as not elastic.
    Incompatible,
}

/// Finds or creates the slice of an elastic job.
///
/// # Errors
/// A field of the job cannot be parsed, or a request fails.
pub(super) async fn ensure_workload_slices(
    env: &IntegrationContext,
    job: &dyn GenericJob,
) -> Result<EnsuredSlice, JobError> {
    let wanted = construct_workload::job_pod_sets(env, job)?;
    let unfinished = env.not_finished_workloads(job.gvk(), job.meta());
    let selected = match unfinished.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        many => normalize_active_slices(env, many).await?,
    };
    let Some(wl) = selected else {
        return Ok(EnsuredSlice::Compatible(None));
    };
    let (new, old) = (pod_sets_counts(&wanted), pod_sets_counts(&wl.spec.pod_sets));
    if !new.keys().eq(old.keys()) {
        return Ok(EnsuredSlice::Incompatible);
    }
    if new == old {
        return Ok(EnsuredSlice::Compatible(Some(wl)));
    }
    let shrinks = has_fewer_pods_than(&new, &old) && !has_fewer_pods_than(&old, &new);
    if predicates::has_quota_reservation(&wl) && !shrinks {
        return Ok(EnsuredSlice::Compatible(None));
    }
    let mut changed = wl.as_ref().clone();
    for pod_set in &mut changed.spec.pod_sets {
        if let Some(count) = new.get(pod_set.name.as_str()) {
            pod_set.count = *count;
        }
    }
    Ok(EnsuredSlice::Compatible(Some(
        update_workload(env, &changed).await?,
    )))
}

/// Keeps the slice with a quota reservation and at most one replacement; finishes the others.
/// Returns the current slice.
async fn normalize_active_slices(
    env: &IntegrationContext,
    slices: &[Arc<Workload>],
) -> Result<Option<Arc<Workload>>, JobError> {
    let reserved = |wl: &Workload| predicates::has_quota_reservation(wl);
    let mut replacements: BTreeMap<WorkloadKey, &Arc<Workload>> = BTreeMap::new();
    for wl in slices.iter().filter(|wl| !predicates::is_evicted(wl)) {
        let Some(key) = replacement_for_key(wl) else {
            continue;
        };
        let better = replacements
            .get(&key)
            .is_none_or(|known| !reserved(known) && reserved(wl));
        if better {
            replacements.insert(key, wl);
        }
    }
    let (mut holder, mut newest) = (None, None);
    for wl in slices.iter().filter(|wl| !predicates::is_evicted(wl)) {
        newest = Some(wl);
        let replaced = replacements
            .get(&predicates::key(wl))
            .is_some_and(|r| reserved(r));
        if reserved(wl) && !replaced {
            holder = Some(wl);
        }
    }
    let follower = holder.and_then(|h| replacements.get(&predicates::key(h)).copied());
    let selected = follower.filter(|wl| !reserved(wl)).or(holder).or(newest);
    for wl in slices {
        let is_kept = |kept: Option<&Arc<Workload>>| kept.is_some_and(|kept| Arc::ptr_eq(kept, wl));
        if is_kept(selected) || is_kept(holder) {
            continue;
        }
        if !replacements.contains_key(&predicates::key(wl)) {
            let message = "The workload slice is out of sync with its parent job";
            finish_workload(env, wl, finished::OUT_OF_SYNC, message).await?;
            continue;
        }
        env.shared.ctx.clock.sleep(FINISH_REPLACED_SLICE_TIME).await;
        let newest = env.workload(predicates::namespace(wl), predicates::name(wl));
        if let Some(newest) = newest.filter(|newest| !predicates::is_finished(newest)) {
            let message = "Replaced to accommodate a new workload slice";
            finish_workload(env, &newest, finished::WORKLOAD_SLICE_REPLACED, message).await?;
        }
    }
    Ok(selected.cloned())
}

/// Syncs the priorities of the current slice and of the slice it replaces with the label of the
/// job.
///
/// # Errors
/// The class does not exist, or a request fails.
pub(super) async fn sync_workload_slice_priority(
    env: &IntegrationContext,
    job: &dyn GenericJob,
    present: Option<Arc<Workload>>,
) -> Result<Option<Arc<Workload>>, JobError> {
    let unfinished = env.not_finished_workloads(job.gvk(), job.meta());
    let holds =
        |wl: &&Arc<Workload>| predicates::has_quota_reservation(wl) && !predicates::is_evicted(wl);
    let kept = unfinished.iter().rev().find(holds).filter(|kept| {
        present
            .as_ref()
            .is_none_or(|wl| predicates::name(wl) != predicates::name(kept))
    });
    let has_present = present.is_some();
    let live = present.into_iter().chain(kept.cloned()).collect();
    let own = job.priority_class();
    let updated =
        workload_priority::update_workload_priority(env, &job.reference(), job.meta(), own, live)
            .await?;
    Ok(updated.into_iter().next().filter(|_| has_present))
}

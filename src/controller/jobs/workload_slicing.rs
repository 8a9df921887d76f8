//! Elastic jobs: which of a job's Workloads is its present slice.
//!
//! A job that grows while it holds quota gets a new slice beside the old one, which stays until the
//! new one has quota; a job that shrinks, or waits, has its counts changed in place.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::error::JobError;
use super::generic_job::GenericJob;
use super::integration_context::IntegrationContext;
use super::patching::{finish_workload, update_workload};
use super::{construct_workload, workload_priority};
use kueue_lab_admission::workload::{WorkloadKey, predicates};
use kueue_lab_admission::workload_slicing::replacement_for_key;
use kueue_lab_api::constants::finished;
use kueue_lab_api::v1beta2::{PodSet, Workload};

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

/// What the slices say of the job's Workload.
pub enum EnsuredSlice {
    /// This one, or a new one.
    Compatible(Option<Arc<Workload>>),
    /// The job changed in other ways than its counts: it is treated as any other job.
    Incompatible,
}

/// Finds the present slice of an elastic job.
///
/// # Errors
/// The job says something that cannot be read, or the server refuses.
pub async fn ensure_workload_slices(
    env: &IntegrationContext,
    job: &dyn GenericJob,
) -> Result<EnsuredSlice, JobError> {
    let wanted = construct_workload::job_pod_sets(env, job)?;
    let open = env.not_finished_workloads(job.gvk(), job.meta());
    let selected = match open.as_slice() {
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

/// Of several slices: one that holds quota and at most one that is to replace it stay, the others
/// are finished. Gives the one that stands for the job.
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
        let stays = |kept: Option<&Arc<Workload>>| kept.is_some_and(|kept| Arc::ptr_eq(kept, wl));
        if stays(selected) || stays(holder) {
            continue;
        }
        let (reason, message) = match replacements.contains_key(&predicates::key(wl)) {
            true => (
                finished::WORKLOAD_SLICE_REPLACED,
                "Replaced to accommodate a new workload slice",
            ),
            false => (
                finished::OUT_OF_SYNC,
                "The workload slice is out of sync with its parent job",
            ),
        };
        finish_workload(env, wl, reason, message).await?;
    }
    Ok(selected.cloned())
}

/// Brings the priorities of the present slice and of the one it waits behind in line with the job's
/// label.
///
/// # Errors
/// The class does not exist, or the server refuses.
pub async fn sync_workload_slice_priority(
    env: &IntegrationContext,
    job: &dyn GenericJob,
    present: Option<Arc<Workload>>,
) -> Result<Option<Arc<Workload>>, JobError> {
    let open = env.not_finished_workloads(job.gvk(), job.meta());
    let holds =
        |wl: &&Arc<Workload>| predicates::has_quota_reservation(wl) && !predicates::is_evicted(wl);
    let kept = open.iter().rev().find(holds).filter(|kept| {
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

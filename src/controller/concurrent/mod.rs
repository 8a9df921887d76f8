//! Concurrent admission: a Workload whose ClusterQueue has a policy for it stands for its variants,
//! one per flavor, that wait side by side. Of those admitted the one with the best flavor stays,
//! and the Workload is admitted where it is.
//!
//! One look at a family makes missing variants, deletes those whose flavor is gone, carries
//! evictions and admissions over to the Workload, wakes and puts to sleep variants by the policy,
//! and lets one variant at a time preempt. Who is admitted is decided by the engine alone.

mod activity;
mod family;
mod preemption;
mod status;
mod variants;

use std::sync::Arc;
use std::time::Duration;

use self::family::Family;
use super::Shared;
use super::events::Telling;
use super::informers::{BY_CLUSTER_QUEUE, BY_QUEUE};
use super::patch;
use kueue_lab_admission::concurrent::{is_parent, parent};
use kueue_lab_admission::messages::EventType;
use kueue_lab_admission::workload::predicates;
use kueue_lab_api::config::Feature;
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::{ClusterQueue, Workload};
use kueue_lab_runtime::{Change, ObjectKey, Outcome, WorkQueue};

const CONTROLLER: &str = "concurrent-admission-controller";
const WORKERS: usize = 10;
/// Changes of a ClusterQueue are looked at after this.
const BATCH: Duration = Duration::from_secs(1);

/// Starts the controller, where its gate is on. The informers have to be in sync.
pub(super) fn start(shared: &Shared) {
    if !shared.settings.enabled(Feature::ConcurrentAdmission) {
        return;
    }
    let queue = WorkQueue::new(&shared.ctx);
    let told = queue.clone();
    shared.informers.workloads.subscribe(move |change| {
        let (Change::Added(wl) | Change::Updated { new: wl, .. } | Change::Deleted(wl)) = change;
        if let Some(key) = family_of(wl) {
            told.add(key);
        }
    });
    let (told, s) = (queue.clone(), shared.clone());
    shared.informers.cluster_queues.subscribe(move |change| {
        if let Change::Updated { old, new } = change
            && flavors(old) != flavors(new)
        {
            for key in families_in(&s, new) {
                told.add_after(key, BATCH);
            }
        }
    });
    let s = shared.clone();
    queue.run(&shared.ctx, "concurrent-admission", WORKERS, move |key| {
        let shared = s.clone();
        async move { reconcile(&shared, &key).await }
    });
}

/// The Workload that stands for this one, or itself if it stands for others.
fn family_of(wl: &Workload) -> Option<ObjectKey> {
    if is_parent(wl) {
        return Some(ObjectKey::of(wl));
    }
    let (name, _) = parent(wl).filter(|(name, _)| !name.is_empty())?;
    Some(ObjectKey::new(predicates::namespace(wl), name))
}

fn flavors(cq: &ClusterQueue) -> Vec<Vec<&str>> {
    let groups = cq.spec.resource_groups.iter();
    groups
        .map(|group| group.flavors.iter().map(|f| f.name.as_str()).collect())
        .collect()
}

fn families_in(shared: &Shared, cq: &ClusterQueue) -> Vec<ObjectKey> {
    let name = ObjectKey::of(cq).name;
    let queues = shared.informers.local_queues.by(BY_CLUSTER_QUEUE, &name);
    let workloads = queues.iter().flat_map(|lq| {
        let key = ObjectKey::of(lq.as_ref());
        let index = format!("{}/{}", key.namespace, key.name);
        shared.informers.workloads.by(BY_QUEUE, &index)
    });
    workloads
        .filter(|wl| is_parent(wl))
        .map(|wl| ObjectKey::of(wl.as_ref()))
        .collect()
}

async fn reconcile(shared: &Shared, key: &ObjectKey) -> kube::Result<Outcome> {
    let workload = shared.informers.workloads.get(key);
    let Some(parent) = workload.filter(|wl| is_parent(wl)) else {
        return Ok(Outcome::Done);
    };
    let Some(mut family) = Family::of(shared, parent) else {
        // Its queue is not there yet.
        return Ok(Outcome::Retry);
    };
    variants::create(shared, &family).await?;
    variants::delete_stale(shared, &mut family).await?;
    if status::carry_eviction(shared, &mut family).await? {
        return Ok(Outcome::Done);
    }
    activity::put_to_sleep(shared, &mut family).await?;
    activity::wake(shared, &mut family).await?;
    patch::ignore_not_found(status::carry_admission(shared, &mut family).await)?;
    let next = preemption::let_one(shared, &mut family).await?;
    Ok(next.map_or(Outcome::Done, Outcome::After))
}

fn tell(shared: &Shared, wl: &Workload, reason: &str, message: String) {
    let telling = Telling::new(CONTROLLER, EventType::Normal, reason, message);
    shared.recorder.tell(wl, telling);
}

/// `"namespace/name"`, quoted.
fn quoted(wl: &Workload) -> String {
    format!("{:?}", predicates::key(wl).to_string())
}

/// Keeps what was written in place of what it was made from.
fn renew(kept: &mut Arc<Workload>, written: Option<Arc<Workload>>) {
    if let Some(written) = written {
        *kept = written;
    }
}

/// Whether a Workload is active and so are all reasons to admit it.
fn is_admissible(shared: &Shared, wl: &Workload) -> bool {
    predicates::is_admissible(wl, &shared.engine().config().gates)
}

/// A condition that says something holds.
fn holds(wl: &Workload, type_: &str) -> bool {
    predicates::true_condition(wl, type_).is_some()
}

/// Whether a Workload is evicted and still has its quota.
fn is_leaving(wl: &Workload) -> bool {
    holds(wl, c::EVICTED) && predicates::has_quota_reservation(wl)
}

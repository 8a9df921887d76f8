//! Running the controllers of kinds whose jobs are one object each.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;

use super::env::Env;
use super::frameworks::{Gvk, controller_of};
use super::job::{JobKind, JobObject};
use super::losses;
use super::marks;
use super::reconcile::reconcile;
use super::single::Single;
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_runtime::{Change, Informer, ObjectKey, WorkQueue};

/// Index of jobs by the UIDs of their owners.
pub const BY_OWNER: &str = "owner";
/// How many jobs of a kind are reconciled at once where the configuration does not say.
const WORKERS: usize = 5;

/// The key of an object.
pub fn key_of(meta: &ObjectMeta) -> ObjectKey {
    ObjectKey {
        namespace: marks::namespace(meta).to_owned(),
        name: marks::name(meta).to_owned(),
    }
}

/// The object that a change leaves, or the one that went.
pub fn subject<K>(change: &Change<K>) -> &Arc<K> {
    match change {
        Change::Added(object) | Change::Updated { new: object, .. } | Change::Deleted(object) => {
            object
        }
    }
}

/// The job that controls a Workload, where it is of this kind.
pub fn controlling_job(wl: &Workload, gvk: &Gvk) -> Option<ObjectKey> {
    let owner = controller_of(&wl.metadata).filter(|owner| gvk.is_of(owner))?;
    Some(ObjectKey {
        namespace: marks::namespace(&wl.metadata).to_owned(),
        name: owner.name.clone(),
    })
}

/// How many of a kind are reconciled at once.
pub fn workers(env: &Env, gvk: &Gvk) -> usize {
    let name = match gvk.group.is_empty() {
        true => gvk.kind.to_string(),
        false => format!("{}.{}", gvk.kind, gvk.group),
    };
    let controller = env.shared.settings.configuration.controller.as_ref();
    let asked = controller.and_then(|c| c.group_kind_concurrency.get(&name));
    asked
        .and_then(|n| usize::try_from(*n).ok())
        .filter(|n| *n > 0)
        .unwrap_or(WORKERS)
}

/// Starts the controller of a kind.
pub fn start<K: JobKind>(env: &Env, informer: &Informer<K::Object>)
where
    K::Object: Default,
{
    let queue: WorkQueue<ObjectKey> = WorkQueue::new(&env.shared.ctx);
    let jobs = queue.clone();
    informer.subscribe(move |change| jobs.add(key_of(subject(change).meta())));
    let (owners, children) = (queue.clone(), informer.clone());
    let (losses, clock) = (env.losses.clone(), env.shared.ctx.clock.clone());
    env.shared.informers.workloads.subscribe(move |change| {
        let wl = subject(change);
        if let Some(job) = controlling_job(wl, &K::GVK) {
            match losses.note(change, clock.now()) {
                true => owners.add_after(job, losses::RECENT),
                false => owners.add(job),
            }
        }
        // Jobs that are part of the job whose Workload this is.
        if let Some(owner) = controller_of(&wl.metadata) {
            for child in children.by(BY_OWNER, &owner.uid) {
                owners.add(key_of(child.meta()));
            }
        }
    });
    let (env_, informer) = (env.clone(), informer.clone());
    let workers = workers(env, &K::GVK);
    queue.run(&env.shared.ctx, K::FRAMEWORK, workers, move |key| {
        let (env, informer) = (env_.clone(), informer.clone());
        async move {
            // Until all are known, a job that was not seen yet looks like one that is gone, and its
            // Workload would be finished.
            informer.synced().await;
            let mut job = Single::<K>::load(&informer, &key);
            reconcile(&env, &mut job).await
        }
    });
}

/// The UIDs of the owners of an object.
pub fn owner_uids<O: JobObject>(object: &O) -> Vec<String> {
    let owners = object.meta().owner_references.iter().flatten();
    owners.map(|owner| owner.uid.clone()).collect()
}

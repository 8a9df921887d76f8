//! The generic reconciler of single-object kinds: event handlers and work queue.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;

use super::generic_job::{JobKind, JobObject};
use super::integration_context::IntegrationContext;
use super::integration_manager::Gvk;
use super::reconciler::reconcile_generic_job;
use super::single_object_job::SingleObjectJob;
use crate::object_meta;
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_controller_runtime::{Informer, ObjectKey, WorkQueue, controller_of};

/// Index of jobs by the UIDs of their owners.
pub(super) const BY_OWNER_UID: &str = "owner";
/// Default concurrency of a kind, without `groupKindConcurrency`.
const DEFAULT_CONCURRENCY: usize = 5;

/// The key of an object.
pub(super) fn object_key(meta: &ObjectMeta) -> ObjectKey {
    ObjectKey {
        namespace: object_meta::namespace(meta).to_owned(),
        name: object_meta::name(meta).to_owned(),
    }
}

/// The job that controls a Workload, if it is of this kind.
pub(super) fn controlling_job(wl: &Workload, gvk: &Gvk) -> Option<ObjectKey> {
    let owner = controller_of(&wl.metadata).filter(|owner| gvk.matches_owner(owner))?;
    Some(ObjectKey {
        namespace: object_meta::namespace(&wl.metadata).to_owned(),
        name: owner.name.clone(),
    })
}

/// The concurrency of a kind.
pub(super) fn group_kind_concurrency(env: &IntegrationContext, gvk: &Gvk) -> usize {
    let name = match gvk.group.is_empty() {
        true => gvk.kind.to_string(),
        false => format!("{}.{}", gvk.kind, gvk.group),
    };
    env.shared
        .settings
        .group_kind_concurrency(&name, DEFAULT_CONCURRENCY)
}

/// Starts the controller of a kind.
pub(super) fn start<K: JobKind>(env: &IntegrationContext, informer: &Informer<K::Object>)
where
    K::Object: Default,
{
    let queue: WorkQueue<ObjectKey> = WorkQueue::new(&env.shared.ctx);
    let jobs = queue.clone();
    informer.add_event_handler(move |change| jobs.add(object_key(change.object().meta())));
    K::watch(env, &queue);
    let (owners, children) = (queue.clone(), informer.clone());
    let (losses, clock) = (
        env.recent_quota_losses.clone(),
        env.shared.ctx.clock.clone(),
    );
    env.shared
        .informers
        .workloads
        .add_event_handler(move |change| {
            let wl = change.object();
            if let Some(job) = controlling_job(wl, &K::GVK) {
                match losses.record_change(change, clock.now()) {
                    true => owners.add_after(job, losses.recent_window()),
                    false => owners.add(job),
                }
            }
            // Children of the job that owns this Workload.
            if let Some(owner) = controller_of(&wl.metadata) {
                for child in children.by_index(BY_OWNER_UID, &owner.uid) {
                    owners.add(object_key(child.meta()));
                }
            }
        });
    let (env_, informer) = (env.clone(), informer.clone());
    let workers = group_kind_concurrency(env, &K::GVK);
    queue.run(&env.shared.ctx, K::FRAMEWORK, workers, move |key| {
        let (env, informer) = (env_.clone(), informer.clone());
        async move {
            // Before the first list completes, a job missing from the cache would be treated as
            // deleted and its Workload finished.
            informer.wait_for_cache_sync().await;
            let mut job = SingleObjectJob::<K>::load(&informer, &key);
            job.load_references(&env).await;
            job.load_pod_set_counts(&env).await?;
            reconcile_generic_job(&env, &mut job).await
        }
    });
}

/// The UIDs of the owners of an object.
pub(super) fn owner_uids<O: JobObject>(object: &O) -> Vec<String> {
    let owners = object.meta().owner_references.iter().flatten();
    owners.map(|owner| owner.uid.clone()).collect()
}

//! The Cohort controller: weighted share in the status, with fair sharing. Each reconciliation
//! requeues the inadmissible Workloads of the tree.
//!
//! A change of a ClusterQueue, its status included, enqueues its ancestors except the root, whose
//! share is constant. So a status change in a tree of one Cohort requeues nothing.

use crate::ControllerContext;
use crate::update;
use kueue_lab_api::v1beta2::{Cohort, FairSharingStatus};
use kueue_lab_controller_runtime::api_errors::ignore_not_found;
use kueue_lab_controller_runtime::{Api, Change, ObjectKey, ReconcileResult, WorkQueue};
use kueue_lab_engine::cache::CacheError;

pub(super) fn start(shared: &ControllerContext) {
    let queue = WorkQueue::new(&shared.ctx);
    let queue_handle = queue.clone();
    shared
        .informers
        .cohorts
        .add_event_handler(move |change| match change {
            Change::Added(cohort) => queue_handle.add(ObjectKey::of(cohort.as_ref())),
            Change::Updated { old, new } if old.spec != new.spec => {
                queue_handle.add(ObjectKey::of(new.as_ref()));
            }
            _ => {}
        });
    let (queue_handle, s) = (queue.clone(), shared.clone());
    shared
        .informers
        .cluster_queues
        .add_event_handler(move |change| {
            let cq = change.object();
            let terminating = cq.metadata.deletion_timestamp.is_some();
            if terminating && !matches!(change, Change::Deleted(_)) {
                return;
            }
            let above = cq
                .spec
                .cohort()
                .map(|name| s.engine().cohorts_below_root(name));
            for cohort in above.into_iter().flatten() {
                queue_handle.add(ObjectKey::cluster(&*cohort));
            }
        });
    let s = shared.clone();
    let workers = shared
        .settings
        .group_kind_concurrency("Cohort.kueue.x-k8s.io", 1);
    queue.run(&shared.ctx, "cohort", workers, move |key| {
        let shared = s.clone();
        async move { reconcile(&shared, &key).await }
    });
}

async fn reconcile(shared: &ControllerContext, key: &ObjectKey) -> kube::Result<ReconcileResult> {
    let Some(cohort) = shared.informers.cohorts.get(key) else {
        return Ok(ReconcileResult::Done);
    };
    let now = shared.now();
    shared.update_engine(|engine| engine.notify_retry_inadmissible_in_cohort(&key.name, now));
    let fair = shared.settings.configuration.fair_sharing.is_some();
    let share = fair.then(|| shared.engine().cohort_weighted_share(&key.name));
    let fair_sharing = match share {
        None => None,
        Some(Ok(weighted_share)) => Some(FairSharingStatus { weighted_share }),
        Some(Err(CacheError::CohortNotFound)) => return Ok(ReconcileResult::Requeue),
        Some(Err(_)) => return Ok(ReconcileResult::Done),
    };
    if cohort.status.fair_sharing == fair_sharing {
        return Ok(ReconcileResult::Done);
    }
    let mut cohort = Cohort::clone(&cohort);
    cohort.status.fair_sharing = fair_sharing;
    let api = Api::<Cohort>::all(shared.ctx.client.clone());
    if let Some(written) = ignore_not_found(update::update_status(&api, &cohort).await)? {
        shared.informers.cohorts.observe_write(written);
    }
    Ok(ReconcileResult::Done)
}

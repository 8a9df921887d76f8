//! The TTL-after-finished controller: deletes finished Jobs after `ttlSecondsAfterFinished`.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::batch::v1::Job;
use kube::ResourceExt;
use kube::api::{DeleteParams, Preconditions, PropagationPolicy};

use super::SharedInformers;
use super::job::conditions;
use kueue_lab_controller_runtime::api_errors::{is_conflict, is_not_found};
use kueue_lab_controller_runtime::{Api, Context, Informer, ObjectKey, ReconcileResult, WorkQueue};

const WORKERS: usize = 5;

/// Starts the controller in the tasks of `context`.
pub(crate) fn start(context: &Context, shared: &SharedInformers) {
    let queue: WorkQueue<ObjectKey> = WorkQueue::new(context);
    let due = queue.clone();
    shared.jobs.add_event_handler(move |change| {
        if let Some(at) = expiry(change.object()) {
            due.add_at(ObjectKey::of(change.object().as_ref()), at);
        }
    });
    let reaper = Arc::new(TtlAfterFinishedController {
        context: context.clone(),
        jobs: shared.jobs.clone(),
    });
    queue.run(context, "ttl-after-finished", WORKERS, move |key| {
        let reaper = reaper.clone();
        async move { reaper.reconcile(&key).await }
    });
}

/// When a finished Job with a TTL expires.
fn expiry(job: &Job) -> Option<Timestamp> {
    let seconds = job.spec.as_ref()?.ttl_seconds_after_finished?;
    let finished = conditions::finished(job)?.last_transition_time.as_ref()?.0;
    if job.metadata.deletion_timestamp.is_some() {
        return None;
    }
    finished
        .checked_add(SignedDuration::from_secs(seconds.into()))
        .ok()
}

struct TtlAfterFinishedController {
    context: Context,
    jobs: Informer<Job>,
}

impl TtlAfterFinishedController {
    async fn reconcile(&self, key: &ObjectKey) -> Result<ReconcileResult, kube::Error> {
        if self.jobs.get(key).is_none_or(|job| expiry(&job).is_none()) {
            return Ok(ReconcileResult::Done);
        }
        let api: Api<Job> = Api::namespaced(self.context.client.clone(), &key.namespace);
        // The current version decides about the deletion, not the cached one.
        let Some(job) = api.get_opt(&key.name).await? else {
            return Ok(ReconcileResult::Done);
        };
        let Some(at) = expiry(&job) else {
            return Ok(ReconcileResult::Done);
        };
        let remaining = at.duration_since(self.context.clock.now());
        if remaining > SignedDuration::ZERO {
            return Ok(ReconcileResult::RequeueAfter(remaining.unsigned_abs()));
        }
        let params = DeleteParams {
            propagation_policy: Some(PropagationPolicy::Foreground),
            preconditions: Some(Preconditions {
                uid: job.uid(),
                resource_version: job.resource_version(),
            }),
            ..DeleteParams::default()
        };
        match api.delete(&key.name, &params).await {
            Err(error) if is_conflict(&error) => Ok(ReconcileResult::Requeue),
            Err(error) if !is_not_found(&error) => Err(error),
            _ => Ok(ReconcileResult::Done),
        }
    }
}

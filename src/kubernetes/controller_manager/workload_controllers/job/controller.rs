//! The Job controller: event handlers, work queue, and the writes of a sync.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::batch::v1::{Job, JobStatus};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::PostParams;
use parking_lot::Mutex;

use super::backoff::Backoff;
use super::conditions;
use super::sync_job::{SyncPlan, sync_job};
use super::track_job_status::ManagedPods;
use super::{CONTROLLER_NAME, JOB_TRACKING_FINALIZER};
use crate::workload_controllers::SharedInformers;
use crate::workload_controllers::pod_control::PodControl;
use kueue_lab_controller_runtime::{
    Api, Change, Context, Informer, ObjectKey, ReconcileResult, WorkQueue, controller_of,
};
use kueue_lab_controller_utils::event_recorder::{EventRecorder, NewEvent};
use kueue_lab_controller_utils::pods;
use kueue_lab_controller_utils::pods::CONTROLLER_UID_INDEX;

/// Batch period for changes of pods.
const SYNC_JOB_BATCH_PERIOD: Duration = Duration::from_secs(1);
/// The same for a suspended Job. A real control plane batches for a second too, but from the last
/// of several consecutive writes: 1.1 to 1.4 s were measured on an idle machine until no pod was
/// counted, and more on a busy one.
const SUSPENDED_BATCH_PERIOD: Duration = Duration::from_millis(1_300);
/// Initial and maximum backoff of a Job that could not be written. The writer that suspends a Job
/// causes conflicts, which delays its counts accordingly.
const BACKOFF: (Duration, Duration) = (SUSPENDED_BATCH_PERIOD, Duration::from_secs(60));
const WORKERS: usize = 5;

/// Starts the controller in the tasks of `context`.
pub(crate) fn start(context: &Context, shared: &SharedInformers) {
    let recorder = shared.recorder.with_component("job-controller", None);
    let jobs = shared.jobs.clone();
    let controller = Arc::new(JobController {
        context: context.clone(),
        control: PodControl::new(context, shared.pods.clone(), recorder.clone()),
        recorder,
        pods: shared.pods.clone(),
        queue: WorkQueue::with_backoff(context, BACKOFF),
        orphans: WorkQueue::new(context),
        backoffs: Mutex::default(),
        jobs,
    });
    controller.subscribe();
    let (jobs, pods) = (controller.jobs.clone(), controller.pods.clone());
    let run = context.clone();
    context.tasks.spawn("job", async move {
        jobs.wait_for_cache_sync().await;
        pods.wait_for_cache_sync().await;
        let worker = controller.clone();
        controller.queue.run(&run, "job", WORKERS, move |key| {
            let worker = worker.clone();
            async move { worker.reconcile(key).await }
        });
        let worker = controller.clone();
        controller.orphans.run(&run, "job-orphan", 1, move |key| {
            let worker = worker.clone();
            async move { worker.sync_orphan_pod(key).await }
        });
    });
}

struct JobController {
    context: Context,
    jobs: Informer<Job>,
    pods: Informer<Pod>,
    control: PodControl,
    recorder: EventRecorder,
    queue: WorkQueue<ObjectKey>,
    /// Pods with the tracking finalizer that no active Job will remove.
    orphans: WorkQueue<ObjectKey>,
    backoffs: Mutex<HashMap<ObjectKey, Backoff>>,
}

impl JobController {
    fn subscribe(self: &Arc<Self>) {
        let (on_job, on_pod) = (Arc::downgrade(self), Arc::downgrade(self));
        self.jobs.add_event_handler(move |change| {
            if let Some(controller) = on_job.upgrade() {
                controller.job_changed(change);
            }
        });
        self.pods.add_event_handler(move |change| {
            if let Some(controller) = on_pod.upgrade() {
                controller.pod_changed(change);
            }
        });
    }

    fn job_changed(&self, change: &Change<Job>) {
        let job = change.object();
        let key = ObjectKey::of(job.as_ref());
        match change {
            Change::Updated { old, new } if old.metadata.generation == new.metadata.generation => {
                self.queue.add_after(key, batch_period(new));
            }
            _ => self.queue.add(key),
        }
        if matches!(change, Change::Deleted(_)) || conditions::is_finished(job) {
            let uid = job.uid().unwrap_or_default();
            for pod in self.pods.by_index(CONTROLLER_UID_INDEX, &uid) {
                self.enqueue_orphan_pod(&pod);
            }
        }
    }

    fn pod_changed(&self, change: &Change<Pod>) {
        let pod = change.object();
        let job = self.controlling_job(pod);
        match job {
            Some(job) if !conditions::is_finished(&job) => {
                let key = ObjectKey::of(job.as_ref());
                self.queue.add_after(key, batch_period(&job));
            }
            _ => self.enqueue_orphan_pod(pod),
        }
    }

    fn enqueue_orphan_pod(&self, pod: &Pod) {
        if pods::has_finalizer(pod, JOB_TRACKING_FINALIZER) {
            self.orphans.add(ObjectKey::of(pod));
        }
    }

    /// The Job that controls the pod, if it exists.
    fn controlling_job(&self, pod: &Pod) -> Option<Arc<Job>> {
        let owner = controller_of(&pod.metadata).filter(|o| is_job(&o.api_version, &o.kind))?;
        let key = ObjectKey::new(pod.namespace().unwrap_or_default(), owner.name.as_str());
        let job = self.jobs.get(&key)?;
        (job.metadata.uid.as_deref() == Some(owner.uid.as_str())).then_some(job)
    }

    async fn reconcile(&self, key: ObjectKey) -> Result<ReconcileResult, kube::Error> {
        let Some(job) = self.jobs.get(&key) else {
            self.backoffs.lock().remove(&key);
            return Ok(ReconcileResult::Done);
        };
        if is_managed_elsewhere(&job) {
            return Ok(ReconcileResult::Done);
        }
        let uid = job.uid().unwrap_or_default();
        let pods = self.pods.by_index(CONTROLLER_UID_INDEX, &uid);
        let backoff = self.backoffs.lock().get(&key).copied().unwrap_or_default();
        let (burst, now) = (
            self.control.burst_replicas(job.as_ref()),
            self.context.clock.now(),
        );
        let Some(mut decision) = sync_job(&job, &pods, backoff, burst, now) else {
            self.backoffs.lock().remove(&key);
            return Ok(ReconcileResult::Done);
        };
        let mut look_again = decision.requeue_after;
        let is_partial = decision.is_partial;
        let (acted, failure) = self.manage_pods(&job, &mut decision).await;
        if is_partial {
            let more_after = self.control.retry_after(job.as_ref());
            look_again = Some(look_again.map_or(more_after, |after| after.min(more_after)));
        }
        let settled = decision.track_job_status(acted, self.context.clock.now());
        let mut current = job;
        if let Some(status) = settled.status.clone() {
            current = self.update_status(&current, status).await?;
            self.backoffs.lock().insert(key, settled.backoff);
            // Recorded after the write: a conflict means a new sync.
            self.record_events(&current, settled.events.clone());
        }
        let (released, stuck) = self
            .control
            .remove_finalizers(&settled.pods_to_remove_finalizer, JOB_TRACKING_FINALIZER)
            .await;
        if let Some((status, events)) = settled.finish(&released, self.context.clock.now()) {
            let written = self.update_status(&current, status).await?;
            self.record_events(&written, events);
        }
        if let Some(error) = stuck.or(failure) {
            return Err(error);
        }
        Ok(look_again.map_or(ReconcileResult::Done, ReconcileResult::RequeueAfter))
    }

    /// Creates and deletes pods; returns the counts and the first error.
    async fn manage_pods(
        &self,
        job: &Arc<Job>,
        decision: &mut SyncPlan<'_>,
    ) -> (ManagedPods, Option<kube::Error>) {
        let mut acted = ManagedPods::default();
        let deletions = std::mem::take(&mut decision.deletions);
        let finalizer = decision
            .remove_finalizers_on_delete
            .then_some(JOB_TRACKING_FINALIZER);
        let deleted = self
            .control
            .delete(job.as_ref(), &deletions, finalizer)
            .await;
        acted.deleted = deleted.done.len();
        acted.deleted_ready = deleted.done.iter().filter(|p| pods::is_ready(p)).count();
        let creations = std::mem::take(&mut decision.creations);
        let created = self.control.create(job.as_ref(), creations).await;
        acted.created = created.done;
        (acted, deleted.error.or(created.error))
    }

    /// Writes the status and updates the informer.
    async fn update_status(&self, job: &Job, status: JobStatus) -> Result<Arc<Job>, kube::Error> {
        let namespace = job.namespace().unwrap_or_default();
        let api: Api<Job> = Api::namespaced(self.context.client.clone(), &namespace);
        let next = Job {
            metadata: job.metadata.clone(),
            spec: job.spec.clone(),
            status: Some(status),
        };
        let name = job.name_any();
        let written = api
            .replace_status(&name, &PostParams::default(), &next)
            .await?;
        let written = Arc::new(written);
        self.jobs.observe_write(written.clone());
        Ok(written)
    }

    fn record_events(&self, job: &Job, events: Vec<NewEvent>) {
        for event in events {
            self.recorder.event(job, event);
        }
    }

    /// Removes the tracking finalizer from an orphaned pod.
    async fn sync_orphan_pod(&self, key: ObjectKey) -> Result<ReconcileResult, kube::Error> {
        let Some(pod) = self.pods.get(&key) else {
            return Ok(ReconcileResult::Done);
        };
        if let Some(owner) = controller_of(&pod.metadata) {
            if !is_job(&owner.api_version, &owner.kind) {
                return Ok(ReconcileResult::Done);
            }
            let job = self.controlling_job(&pod);
            if job.is_some_and(|j| !conditions::is_finished(&j) || is_managed_elsewhere(&j)) {
                return Ok(ReconcileResult::Done);
            }
        }
        let (_, error) = self
            .control
            .remove_finalizers(&[pod], JOB_TRACKING_FINALIZER)
            .await;
        error.map_or(Ok(ReconcileResult::Done), Err)
    }
}

/// The batch period of a Job.
fn batch_period(job: &Job) -> Duration {
    match job.spec.as_ref().and_then(|spec| spec.suspend) {
        Some(true) => SUSPENDED_BATCH_PERIOD,
        _ => SYNC_JOB_BATCH_PERIOD,
    }
}

fn is_job(api_version: &str, kind: &str) -> bool {
    kind == "Job" && api_version == "batch/v1"
}

/// Whether `spec.managedBy` names another controller.
fn is_managed_elsewhere(job: &Job) -> bool {
    let manager = job.spec.as_ref().and_then(|s| s.managed_by.as_deref());
    manager.is_some_and(|name| name != CONTROLLER_NAME)
}

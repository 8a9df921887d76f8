//! Follows Jobs and their pods and carries out what is decided.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::batch::v1::{Job, JobStatus};
use k8s_openapi::api::core::v1::Pod;
use kube::api::PostParams;
use kube::{Api, ResourceExt};
use parking_lot::Mutex;

use super::conditions;
use super::decide::decide;
use super::settle::Acted;
use super::{Backoff, CONTROLLER_NAME, TRACKING};
use crate::recorder::{Note, Recorder};
use crate::workloads::claim::CONTROLLER;
use crate::workloads::pod_control::PodControl;
use crate::workloads::{Shared, pods};
use kueue_lab_runtime::{Change, Context, Informer, ObjectKey, Outcome, WorkQueue};

/// How long changes of pods are gathered before their Job is looked at.
const GATHER: Duration = Duration::from_secs(1);
/// The same of a Job that is suspended. A real control plane gathers them for a second too, but from
/// the last of several writes on, one after the other: whoever waits until no pod is counted any more
/// has waited 1.1 to 1.4 s on a machine of its own, and longer on one that is busy.
const STOPPING: Duration = Duration::from_millis(1_300);
/// How long a Job waits that could not be written: at first, and at most. One that is being stopped
/// is written by whoever stops it meanwhile, so that its counts come so much later.
const BACKOFF: (Duration, Duration) = (STOPPING, Duration::from_secs(60));
const WORKERS: usize = 5;

/// Starts the controller in the tasks of `context`.
pub fn start(context: &Context, shared: &Shared) {
    let recorder = shared.recorder.of("job-controller", None);
    let jobs = shared.jobs.clone();
    let controller = Arc::new(Controller {
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
        jobs.synced().await;
        pods.synced().await;
        let look = controller.clone();
        controller.queue.run(&run, "job", WORKERS, move |key| {
            let look = look.clone();
            async move { look.look(key).await }
        });
        let release = controller.clone();
        controller.orphans.run(&run, "job-orphan", 1, move |key| {
            let release = release.clone();
            async move { release.release_orphan(key).await }
        });
    });
}

struct Controller {
    context: Context,
    jobs: Informer<Job>,
    pods: Informer<Pod>,
    control: PodControl,
    recorder: Recorder,
    queue: WorkQueue<ObjectKey>,
    /// Pods with the tracking finalizer that no running Job will remove.
    orphans: WorkQueue<ObjectKey>,
    backoffs: Mutex<HashMap<ObjectKey, Backoff>>,
}

impl Controller {
    fn subscribe(self: &Arc<Self>) {
        let (on_job, on_pod) = (Arc::downgrade(self), Arc::downgrade(self));
        self.jobs.subscribe(move |change| {
            if let Some(controller) = on_job.upgrade() {
                controller.job_changed(change);
            }
        });
        self.pods.subscribe(move |change| {
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
                self.queue.add_after(key, gathering(new));
            }
            _ => self.queue.add(key),
        }
        if matches!(change, Change::Deleted(_)) || conditions::is_finished(job) {
            let uid = job.uid().unwrap_or_default();
            for pod in self.pods.by(CONTROLLER, &uid) {
                self.pod_orphaned(&pod);
            }
        }
    }

    fn pod_changed(&self, change: &Change<Pod>) {
        let pod = change.object();
        let job = self.job_of(pod);
        match job {
            Some(job) if !conditions::is_finished(&job) => {
                let key = ObjectKey::of(job.as_ref());
                self.queue.add_after(key, gathering(&job));
            }
            _ => self.pod_orphaned(pod),
        }
    }

    fn pod_orphaned(&self, pod: &Pod) {
        if pods::has_finalizer(pod, TRACKING) {
            self.orphans.add(ObjectKey::of(pod));
        }
    }

    /// The Job that controls the pod, where it is known.
    fn job_of(&self, pod: &Pod) -> Option<Arc<Job>> {
        let owner = pods::controller_of(pod).filter(|o| is_job(&o.api_version, &o.kind))?;
        let key = ObjectKey::new(pod.namespace().unwrap_or_default(), owner.name.as_str());
        let job = self.jobs.get(&key)?;
        (job.metadata.uid.as_deref() == Some(owner.uid.as_str())).then_some(job)
    }

    async fn look(&self, key: ObjectKey) -> Result<Outcome, kube::Error> {
        let Some(job) = self.jobs.get(&key) else {
            self.backoffs.lock().remove(&key);
            return Ok(Outcome::Done);
        };
        if is_managed_elsewhere(&job) {
            return Ok(Outcome::Done);
        }
        let uid = job.uid().unwrap_or_default();
        let pods = self.pods.by(CONTROLLER, &uid);
        let backoff = self.backoffs.lock().get(&key).copied().unwrap_or_default();
        let Some(mut decision) = decide(&job, &pods, backoff, self.context.clock.now()) else {
            self.backoffs.lock().remove(&key);
            return Ok(Outcome::Done);
        };
        let look_again = decision.look_again;
        let (acted, failure) = self.act(&job, &mut decision).await;
        let settled = decision.settle(acted, self.context.clock.now());
        let mut current = job;
        if let Some(status) = settled.status.clone() {
            current = self.write(&current, status).await?;
            self.backoffs.lock().insert(key, settled.backoff);
            // Told once it is true: a write that comes too late is decided anew.
            self.tell(&current, settled.notes.clone());
        }
        let (released, stuck) = self.control.release(&settled.releases, TRACKING).await;
        if let Some((status, notes)) = settled.finish(&released, self.context.clock.now()) {
            let written = self.write(&current, status).await?;
            self.tell(&written, notes);
        }
        if let Some(error) = stuck.or(failure) {
            return Err(error);
        }
        Ok(look_again.map_or(Outcome::Done, Outcome::After))
    }

    /// Creates and deletes pods; what came of it, and what went wrong first.
    async fn act(
        &self,
        job: &Arc<Job>,
        decision: &mut super::Decision<'_>,
    ) -> (Acted, Option<kube::Error>) {
        let mut acted = Acted::default();
        let deletions = std::mem::take(&mut decision.deletions);
        let finalizer = decision.uncounted_deletions.then_some(TRACKING);
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

    /// Writes the status and takes note of the answer.
    async fn write(&self, job: &Job, status: JobStatus) -> Result<Arc<Job>, kube::Error> {
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
        self.jobs.observe(written.clone());
        Ok(written)
    }

    fn tell(&self, job: &Job, notes: Vec<Note>) {
        for note in notes {
            self.recorder.note(job, note);
        }
    }

    /// Lets a pod go that nobody will count any more.
    async fn release_orphan(&self, key: ObjectKey) -> Result<Outcome, kube::Error> {
        let Some(pod) = self.pods.get(&key) else {
            return Ok(Outcome::Done);
        };
        if let Some(owner) = pods::controller_of(pod.as_ref()) {
            if !is_job(&owner.api_version, &owner.kind) {
                return Ok(Outcome::Done);
            }
            let job = self.job_of(&pod);
            if job.is_some_and(|j| !conditions::is_finished(&j) || is_managed_elsewhere(&j)) {
                return Ok(Outcome::Done);
            }
        }
        let (_, error) = self.control.release(&[pod], TRACKING).await;
        error.map_or(Ok(Outcome::Done), Err)
    }
}

/// How long changes around a Job are gathered.
fn gathering(job: &Job) -> Duration {
    match job.spec.as_ref().and_then(|spec| spec.suspend) {
        Some(true) => STOPPING,
        _ => GATHER,
    }
}

fn is_job(api_version: &str, kind: &str) -> bool {
    kind == "Job" && api_version == "batch/v1"
}

/// Whether `spec.managedBy` gives the Job to another controller.
fn is_managed_elsewhere(job: &Job) -> bool {
    let manager = job.spec.as_ref().and_then(|s| s.managed_by.as_deref());
    manager.is_some_and(|name| name != CONTROLLER_NAME)
}

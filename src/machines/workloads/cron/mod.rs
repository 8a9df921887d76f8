//! The CronJob controller: makes Jobs on a schedule.

mod decide;
mod schedule;

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::batch::v1::{CronJob, CronJobSpec, CronJobStatus, Job};
use kube::api::{DeleteParams, ObjectMeta, PostParams};
use kube::{Api, ResourceExt};

use self::decide::{Decision, Start, decide};
use crate::recorder::{Note, Recorder, reference};
use crate::workloads::claim::CONTROLLER;
use crate::workloads::{Shared, pods, template};
use kueue_lab_runtime::refusals::{is_conflict, is_namespace_going, is_not_found, message};
use kueue_lab_runtime::{Context, Informer, ObjectKey, Outcome, WorkQueue};

const WORKERS: usize = 2;
/// Annotation of a Job: the time it was scheduled for.
const SCHEDULED: &str = "batch.kubernetes.io/cronjob-scheduled-timestamp";

/// Starts the controller in the tasks of `context`.
pub fn start(context: &Context, shared: &Shared) {
    let queue: WorkQueue<ObjectKey> = WorkQueue::new(context);
    let controller = Arc::new(Controller {
        context: context.clone(),
        crons: Informer::builder(Api::all(context.client.clone())).start(context),
        jobs: shared.jobs.clone(),
        recorder: shared.recorder.of("cronjob-controller", None),
    });
    let on_cron = queue.clone();
    controller
        .crons
        .subscribe(move |change| on_cron.add(ObjectKey::of(change.object().as_ref())));
    let on_job = queue.clone();
    controller.jobs.subscribe(move |change| {
        let job = change.object();
        if let Some(owner) = pods::controller_of(job.as_ref()).filter(|o| o.kind == "CronJob") {
            let namespace = job.namespace().unwrap_or_default();
            on_job.add(ObjectKey::new(namespace, owner.name.as_str()));
        }
    });
    let run = context.clone();
    context.tasks.spawn("cronjob", async move {
        controller.crons.synced().await;
        controller.jobs.synced().await;
        queue.run(&run, "cronjob", WORKERS, move |key| {
            let controller = controller.clone();
            async move { controller.look(&key).await }
        });
    });
}

struct Controller {
    context: Context,
    crons: Informer<CronJob>,
    jobs: Informer<Job>,
    recorder: Recorder,
}

impl Controller {
    async fn look(&self, key: &ObjectKey) -> Result<Outcome, kube::Error> {
        let Some(cron) = self.crons.get(key) else {
            return Ok(Outcome::Done);
        };
        match self.step(&cron).await {
            Err(error) if is_not_found(&error) => Ok(Outcome::Done),
            Err(error) if is_conflict(&error) => Ok(Outcome::Retry),
            done => done,
        }
    }

    async fn step(&self, cron: &CronJob) -> Result<Outcome, kube::Error> {
        let spec = &cron.spec;
        let jobs = self.jobs.by(CONTROLLER, &cron.uid().unwrap_or_default());
        let Decision {
            mut status,
            start,
            delete,
            notes,
            again,
        } = decide(cron, spec, &jobs, self.context.clock.now());
        for note in notes {
            self.recorder.note(cron, note);
        }
        for job in delete {
            self.delete(cron, &job).await?;
        }
        if let Some(start) = start {
            self.start(cron, spec, &start, &mut status).await?;
        }
        self.write(cron, status).await?;
        Ok(again.map_or(Outcome::Done, Outcome::After))
    }

    async fn start(
        &self,
        cron: &CronJob,
        spec: &CronJobSpec,
        start: &Start,
        status: &mut CronJobStatus,
    ) -> Result<(), kube::Error> {
        for running in &start.replaces {
            self.delete(cron, running).await?;
            let gone = |uid: &Option<String>| *uid == running.uid();
            status
                .active
                .get_or_insert_default()
                .retain(|r| !gone(&r.uid));
        }
        let namespace = cron.namespace().unwrap_or_default();
        let api: Api<Job> = Api::namespaced(self.context.client.clone(), &namespace);
        let job = job(cron, spec, start.at);
        let made = match api.create(&PostParams::default(), &job).await {
            Ok(made) => {
                let text = format!("Created job {}", made.name_any());
                self.recorder
                    .note(cron, Note::normal("SuccessfulCreate", text));
                made
            }
            Err(kube::Error::Api(refusal)) if refusal.reason == "AlreadyExists" => {
                let known = api.get(&job.name_any()).await?;
                if pods::controller_of(&known).map(|o| o.uid.clone()) != cron.uid() {
                    return Ok(());
                }
                known
            }
            Err(error) => {
                if !is_namespace_going(&error) {
                    let text = format!("Error creating job: {}", message(&error));
                    self.recorder
                        .note(cron, Note::warning("FailedCreate", text));
                }
                return Err(error);
            }
        };
        let active = status.active.get_or_insert_default();
        if !active.iter().any(|r| r.uid == made.uid()) {
            active.push(reference(&made));
        }
        status.last_schedule_time = Some(decide::time(start.at));
        self.jobs.observe(Arc::new(made));
        Ok(())
    }

    async fn delete(&self, cron: &CronJob, job: &Job) -> Result<(), kube::Error> {
        let namespace = job.namespace().unwrap_or_default();
        let api: Api<Job> = Api::namespaced(self.context.client.clone(), &namespace);
        let name = job.name_any();
        match api.delete(&name, &DeleteParams::background()).await {
            Err(error) if !is_not_found(&error) => {
                let text = format!("Deleted job: {}", message(&error));
                self.recorder
                    .note(cron, Note::warning("FailedDelete", text));
                Err(error)
            }
            _ => {
                let text = format!("Deleted job {name}");
                self.recorder
                    .note(cron, Note::normal("SuccessfulDelete", text));
                Ok(())
            }
        }
    }

    async fn write(&self, cron: &CronJob, mut status: CronJobStatus) -> Result<(), kube::Error> {
        status.active = status.active.filter(|a| !a.is_empty());
        if cron.status.clone().unwrap_or_default() == status {
            return Ok(());
        }
        let namespace = cron.namespace().unwrap_or_default();
        let api: Api<CronJob> = Api::namespaced(self.context.client.clone(), &namespace);
        let next = CronJob {
            status: Some(status),
            ..cron.clone()
        };
        let name = cron.name_any();
        let written = api
            .replace_status(&name, &PostParams::default(), &next)
            .await?;
        self.crons.observe(Arc::new(written));
        Ok(())
    }
}

/// The Job of one time. Its name is that time's, so that no time has two.
fn job(cron: &CronJob, spec: &CronJobSpec, at: Timestamp) -> Job {
    let from = spec.job_template.metadata.clone().unwrap_or_default();
    let mut annotations = from.annotations.unwrap_or_default();
    annotations.insert(SCHEDULED.to_string(), decide::local(spec, at));
    Job {
        metadata: ObjectMeta {
            name: Some(format!("{}-{}", cron.name_any(), at.as_second() / 60)),
            namespace: cron.namespace(),
            labels: from.labels,
            annotations: Some(annotations),
            owner_references: Some(vec![template::controller_reference(cron)]),
            ..ObjectMeta::default()
        },
        spec: spec.job_template.spec.clone(),
        status: None,
    }
}

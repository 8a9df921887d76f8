//! Reconciles CronJobs: creates due Jobs, prunes finished ones, writes status.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::batch::v1::{CronJob, CronJobSpec, CronJobStatus, Job};
use kube::ResourceExt;
use kube::api::{DeleteParams, ObjectMeta, PostParams};

use super::sync_cron_job;
use super::sync_cron_job::{CronJobPlan, ScheduledJob, sync_cron_job};
use crate::workload_controllers::SharedInformers;
use kueue_lab_controller_runtime::api_errors::{
    error_message, is_conflict, is_namespace_terminating, is_not_found,
};
use kueue_lab_controller_runtime::{
    Api, Context, Informer, ObjectKey, ReconcileResult, WorkQueue, controller_of,
    controller_reference, object_reference,
};
use kueue_lab_controller_utils::event_recorder::{EventRecorder, NewEvent};
use kueue_lab_controller_utils::pods::CONTROLLER_UID_INDEX;

const WORKERS: usize = 2;
/// Annotation of a Job with its scheduled time.
const SCHEDULED: &str = "batch.kubernetes.io/cronjob-scheduled-timestamp";

/// Starts the controller in the tasks of `context`.
pub(crate) fn start(context: &Context, shared: &SharedInformers) {
    let queue: WorkQueue<ObjectKey> = WorkQueue::new(context);
    let controller = Arc::new(CronJobController {
        context: context.clone(),
        crons: Informer::builder(Api::all(context.client.clone())).start(context),
        jobs: shared.jobs.clone(),
        recorder: shared.recorder.with_component("cronjob-controller", None),
    });
    let on_cron = queue.clone();
    controller
        .crons
        .add_event_handler(move |change| on_cron.add(ObjectKey::of(change.object().as_ref())));
    let on_job = queue.clone();
    controller.jobs.add_event_handler(move |change| {
        let job = change.object();
        if let Some(owner) = controller_of(&job.metadata).filter(|o| o.kind == "CronJob") {
            let namespace = job.namespace().unwrap_or_default();
            on_job.add(ObjectKey::new(namespace, owner.name.as_str()));
        }
    });
    let run = context.clone();
    context.tasks.spawn("cronjob", async move {
        controller.crons.wait_for_cache_sync().await;
        controller.jobs.wait_for_cache_sync().await;
        queue.run(&run, "cronjob", WORKERS, move |key| {
            let controller = controller.clone();
            async move { controller.reconcile(&key).await }
        });
    });
}

struct CronJobController {
    context: Context,
    crons: Informer<CronJob>,
    jobs: Informer<Job>,
    recorder: EventRecorder,
}

impl CronJobController {
    async fn reconcile(&self, key: &ObjectKey) -> Result<ReconcileResult, kube::Error> {
        let Some(cron) = self.crons.get(key) else {
            return Ok(ReconcileResult::Done);
        };
        match self.sync(&cron).await {
            Err(error) if is_not_found(&error) => Ok(ReconcileResult::Done),
            Err(error) if is_conflict(&error) => Ok(ReconcileResult::Requeue),
            done => done,
        }
    }

    async fn sync(&self, cron: &CronJob) -> Result<ReconcileResult, kube::Error> {
        let spec = &cron.spec;
        let jobs = self
            .jobs
            .by_index(CONTROLLER_UID_INDEX, &cron.uid().unwrap_or_default());
        let CronJobPlan {
            mut status,
            start,
            jobs_to_delete: delete,
            events,
            requeue_after: again,
        } = sync_cron_job(cron, spec, &jobs, self.context.clock.now());
        for event in events {
            self.recorder.event(cron, event);
        }
        for job in delete {
            self.delete(cron, &job).await?;
        }
        if let Some(start) = start {
            self.start(cron, spec, &start, &mut status).await?;
        }
        self.update_status(cron, status).await?;
        Ok(again.map_or(ReconcileResult::Done, ReconcileResult::RequeueAfter))
    }

    async fn start(
        &self,
        cron: &CronJob,
        spec: &CronJobSpec,
        start: &ScheduledJob,
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
        let created = match api.create(&PostParams::default(), &job).await {
            Ok(created) => {
                let text = format!("Created job {}", created.name_any());
                self.recorder
                    .event(cron, NewEvent::normal("SuccessfulCreate", text));
                created
            }
            Err(kube::Error::Api(refusal)) if refusal.reason == "AlreadyExists" => {
                let known = api.get(&job.name_any()).await?;
                if controller_of(&known.metadata).map(|o| o.uid.clone()) != cron.uid() {
                    return Ok(());
                }
                known
            }
            Err(error) => {
                if !is_namespace_terminating(&error) {
                    let text = format!("Error creating job: {}", error_message(&error));
                    self.recorder
                        .event(cron, NewEvent::warning("FailedCreate", text));
                }
                return Err(error);
            }
        };
        let active = status.active.get_or_insert_default();
        if !active.iter().any(|r| r.uid == created.uid()) {
            active.push(object_reference(&created));
        }
        status.last_schedule_time = Some(sync_cron_job::time(start.at));
        self.jobs.observe_write(Arc::new(created));
        Ok(())
    }

    async fn delete(&self, cron: &CronJob, job: &Job) -> Result<(), kube::Error> {
        let namespace = job.namespace().unwrap_or_default();
        let api: Api<Job> = Api::namespaced(self.context.client.clone(), &namespace);
        let name = job.name_any();
        match api.delete(&name, &DeleteParams::background()).await {
            Err(error) if !is_not_found(&error) => {
                let text = format!("Deleted job: {}", error_message(&error));
                self.recorder
                    .event(cron, NewEvent::warning("FailedDelete", text));
                Err(error)
            }
            _ => {
                let text = format!("Deleted job {name}");
                self.recorder
                    .event(cron, NewEvent::normal("SuccessfulDelete", text));
                Ok(())
            }
        }
    }

    async fn update_status(
        &self,
        cron: &CronJob,
        mut status: CronJobStatus,
    ) -> Result<(), kube::Error> {
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
        self.crons.observe_write(Arc::new(written));
        Ok(())
    }
}

/// The Job for a scheduled time. Its name contains the time, so that there is only one.
fn job(cron: &CronJob, spec: &CronJobSpec, at: Timestamp) -> Job {
    let from = spec.job_template.metadata.clone().unwrap_or_default();
    let mut annotations = from.annotations.unwrap_or_default();
    annotations.insert(
        SCHEDULED.to_string(),
        sync_cron_job::format_scheduled_time(spec, at),
    );
    Job {
        metadata: ObjectMeta {
            name: Some(format!("{}-{}", cron.name_any(), at.as_second() / 60)),
            namespace: cron.namespace(),
            labels: from.labels,
            annotations: Some(annotations),
            owner_references: Some(vec![controller_reference(cron)]),
            ..ObjectMeta::default()
        },
        spec: spec.job_template.spec.clone(),
        status: None,
    }
}

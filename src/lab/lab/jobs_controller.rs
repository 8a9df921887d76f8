//! [`LabJobsController`]: the managed jobs of the lab for the Pod of SkyPilot's jobs controller.

use async_trait::async_trait;
use jiff::Timestamp;
use kueue_lab_container_runtime::{
    JobsController, JobsControllerError, ManagedJob, ManagedJobOutput, ManagedJobSubmission,
    NewManagedJob,
};
use kueue_lab_skypilot::jobs::{JobUser, ManagedJobs};
use kueue_lab_skypilot::{SkyConfig, Task};

/// The managed jobs of the lab.
pub(crate) struct LabJobsController(pub(crate) ManagedJobs);

fn seconds(time: Timestamp) -> f64 {
    time.as_duration().as_secs_f64()
}

impl LabJobsController {
    fn submit(
        &self,
        id: u64,
        submission: &ManagedJobSubmission,
    ) -> Result<(), JobsControllerError> {
        let task = Task::parse_submitted(&submission.task)?;
        let config = match &submission.config {
            None => SkyConfig::default(),
            Some(text) => SkyConfig::parse(text)?,
        };
        let user = JobUser {
            name: &submission.user,
            hash: &submission.user_hash,
            namespace: &submission.namespace,
        };
        let jobs = self.0.clone().with_config(config);
        Ok(jobs.start(id, task, user)?)
    }
}

#[async_trait]
impl JobsController for LabJobsController {
    fn add(&self, job: NewManagedJob) -> Result<i64, JobsControllerError> {
        let id = self.0.add(&job.name, &job.user_hash, &job.workspace)?;
        Ok(i64::try_from(id)?)
    }

    fn set_resources(&self, id: i64, resources: &str) {
        if let Ok(id) = u64::try_from(id) {
            self.0.set_requested(id, resources);
        }
    }

    async fn start(
        &self,
        id: i64,
        submission: &ManagedJobSubmission,
    ) -> Result<(), JobsControllerError> {
        let id = u64::try_from(id)?;
        let started = self.submit(id, submission);
        if let Err(error) = &started {
            self.0.fail(id, &error.to_string());
        }
        started
    }

    fn jobs(&self) -> Vec<ManagedJob> {
        let now = self.0.now();
        let jobs = self.0.jobs().into_iter();
        let job = |job: kueue_lab_skypilot::jobs::ManagedJob| ManagedJob {
            id: i64::try_from(job.id).unwrap_or(i64::MAX),
            resources: job.requested.clone(),
            status: job.status.as_str(),
            schedule_state: job.schedule_state.as_str(),
            submitted_at: job.submitted_at.map(seconds),
            started_at: job.started_at.map(seconds),
            ended_at: job.ended_at.map(seconds),
            duration: job.job_duration(now).map_or(0.0, |time| time.as_secs_f64()),
            recoveries: job.recoveries,
            details: job.details.clone(),
            context: job.cluster.is_some().then(|| self.0.context().to_owned()),
            job: NewManagedJob {
                name: job.name,
                user_hash: job.user_hash,
                workspace: job.workspace,
            },
        };
        jobs.map(job).collect()
    }

    fn cancel(&self, id: i64, reason: &str) -> bool {
        u64::try_from(id).is_ok_and(|id| self.0.cancel_for(id, reason))
    }

    fn output(&self, id: i64) -> Option<ManagedJobOutput> {
        let (attempt, text) = self.0.output(u64::try_from(id).ok()?)?;
        Some(ManagedJobOutput { attempt, text })
    }

    fn controller_log(&self, id: i64) -> String {
        let Ok(id) = u64::try_from(id) else {
            return String::new();
        };
        let events = self.0.events();
        let own = events.iter().filter(|event| event.job == id);
        let line = |event: &kueue_lab_skypilot::jobs::JobEvent| {
            format!("{} {}: {}\n", event.time, event.status, event.reason)
        };
        own.map(line).collect()
    }
}

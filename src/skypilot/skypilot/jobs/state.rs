//! The state and the events of the managed jobs.

use std::collections::{BTreeMap, VecDeque};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::job_output::JobOutput;
use super::managed_jobs::MAX_JOBS;
use crate::{ClusterPlan, Task};

/// The maximum number of events kept.
const MAX_EVENTS: usize = 1000;

/// The status of a job (SkyPilot's `ManagedJobStatus`).
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ManagedJobStatus {
    /// Waiting for a launch, the first or one after a failure.
    Pending,
    /// Launching, which includes waiting for Kueue's admission.
    Starting,
    /// The commands run.
    Running,
    /// The cluster was lost and is being relaunched.
    Recovering,
    /// Being cancelled.
    Cancelling,
    /// The commands succeeded.
    Succeeded,
    /// The commands failed.
    Failed,
    /// Cancelled.
    Cancelled,
}

impl ManagedJobStatus {
    /// The text in `sky jobs queue`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Starting => "STARTING",
            Self::Running => "RUNNING",
            Self::Recovering => "RECOVERING",
            Self::Cancelling => "CANCELLING",
            Self::Succeeded => "SUCCEEDED",
            Self::Failed => "FAILED",
            Self::Cancelled => "CANCELLED",
        }
    }

    /// Whether the status is final.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Cancelled)
    }
}

impl std::fmt::Display for ManagedJobStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// The state in the scheduler of the jobs controller (`ManagedJobScheduleState`).
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ManagedJobScheduleState {
    /// Added to the table, and not submitted yet.
    Inactive,
    /// Waiting for a launch slot.
    Waiting,
    /// Launching.
    Launching,
    /// Monitoring a running job.
    Alive,
    /// In backoff after a failed launch.
    AliveBackoff,
    /// Done.
    Done,
}

impl ManagedJobScheduleState {
    /// The text in the column SCHED. STATE.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Inactive => "INACTIVE",
            Self::Waiting => "WAITING",
            Self::Launching => "LAUNCHING",
            Self::Alive => "ALIVE",
            Self::AliveBackoff => "ALIVE_BACKOFF",
            Self::Done => "DONE",
        }
    }
}

/// A snapshot of a managed job.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ManagedJob {
    /// Id, from 1.
    pub id: u64,
    /// Name.
    pub name: String,
    /// The hash of the user.
    #[serde(default)]
    pub user_hash: String,
    /// The workspace.
    #[serde(default)]
    pub workspace: String,
    /// Requested resources, such as `1x[CPU:6]`.
    pub requested: String,
    /// State.
    pub status: ManagedJobStatus,
    /// State in the scheduler.
    pub schedule_state: ManagedJobScheduleState,
    /// Submission by the user.
    pub created_at: Timestamp,
    /// Start of the controller.
    pub submitted_at: Option<Timestamp>,
    /// First start of the commands.
    pub started_at: Option<Timestamp>,
    /// End of the job.
    pub ended_at: Option<Timestamp>,
    /// The number of recoveries.
    pub recoveries: u32,
    /// The text in the column DETAILS.
    pub details: Option<String>,
    /// The cluster's name in Kubernetes, once launched.
    pub cluster: Option<String>,
    ran: SignedDuration,
    running_since: Option<Timestamp>,
}

impl ManagedJob {
    /// The total run time of the commands over all attempts; `None` before the first.
    pub fn job_duration(&self, now: Timestamp) -> Option<SignedDuration> {
        self.started_at?;
        let current = self.running_since.map_or(SignedDuration::ZERO, |since| {
            self.ended_at.unwrap_or(now).duration_since(since)
        });
        Some(self.ran + current)
    }

    /// The time since submission.
    pub(crate) fn total_duration(&self, now: Timestamp) -> SignedDuration {
        self.ended_at
            .unwrap_or(now)
            .duration_since(self.submitted_at.unwrap_or(self.created_at))
    }
}

/// An event of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct JobEvent {
    /// Time.
    pub time: Timestamp,
    /// Id of the job.
    pub job: u64,
    /// Name of the job.
    pub name: String,
    /// The new status.
    pub status: ManagedJobStatus,
    /// SkyPilot's reason.
    pub reason: String,
}

/// A job with the data that only its controller needs.
pub(super) struct JobRecord {
    job: ManagedJob,
    cancel: CancellationToken,
    output: Option<JobOutput>,
    events: Vec<(ManagedJobStatus, String)>,
}

/// A job that is added to the table.
pub(super) struct NewJob<'a> {
    pub(super) name: &'a str,
    pub(super) user_hash: &'a str,
    pub(super) workspace: &'a str,
    pub(super) requested: String,
    pub(super) schedule_state: ManagedJobScheduleState,
}

impl JobRecord {
    /// Sets the status; the reason becomes an event and the job's details.
    pub(super) fn set_status(&mut self, status: ManagedJobStatus, reason: &str, now: Timestamp) {
        // A job that is being cancelled stays so.
        if self.job.status.is_final()
            || (self.job.status == ManagedJobStatus::Cancelling && !status.is_final())
        {
            return;
        }
        let was_running = self.job.status == ManagedJobStatus::Running;
        if was_running
            && status != ManagedJobStatus::Running
            && let Some(since) = self.job.running_since.take()
        {
            self.job.ran += now.duration_since(since);
            if let Some(output) = &mut self.output {
                output.end(now);
            }
        }
        match status {
            ManagedJobStatus::Starting => {
                self.job.submitted_at.get_or_insert(now);
            }
            ManagedJobStatus::Running => {
                self.job.started_at.get_or_insert(now);
                self.job.running_since = Some(now);
                self.job.details = None;
                self.job.schedule_state = ManagedJobScheduleState::Alive;
            }
            _ if status.is_final() => {
                self.job.ended_at = Some(now);
                self.job.schedule_state = ManagedJobScheduleState::Done;
                self.job.details = None;
            }
            _ => {}
        }
        self.job.status = status;
        if !matches!(
            status,
            ManagedJobStatus::Running | ManagedJobStatus::Starting
        ) && !status.is_final()
            || status == ManagedJobStatus::Failed
        {
            self.job.details = Some(reason.to_owned());
        }
        self.events.push((status, reason.to_owned()));
    }

    pub(super) fn set_schedule_state(&mut self, sched: ManagedJobScheduleState) {
        self.job.schedule_state = sched;
    }

    pub(super) fn set_requested(&mut self, requested: &str) {
        requested.clone_into(&mut self.job.requested);
    }

    /// The commands start on a new cluster.
    pub(super) fn set_output(&mut self, task: &Task, cluster: &ClusterPlan, now: Timestamp) {
        let output = JobOutput::new(task, cluster, self.job.recoveries, now);
        self.output = Some(output);
    }

    pub(super) fn set_details(&mut self, details: &str) {
        if self.job.details.as_deref() != Some(details) {
            self.job.details = Some(details.to_owned());
        }
    }

    pub(super) fn set_cluster(&mut self, name: &str) {
        self.job.cluster = Some(name.to_owned());
    }

    pub(super) fn increment_recoveries(&mut self) {
        self.job.recoveries += 1;
    }
}

/// All jobs.
#[derive(Default)]
pub(super) struct JobTable {
    jobs: BTreeMap<u64, JobRecord>,
    events: VecDeque<JobEvent>,
    last: u64,
}

impl JobTable {
    /// Adds a job; `None` if the limit of jobs in progress is reached.
    pub(super) fn add(
        &mut self,
        new: NewJob<'_>,
        now: Timestamp,
        cancel: CancellationToken,
    ) -> Option<u64> {
        if self.jobs.len() >= MAX_JOBS {
            let mut finished = self.jobs.iter().filter(|(_, r)| r.job.status.is_final());
            let oldest = *finished.next()?.0;
            self.jobs.remove(&oldest);
        }
        self.last += 1;
        let id = self.last;
        let job = ManagedJob {
            id,
            name: new.name.to_owned(),
            user_hash: new.user_hash.to_owned(),
            workspace: new.workspace.to_owned(),
            requested: new.requested,
            status: ManagedJobStatus::Pending,
            schedule_state: new.schedule_state,
            created_at: now,
            submitted_at: None,
            started_at: None,
            ended_at: None,
            recoveries: 0,
            details: None,
            cluster: None,
            ran: SignedDuration::ZERO,
            running_since: None,
        };
        let record = JobRecord {
            job,
            cancel,
            output: None,
            events: Vec::new(),
        };
        self.jobs.insert(id, record);
        self.change(id, now, |record, now| {
            record.set_status(ManagedJobStatus::Pending, "Job submitted to queue", now);
        });
        Some(id)
    }

    /// Applies a change; returns whether the job changed.
    pub(super) fn change(
        &mut self,
        id: u64,
        now: Timestamp,
        change: impl FnOnce(&mut JobRecord, Timestamp),
    ) -> bool {
        let Some(record) = self.jobs.get_mut(&id) else {
            return false;
        };
        let before = record.job.clone();
        change(record, now);
        let happened = std::mem::take(&mut record.events);
        let different = before != record.job || !happened.is_empty();
        for (status, reason) in happened {
            if self.events.len() == MAX_EVENTS {
                self.events.pop_front();
            }
            self.events.push_back(JobEvent {
                time: now,
                job: id,
                name: record.job.name.clone(),
                status,
                reason,
            });
        }
        different
    }

    /// Takes a job that was added and not submitted. Returns the token that cancels it.
    pub(super) fn submit(&mut self, id: u64, now: Timestamp) -> Option<CancellationToken> {
        let record = self.jobs.get(&id)?;
        if record.job.schedule_state != ManagedJobScheduleState::Inactive {
            return None;
        }
        let cancel = record.cancel.clone();
        self.change(id, now, |record, _| {
            record.set_schedule_state(ManagedJobScheduleState::Waiting);
        });
        Some(cancel)
    }

    /// The number of recoveries before the output of a job, and the output.
    pub(super) fn output(&self, id: u64, now: Timestamp) -> Option<(u32, String)> {
        let output = self.jobs.get(&id)?.output.as_ref()?;
        Some((output.attempt(), output.text(now)))
    }

    pub(super) fn cancel(&mut self, id: u64, reason: &str, now: Timestamp) -> bool {
        let Some(record) = self.jobs.get(&id) else {
            return false;
        };
        if record.job.status.is_final() || record.job.status == ManagedJobStatus::Cancelling {
            return false;
        }
        record.cancel.cancel();
        // A job without a controller is cancelled at once.
        let has_controller = record.job.schedule_state != ManagedJobScheduleState::Inactive;
        let status = match has_controller {
            true => ManagedJobStatus::Cancelling,
            false => ManagedJobStatus::Cancelled,
        };
        self.change(id, now, |record, now| {
            record.set_status(status, reason, now);
        })
    }

    pub(super) fn job(&self, id: u64) -> Option<ManagedJob> {
        self.jobs.get(&id).map(|r| r.job.clone())
    }

    pub(super) fn jobs(&self) -> Vec<ManagedJob> {
        self.jobs.values().rev().map(|r| r.job.clone()).collect()
    }

    pub(super) fn events(&self) -> Vec<JobEvent> {
        self.events.iter().cloned().collect()
    }
}

//! What is known of each managed job, and what happened to it.

use std::collections::{BTreeMap, VecDeque};

use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;

use super::MAX_JOBS;

/// Most events kept.
const MAX_EVENTS: usize = 1000;

/// The state a person sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ManagedJobStatus {
    /// Waiting to be launched, for the first time or after a launch that failed.
    Pending,
    /// Being launched. Waiting for Kueue's admission is part of it.
    Starting,
    /// The commands run.
    Running,
    /// The cluster was lost and is being launched again.
    Recovering,
    /// Being cancelled.
    Cancelling,
    /// The commands ended well.
    Succeeded,
    /// The commands failed.
    Failed,
    /// Cancelled.
    Cancelled,
}

impl ManagedJobStatus {
    /// The word that `sky jobs queue` prints.
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

    /// Whether nothing more will happen.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Cancelled)
    }
}

impl std::fmt::Display for ManagedJobStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// The state of the jobs controller's own scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ManagedJobScheduleState {
    /// Waits for one of the launches that may run at the same time.
    Waiting,
    /// Launches.
    Launching,
    /// Looks after a job.
    Alive,
    /// Rests after a launch that failed.
    AliveBackoff,
    /// Over.
    Done,
}

impl ManagedJobScheduleState {
    /// The word in the column SCHED. STATE.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "WAITING",
            Self::Launching => "LAUNCHING",
            Self::Alive => "ALIVE",
            Self::AliveBackoff => "ALIVE_BACKOFF",
            Self::Done => "DONE",
        }
    }
}

/// A job as it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct ManagedJob {
    /// Number, from 1.
    pub id: u64,
    /// Name.
    pub name: String,
    /// What it asks, such as `1x[CPU:6]`.
    pub requested: String,
    /// State.
    pub status: ManagedJobStatus,
    /// State of the scheduler.
    pub schedule_state: ManagedJobScheduleState,
    /// When the person handed it in.
    pub created_at: Timestamp,
    /// When the controller took it up.
    pub submitted_at: Option<Timestamp>,
    /// When its commands first ran.
    pub started_at: Option<Timestamp>,
    /// When it was over.
    pub ended_at: Option<Timestamp>,
    /// How often it was running again after a loss.
    pub recoveries: u32,
    /// What the column DETAILS says.
    pub details: Option<String>,
    /// The cluster's name in Kubernetes, once there is one.
    pub cluster: Option<String>,
    ran: SignedDuration,
    running_since: Option<Timestamp>,
}

impl ManagedJob {
    /// How long its commands have run, all attempts together; `None` before the first.
    pub fn job_duration(&self, now: Timestamp) -> Option<SignedDuration> {
        self.started_at?;
        let current = self.running_since.map_or(SignedDuration::ZERO, |since| {
            self.ended_at.unwrap_or(now).duration_since(since)
        });
        Some(self.ran + current)
    }

    /// How long it has existed.
    pub fn total_duration(&self, now: Timestamp) -> SignedDuration {
        self.ended_at
            .unwrap_or(now)
            .duration_since(self.submitted_at.unwrap_or(self.created_at))
    }
}

/// Something that happened to a job.
#[derive(Clone, Debug, PartialEq)]
pub struct JobEvent {
    /// When.
    pub time: Timestamp,
    /// Number of the job.
    pub job: u64,
    /// Name of the job.
    pub name: String,
    /// The state it went to.
    pub status: ManagedJobStatus,
    /// Why, in SkyPilot's words.
    pub reason: String,
}

/// A job and what only its driver needs.
pub(super) struct JobRecord {
    job: ManagedJob,
    cancel: CancellationToken,
    events: Vec<(ManagedJobStatus, String)>,
}

impl JobRecord {
    /// Goes to a state, for a reason that becomes an event and the job's details.
    pub(super) fn set_status(&mut self, status: ManagedJobStatus, reason: &str, now: Timestamp) {
        // A job that is being cancelled does not go back.
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
    /// Adds a job; `None` when as many are in progress as may be.
    pub(super) fn add(
        &mut self,
        name: &str,
        requested: String,
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
            name: name.to_owned(),
            requested,
            status: ManagedJobStatus::Pending,
            schedule_state: ManagedJobScheduleState::Waiting,
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
            events: Vec::new(),
        };
        self.jobs.insert(id, record);
        self.change(id, now, |record, now| {
            record.set_status(ManagedJobStatus::Pending, "Job submitted to queue", now);
        });
        Some(id)
    }

    /// Applies a change; whether anything is different afterwards.
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

    pub(super) fn cancel(&mut self, id: u64, now: Timestamp) -> bool {
        let Some(record) = self.jobs.get(&id) else {
            return false;
        };
        if record.job.status.is_final() || record.job.status == ManagedJobStatus::Cancelling {
            return false;
        }
        record.cancel.cancel();
        self.change(id, now, |record, now| {
            record.set_status(
                ManagedJobStatus::Cancelling,
                "Cancellation requested by user",
                now,
            );
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

//! The jobs of a cluster and their states.

use std::collections::BTreeMap;

use kueue_lab_python::Value;

/// The states of a job, as SkyPilot orders them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum JobStatus {
    Init,
    Pending,
    SettingUp,
    Running,
    FailedDriver,
    Succeeded,
    Failed,
    FailedSetup,
    Cancelled,
}

impl JobStatus {
    const ALL: [(Self, &'static str); 9] = [
        (Self::Init, "INIT"),
        (Self::Pending, "PENDING"),
        (Self::SettingUp, "SETTING_UP"),
        (Self::Running, "RUNNING"),
        (Self::FailedDriver, "FAILED_DRIVER"),
        (Self::Succeeded, "SUCCEEDED"),
        (Self::Failed, "FAILED"),
        (Self::FailedSetup, "FAILED_SETUP"),
        (Self::Cancelled, "CANCELLED"),
    ];

    pub(crate) fn name(self) -> &'static str {
        let found = Self::ALL.iter().find(|(status, _)| *status == self);
        found.map_or("", |(_, name)| *name)
    }

    pub(crate) fn of_name(name: &str) -> Option<Self> {
        let found = Self::ALL.iter().find(|(_, known)| *known == name);
        found.map(|(status, _)| *status)
    }

    pub(crate) fn is_terminal(self) -> bool {
        self >= Self::FailedDriver
    }

    /// Whether the job waits for its driver or for resources.
    pub(crate) fn is_waiting(self) -> bool {
        self <= Self::Pending
    }

    /// The exit code of `sky logs` for a job in this state.
    pub(crate) fn exit_code(status: Option<Self>) -> i64 {
        match status {
            None => 102,
            Some(Self::Succeeded) => 0,
            Some(Self::Cancelled) => 103,
            Some(status) if status.is_terminal() => 100,
            Some(_) => 101,
        }
    }
}

/// A job. Times are in seconds since 1970.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) name: String,
    /// The hash of the user.
    pub(crate) username: String,
    pub(crate) run_timestamp: String,
    pub(crate) resources: String,
    /// JSON.
    pub(crate) metadata: String,
    pub(crate) status: JobStatus,
    pub(crate) submitted_at: f64,
    pub(crate) start_at: Option<f64>,
    pub(crate) end_at: Option<f64>,
    pub(crate) pid: u32,
    pub(crate) exit_codes: Option<Vec<i64>>,
}

/// Maximum number of jobs.
const JOBS: usize = 10_000;

/// The jobs by their numbers, which count up from 1.
#[derive(Debug, Default)]
pub(crate) struct JobTable {
    jobs: BTreeMap<i64, Job>,
}

impl JobTable {
    /// Adds a job in the state `INIT`. Returns its number; `None` if there are too many.
    pub(crate) fn add(&mut self, job: Job) -> Option<i64> {
        if self.jobs.len() >= JOBS {
            return None;
        }
        let id = self.latest().unwrap_or(0) + 1;
        self.jobs.insert(id, job);
        Some(id)
    }

    pub(crate) fn latest(&self) -> Option<i64> {
        self.jobs.last_key_value().map(|(id, _)| *id)
    }

    pub(crate) fn get(&self, id: i64) -> Option<&Job> {
        self.jobs.get(&id)
    }

    pub(crate) fn get_mut(&mut self, id: i64) -> Option<&mut Job> {
        self.jobs.get_mut(&id)
    }

    pub(crate) fn status(&self, id: i64) -> Option<JobStatus> {
        self.get(id).map(|job| job.status)
    }

    /// Sets the state; a final state does not change.
    pub(crate) fn set_status(&mut self, id: i64, status: JobStatus, now: f64) {
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        if job.status.is_terminal() {
            return;
        }
        job.status = status;
        if status == JobStatus::Running {
            job.start_at.get_or_insert(now);
        }
        if status.is_terminal() {
            job.end_at = Some(now);
        }
    }

    /// The newest jobs first, of a user if one is given.
    pub(crate) fn newest<'a>(
        &'a self,
        user: Option<&'a str>,
    ) -> impl Iterator<Item = (i64, &'a Job)> {
        let jobs = self.jobs.iter().rev().map(|(id, job)| (*id, job));
        jobs.filter(move |(_, job)| user.is_none_or(|user| job.username == user))
    }
}

impl Job {
    /// The directory of its logs.
    pub(crate) fn log_dir(&self, id: i64) -> String {
        format!("~/sky_logs/{id}-{}", self.name)
    }

    /// The job as `sky queue` reads it.
    pub(crate) fn record(&self, id: i64) -> Value {
        let time = |time: Option<f64>| time.map_or(Value::None, Value::Float);
        let metadata = serde_json::from_str(&self.metadata).unwrap_or_default();
        let codes = self
            .exit_codes
            .as_ref()
            .map(|codes| Value::list(codes.iter().map(|code| Value::Int(*code)).collect()));
        Value::record([
            ("job_id", Value::Int(id)),
            ("job_name", Value::str(self.name.as_str())),
            ("username", Value::str(self.username.as_str())),
            ("submitted_at", Value::Float(self.submitted_at)),
            ("status", Value::str(self.status.name())),
            ("start_at", time(self.start_at)),
            ("end_at", time(self.end_at)),
            ("resources", Value::str(self.resources.as_str())),
            ("pid", Value::Int(self.pid.into())),
            ("metadata", Value::from_json(&metadata)),
            ("exit_codes", codes.unwrap_or(Value::None)),
            (
                "log_path",
                Value::str(format!("~/sky_logs/{}", self.run_timestamp)),
            ),
        ])
    }
}

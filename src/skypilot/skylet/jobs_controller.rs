//! The controller of SkyPilot's managed jobs, of which the containers of its Pod are the interface.

use std::error::Error;

use async_trait::async_trait;

/// A managed job that is not submitted yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NewManagedJob {
    /// Its name.
    pub name: String,
    /// The hash of its user.
    pub user_hash: String,
    /// Its workspace.
    pub workspace: String,
}

/// The files of a submission (`python -m sky.jobs.scheduler`).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ManagedJobSubmission {
    /// The task, after a document with the name of the job.
    pub task: String,
    /// The user's configuration, `~/.sky/config.yaml`.
    pub config: Option<String>,
    /// The user.
    pub user: String,
    /// The hash of the user.
    pub user_hash: String,
    /// The namespace of the controller's Pod, in which clusters are launched.
    pub namespace: String,
}

/// A managed job. Times are in seconds since 1970.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ManagedJob {
    /// Its number.
    pub id: i64,
    /// Name, user and workspace.
    pub job: NewManagedJob,
    /// The requested resources, such as `1x[CPU:6]`.
    pub resources: String,
    /// The state, such as `RUNNING`.
    pub status: &'static str,
    /// The state in the scheduler, such as `ALIVE`.
    pub schedule_state: &'static str,
    /// The start of its controller.
    pub submitted_at: Option<f64>,
    /// The first start of its commands.
    pub started_at: Option<f64>,
    /// Its end.
    pub ended_at: Option<f64>,
    /// The run time of the commands, in seconds.
    pub duration: f64,
    /// The number of recoveries.
    pub recoveries: u32,
    /// The explanation of the state.
    pub details: Option<String>,
    /// The context of the cluster, once it is launched.
    pub context: Option<String>,
}

impl ManagedJob {
    /// Whether its state is final.
    pub(crate) fn is_terminal(&self) -> bool {
        matches!(self.status, "SUCCEEDED" | "CANCELLED") || self.status.starts_with("FAILED")
    }

    /// The exit code of a command that waits for a job in this state.
    pub(crate) fn exit_code(&self) -> i64 {
        match self.status {
            "SUCCEEDED" => 0,
            "CANCELLED" => 103,
            _ if self.is_terminal() => 100,
            _ => 101,
        }
    }
}

/// The output of a managed job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ManagedJobOutput {
    /// The number of recoveries before it: a cluster that is launched again starts a new output.
    pub attempt: u32,
    /// All lines so far.
    pub text: String,
}

/// An error of the controller, which a program prints.
pub type JobsControllerError = Box<dyn Error + Send + Sync>;

/// The controller of the managed jobs.
#[async_trait]
pub trait JobsController: Send + Sync {
    /// Adds a pending job. Returns its number.
    ///
    /// # Errors
    /// There are too many jobs.
    fn add(&self, job: NewManagedJob) -> Result<i64, JobsControllerError>;

    /// Sets the text of the requested resources.
    fn set_resources(&self, id: i64, resources: &str);

    /// Starts the controller of a pending job.
    ///
    /// # Errors
    /// The task is invalid, or there is no such job.
    async fn start(
        &self,
        id: i64,
        submission: &ManagedJobSubmission,
    ) -> Result<(), JobsControllerError>;

    /// All jobs, newest first.
    fn jobs(&self) -> Vec<ManagedJob>;

    /// Cancels a job. Returns whether it was in progress.
    fn cancel(&self, id: i64, reason: &str) -> bool;

    /// The output of the commands of the cluster that was launched last; `None` before the first.
    fn output(&self, id: i64) -> Option<ManagedJobOutput>;

    /// The log of the controller of a job.
    fn controller_log(&self, id: i64) -> String;
}

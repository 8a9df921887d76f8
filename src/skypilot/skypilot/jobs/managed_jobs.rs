//! The handle of the managed jobs: launch, cancel, list and watch.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use parking_lot::Mutex;
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::job_controller;
use super::state::{
    JobEvent, JobRecord, JobTable, ManagedJob, ManagedJobScheduleState, ManagedJobStatus, NewJob,
};
use crate::clusters;
use crate::{ConfigFileError, LaunchError, NodeInfo, SkyConfig, SkyEnv, Task, plan};
use kueue_lab_clock::Clock;
use kueue_lab_clock::Entropy;

/// The intervals of SkyPilot's jobs controller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    /// Interval of the status checks of a running job.
    pub status_check: Duration,
    /// Interval of the checks of a starting job.
    pub start_check: Duration,
    /// Interval of the checks of Pods during a launch.
    pub launch_poll: Duration,
    /// First delay after a failed launch; grows by 1.6 up to five times this.
    pub retry_backoff: Duration,
    /// Launches of a recovery before a longer delay.
    pub recovery_launches: u32,
    /// Duration of the runtime setup on a new cluster; up to a minute for a real one.
    pub runtime_setup: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            status_check: Duration::from_secs(15),
            start_check: Duration::from_secs(5),
            launch_poll: Duration::from_secs(1),
            retry_backoff: Duration::from_secs(60),
            recovery_launches: 240,
            runtime_setup: Duration::from_secs(2),
        }
    }
}

/// The maximum number of concurrent launches.
const PARALLEL_LAUNCHES: usize = 8;
/// The maximum number of jobs kept; finished jobs are dropped first.
pub(super) const MAX_JOBS: usize = 2000;

/// Why a job was rejected.
#[derive(Debug, thiserror::Error)]
pub enum SubmitError {
    /// The name is invalid or the task does not fit.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The configuration file is invalid.
    #[error("cannot use SkyPilot's configuration: {0}")]
    Config(#[from] ConfigFileError),
    /// The nodes cannot be listed.
    #[error("cannot list the cluster's nodes: {0}")]
    Cluster(#[from] Box<kube::Error>),
    /// The job is unknown, or was submitted or cancelled before.
    #[error("managed job {0} cannot be submitted")]
    NotInactive(u64),
    /// Too many jobs are in progress.
    #[error("{MAX_JOBS} managed jobs are in progress, which is the limit of the lab")]
    TooManyJobs,
}

/// The user of a job.
#[derive(Clone, Copy, Debug)]
pub struct JobUser<'a> {
    /// The name.
    pub name: &'a str,
    /// The hash.
    pub hash: &'a str,
    /// The namespace of clusters, unless the configuration has another one.
    pub namespace: &'a str,
}

/// A handle to the managed jobs of one user. Cheap to clone.
#[derive(Clone)]
pub struct ManagedJobs {
    inner: Arc<JobsControllerState>,
    config: UserConfig,
    /// The namespace of the user's context, if it is not that of the controller's environment.
    namespace: Option<String>,
}

/// The configuration of the user of a handle.
#[derive(Clone, Debug, Default)]
enum UserConfig {
    /// None.
    #[default]
    Default,
    /// A file that is read at each launch.
    File(PathBuf),
    /// Read already.
    Read(Box<SkyConfig>),
}

/// The shared state of the jobs controller.
pub(super) struct JobsControllerState {
    pub(super) client: Client,
    pub(super) clock: Clock,
    pub(super) entropy: Entropy,
    pub(super) env: SkyEnv,
    pub(super) timing: Timing,
    pub(super) table: Mutex<JobTable>,
    pub(super) changed: watch::Sender<u64>,
    pub(super) launches: Semaphore,
    pub(super) tasks: TaskTracker,
    pub(super) stop: CancellationToken,
}

impl ManagedJobs {
    /// A jobs controller without jobs.
    pub fn new(client: Client, clock: Clock, entropy: Entropy, env: SkyEnv) -> Self {
        Self::with_timing(client, clock, entropy, env, Timing::default())
    }

    /// A jobs controller with other intervals than SkyPilot's.
    pub(crate) fn with_timing(
        client: Client,
        clock: Clock,
        entropy: Entropy,
        env: SkyEnv,
        timing: Timing,
    ) -> Self {
        let inner = JobsControllerState {
            client,
            clock,
            entropy,
            env,
            timing,
            table: Mutex::default(),
            changed: watch::Sender::new(0),
            launches: Semaphore::new(PARALLEL_LAUNCHES),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
        };
        Self {
            inner: Arc::new(inner),
            config: UserConfig::default(),
            namespace: None,
        }
    }

    /// `sky jobs launch -n NAME FILE`: submits a job and returns its id. The default name is the
    /// task's.
    ///
    /// # Errors
    /// The name is invalid, the task does not fit the cluster, or the cluster cannot be reached.
    pub async fn launch(&self, task: Task, name: Option<&str>) -> Result<u64, SubmitError> {
        let inner = &self.inner;
        let name = name
            .or(task.name.as_deref())
            .unwrap_or("sky-job")
            .to_owned();
        let nodes = clusters::nodes(&inner.client).await.map_err(Box::new)?;
        let env = self.env()?;
        let planned = plan(&task, &name, &env, &nodes)?;
        let requested = planned.request.requested(task.num_nodes);
        let now = inner.clock.now();
        let cancel = inner.stop.child_token();
        let new = NewJob {
            name: &name,
            user_hash: &env.user_hash,
            workspace: &env.workspace,
            requested,
            schedule_state: ManagedJobScheduleState::Waiting,
        };
        let id = {
            let mut table = inner.table.lock();
            let id = table.add(new, now, cancel.clone());
            id.ok_or(SubmitError::TooManyJobs)?
        };
        inner.notify_watchers();
        let driver = job_controller::JobController::new(inner.clone(), id, name, task, env, cancel);
        inner.tasks.spawn(driver.run());
        Ok(id)
    }

    /// Adds a pending job, which [`start`](Self::start) submits. Returns its id.
    ///
    /// # Errors
    /// Too many jobs are in progress.
    pub fn add(&self, name: &str, user_hash: &str, workspace: &str) -> Result<u64, SubmitError> {
        let new = NewJob {
            name,
            user_hash,
            workspace,
            requested: String::new(),
            schedule_state: ManagedJobScheduleState::Inactive,
        };
        let (now, cancel) = (self.inner.clock.now(), self.inner.stop.child_token());
        let id = self.inner.table.lock().add(new, now, cancel);
        self.inner.notify_watchers();
        id.ok_or(SubmitError::TooManyJobs)
    }

    /// Sets the text of the resources that a job requests.
    pub fn set_requested(&self, id: u64, requested: &str) {
        self.inner
            .update(id, |record, _| record.set_requested(requested));
    }

    /// Submits a job that was [added](Self::add).
    ///
    /// # Errors
    /// There is no such job, or its name is invalid.
    pub fn start(&self, id: u64, task: Task, user: JobUser<'_>) -> Result<(), SubmitError> {
        let inner = &self.inner;
        let own = SkyEnv {
            user: user.name.to_owned(),
            user_hash: user.hash.to_owned(),
            namespace: user.namespace.to_owned(),
            ..inner.env.clone()
        };
        let env = self.env_of(&own)?;
        let submitted = {
            let mut table = inner.table.lock();
            let name = table.job(id).map(|job| job.name);
            name.zip(table.submit(id, inner.clock.now()))
        };
        let (name, cancel) = submitted.ok_or(SubmitError::NotInactive(id))?;
        inner.notify_watchers();
        let driver = job_controller::JobController::new(inner.clone(), id, name, task, env, cancel);
        inner.tasks.spawn(driver.run());
        Ok(())
    }

    /// A job cannot be submitted.
    pub fn fail(&self, id: u64, reason: &str) {
        self.inner.update(id, |record, now| {
            record.set_status(ManagedJobStatus::Failed, reason, now);
        });
    }

    /// The same jobs for a user with a configuration file (`~/.sky/config.yaml`), which is read at
    /// each launch.
    #[must_use]
    pub fn with_config_file(self, file: PathBuf) -> Self {
        Self {
            config: UserConfig::File(file),
            ..self
        }
    }

    /// The same jobs for a user whose context has a namespace. That of the configuration precedes it.
    #[must_use]
    pub fn in_namespace(self, namespace: &str) -> Self {
        Self {
            namespace: Some(namespace.to_owned()),
            ..self
        }
    }

    /// The same jobs for a user with this configuration.
    #[must_use]
    pub fn with_config(self, config: SkyConfig) -> Self {
        Self {
            config: UserConfig::Read(Box::new(config)),
            ..self
        }
    }

    /// The environment of a new job.
    fn env(&self) -> Result<SkyEnv, SubmitError> {
        let env = &self.inner.env;
        let namespace = self.namespace.as_ref().unwrap_or(&env.namespace);
        self.env_of(&SkyEnv {
            namespace: namespace.clone(),
            ..env.clone()
        })
    }

    /// The environment of a user with the configuration.
    fn env_of(&self, env: &SkyEnv) -> Result<SkyEnv, SubmitError> {
        match &self.config {
            UserConfig::Default => Ok(env.clone()),
            UserConfig::File(file) => Ok(env.with_config_file(file)?),
            UserConfig::Read(config) => Ok(env.with_config((**config).clone())),
        }
    }

    /// `sky jobs cancel ID`. Returns whether the job was in progress.
    pub fn cancel(&self, id: u64) -> bool {
        self.cancel_for(id, "Cancellation requested by user")
    }

    /// As [`cancel`](Self::cancel), with a reason that names the requester.
    pub fn cancel_for(&self, id: u64, reason: &str) -> bool {
        let now = self.inner.clock.now();
        let found = self.inner.table.lock().cancel(id, reason, now);
        if found {
            self.inner.notify_watchers();
        }
        found
    }

    /// All jobs, newest first.
    pub fn jobs(&self) -> Vec<ManagedJob> {
        self.inner.table.lock().jobs()
    }

    /// One job.
    pub fn job(&self, id: u64) -> Option<ManagedJob> {
        self.inner.table.lock().job(id)
    }

    /// The number of recoveries before the last launch of a job, and the output of its commands since then;
    /// `None` before the first launch.
    pub fn output(&self, id: u64) -> Option<(u32, String)> {
        let now = self.inner.clock.now();
        self.inner.table.lock().output(id, now)
    }

    /// Lab time.
    pub fn now(&self) -> jiff::Timestamp {
        self.inner.clock.now()
    }

    /// The kubeconfig context of the cluster.
    pub fn context(&self) -> &str {
        &self.inner.env.context
    }

    /// The most recent events of the jobs, oldest first.
    pub fn events(&self) -> Vec<JobEvent> {
        self.inner.table.lock().events()
    }

    /// A receiver of a version that changes with every job.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.inner.changed.subscribe()
    }

    /// The output of `sky jobs queue`, or with `all` of `sky jobs queue -v`.
    pub fn queue_table(&self, all: bool) -> String {
        super::queue_table(&self.jobs(), self.inner.clock.now(), all)
    }

    /// Stops the controller; the launched clusters stay.
    pub async fn shutdown(&self) {
        self.inner.stop.cancel();
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
    }
}

impl JobsControllerState {
    pub(super) fn notify_watchers(&self) {
        self.changed.send_modify(|version| *version += 1);
    }

    /// Changes a job and notifies the watchers.
    pub(super) fn update(&self, id: u64, change: impl FnOnce(&mut JobRecord, jiff::Timestamp)) {
        let now = self.clock.now();
        let changed = self.table.lock().change(id, now, change);
        if changed {
            self.notify_watchers();
        }
    }

    pub(super) async fn nodes(&self) -> Result<Vec<NodeInfo>, kube::Error> {
        clusters::nodes(&self.client).await
    }
}

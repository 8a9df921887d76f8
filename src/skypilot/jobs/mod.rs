//! Managed jobs: SkyPilot's jobs controller as the cluster meets it. Each job launches its cluster,
//! looks after it every 15 seconds, and launches it again when it is lost.
//!
//! One task per job; what is known of the jobs stands in a [`JobTable`] that anyone may look at.

mod backoff;
mod cluster_client;
mod job_controller;
mod provision;
mod queue_table;
mod state;

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use parking_lot::Mutex;
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use queue_table::queue_table;
pub use state::{JobEvent, ManagedJob, ManagedJobScheduleState, ManagedJobStatus};

use super::{LaunchError, NodeInfo, SkyEnv, Task, plan};
use kueue_lab_clock::Clock;
use kueue_lab_entropy::Entropy;
use state::JobTable;

/// The times of SkyPilot's jobs controller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    /// Between two looks at a running job.
    pub status_check: Duration,
    /// Between two looks at a job that should have started.
    pub start_check: Duration,
    /// Between two looks at Pods that are being launched.
    pub launch_poll: Duration,
    /// First wait after a launch that failed; later ones grow by 1.6 up to five times this.
    pub retry_backoff: Duration,
    /// Launches tried before a recovery takes a longer rest.
    pub recovery_launches: u32,
    /// How long SkyPilot takes to set up its runtime on a fresh cluster. A real one takes up to a
    /// minute; nothing about queues depends on it.
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

/// Launches a controller process runs at the same time.
const PARALLEL_LAUNCHES: usize = 8;
/// Most jobs kept; finished ones are forgotten first.
const MAX_JOBS: usize = 2000;

/// Why a job was not taken.
#[derive(Debug, thiserror::Error)]
pub enum SubmitError {
    /// The name, or the size of the task.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The cluster could not be asked for its nodes.
    #[error("cannot list the cluster's nodes: {0}")]
    Cluster(#[from] Box<kube::Error>),
    /// Too many jobs at once.
    #[error("{MAX_JOBS} managed jobs are in progress, which is the most the lab keeps")]
    TooManyJobs,
}

/// The managed jobs of one person. A cheap handle.
#[derive(Clone)]
pub struct ManagedJobs {
    inner: Arc<Inner>,
}

struct Inner {
    client: Client,
    clock: Clock,
    entropy: Entropy,
    env: SkyEnv,
    timing: Timing,
    table: Mutex<JobTable>,
    changed: watch::Sender<u64>,
    launches: Semaphore,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl ManagedJobs {
    /// A jobs controller without jobs.
    pub fn new(client: Client, clock: Clock, entropy: Entropy, env: SkyEnv) -> Self {
        Self::with_timing(client, clock, entropy, env, Timing::default())
    }

    /// The same with other times than SkyPilot's.
    pub fn with_timing(
        client: Client,
        clock: Clock,
        entropy: Entropy,
        env: SkyEnv,
        timing: Timing,
    ) -> Self {
        let inner = Inner {
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
        }
    }

    /// `sky jobs launch -n NAME FILE`: takes a job and returns its number. The name comes from the
    /// task when none is given.
    ///
    /// # Errors
    /// The name or the task cannot be used on this cluster, or the cluster does not answer.
    pub async fn launch(&self, task: Task, name: Option<&str>) -> Result<u64, SubmitError> {
        let inner = &self.inner;
        let name = name
            .or(task.name.as_deref())
            .unwrap_or("sky-job")
            .to_owned();
        let nodes = cluster_client::nodes(&inner.client)
            .await
            .map_err(Box::new)?;
        let planned = plan(&task, &name, &inner.env, &nodes)?;
        let requested = planned.request.requested(task.num_nodes);
        let now = inner.clock.now();
        let cancel = inner.stop.child_token();
        let id = {
            let mut table = inner.table.lock();
            let id = table.add(&name, requested, now, cancel.clone());
            id.ok_or(SubmitError::TooManyJobs)?
        };
        inner.notify_watchers();
        let driver = job_controller::JobController::new(inner.clone(), id, name, task, cancel);
        inner.tasks.spawn(driver.run());
        Ok(id)
    }

    /// `sky jobs cancel ID`. Whether there is such a job in progress.
    pub fn cancel(&self, id: u64) -> bool {
        let found = self.inner.table.lock().cancel(id, self.inner.clock.now());
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

    /// What happened to the jobs, oldest first; a bounded number of events is kept.
    pub fn events(&self) -> Vec<JobEvent> {
        self.inner.table.lock().events()
    }

    /// Changes its value whenever a job or the list of jobs does.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.inner.changed.subscribe()
    }

    /// The table that `sky jobs queue` prints, or with `all` what `sky jobs queue -v` prints.
    pub fn queue_table(&self, all: bool) -> String {
        queue_table(&self.jobs(), self.inner.clock.now(), all)
    }

    /// Stops looking after the jobs and leaves what they launched in the cluster.
    pub async fn shutdown(&self) {
        self.inner.stop.cancel();
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
    }
}

impl Inner {
    fn notify_watchers(&self) {
        self.changed.send_modify(|version| *version += 1);
    }

    /// Changes a job and tells who watches.
    fn update(&self, id: u64, change: impl FnOnce(&mut state::JobRecord, jiff::Timestamp)) {
        let now = self.clock.now();
        let changed = self.table.lock().change(id, now, change);
        if changed {
            self.notify_watchers();
        }
    }

    async fn nodes(&self) -> Result<Vec<NodeInfo>, kube::Error> {
        cluster_client::nodes(&self.client).await
    }
}

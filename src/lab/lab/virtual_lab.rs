//! [`VirtualLab`]: a whole lab in virtual time as a function.

use std::io;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;

use crate::config::LabConfig;
use crate::error::LabError;
use crate::lab::Lab;
use crate::lab_snapshot::LabSnapshot;
use kueue_lab_clock::Entropy;
use kueue_lab_clock::{Clock, virtual_runtime};

/// The default seed.
const SEED: u64 = 1;
/// The default start of lab time, 2026-01-01T00:00:00Z, in seconds since the epoch.
const START: i64 = 1_767_225_600;
/// The longest time until a start is idle.
const IDLE_LIMIT: SignedDuration = SignedDuration::from_mins(10);
/// How long the parts of a lab that starts from a snapshot start before the function runs.
const SETTLED: Duration = Duration::from_secs(1);
/// The stack of a lab's thread in bytes, that of a main thread on Linux.
const STACK: usize = 8 << 20;

/// The error of a function of a lab in virtual time.
#[derive(Debug, thiserror::Error)]
pub enum VirtualLabError {
    /// The lab did not start.
    #[error(transparent)]
    Start(#[from] LabError),
    /// The thread or its runtime cannot be started.
    #[error("cannot start a lab: {0}")]
    Runtime(#[from] io::Error),
    /// It took too long.
    #[error("the lab is not done after {} s of real time", .0.as_secs_f64())]
    Deadline(Duration),
    /// It was cancelled.
    #[error("interrupted")]
    Cancelled,
}

/// Runs functions with a lab in virtual time. Each run has its own lab, runtime and thread, and takes the
/// same course for the same input.
#[derive(Clone)]
pub struct VirtualLab {
    /// The start of lab time, if there is no snapshot.
    pub start: Timestamp,
    /// The seed of randomness, if there is no snapshot.
    pub seed: u64,
    /// The state to start from, of a lab with the same configuration.
    pub snapshot: Option<Arc<LabSnapshot>>,
    /// The longest run in real time; `None` for no limit.
    pub deadline: Option<Duration>,
    /// Ends runs before they are done.
    pub stop: CancellationToken,
}

impl Default for VirtualLab {
    /// Lab time starts with the year 2026; the seed is fixed, and nothing ends a run.
    fn default() -> Self {
        Self {
            start: Timestamp::from_second(START).unwrap_or_default(),
            seed: SEED,
            snapshot: None,
            deadline: None,
            stop: CancellationToken::new(),
        }
    }
}

impl VirtualLab {
    /// Starts a lab, runs `function` with it and drops the lab. Blocks the calling thread until then;
    /// several threads can run labs at the same time.
    ///
    /// `configure` gets the clock and the randomness of the lab, for [`LabConfig::embedded`]. Time advances
    /// when no task of the lab can run. A computation without `await` is not interrupted by the deadline.
    ///
    /// # Errors
    /// [`VirtualLabError`].
    ///
    /// # Panics
    /// If `configure` or `function` panics.
    pub fn run<T: Send>(
        &self,
        configure: impl FnOnce(Clock, Entropy) -> LabConfig + Send,
        function: impl AsyncFnOnce(&Lab) -> T + Send,
    ) -> Result<T, VirtualLabError> {
        let stop = self.stop.child_token();
        let (done, is_done) = mpsc::channel::<()>();
        thread::scope(|scope| {
            let work = || {
                // Dropped at the end, also by a panic.
                let _done = done;
                let runtime = virtual_runtime()?;
                runtime.block_on(async {
                    let work = async {
                        let lab = Lab::start(self.configure(configure)).await?;
                        if self.snapshot.is_some() {
                            lab.clock().sleep(SETTLED).await;
                        }
                        Ok(function(&lab).await)
                    };
                    tokio::select! {
                        biased;
                        () = stop.cancelled() => Err(VirtualLabError::Cancelled),
                        result = work => result,
                    }
                })
            };
            let thread = thread::Builder::new()
                .name("virtual-lab".to_owned())
                .stack_size(STACK);
            let running = thread.spawn_scoped(scope, work)?;
            let is_late = self.wait(&is_done);
            if is_late {
                stop.cancel();
            }
            match running.join() {
                Ok(Err(VirtualLabError::Cancelled)) if is_late && !self.stop.is_cancelled() => {
                    Err(VirtualLabError::Deadline(self.deadline.unwrap_or_default()))
                }
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }

    /// Starts a lab and returns its state when it is idle, for [`snapshot`](Self::snapshot) of further ones.
    /// `None` if it does not become idle within ten minutes of lab time, and for [labs](Lab::snapshot) that
    /// cannot start from a state.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn start_state(
        &self,
        configure: impl FnOnce(Clock, Entropy) -> LabConfig + Send,
    ) -> Result<Option<Arc<LabSnapshot>>, VirtualLabError> {
        self.run(configure, async |lab: &Lab| {
            let limit = lab.clock().now().checked_add(IDLE_LIMIT).ok()?;
            lab.wait_until_idle(limit).await?;
            lab.snapshot().await.map(Arc::new)
        })
    }

    fn configure(&self, configure: impl FnOnce(Clock, Entropy) -> LabConfig) -> LabConfig {
        let Some(snapshot) = &self.snapshot else {
            return configure(Clock::virtual_from(self.start), Entropy::seeded(self.seed));
        };
        let mut config = configure(Clock::virtual_from(snapshot.time), snapshot.entropy());
        config.cluster.snapshot = Some(snapshot.clone());
        config
    }

    /// Waits until a run is done, and no longer than the deadline; returns whether it is late.
    fn wait(&self, is_done: &mpsc::Receiver<()>) -> bool {
        let Some(deadline) = self.deadline else {
            let _ = is_done.recv();
            return false;
        };
        is_done.recv_timeout(deadline) == Err(mpsc::RecvTimeoutError::Timeout)
    }
}

//! A process that is executed in a container, with the background jobs of its shells.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::AbortHandle;

use super::state::Shell;
use crate::container::Container;
use crate::memory::{Memory, MemoryReservation, PROCESS_MEMORY};
use crate::streams::{Closed, Streams};

/// Maximum number of commands that a process executes.
pub const MAX_COMMANDS: u64 = 1_000_000;
/// After this number of commands other tasks run.
const YIELD: u64 = 64;
/// Maximum number of commands of pipelines that run at the same time.
const PIPED: usize = 128;
/// Maximum number of background jobs.
const JOBS: usize = 64;

/// Runs a program of the image by name, called with these words. The exit code, or [`Closed`] if the
/// output has no reader.
pub(crate) type RunProgram = for<'a> fn(
    &'a str,
    &'a mut Shell,
    &'a [String],
    &'a Streams,
) -> BoxFuture<'a, Result<i32, Closed>>;

/// State that all shells of a process share.
pub(crate) struct Process {
    container: Arc<Container>,
    run_program: RunProgram,
    steps: AtomicU64,
    memory: Arc<Memory>,
    piped: Semaphore,
    jobs: Mutex<Vec<AbortHandle>>,
}

/// Aborts the background jobs of a process when it is dropped.
pub(crate) struct JobsGuard(Arc<Process>);

impl Drop for JobsGuard {
    fn drop(&mut self) {
        for job in self.0.jobs.lock().drain(..) {
            job.abort();
        }
    }
}

impl Process {
    pub(crate) fn new(container: Arc<Container>, run_program: RunProgram) -> Arc<Self> {
        Arc::new(Self {
            container,
            run_program,
            steps: AtomicU64::new(0),
            memory: Arc::default(),
            piped: Semaphore::new(PIPED),
            jobs: Mutex::default(),
        })
    }

    pub(crate) fn container(&self) -> &Arc<Container> {
        &self.container
    }

    pub(super) fn run_program(&self) -> RunProgram {
        self.run_program
    }

    pub(crate) fn guard(self: &Arc<Self>) -> JobsGuard {
        JobsGuard(self.clone())
    }

    /// An empty reservation of memory.
    pub(crate) fn reserve(&self) -> MemoryReservation {
        self.memory.reserve()
    }

    /// The message of a process that a limit ended; `None` if it is within its limits.
    pub(super) fn exceeded_limit(&self) -> Option<String> {
        let (limit, value) = if self.memory.is_exhausted() {
            ("exec-memory-bytes", PROCESS_MEMORY as u64)
        } else if self.steps.load(Ordering::Relaxed) > MAX_COMMANDS {
            ("exec-commands", MAX_COMMANDS)
        } else {
            return None;
        };
        Some(format!(
            "kueue-lab: the process ended, because the limit {limit} is {value} (kueue-lab up --limits)"
        ))
    }

    /// Counts a command. False if there were too many, or if they took too much memory.
    pub(crate) async fn step(&self) -> bool {
        let steps = self.steps.fetch_add(1, Ordering::Relaxed);
        if steps.is_multiple_of(YIELD) {
            tokio::task::yield_now().await;
        }
        steps < MAX_COMMANDS && !self.memory.is_exhausted()
    }

    /// A permit for the commands of a pipeline; `None` if there are too many.
    pub(super) fn pipeline(&self, commands: usize) -> Option<SemaphorePermit<'_>> {
        let commands = u32::try_from(commands).ok()?;
        self.piped.try_acquire_many(commands).ok()
    }

    /// Runs a background job. False if there are too many.
    pub(crate) fn spawn(&self, job: impl Future<Output = ()> + Send + 'static) -> bool {
        let mut jobs = self.jobs.lock();
        jobs.retain(|job| !job.is_finished());
        if jobs.len() >= JOBS {
            return false;
        }
        jobs.push(tokio::spawn(job).abort_handle());
        true
    }
}

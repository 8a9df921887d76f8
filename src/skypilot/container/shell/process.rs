//! A process that is executed in a container, with the background jobs of its shells.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use futures::FutureExt;
use futures::future::{AbortHandle, BoxFuture, abortable};
use parking_lot::Mutex;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::state::Shell;
use crate::container::Container;
use crate::memory::{Memory, MemoryReservation, PROCESS_MEMORY};
use crate::streams::{Closed, Streams};

/// Maximum number of commands that a process of `exec` runs.
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
    limits: ProcessLimits,
    steps: AtomicU64,
    reached_depth: AtomicBool,
    memory: Arc<Memory>,
    piped: Semaphore,
    jobs: Mutex<Vec<BackgroundJob>>,
}

/// The limits of a process, with their names.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProcessLimits {
    commands: (&'static str, u64),
    memory: (&'static str, usize),
    /// Whether the memory counts for that of all processes.
    is_shared: bool,
    /// Maximum nesting depth of commands, functions and substitutions.
    depth: usize,
}

/// Maximum nesting depth of commands, functions and substitutions.
pub(crate) const DEPTH: usize = 60;

impl ProcessLimits {
    /// The limits of a command of `exec`.
    pub(crate) const EXEC: Self = Self {
        commands: ("exec-commands", MAX_COMMANDS),
        memory: ("exec-memory-bytes", PROCESS_MEMORY),
        is_shared: true,
        depth: DEPTH,
    };

    /// Other limits, each with its name, and a nesting depth for the stack of the thread.
    pub(crate) fn new(
        commands: (&'static str, usize),
        memory: (&'static str, usize),
        depth: usize,
    ) -> Self {
        Self {
            commands: (commands.0, commands.1 as u64),
            memory,
            is_shared: false,
            depth,
        }
    }
}

/// A background job of a shell.
struct BackgroundJob {
    handle: AbortHandle,
    has_ended: Arc<AtomicBool>,
}

/// Aborts the background jobs of a process when it is dropped.
pub(crate) struct JobsGuard(Arc<Process>);

impl Drop for JobsGuard {
    fn drop(&mut self) {
        for job in self.0.jobs.lock().drain(..) {
            job.handle.abort();
        }
    }
}

impl Process {
    pub(crate) fn new(
        container: Arc<Container>,
        run_program: RunProgram,
        limits: ProcessLimits,
    ) -> Arc<Self> {
        Arc::new(Self {
            limits,
            container,
            run_program,
            steps: AtomicU64::new(0),
            reached_depth: AtomicBool::new(false),
            memory: Memory::new(limits.memory.1, limits.is_shared),
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

    /// Name and value of the limit that ended the process; `None` if it is within its limits.
    pub(crate) fn exceeded_limit(&self) -> Option<(&'static str, u64)> {
        let (limit, bytes) = self.limits.memory;
        if self.memory.is_exhausted() {
            return Some((limit, bytes as u64));
        }
        let (limit, commands) = self.limits.commands;
        (self.steps() > commands).then_some((limit, commands))
    }

    /// The number of commands so far.
    pub(crate) fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }

    pub(super) fn depth(&self) -> usize {
        self.limits.depth
    }

    /// Notes that a command was nested too deeply.
    pub(super) fn note_depth(&self) {
        self.reached_depth.store(true, Ordering::Relaxed);
    }

    /// Whether a command was nested too deeply.
    pub(crate) fn has_reached_depth(&self) -> bool {
        self.reached_depth.load(Ordering::Relaxed)
    }

    /// Ends the process for lack of memory.
    pub(super) fn exhaust_memory(&self) {
        self.memory.exhaust();
    }

    /// Counts a command. False if there were too many, or if they took too much memory.
    pub(crate) async fn step(&self) -> bool {
        let steps = self.steps.fetch_add(1, Ordering::Relaxed);
        if steps.is_multiple_of(YIELD) {
            self.container.system().yield_now().await;
        }
        steps < self.limits.commands.1 && !self.memory.is_exhausted()
    }

    /// A permit for the commands of a pipeline; `None` if there are too many.
    pub(super) fn pipeline(&self, commands: usize) -> Option<SemaphorePermit<'_>> {
        let commands = u32::try_from(commands).ok()?;
        self.piped.try_acquire_many(commands).ok()
    }

    /// Runs a background job. False if there are too many.
    pub(crate) fn spawn(&self, job: impl Future<Output = ()> + Send + 'static) -> bool {
        let mut jobs = self.jobs.lock();
        jobs.retain(|job| !job.has_ended.load(Ordering::Relaxed));
        if jobs.len() >= JOBS {
            return false;
        }
        let has_ended = Arc::new(AtomicBool::new(false));
        let ended = has_ended.clone();
        let (job, handle) = abortable(job);
        self.container.system().spawn(
            async move {
                let _ = job.await;
                ended.store(true, Ordering::Relaxed);
            }
            .boxed(),
        );
        jobs.push(BackgroundJob { handle, has_ended });
        true
    }
}

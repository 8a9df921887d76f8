//! Executes a command in virtual time: tasks run until all of them wait, then the time advances to the end of the
//! next wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Wake, Waker};

use futures::FutureExt;
use futures::future::BoxFuture;
use jiff::Timestamp;
use kueue_lab_container_program::Step;
use tokio::task::coop::unconstrained;

use super::image_program::image_programs;
use super::virtual_system::VirtualSystem;
use super::{Environment, ScriptLimits, Timeline};
use crate::commands::{programs, run_program};
use crate::container::{Container, ContainerConfig};
use crate::filesystem::{FileSystem, StorageBudget, base_image};
use crate::shell::{DEPTH, Process, ProcessLimits, Shell};
use crate::streams::{Input, Output, Streams};

/// Waits one after the other without any effect after which a process counts as hanging.
const IDLE_WAITS: usize = 200;

/// Notes that a task was woken. All tasks are polled then.
#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Nesting depth for which the stack of any thread suffices.
const SHALLOW: usize = 12;
/// Bytes of a stack that suffice for [`DEPTH`].
const STACK: usize = 16 << 20;

/// The steps of a command.
pub(super) fn execute(
    words: &[&str],
    environment: &Environment,
    is_busybox: bool,
    limits: ScriptLimits,
) -> Vec<Step> {
    let run = |depth| run(words, environment, is_busybox, limits, depth);
    let (steps, has_reached_depth) = run(SHALLOW);
    if !has_reached_depth {
        return steps;
    }
    let deep = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK);
        let thread = thread.spawn_scoped(scope, || run(DEPTH).0).ok()?;
        thread.join().ok()
    });
    deep.unwrap_or(steps)
}

/// The steps of a command, and whether commands were nested more deeply than `depth`.
fn run(
    words: &[&str],
    environment: &Environment,
    is_busybox: bool,
    limits: ScriptLimits,
    depth: usize,
) -> (Vec<Step>, bool) {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let timeline = Arc::new(Timeline::new(limits));
    let system = Arc::new(VirtualSystem::new(timeline.clone(), words.clone()));
    let container = container(&words, environment, is_busybox, limits, system.clone());
    let process_limits = ProcessLimits::new(
        ("script-commands", limits.commands),
        ("script-bytes", limits.bytes),
        depth,
    );
    let process = Process::new(container, run_program, process_limits);
    let output = Output::recorded(timeline.clone());
    let streams = Streams {
        stdin: Input::empty(),
        stdout: output.clone(),
        stderr: output,
    };
    let mut shell = Shell::new(process.clone());
    // Tokio's budget of a task would suspend tasks that nothing wakes here.
    let mut command = unconstrained(shell.execute(&words, &streams).boxed());
    let mut tasks: Vec<_> = Vec::new();
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(woken.clone());
    let mut context = Context::from_waker(&waker);
    let (mut effects, mut idle_waits) = (0, 0);
    let code = loop {
        woken.0.store(false, Ordering::Relaxed);
        let code = command.poll_unpin(&mut context);
        if let Some((limit, value)) = process.exceeded_limit() {
            timeline.exceed(limit, value as usize);
        }
        if timeline.has_ended() || (depth < DEPTH && process.has_reached_depth()) {
            break None;
        }
        if let std::task::Poll::Ready(code) = code {
            break Some(code);
        }
        tasks.retain_mut(
            |task: &mut tokio::task::coop::Unconstrained<BoxFuture<'_, ()>>| {
                task.poll_unpin(&mut context).is_pending()
            },
        );
        let new = system.take_tasks();
        let is_running = woken.0.load(Ordering::Relaxed) || !new.is_empty();
        tasks.extend(new.into_iter().map(unconstrained));
        if is_running {
            continue;
        }
        let before =
            std::mem::replace(&mut effects, process.steps() + timeline.step_count() as u64);
        idle_waits = if before == effects { idle_waits + 1 } else { 0 };
        if idle_waits > IDLE_WAITS || !timeline.advance() {
            break None;
        }
    };
    (timeline.finish(code), process.has_reached_depth())
}

/// The container in which a command is executed.
fn container(
    words: &[String],
    environment: &Environment,
    is_busybox: bool,
    limits: ScriptLimits,
    system: Arc<VirtualSystem>,
) -> Arc<Container> {
    let now = Timestamp::UNIX_EPOCH;
    let hostname = environment.get("HOSTNAME").cloned().unwrap_or_default();
    let budget = StorageBudget::new(limits.bytes);
    // Operators start `bash` in every image.
    let own_shell = (words.first().map(String::as_str) == Some("/bin/bash")).then_some("bash");
    let programs = programs(is_busybox, true).chain(own_shell);
    let files = FileSystem::incomplete(base_image(programs, budget, now));
    files.provide("/etc/hostname", format!("{hostname}\n"), 0o644, now);
    files.provide("/etc/hosts", "127.0.0.1\tlocalhost\n", 0o644, now);
    Container::new(ContainerConfig {
        hostname,
        environment: environment.clone(),
        working_dir: "/".into(),
        is_busybox,
        files,
        system,
        programs: image_programs(),
    })
}

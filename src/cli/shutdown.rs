//! The shutdown of the process. The first SIGINT or SIGTERM requests it, a second one ends the process at once, and
//! a deadline ends it whatever its tasks do. Threads do this: the async runtime may not respond.

use std::future::Future;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use tokio_util::sync::CancellationToken;

use super::CommandError;

/// The time from the request until the process is ended.
const DEADLINE: Duration = Duration::from_millis(1800);
/// The part of it in which everything can stop by itself.
const GRACE_PERIOD: Duration = Duration::from_millis(1400);
/// The time for what is done before the process is ended.
const CLEANUP_TIMEOUT: Duration = Duration::from_millis(150);
/// The exit code of a process that a signal ends is the signal with this.
const SIGNAL_EXIT_CODE: i32 = 128;

/// What is done before the process is ended.
type Cleanup = Box<dyn FnOnce() + Send>;

/// The shutdown of the process. Clones share it.
#[derive(Clone)]
pub(super) struct Shutdown(Arc<Shared>);

struct Shared {
    requested: CancellationToken,
    grace_period_over: CancellationToken,
    state: Mutex<State>,
    /// Wakes the thread of the deadline.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// When the shutdown was requested.
    since: Option<Instant>,
    /// The first signal.
    signal: Option<i32>,
    /// The time that is added to the deadline.
    delay: Duration,
    cleanup: Vec<Cleanup>,
}

impl Shutdown {
    /// Handles SIGINT and SIGTERM from now on, and SIGHUP for a user interface on a terminal.
    ///
    /// # Errors
    /// Signals cannot be handled, or the threads cannot be started.
    pub(super) fn start(has_terminal: bool) -> Result<Self, CommandError> {
        let failed = |e| CommandError::failed(e).with_message("cannot wait for signals");
        let handled = match has_terminal {
            true => &[SIGINT, SIGTERM, SIGHUP][..],
            false => &[SIGINT, SIGTERM],
        };
        let mut signals = Signals::new(handled).map_err(failed)?;
        let shared = Arc::new(Shared {
            requested: CancellationToken::new(),
            grace_period_over: CancellationToken::new(),
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let of_signals = shared.clone();
        let receive = move || {
            for signal in signals.forever() {
                of_signals.receive(signal);
            }
        };
        let named = |name: &str| thread::Builder::new().name(name.to_owned());
        named("signals").spawn(receive).map_err(failed)?;
        let of_deadline = shared.clone();
        let enforce = move || of_deadline.enforce_deadline();
        named("shutdown").spawn(enforce).map_err(failed)?;
        Ok(Self(shared))
    }

    /// Adds time to the deadline of a shutdown that has not been requested yet.
    pub(super) fn delay(&self, delay: Duration) {
        self.0.state.lock().delay = delay;
    }

    /// Adds a step before the process is ended. The steps run at the same time, each in a thread, and are not
    /// waited for if they block.
    pub(super) fn before_exit(&self, step: impl FnOnce() + Send + 'static) {
        self.0.state.lock().cleanup.push(Box::new(step));
    }

    /// Requests the shutdown: from now on the deadline runs.
    pub(super) fn request(&self) {
        self.0.request();
    }

    /// Waits for the request.
    pub(super) async fn requested(&self) {
        self.0.requested.cancelled().await;
    }

    /// A token that the request cancels.
    pub(super) fn token(&self) -> CancellationToken {
        self.0.requested.clone()
    }

    /// Waits until the time in which everything can stop by itself is over.
    pub(super) async fn grace_period_over(&self) {
        self.0.grace_period_over.cancelled().await;
    }

    /// The output of `work`; `None` if it is not done at the end of the grace period.
    pub(super) async fn bounded<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            output = work => Some(output),
            () = self.grace_period_over() => None,
        }
    }

    /// The output of `work`.
    ///
    /// # Errors
    /// The shutdown is requested before.
    pub(super) async fn unless_requested<T>(
        &self,
        work: impl Future<Output = T>,
    ) -> Result<T, CommandError> {
        tokio::select! {
            biased;
            output = work => Ok(output),
            () = self.requested() => Err(CommandError::failed("interrupted")),
        }
    }
}

impl Shared {
    /// Requests the shutdown, or ends the process if this is not the first signal. The UI also requests it when it
    /// receives a signal, perhaps before this is called, so that a request does not count as one.
    fn receive(&self, signal: i32) {
        let is_second = {
            let mut state = self.state.lock();
            let is_second = state.signal.is_some();
            state.signal.get_or_insert(signal);
            is_second
        };
        if is_second {
            self.end(SIGNAL_EXIT_CODE + signal, None);
        }
        self.request();
    }

    fn request(&self) {
        {
            let mut state = self.state.lock();
            if state.since.is_some() {
                return;
            }
            state.since = Some(Instant::now());
        }
        self.changed.notify_all();
        self.requested.cancel();
    }

    /// Ends the process after a request, unless it ends by itself.
    fn enforce_deadline(&self) {
        let since = {
            let mut state = self.state.lock();
            loop {
                match state.since {
                    Some(since) => break since + state.delay,
                    None => self.changed.wait(&mut state),
                }
            }
        };
        sleep_until(since + GRACE_PERIOD);
        self.grace_period_over.cancel();
        sleep_until(since + DEADLINE);
        let message = "not all parts have stopped in time; the process ends without them";
        let signal = self.state.lock().signal;
        let code = signal.map_or(1, |signal| SIGNAL_EXIT_CODE + signal);
        self.end(code, Some(message));
    }

    /// Ends the process, without waiting for any other thread.
    fn end(&self, code: i32, message: Option<&'static str>) -> ! {
        let mut steps = std::mem::take(&mut self.state.lock().cleanup);
        if let Some(message) = message {
            steps.push(Box::new(move || eprintln!("error: {message}")));
        }
        let (done, is_done) = mpsc::channel::<()>();
        for step in steps {
            let done = done.clone();
            let work = move || {
                step();
                drop(done);
            };
            // Without a thread the step is left out.
            let _ = thread::Builder::new().spawn(work);
        }
        drop(done);
        // Disconnected when all are done.
        let _ = is_done.recv_timeout(CLEANUP_TIMEOUT);
        // Runs no exit handlers: they may wait for other threads.
        signal_hook::low_level::exit(code)
    }
}

fn sleep_until(at: Instant) {
    thread::sleep(at.saturating_duration_since(Instant::now()));
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Read};
    use std::path::{Path, PathBuf};
    use std::process::{Child, ChildStdout, Command, Stdio};
    use std::sync::atomic::{AtomicUsize, Ordering};

    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::Api;
    use kube::api::PostParams;
    use kueue_lab_clock::Clock;
    use kueue_lab_clock::Entropy;
    use kueue_lab_lab::{DataDir, Lab, LabConfig};

    use super::*;
    use crate::cli::runtime;

    /// Names the folder of a process that a test starts: this program, with the name of one of the tests that
    /// do nothing without it.
    const FOLDER: &str = "KUEUE_LAB_SHUTDOWN_TEST";
    /// The longest block.
    const BLOCKED: Duration = Duration::from_mins(10);

    /// A process that runs a test of this file and is blocked.
    struct BlockedProcess {
        child: Child,
        stdout: BufReader<ChildStdout>,
    }

    impl BlockedProcess {
        fn start(test: &str, folder: &Path) -> Self {
            let mut child = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "--nocapture"])
                .arg(format!("cli::shutdown::tests::{test}"))
                .env(FOLDER, folder)
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let mut stdout = BufReader::new(child.stdout.take().unwrap());
            let mut line = String::new();
            while !line.contains("blocked") {
                line.clear();
                assert_ne!(stdout.read_line(&mut line).unwrap(), 0, "it has ended");
            }
            Self { child, stdout }
        }

        fn signal(&self, signal: &str) {
            let id = self.child.id().to_string();
            let sent = Command::new("kill").args([signal, &id]).status().unwrap();
            assert!(sent.success());
        }

        fn wait_for_line(&mut self, text: &str) {
            let mut line = String::new();
            while !line.contains(text) {
                line.clear();
                assert_ne!(self.stdout.read_line(&mut line).unwrap(), 0, "it has ended");
            }
        }

        /// The exit code and the error output.
        fn wait(mut self) -> (Option<i32>, String) {
            let mut printed = String::new();
            let mut stderr = self.child.stderr.take().unwrap();
            stderr.read_to_string(&mut printed).unwrap();
            (self.child.wait().unwrap().code(), printed)
        }
    }

    impl Drop for BlockedProcess {
        fn drop(&mut self) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }

    /// The folder of the process, if it is that of a test.
    fn folder() -> Option<PathBuf> {
        std::env::var_os(FOLDER).map(PathBuf::from)
    }

    #[test]
    fn a_process_whose_main_thread_is_blocked_ends() {
        let folder = tempfile::tempdir().unwrap();
        let process = BlockedProcess::start("blocks_its_main_thread", folder.path());
        process.signal("-TERM");
        let (code, printed) = process.wait();
        assert_eq!(code, Some(128 + SIGTERM), "{printed}");
        assert!(
            printed.contains("not all parts have stopped in time"),
            "{printed}"
        );
        assert!(folder.path().join("cleaned-up").exists());
    }

    #[test]
    fn blocks_its_main_thread() {
        let Some(folder) = folder() else { return };
        let shutdown = Shutdown::start(false).unwrap();
        // Neither a step that blocks nor one that panics keeps others from running.
        shutdown.before_exit(|| thread::sleep(BLOCKED));
        shutdown.before_exit(|| panic!("of a test"));
        shutdown.before_exit(move || std::fs::write(folder.join("cleaned-up"), "").unwrap());
        println!("blocked");
        thread::sleep(BLOCKED);
    }

    #[test]
    fn a_second_signal_ends_the_process_before_the_deadline() {
        let folder = tempfile::tempdir().unwrap();
        let mut process = BlockedProcess::start("takes_time_to_stop", folder.path());
        process.signal("-INT");
        process.wait_for_line("requested");
        process.signal("-INT");
        let (code, printed) = process.wait();
        assert_eq!(code, Some(128 + SIGINT), "{printed}");
        assert!(!printed.contains("not all parts"), "{printed}");
    }

    #[test]
    fn takes_time_to_stop() {
        if folder().is_none() {
            return;
        }
        let shutdown = Shutdown::start(false).unwrap();
        shutdown.delay(BLOCKED);
        println!("blocked");
        runtime().unwrap().block_on(shutdown.requested());
        println!("requested");
        thread::sleep(BLOCKED);
    }

    /// Controllers that do not yield take all threads of the runtime: its timers and its network do not work.
    #[test]
    fn a_lab_whose_tasks_do_not_yield_stops_and_can_be_opened_again() {
        let folder = tempfile::tempdir().unwrap();
        let process = BlockedProcess::start("runs_a_lab_whose_tasks_do_not_yield", folder.path());
        process.signal("-INT");
        let (code, printed) = process.wait();
        assert_eq!(code, Some(3), "{printed}");
        let mut data = DataDir::open(&folder.path().join("data")).unwrap();
        let (state, _) = data.take_content(&Clock::real()).unwrap();
        let maps = &state.objects["/configmaps"];
        assert!(maps.iter().any(|map| map.key.ends_with("default/kept")));
    }

    #[test]
    fn runs_a_lab_whose_tasks_do_not_yield() {
        let Some(folder) = folder() else { return };
        let shutdown = Shutdown::start(false).unwrap();
        let has_stopped = runtime().unwrap().block_on(async {
            let data = DataDir::open(&folder.join("data")).unwrap();
            let mut config = LabConfig::embedded(Clock::real(), Entropy::from_os(), folder);
            config.cluster.data = Some(data);

            let lab = Lab::start(config).await.unwrap();
            let mut map = ConfigMap::default();
            map.metadata.name = Some("kept".into());
            let maps = Api::namespaced(lab.client(), "default");
            maps.create(&PostParams::default(), &map).await.unwrap();
            let threads = tokio::runtime::Handle::current().metrics().num_workers();
            let blocked = Arc::new(AtomicUsize::new(0));
            for _ in 0..threads {
                let blocked = blocked.clone();
                lab.context().tasks.spawn("blocked", async move {
                    blocked.fetch_add(1, Ordering::SeqCst);
                    thread::sleep(BLOCKED);
                });
            }
            while blocked.load(Ordering::SeqCst) < threads {
                thread::yield_now();
            }
            println!("blocked");
            shutdown.requested().await;
            lab.stop_until(shutdown.grace_period_over()).await
        });
        // The runtime has been dropped, with its threads blocked.
        std::process::exit(if has_stopped { 0 } else { 3 });
    }

    #[test]
    fn a_runtime_is_dropped_while_a_thread_is_blocked() {
        let (release, released) = mpsc::channel::<()>();
        let (started, is_started) = mpsc::channel();
        let runtime = runtime().unwrap();
        runtime.block_on(async {
            tokio::task::spawn_blocking(move || {
                started.send(()).unwrap();
                let _ = released.recv();
            });
        });
        is_started.recv().unwrap();
        drop(runtime);
        drop(release);
    }
}

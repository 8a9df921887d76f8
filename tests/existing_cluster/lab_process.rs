//! The binary `kueue-lab` as a process.

use std::future::Future;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Timeout of every wait.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);

/// A working directory with `presets/p` and other files.
pub(crate) struct WorkDir {
    root: tempfile::TempDir,
}

impl WorkDir {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        Self { root }
    }

    pub(crate) fn path(&self) -> &Path {
        self.root.path()
    }

    /// Writes a file below the folder.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// The binary, without the test's environment except for the given variables.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kueue-lab"));
        command
            .args(args)
            .current_dir(self.path())
            .env_clear()
            .env("HOME", self.path())
            .stdin(Stdio::null());
        if let Ok(filter) = std::env::var("KUEUE_LAB_TEST_LOG") {
            command.env("RUST_LOG", filter);
        }
        command
    }

    /// Runs a command to its end, without blocking the executor.
    pub(crate) async fn run(&self, args: &[&str]) -> Output {
        let mut command = self.command(args);
        tokio::task::spawn_blocking(move || command.output().unwrap())
            .await
            .unwrap()
    }

    /// Runs a command that must exit with code 2; returns its one error line.
    pub(crate) async fn run_rejected(&self, args: &[&str]) -> String {
        let output = self.run(args).await;
        let printed = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?} printed {printed}");
        assert_eq!(output.stdout, b"", "{args:?}");
        let complaints = printed.lines().filter_map(|l| l.strip_prefix("error: "));
        let complaints: Vec<_> = complaints.collect();
        assert_eq!(complaints.len(), 1, "{printed}");
        complaints[0].to_owned()
    }

    /// Starts a lab and waits until it is ready.
    pub(crate) async fn start(&self, args: &[&str]) -> RunningLab {
        self.start_command(self.command(args)).await
    }

    /// Starts a lab by a command of this folder and waits until it is ready.
    pub(crate) async fn start_command(&self, command: Command) -> RunningLab {
        self.spawn(command).ready().await
    }

    /// Starts a lab by a command of this folder and does not wait.
    pub(crate) fn spawn(&self, mut command: Command) -> StartingLab {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let log = Arc::new(Mutex::new(String::new()));
        let (stderr, kept) = (child.stderr.take().unwrap(), log.clone());
        let reader = std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                kept.lock().unwrap().push_str(&(line + "\n"));
            }
        });
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, receiver) = tokio::sync::oneshot::channel();
        std::thread::spawn(move || {
            let mut line = String::new();
            let read = stdout.read_line(&mut line);
            // The receiver may be dropped.
            let _ = sender.send(read.map(|_| line.trim_end().to_owned()));
            // Drains the pipe, so that the process does not block.
            let _ = stdout.read_to_end(&mut Vec::new());
        });
        StartingLab {
            running: RunningLab {
                child,
                log,
                kubeconfig_path: String::new(),
            },
            answer: None,
            ready_receiver: Some(receiver),
            reader,
        }
    }
}

/// A lab that may not be ready yet.
pub(crate) struct StartingLab {
    running: RunningLab,
    answer: Option<std::io::Result<String>>,
    ready_receiver: Option<tokio::sync::oneshot::Receiver<std::io::Result<String>>>,
    reader: std::thread::JoinHandle<()>,
}

impl StartingLab {
    /// The log so far.
    pub(crate) fn log(&self) -> String {
        self.running.log()
    }

    /// Waits until the lab is ready or has exited. Cancel safe.
    pub(crate) async fn wait_until_answered(&mut self) {
        if let Some(receiver) = &mut self.ready_receiver {
            self.answer = receiver.await.ok();
            self.ready_receiver = None;
        }
    }

    /// Interrupts the lab before it is ready; returns the exit code and the log.
    pub(crate) async fn interrupted(mut self) -> (Option<i32>, String) {
        let id = self.running.child.id().to_string();
        let sent = Command::new("kill").args(["-INT", &id]).status().unwrap();
        assert!(sent.success());
        tokio::task::spawn_blocking(move || {
            let code = self.running.child.wait().unwrap().code();
            let _ = self.reader.join();
            let log = std::mem::take(&mut *self.running.log.lock().unwrap());
            (code, log)
        })
        .await
        .unwrap()
    }

    /// Waits until the lab is ready; panics with the log if it exits.
    pub(crate) async fn ready(mut self) -> RunningLab {
        self.wait_until_answered().await;
        let printed = self.answer.take();
        if let Some(Ok(line)) = &printed
            && let Some(kubeconfig) = line.strip_prefix("ready ")
        {
            self.running.kubeconfig_path = kubeconfig.to_owned();
            return self.running;
        }
        // The process exits, or hangs with its output closed; either way the log must be complete.
        let ended = tokio::task::spawn_blocking(move || {
            let started = Instant::now();
            let mut child = self.running.child.try_wait();
            while matches!(child, Ok(None)) && started.elapsed() < Duration::from_secs(10) {
                std::thread::sleep(Duration::from_millis(50));
                child = self.running.child.try_wait();
            }
            let _ = self.running.child.kill();
            let _ = self.running.child.wait();
            let _ = self.reader.join();
            let log = std::mem::take(&mut *self.running.log.lock().unwrap());
            (child, log)
        });
        let (child, log) = ended.await.unwrap();
        panic!("not ready but {printed:?}, ended with {child:?}, and printed:\n{log}");
    }
}

/// A lab that runs until it is dropped.
pub(crate) struct RunningLab {
    child: Child,
    log: Arc<Mutex<String>>,
    kubeconfig_path: String,
}

impl RunningLab {
    /// The id of the process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The path of the kubeconfig, from the ready line.
    pub(crate) fn kubeconfig_path(&self) -> &str {
        &self.kubeconfig_path
    }

    /// The log so far.
    pub(crate) fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// Sends SIGTERM and waits for the exit.
    pub(crate) async fn stop(mut self) -> Option<i32> {
        let id = self.id().to_string();
        let sent = Command::new("kill").args(["-TERM", &id]).status().unwrap();
        assert!(sent.success());
        tokio::task::spawn_blocking(move || self.child.wait().unwrap().code())
            .await
            .unwrap()
    }

    /// Kills the process.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for RunningLab {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("the lab printed:\n{}", self.log());
        }
    }
}

/// Polls `found` until it returns a value.
pub(crate) async fn wait_for<T, F: Future<Output = Option<T>>>(
    what: &str,
    mut found: impl FnMut() -> F,
) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = found().await {
            return found;
        }
        assert!(
            started.elapsed() < TIMEOUT,
            "timed out waiting until {what}"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

//! The binary as a person runs it, and words for what must come of it.

use std::future::Future;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How long anything may take that must come.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A folder a person works in: `presets/p` and whatever else they write.
pub struct Desk {
    root: tempfile::TempDir,
}

impl Desk {
    pub fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        Self { root }
    }

    pub fn path(&self) -> &Path {
        self.root.path()
    }

    /// Writes a file below the folder.
    pub fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// The binary, with nothing of the machine's environment but what is named.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kueue-lab"));
        command
            .args(args)
            .current_dir(self.path())
            .env_clear()
            .env("HOME", self.path())
            .env("RUST_LOG", "info")
            .stdin(Stdio::null());
        command
    }

    /// Runs what ends by itself. The processes' waiting must not hold up a cluster in the same test.
    pub async fn run(&self, args: &[&str]) -> Output {
        let mut command = self.command(args);
        tokio::task::spawn_blocking(move || command.output().unwrap())
            .await
            .unwrap()
    }

    /// Runs what must be refused as a mistake in the request; gives the one line it says.
    pub async fn refused(&self, args: &[&str]) -> String {
        let output = self.run(args).await;
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?} said {said}");
        assert_eq!(output.stdout, b"", "{args:?}");
        let complaints = said.lines().filter_map(|l| l.strip_prefix("kueue-lab: "));
        let complaints: Vec<_> = complaints.collect();
        assert_eq!(complaints.len(), 1, "{said}");
        complaints[0].to_owned()
    }

    /// Starts a lab and waits until it is ready.
    pub async fn start(&self, args: &[&str]) -> Running {
        self.start_command(self.command(args)).await
    }

    /// Starts a lab by a command of this desk and waits until it is ready.
    pub async fn start_command(&self, mut command: Command) -> Running {
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
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let mut running = Running { child, log };
        let line = tokio::task::spawn_blocking(move || {
            let mut stdout = stdout;
            let mut line = String::new();
            stdout.read_line(&mut line).unwrap();
            // Nobody is to be stopped by a full pipe.
            std::thread::spawn(move || stdout.read_to_end(&mut Vec::new()));
            line
        });
        let line = line.await.unwrap();
        if !line.starts_with("ready ") {
            let _ = running.child.wait();
            let _ = reader.join();
            panic!("{line:?}, and said:\n{}", running.log());
        }
        running
    }
}

/// A lab that runs until it is dropped.
pub struct Running {
    child: Child,
    log: Arc<Mutex<String>>,
}

impl Running {
    /// What it has said so far.
    pub fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// Asks it to stop and waits for that.
    pub async fn stop(mut self) -> Option<i32> {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args(["-TERM", &id]).status().unwrap();
        assert!(sent.success());
        tokio::task::spawn_blocking(move || self.child.wait().unwrap().code())
            .await
            .unwrap()
    }

    /// Takes its life without warning.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("the lab said:\n{}", self.log());
        }
    }
}

/// Waits until `found` gives something.
pub async fn until<T, F: Future<Output = Option<T>>>(
    what: &str,
    mut found: impl FnMut() -> F,
) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = found().await {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "waited in vain until {what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

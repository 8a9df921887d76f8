//! Runs external programs: found on PATH, called with argument vectors and never through a shell,
//! with streamed stderr and a timeout.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

use super::LocalClusterError;

/// How many bytes of output are kept.
const MAX_OUTPUT: usize = 1 << 20;

/// A program found on PATH.
#[derive(Clone, Debug)]
pub(super) struct Program {
    name: &'static str,
    path: PathBuf,
    env: Vec<(&'static str, &'static str)>,
}

/// The output of a finished program.
#[derive(Debug)]
pub(super) struct ProgramOutput {
    /// Whether it exited with 0.
    pub(super) success: bool,
    /// Its stdout.
    pub(super) stdout: String,
    /// Its stderr.
    pub(super) stderr: String,
}

impl ProgramOutput {
    /// The error line of stderr: the last one marked as an error, or the last of all.
    pub(super) fn error_line(&self) -> String {
        let all = || {
            self.stderr
                .lines()
                .chain(self.stdout.lines())
                .map(str::trim)
        };
        let is_error = |line: &&str| {
            let words = ["error", "failed", "fata", "cannot", "denied"];
            let lower = line.to_ascii_lowercase();
            words.iter().any(|w| lower.contains(w))
        };
        let line = all().rfind(is_error);
        let line = line.or_else(|| all().rfind(|l| !l.is_empty()));
        line.unwrap_or("no output").to_owned()
    }
}

impl Program {
    /// Finds a program on PATH.
    pub(super) fn find(name: &'static str) -> Option<Self> {
        let path = std::env::var_os("PATH")?;
        let found = std::env::split_paths(&path)
            .map(|folder| folder.join(name))
            .find(|file| is_executable(file))?;
        Some(Self {
            name,
            path: found,
            env: Vec::new(),
        })
    }

    /// Its name.
    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    /// Sets an environment variable.
    pub(super) fn with_env(mut self, name: &'static str, value: &'static str) -> Self {
        self.env.push((name, value));
        self
    }

    /// Runs it to its end; `observe` gets each line of stderr as it is written. After `limit` it is
    /// killed.
    ///
    /// # Errors
    /// It cannot be started, or was killed.
    pub(super) async fn run(
        &self,
        args: &[&str],
        limit: Duration,
        observe: &(dyn Fn(&str) + Sync),
    ) -> Result<ProgramOutput, LocalClusterError> {
        let call = || format!("{} {}", self.name, args.join(" "));
        let broken = |e: std::io::Error| LocalClusterError::Failed {
            call: call(),
            reason: e.to_string(),
        };
        tracing::debug!(program = %self.path.display(), ?args, "running");
        let mut child = kueue_lab_host::program(&self.path)
            .args(args)
            .envs(self.env.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(broken)?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let quiet = |_: &str| {};
        let all = async {
            let (out, err) = tokio::join!(read_lines(stdout, &quiet), read_lines(stderr, observe));
            let status = child.wait().await.map_err(broken)?;
            Ok(ProgramOutput {
                success: status.success(),
                stdout: out,
                stderr: err,
            })
        };
        match tokio::time::timeout(limit, all).await {
            Ok(output) => output,
            Err(_) => {
                // Waits for the end, so that it does not run on during cleanup.
                let _ = child.kill().await;
                Err(LocalClusterError::TimedOut {
                    call: call(),
                    seconds: limit.as_secs(),
                })
            }
        }
    }

    /// Runs it and returns its stdout.
    ///
    /// # Errors
    /// It failed.
    pub(super) async fn stdout_of(
        &self,
        args: &[&str],
        limit: Duration,
    ) -> Result<String, LocalClusterError> {
        let output = self.run(args, limit, &|_| {}).await?;
        match output.success {
            true => Ok(output.stdout),
            false => Err(LocalClusterError::Failed {
                call: format!("{} {}", self.name, args.join(" ")),
                reason: output.error_line(),
            }),
        }
    }
}

fn is_executable(file: &std::path::Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let metadata = std::fs::metadata(file);
    metadata.is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

async fn read_lines(
    pipe: Option<impl AsyncRead + Unpin>,
    observe: &(dyn Fn(&str) + Sync),
) -> String {
    let mut all = String::new();
    let Some(pipe) = pipe else {
        return all;
    };
    let mut reader = BufReader::new(pipe);
    let mut line = Vec::new();
    // Lines need not be UTF-8; a broken pipe is the end.
    while let Ok(1..) = reader.read_until(b'\n', &mut line).await {
        let text = String::from_utf8_lossy(&line);
        observe(text.trim_end());
        if all.len() + text.len() <= MAX_OUTPUT {
            all.push_str(&text);
        }
        line.clear();
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_program_over_its_timeout_is_killed() {
        let sleep = Program::find("sleep").unwrap();
        let limit = Duration::from_millis(50);
        let ended = sleep.run(&["600"], limit, &|_| {}).await;
        assert!(
            matches!(ended, Err(LocalClusterError::TimedOut { .. })),
            "{ended:?}"
        );
    }

    #[tokio::test]
    async fn error_line_finds_the_error() {
        let shell = Program::find("sh").unwrap();
        let script = "echo one >&2; echo 'ERROR: two' >&2; echo three >&2; exit 3";
        let observe = parking_lot::Mutex::new(Vec::new());
        let record = |line: &str| observe.lock().push(line.to_owned());
        let limit = Duration::from_secs(60);
        let output = shell.run(&["-c", script], limit, &record).await.unwrap();
        assert!(!output.success);
        assert_eq!(output.error_line(), "ERROR: two");
        assert_eq!(*observe.lock(), ["one", "ERROR: two", "three"]);
        assert!(Program::find("no such program").is_none());
    }
}

//! Executes commands in a container.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{mpsc, watch};

use crate::commands::run_program;
use crate::container::Container;
use crate::shell::{Process, ProcessLimits, Shell};
use crate::streams::{Input, LineDiscipline, Output, Streams, Terminal, TerminalSize};

/// The error of the execution of a command, with the text of the container runtime.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ExecError(pub String);

/// The streams of a process that is executed.
pub struct ExecStreams {
    /// Input; without it the process has none.
    pub stdin: Option<mpsc::Receiver<Bytes>>,
    /// Output; without it, it is dropped.
    pub stdout: Option<mpsc::Sender<Bytes>>,
    /// Error output; without it, it is dropped. Not used with a terminal.
    pub stderr: Option<mpsc::Sender<Bytes>>,
    /// The size of the terminal, if the process has one.
    pub terminal: Option<watch::Receiver<TerminalSize>>,
}

impl Container {
    /// Executes a command, which is not run by a shell. Returns its exit code.
    ///
    /// # Errors
    /// The command is not found or not executable.
    pub async fn exec(
        self: &Arc<Self>,
        command: &[String],
        streams: ExecStreams,
    ) -> Result<i32, ExecError> {
        let Some(program) = command.first() else {
            return Err(ExecError(
                "OCI runtime exec failed: exec failed: unable to start container process: no command specified".into(),
            ));
        };
        self.check_executable(program)?;
        let process = Process::new(self.clone(), run_program, ProcessLimits::EXEC);
        let mut shell = Shell::new(process);
        let output =
            |sender: Option<mpsc::Sender<Bytes>>| sender.map_or_else(Output::null, Output::channel);
        let Some(size) = streams.terminal else {
            let streams = Streams {
                stdin: streams.stdin.map_or_else(Input::empty, Input::channel),
                stdout: output(streams.stdout),
                stderr: output(streams.stderr),
            };
            return Ok(shell.execute(command, &streams).await);
        };
        let (screen, keys) = (streams.stdout, streams.stdin);
        let screen = screen.unwrap_or_else(|| mpsc::channel(1).0);
        let (line_sender, lines) = mpsc::channel(16);
        let (interrupt_sender, interrupts) = watch::channel(0);
        shell.set_terminal(interrupts.clone(), size);
        let terminal = Terminal { lines, interrupts };
        let streams = Streams {
            stdin: Input::channel(terminal.lines),
            stdout: Output::terminal(screen.clone()),
            stderr: Output::terminal(screen.clone()),
        };
        let discipline = async {
            if let Some(keys) = keys {
                let discipline = LineDiscipline::default();
                discipline
                    .run(keys, line_sender, interrupt_sender, screen)
                    .await;
            }
            std::future::pending::<()>().await;
        };
        let mut interrupts = terminal.interrupts;
        let is_shell = shell.is_shell(program);
        // An interactive shell handles interrupts itself.
        let interrupted = async {
            while is_shell || interrupts.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            code = shell.execute(command, &streams) => Ok(code),
            () = interrupted => Ok(130),
            () = discipline => Ok(129),
        }
    }

    fn check_executable(&self, program: &str) -> Result<(), ExecError> {
        let failed = |why: &str| {
            let text = format!(
                "OCI runtime exec failed: exec failed: unable to start container process: exec: {program:?}: {why}"
            );
            Err(ExecError(text))
        };
        let path = match program.contains('/') {
            true => program.to_owned(),
            false => match self.find_program(program, self.search_path()) {
                Some(path) => path,
                None => return failed("executable file not found in $PATH"),
            },
        };
        match self.files().stat(&self.config().working_dir, &path) {
            Err(error) => failed(&format!("stat {path}: {}", lower(&error.to_string()))),
            Ok(entry) if entry.is_directory() => failed("is a directory"),
            Ok(entry) if entry.mode & 0o111 == 0 => failed("permission denied"),
            Ok(_) => Ok(()),
        }
    }
}

/// An error as Go words it.
fn lower(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_lowercase().chain(letters).collect(),
        None => String::new(),
    }
}

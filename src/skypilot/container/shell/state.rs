//! The state of a shell.

use std::collections::BTreeMap;
use std::sync::Arc;

use kueue_lab_shell::Variables;
use tokio::sync::watch;

use super::arrays::{self, Arrays};
use super::process::Process;
use crate::container::Container;
use crate::filesystem::{file_name, normalize};
use crate::memory::{MemoryReservation, WORD_OVERHEAD};
use crate::streams::TerminalSize;
use kueue_lab_shell::syntax::{Command, Dialect};

/// The names of shells.
pub const SHELL_NAMES: [&str; 4] = ["sh", "bash", "ash", "dash"];

/// Maximum size of all variables, in bytes.
const VARIABLES: usize = 1 << 20;

/// How execution continues after a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    Next,
    /// Leave this number of loops.
    Break(u32),
    /// Leave all but one of this number of loops, and continue that one.
    Continue(u32),
    Return,
    Exit,
}

/// A variable.
#[derive(Clone, Debug, Default)]
pub(super) struct Variable {
    pub(super) value: String,
    pub(super) exported: bool,
    pub(super) read_only: bool,
}

/// The options of `set`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Options {
    pub(super) errexit: bool,
    pub(super) nounset: bool,
    pub(super) noglob: bool,
    pub(super) xtrace: bool,
    pub(super) pipefail: bool,
}

/// A shell. A clone is a subshell.
#[derive(Clone)]
pub(crate) struct Shell {
    pub(super) process: Arc<Process>,
    pub(super) dialect: Dialect,
    /// `$0`.
    pub(super) name: String,
    pub(super) variables: BTreeMap<String, Variable>,
    /// Arrays, without those of one element that are variables.
    pub(super) arrays: Arrays,
    pub(super) functions: BTreeMap<String, Arc<Command>>,
    pub(super) positional: Vec<String>,
    /// The working directory.
    pub(super) directory: String,
    /// The exit status of the last command.
    pub(super) status: i32,
    pub(super) options: Options,
    pub(super) pid: u32,
    /// The identifier of the last background job.
    pub(super) background: Option<u32>,
    /// The exit statuses of the background jobs.
    pub(super) jobs: Vec<(u32, watch::Receiver<Option<i32>>)>,
    /// How deep commands are nested.
    pub(super) depth: usize,
    /// Whether a failure does not exit the shell (`set -e`): in conditions.
    pub(super) tested: bool,
    /// The line of the script, in error messages.
    pub(super) line: usize,
    /// Whether it is a background job.
    pub(super) is_background: bool,
    /// Whether `timeout` ends it.
    pub(super) has_timeout: bool,
    /// The number of lines that `read` has read.
    pub(super) lines_read: u64,
    /// Whether it reads commands from a terminal.
    pub(super) interactive: bool,
    /// The interrupts and the size of the terminal.
    pub(super) terminal: Option<(watch::Receiver<u64>, watch::Receiver<TerminalSize>)>,
    /// The memory of the variables.
    reservation: MemoryReservation,
}

/// The memory that words take, in bytes.
pub(super) fn words_size(words: &[String]) -> usize {
    words.iter().map(|word| word.len() + WORD_OVERHEAD).sum()
}

impl Shell {
    pub(crate) fn new(process: Arc<Process>) -> Self {
        let config = process.container().config();
        let exported = |(name, value): (&String, &String)| {
            let variable = Variable {
                value: value.clone(),
                exported: true,
                read_only: false,
            };
            (name.clone(), variable)
        };
        let mut variables: BTreeMap<String, Variable> =
            config.environment.iter().map(exported).collect();
        let directory = config.working_dir.clone();
        let mut default = |name: &str, value: &str| {
            variables.entry(name.into()).or_insert_with(|| Variable {
                value: value.into(),
                exported: true,
                read_only: false,
            });
        };
        default("PATH", crate::container::DEFAULT_PATH);
        default("HOSTNAME", &config.hostname);
        default("HOME", "/root");
        let pid = process.container().next_pid();
        let mut reservation = process.reserve();
        reservation.grow(variables.values().map(|v| v.value.len()).sum());
        Self {
            reservation,
            process,
            dialect: Dialect::Posix,
            name: "sh".into(),
            variables,
            arrays: Arrays::new(),
            functions: BTreeMap::new(),
            positional: Vec::new(),
            directory,
            status: 0,
            options: Options::default(),
            pid,
            background: None,
            jobs: Vec::new(),
            depth: 0,
            tested: false,
            line: 1,
            is_background: false,
            has_timeout: false,
            lines_read: 0,
            interactive: false,
            terminal: None,
        }
    }

    pub(crate) fn container(&self) -> &Arc<Container> {
        self.process.container()
    }

    /// An empty reservation of memory.
    pub(crate) fn reserve_memory(&self) -> MemoryReservation {
        self.process.reserve()
    }

    pub(crate) fn directory(&self) -> &str {
        &self.directory
    }

    /// Changes the working directory. False if it is none.
    pub(crate) fn enter_directory(&mut self, path: &str) -> bool {
        let is_directory = self.container().files().is_directory(&self.directory, path);
        if is_directory {
            self.directory = normalize(&self.directory, path);
        }
        is_directory
    }

    /// Notes that `timeout` ends the process.
    pub(crate) fn set_timeout(&mut self) {
        self.has_timeout = true;
    }

    /// Whether a loop that starts this round does not end.
    pub(super) fn is_endless(&self, round: u32, mark: &mut usize) -> bool {
        let mark = (!self.is_background).then_some(mark);
        !self.has_timeout && self.container().system().is_endless(round, mark)
    }

    /// Whether no further command can be nested.
    pub(super) fn is_too_deep(&self) -> bool {
        let is_too_deep = self.depth >= self.process.depth();
        if is_too_deep {
            self.process.note_depth();
        }
        is_too_deep
    }

    /// Counts a command of the process. False if there were too many.
    pub(crate) async fn step(&self) -> bool {
        self.process.step().await
    }

    /// Gives the process a terminal.
    pub(crate) fn set_terminal(
        &mut self,
        interrupts: watch::Receiver<u64>,
        size: watch::Receiver<TerminalSize>,
    ) {
        self.set("TERM", "xterm".into());
        if let Some(variable) = self.variables.get_mut("TERM") {
            variable.exported = true;
        }
        self.terminal = Some((interrupts, size));
    }

    /// The exit status of the last command.
    pub(crate) fn status(&self) -> i32 {
        self.status
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// Removes all variables.
    pub(crate) fn clear_environment(&mut self) {
        self.variables.clear();
    }

    /// The size of the terminal.
    pub(crate) fn terminal_size(&self) -> Option<TerminalSize> {
        self.terminal.as_ref().map(|(_, size)| *size.borrow())
    }

    /// Whether a program is a shell.
    pub(crate) fn is_shell(&self, program: &str) -> bool {
        SHELL_NAMES.contains(&file_name(program))
    }

    /// A copy that runs as another process. The memory of its positional parameters counts with that
    /// of its variables.
    pub(super) fn subshell(&self) -> Self {
        let mut subshell = self.clone();
        subshell.reservation.grow(words_size(&self.positional));
        subshell
    }

    /// A new shell with the exported variables of this one.
    pub(crate) fn child(&self) -> Self {
        let mut child = self.clone();
        child.variables.retain(|_, variable| variable.exported);
        child.arrays.clear();
        child.functions.clear();
        child.positional.clear();
        child.options = Options::default();
        child.jobs.clear();
        child.background = None;
        child.tested = false;
        child.interactive = false;
        child.line = 1;
        child.pid = self.container().next_pid();
        child
    }

    /// The exported variables.
    pub(crate) fn environment(&self) -> Vec<(String, String)> {
        let exported = self.variables.iter().filter(|(_, v)| v.exported);
        exported
            .map(|(n, v)| (n.clone(), v.value.clone()))
            .collect()
    }

    /// The value of a variable or special parameter, if it is set.
    pub(crate) fn get(&self, name: &str) -> Option<String> {
        match name {
            "?" => Some(self.status.to_string()),
            "$" => Some(self.pid.to_string()),
            "!" => self.background.map(|pid| pid.to_string()),
            "#" => Some(self.positional.len().to_string()),
            "@" | "*" => (!self.positional.is_empty()).then(|| self.positional.join(" ")),
            "-" => Some(if self.options.errexit { "e" } else { "" }.into()),
            "0" => Some(self.name.clone()),
            "PWD" => Some(self.directory.clone()),
            "RANDOM" if self.dialect == Dialect::Bash => {
                Some((self.container().system().random() % 32_768).to_string())
            }
            _ => match name.parse::<usize>() {
                Ok(index) => self.positional.get(index.checked_sub(1)?).cloned(),
                Err(_) => match self.variables.get(name) {
                    Some(variable) => Some(variable.value.clone()),
                    None => self.arrays.get(name)?.get(&0).cloned(),
                },
            },
        }
    }

    /// Sets a variable. False if it is read-only or there is no space.
    pub(crate) fn set(&mut self, name: &str, value: String) -> bool {
        let size = self.variables_size();
        let before = self.variables.get(name);
        let is_fixed = before.is_some_and(|variable| variable.read_only);
        if is_fixed || size + value.len() > VARIABLES {
            return false;
        }
        self.arrays.remove(name);
        let variable = self.variables.entry(name.to_owned()).or_default();
        self.reservation
            .shrink(variable.value.len() + WORD_OVERHEAD);
        let is_reserved = self.reservation.grow(value.len() + WORD_OVERHEAD);
        variable.value = value;
        is_reserved
    }

    /// The size of all variables, in bytes.
    fn variables_size(&self) -> usize {
        let variables: usize = self.variables.values().map(|v| v.value.len()).sum();
        variables + arrays::size(&self.arrays)
    }

    /// Whether this many bytes of variables can be added.
    pub(super) fn has_space(&self, bytes: usize) -> bool {
        self.variables_size() + bytes <= VARIABLES
    }

    pub(super) fn is_read_only(&self, name: &str) -> bool {
        self.variables.get(name).is_some_and(|v| v.read_only)
    }

    /// Sets and exports a variable.
    pub(crate) fn export(&mut self, name: &str, value: Option<String>) {
        if let Some(value) = value {
            self.set(name, value);
        }
        self.variables.entry(name.to_owned()).or_default().exported = true;
    }

    /// Removes a variable.
    pub(crate) fn unset(&mut self, name: &str) {
        if self.variables.get(name).is_some_and(|v| !v.read_only) {
            self.variables.remove(name);
        }
        self.arrays.remove(name);
    }

    /// The start of an error message of the shell.
    pub(super) fn prefix(&self) -> String {
        let name = file_name(&self.name);
        match (self.dialect, self.container().config().is_busybox) {
            (Dialect::Bash, _) if self.interactive => format!("{name}: "),
            (Dialect::Bash, _) => format!("{name}: line {}: ", self.line),
            (Dialect::Posix, true) => format!("{name}: "),
            (Dialect::Posix, false) => format!("{name}: {}: ", self.line),
        }
    }
}

impl Variables for Shell {
    fn value(&self, name: &str) -> String {
        self.get(name).unwrap_or_default()
    }

    fn assign(&mut self, name: String, value: String) {
        self.set(&name, value);
    }
}

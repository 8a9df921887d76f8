//! Input and output of processes: pipes, files and terminals.

mod input;
mod output;
mod terminal;

pub(crate) use input::Input;
pub(crate) use output::{Closed, Output};
pub use terminal::TerminalSize;
pub(crate) use terminal::{LineDiscipline, Terminal};

/// The standard streams of a process.
#[derive(Clone)]
pub(crate) struct Streams {
    pub(crate) stdin: Input,
    pub(crate) stdout: Output,
    pub(crate) stderr: Output,
}

/// A pipe.
pub(crate) fn pipe() -> (Output, Input) {
    let (sender, receiver) = tokio::sync::mpsc::channel(16);
    (Output::channel(sender), Input::channel(receiver))
}

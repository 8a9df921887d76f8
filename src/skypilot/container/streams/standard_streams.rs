//! [`Streams`]: the standard streams of a process, and pipes.

use super::{Input, Output};

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

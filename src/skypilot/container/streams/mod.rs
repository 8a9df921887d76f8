//! Input and output of processes: pipes, files and terminals.

mod input;
mod output;
mod standard_streams;
mod terminal;

pub(crate) use input::Input;
pub(crate) use output::{Closed, Output, RecordOutput};
pub(crate) use standard_streams::{Streams, pipe};
pub use terminal::TerminalSize;
pub(crate) use terminal::{LineDiscipline, Terminal};

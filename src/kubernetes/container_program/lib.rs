//! The program of a container as data: its output, waits and exit code. Depends on nothing: the kubelet runs programs, and
//! a container runtime derives them from commands.

mod duration;
mod program;

pub use duration::duration;
pub use program::{DEFAULT_DURATION, MAX_RETAINED, Program, ProgramEvent, ProgramEvents, Step};

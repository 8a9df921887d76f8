//! The kubelet stand-in of the lab's nodes: pods bound to them start, run as long as their commands
//! would, end, restart, write logs, and leave when they are deleted. No process is ever started.
//! Must not know the scheduler or who wants the pods.

mod addresses;
mod agent;
mod container;
mod library;
mod logs;
mod program;
mod query;
mod render;
mod run;
mod serve;
mod shell;

pub use agent::{Kubelet, KubeletOptions, WhoseNodes};
pub use logs::{LogError, LogQuery, LogStore};
pub use program::{Moment, Program};

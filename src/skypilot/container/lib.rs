//! Simulated containers: an in-memory file system, a shell and the usual commands, for `exec`, and the output, the waits
//! and the exit code of a container's own command, which the same shell derives in virtual time. Nothing runs on the host.
//!
//! Must not depend on other crates of the lab except `rsync` and `shell`; the network, the clock and the devices
//! of a container are given by the caller ([`System`]).

#[cfg(test)]
mod client_tests;
mod commands;
mod container;
mod derivation;
#[cfg(test)]
mod derived_output_tests;
mod exec;
pub mod filesystem;
mod known_command;
mod memory;
mod program;
mod shell;
mod streams;
mod system;
#[cfg(test)]
mod tests;

pub use commands::programs;
pub use container::{Container, ContainerConfig};
pub use derivation::{Environment, ScriptLimits, steps, steps_within};
pub use exec::{ExecError, ExecStreams};
pub use memory::{ALL_PROCESSES_MEMORY, PROCESS_MEMORY};
pub use program::{Program, ProgramCall};
pub use shell::{MAX_COMMANDS, SHELL_NAMES};
pub use streams::TerminalSize;
pub use system::{
    CertificateAuthorities, ContainerProcess, Gpu, InsecureTls, RequestError, System,
};

//! Job control: stopping for the shell that started the process, as other terminal programs do on
//! ctrl-z and SIGTSTP.

/// Whether a shell can continue the process: its process group is not that of the session, as it is
/// without a shell with job control.
#[cfg(unix)]
fn has_job_control() -> bool {
    let group = rustix::process::getpgrp();
    rustix::process::getsid(None).is_ok_and(|session| session != group)
}

/// Stops the process group, which includes `cargo run`, until SIGCONT. `false` if nothing could continue it.
#[cfg(unix)]
pub(super) fn stop_process_group() -> bool {
    use rustix::process::{Signal, kill_current_process_group};
    has_job_control() && kill_current_process_group(Signal::STOP).is_ok()
}

/// There is no job control.
#[cfg(not(unix))]
pub(super) fn stop_process_group() -> bool {
    false
}

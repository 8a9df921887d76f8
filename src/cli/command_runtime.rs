//! The async runtime of a subcommand.

use std::future::Future;
use std::time::Duration;

use tokio::runtime::{Builder, Handle, Runtime};

use super::CommandError;

/// The time that the tasks and threads of the runtime have to end. A thread that waits for a file does not end.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(200);

/// The async runtime of a subcommand. Its drop does not wait for tasks that do not yield, nor for threads that are
/// blocked.
pub(super) struct CommandRuntime {
    handle: Handle,
    /// `None` when it is dropped.
    runtime: Option<Runtime>,
}

/// Starts the async runtime of a subcommand.
///
/// # Errors
/// Its threads cannot be started.
pub(super) fn runtime() -> Result<CommandRuntime, CommandError> {
    let started = Builder::new_multi_thread().enable_all().build();
    let runtime = started
        .map_err(|e| CommandError::failed(e).with_message("cannot start the async runtime"))?;
    Ok(CommandRuntime {
        handle: runtime.handle().clone(),
        runtime: Some(runtime),
    })
}

impl CommandRuntime {
    /// Runs a future on this thread to its end.
    pub(super) fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        self.handle.block_on(future)
    }
}

impl Drop for CommandRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
        }
    }
}

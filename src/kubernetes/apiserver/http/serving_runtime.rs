//! [`ServingRuntime`]: the threads that serve the network.

use std::io;

use tokio::runtime::{Builder, Handle, Runtime, RuntimeFlavor};
use tokio::task::JoinHandle;

/// The stack of a thread, in bytes. A connection polls TLS, HTTP and a whole request in one call, whose frames are
/// large without optimization.
const STACK_SIZE: usize = 8 << 20;

/// The runtime of the listener and its connections. In a process with several threads it has threads of its own:
/// the lab's controllers may be busy on all others, and a request would wait for its turn among thousands of
/// reconciles. The operating system shares the processors between both.
pub(super) struct ServingRuntime {
    own: Option<Runtime>,
    handle: Handle,
}

impl ServingRuntime {
    /// Starts the threads; on a runtime with one thread, as in virtual time, that thread serves.
    ///
    /// # Errors
    /// The threads cannot be started.
    pub(super) fn start() -> io::Result<Self> {
        let current = Handle::current();
        if current.runtime_flavor() != RuntimeFlavor::MultiThread {
            return Ok(Self {
                own: None,
                handle: current,
            });
        }
        let own = Builder::new_multi_thread()
            .thread_name("apiserver")
            .thread_stack_size(STACK_SIZE)
            .enable_all()
            .build()?;
        Ok(Self {
            handle: own.handle().clone(),
            own: Some(own),
        })
    }

    /// Runs a future.
    pub(super) fn spawn<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        self.handle.spawn(future)
    }
}

impl Drop for ServingRuntime {
    fn drop(&mut self) {
        if let Some(own) = self.own.take() {
            // A runtime that waits for its threads must not be dropped by a task.
            own.shutdown_background();
        }
    }
}

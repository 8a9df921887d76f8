//! Tasks that belong together and end together.

use std::future::Future;

use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tokio_util::task::TaskTracker;
use tracing::Instrument;

/// A group of tasks. Clones share the group.
#[derive(Clone, Debug, Default)]
pub struct Tasks {
    tracker: TaskTracker,
    token: CancellationToken,
}

impl Tasks {
    /// A group without tasks.
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs `task` until it ends or the group is shut down, which drops it where it waits.
    pub fn spawn<F>(&self, name: &'static str, task: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let token = self.token.clone();
        self.tracker.spawn(
            async move {
                tokio::select! {
                    biased;
                    () = token.cancelled() => {}
                    () = task => {}
                }
            }
            .instrument(tracing::debug_span!("task", name)),
        );
    }

    /// Is cancelled when the group is shut down.
    pub fn token(&self) -> CancellationToken {
        self.token.clone()
    }

    /// Resolves when the group is shut down.
    pub fn stopped(&self) -> WaitForCancellationFutureOwned {
        self.token.clone().cancelled_owned()
    }

    /// Tells every task to stop and waits until all have.
    pub async fn shutdown(&self) {
        self.token.cancel();
        self.tracker.close();
        self.tracker.wait().await;
    }
}

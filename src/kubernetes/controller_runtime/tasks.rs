//! [`Tasks`]: a group of asynchronous tasks with a common shutdown.

use std::future::Future;

use futures::future::BoxFuture;
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
    /// An empty group.
    pub fn new() -> Self {
        Self::default()
    }

    /// Spawns `task`. A shutdown of the group drops the future at its current await point.
    pub fn spawn<F>(&self, name: &'static str, task: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        // Boxed, so that the compiler generates the code of a task once, not for each future.
        self.spawn_boxed(name, Box::pin(task));
    }

    fn spawn_boxed(&self, name: &'static str, task: BoxFuture<'static, ()>) {
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

    /// The token that is cancelled when the group is shut down.
    pub fn token(&self) -> CancellationToken {
        self.token.clone()
    }

    /// Resolves when the group is shut down.
    pub fn stopped(&self) -> WaitForCancellationFutureOwned {
        self.token.clone().cancelled_owned()
    }

    /// Cancels all tasks and waits until they have ended.
    pub async fn shutdown(&self) {
        self.token.cancel();
        self.tracker.close();
        self.tracker.wait().await;
    }
}

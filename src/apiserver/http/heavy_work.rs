//! Runs expensive requests without blocking the threads that serve the others.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Poll, ready};

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::Semaphore;
use tokio_util::sync::PollSemaphore;

/// Expensive requests that compute at the same time.
pub(super) const HEAVY_REQUESTS: usize = 2;

/// The result of a future whose computation is expensive. On a runtime with several threads the
/// other tasks of the thread move to another one while it computes, and not more than the permits of
/// `limit` compute at the same time; a future that waits holds no permit.
pub(super) async fn off_the_serving_threads<T>(
    future: impl Future<Output = T>,
    limit: Arc<Semaphore>,
) -> T {
    let flavor = Handle::try_current().map(|handle| handle.runtime_flavor());
    if !matches!(flavor, Ok(RuntimeFlavor::MultiThread)) {
        return future.await;
    }
    let mut limit = PollSemaphore::new(limit);
    let mut future = pin!(future);
    poll_fn(move |cx| {
        let Some(permit) = ready!(limit.poll_acquire(cx)) else {
            // The semaphore is never closed.
            return future.as_mut().poll(cx);
        };
        let polled: Poll<T> = tokio::task::block_in_place(|| future.as_mut().poll(cx));
        drop(permit);
        polled
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn a_computation_does_not_stop_the_only_thread() {
        let (started, is_started) = std::sync::mpsc::channel();
        let (sender, receiver) = std::sync::mpsc::channel();
        let limit = Arc::new(Semaphore::new(1));
        let computing = tokio::spawn(off_the_serving_threads(
            async move {
                started.send(()).unwrap();
                // Blocks the thread until another task runs.
                receiver.recv_timeout(Duration::from_secs(60)).unwrap();
            },
            limit.clone(),
        ));
        let other = tokio::spawn(async move {
            is_started.recv_timeout(Duration::from_secs(60)).unwrap();
            sender.send(()).unwrap();
        });
        computing.await.unwrap();
        other.await.unwrap();
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn a_future_that_waits_holds_no_permit() {
        let limit = Arc::new(Semaphore::new(1));
        let waiting = Arc::new(AtomicUsize::new(0));
        let barrier = Arc::new(tokio::sync::Barrier::new(3));
        let tasks: Vec<_> = (0..3)
            .map(|_| {
                let (waiting, barrier) = (waiting.clone(), barrier.clone());
                tokio::spawn(off_the_serving_threads(
                    async move {
                        waiting.fetch_add(1, Ordering::Relaxed);
                        barrier.wait().await;
                    },
                    limit.clone(),
                ))
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(waiting.load(Ordering::Relaxed), 3);
    }
}

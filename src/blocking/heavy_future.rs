//! [`HeavyWork`]: futures whose computation is expensive.

use std::cell::Cell;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::ready;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::PollSemaphore;

use crate::compute;

thread_local! {
    /// The permit of the future that this thread polls.
    static PERMIT: Cell<Option<OwnedSemaphorePermit>> = const { Cell::new(None) };
}

/// Keeps a permit in [`PERMIT`], also if the future panics.
struct HeldPermit {
    outer: Option<OwnedSemaphorePermit>,
}

impl HeldPermit {
    fn hold(permit: OwnedSemaphorePermit) -> Self {
        let outer = PERMIT.replace(Some(permit));
        Self { outer }
    }
}

impl Drop for HeldPermit {
    fn drop(&mut self) {
        drop(PERMIT.replace(self.outer.take()));
    }
}

/// Calls a function that blocks without computing, such as one that waits for another server. The
/// [`HeavyWork`] that calls it does not count as one that computes from here to its next poll.
pub fn wait<T>(function: impl FnOnce() -> T) -> T {
    drop(PERMIT.take());
    compute(function)
}

/// Futures of which not more than a number compute at the same time. Clones share the number.
#[derive(Clone, Debug)]
pub struct HeavyWork(Arc<Semaphore>);

impl HeavyWork {
    /// Lets `limit` futures compute at the same time.
    pub fn new(limit: usize) -> Self {
        Self(Arc::new(Semaphore::new(limit.max(1))))
    }

    /// The result of a future. A future that waits does not count as one that computes.
    pub async fn run<T>(&self, future: impl Future<Output = T>) -> T {
        let mut permits = PollSemaphore::new(self.0.clone());
        let mut future = pin!(future);
        poll_fn(move |cx| {
            let Some(permit) = ready!(permits.poll_acquire(cx)) else {
                // The semaphore is never closed.
                return future.as_mut().poll(cx);
            };
            compute(|| {
                let _held = HeldPermit::hold(permit);
                future.as_mut().poll(cx)
            })
        })
        .await
    }
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
        let computing = tokio::spawn(async move {
            HeavyWork::new(1)
                .run(async move {
                    started.send(()).unwrap();
                    // Blocks the thread until another task runs.
                    receiver.recv_timeout(Duration::from_secs(60)).unwrap();
                })
                .await;
        });
        let other = tokio::spawn(async move {
            is_started.recv_timeout(Duration::from_secs(60)).unwrap();
            sender.send(()).unwrap();
        });
        computing.await.unwrap();
        other.await.unwrap();
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_future_that_blocks_in_wait_lets_others_compute() {
        let work = HeavyWork::new(1);
        let (sender, receiver) = std::sync::mpsc::channel();
        let (started, is_started) = tokio::sync::oneshot::channel();
        let waiting = tokio::spawn({
            let work = work.clone();
            async move {
                work.run(async move {
                    started.send(()).unwrap();
                    wait(|| receiver.recv_timeout(Duration::from_secs(60)).unwrap());
                })
                .await;
            }
        });
        is_started.await.unwrap();
        work.run(async { sender.send(()).unwrap() }).await;
        waiting.await.unwrap();
    }

    #[tokio::test]
    async fn a_future_that_panics_does_not_keep_others_out() {
        let work = HeavyWork::new(1);
        let panicking = tokio::spawn({
            let work = work.clone();
            async move { work.run::<()>(async { panic!("expected") }).await }
        });
        assert!(panicking.await.is_err());
        assert_eq!(work.run(async { 1 }).await, 1);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn a_future_that_waits_lets_others_compute() {
        let work = HeavyWork::new(1);
        let waiting = Arc::new(AtomicUsize::new(0));
        let barrier = Arc::new(tokio::sync::Barrier::new(3));
        let tasks = [(); 3].map(|()| {
            let (work, waiting, barrier) = (work.clone(), waiting.clone(), barrier.clone());
            tokio::spawn(async move {
                work.run(async {
                    waiting.fetch_add(1, Ordering::Relaxed);
                    barrier.wait().await;
                })
                .await;
            })
        });
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(waiting.load(Ordering::Relaxed), 3);
    }
}

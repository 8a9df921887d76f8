//! [`HeavyWork`]: futures whose computation is expensive.

use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::sync::oneshot;

use crate::compute;

thread_local! {
    /// The permit of the future that this thread polls.
    static PERMIT: Cell<Option<Permit>> = const { Cell::new(None) };
}

/// Keeps a permit in [`PERMIT`], also if the future panics.
struct HeldPermit {
    outer: Option<Permit>,
}

impl HeldPermit {
    fn hold(permit: Permit) -> Self {
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

/// Futures of which not more than a number compute at the same time. Flows, such as the requests of
/// one user, take turns: however many futures of one flow wait, a future of another flow waits for
/// one of them at most. Clones share the number.
#[derive(Clone, Debug)]
pub struct HeavyWork(Arc<Mutex<Turns>>);

#[derive(Debug)]
struct Turns {
    /// Permits that no future has.
    free: usize,
    /// The futures that wait, by flow; no flow is empty.
    waiting: BTreeMap<String, VecDeque<oneshot::Sender<Permit>>>,
    /// The flows that wait; the first one is next.
    order: VecDeque<String>,
}

/// The right to compute, until it is dropped.
#[derive(Debug)]
struct Permit(HeavyWork);

impl Turns {
    /// The next future that waits, in the turn of its flow.
    fn next(&mut self) -> Option<oneshot::Sender<Permit>> {
        while let Some(flow) = self.order.pop_front() {
            let Some(queue) = self.waiting.get_mut(&flow) else {
                continue;
            };
            let next = queue.pop_front();
            match queue.is_empty() {
                true => drop(self.waiting.remove(&flow)),
                false => self.order.push_back(flow),
            }
            // A future that was dropped does not wait any more.
            if let Some(next) = next.filter(|next| !next.is_closed()) {
                return Some(next);
            }
        }
        None
    }
}

impl HeavyWork {
    /// Lets `limit` futures compute at the same time.
    pub fn new(limit: usize) -> Self {
        Self(Arc::new(Mutex::new(Turns {
            free: limit.max(1),
            waiting: BTreeMap::new(),
            order: VecDeque::new(),
        })))
    }

    /// The result of a future of a flow. A future that waits does not count as one that computes.
    pub async fn run<T>(&self, flow: &str, future: impl Future<Output = T>) -> T {
        let mut waiting = None;
        let mut future = pin!(future);
        poll_fn(move |cx| {
            let Some(permit) = ready!(self.poll_permit(flow, &mut waiting, cx)) else {
                // A permit is sent to each future that waits.
                return future.as_mut().poll(cx);
            };
            compute(|| {
                let _held = HeldPermit::hold(permit);
                future.as_mut().poll(cx)
            })
        })
        .await
    }

    fn poll_permit(
        &self,
        flow: &str,
        waiting: &mut Option<oneshot::Receiver<Permit>>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Permit>> {
        let receiver = match waiting {
            Some(receiver) => receiver,
            None => {
                let mut turns = self.turns();
                if turns.free > 0 {
                    turns.free -= 1;
                    return Poll::Ready(Some(Permit(self.clone())));
                }
                let (sender, receiver) = oneshot::channel();
                match turns.waiting.get_mut(flow) {
                    Some(queue) => queue.push_back(sender),
                    None => {
                        turns.waiting.insert(flow.to_owned(), [sender].into());
                        turns.order.push_back(flow.to_owned());
                    }
                }
                waiting.insert(receiver)
            }
        };
        let permit = ready!(Pin::new(receiver).poll(cx));
        *waiting = None;
        Poll::Ready(permit.ok())
    }

    fn turns(&self) -> MutexGuard<'_, Turns> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut turns = self.0.turns();
        let Some(next) = turns.next() else {
            turns.free += 1;
            return;
        };
        drop(turns);
        // If the future is dropped in between, the permit comes back here.
        drop(next.send(Permit(self.0.clone())));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Waker;
    use std::time::Duration;

    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn a_computation_does_not_stop_the_only_thread() {
        let (started, is_started) = std::sync::mpsc::channel();
        let (sender, receiver) = std::sync::mpsc::channel();
        let computing = tokio::spawn(async move {
            HeavyWork::new(1)
                .run("a", async move {
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
                work.run("a", async move {
                    started.send(()).unwrap();
                    wait(|| receiver.recv_timeout(Duration::from_secs(60)).unwrap());
                })
                .await;
            }
        });
        is_started.await.unwrap();
        work.run("a", async { sender.send(()).unwrap() }).await;
        waiting.await.unwrap();
    }

    #[test]
    fn flows_take_turns() {
        let work = HeavyWork::new(1);
        let done = &Mutex::new(Vec::new());
        let cx = &mut Context::from_waker(Waker::noop());
        let held = Permit(work.clone());
        work.turns().free = 0;
        let names = ["a1", "a2", "a3", "b1"];
        let mut all = names.map(|name| {
            Box::pin(work.run(&name[..1], async move { done.lock().unwrap().push(name) }))
        });
        for future in &mut all {
            assert!(future.as_mut().poll(cx).is_pending());
        }
        // One that is dropped while it waits takes no turn.
        let mut gone = Box::pin(work.run("c", async {}));
        assert!(gone.as_mut().poll(cx).is_pending());
        drop((gone, held));
        let mut left: Vec<_> = all.into_iter().collect();
        while !left.is_empty() {
            let before = left.len();
            if let Some(at) = left.iter_mut().position(|f| f.as_mut().poll(cx).is_ready()) {
                drop(left.remove(at));
            }
            assert!(left.len() < before, "no future has the permit");
        }
        assert_eq!(*done.lock().unwrap(), ["a1", "b1", "a2", "a3"]);
        let turns = work.turns();
        assert!(turns.free == 1 && turns.waiting.is_empty() && turns.order.is_empty());
    }

    #[test]
    fn a_permit_of_a_future_that_is_dropped_goes_to_the_next_one() {
        let work = HeavyWork::new(1);
        let cx = &mut Context::from_waker(Waker::noop());
        let held = Permit(work.clone());
        work.turns().free = 0;
        let mut first = Box::pin(work.run("a", async {}));
        let mut second = Box::pin(work.run("b", async {}));
        assert!(first.as_mut().poll(cx).is_pending() && second.as_mut().poll(cx).is_pending());
        drop(held);
        drop(first);
        assert!(second.as_mut().poll(cx).is_ready());
    }

    #[tokio::test]
    async fn a_future_that_panics_does_not_keep_others_out() {
        let work = HeavyWork::new(1);
        let panicking = tokio::spawn({
            let work = work.clone();
            async move { work.run::<()>("a", async { panic!("expected") }).await }
        });
        assert!(panicking.await.is_err());
        assert_eq!(work.run("a", async { 1 }).await, 1);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn a_future_that_waits_lets_others_compute() {
        let work = HeavyWork::new(1);
        let waiting = Arc::new(AtomicUsize::new(0));
        let barrier = Arc::new(tokio::sync::Barrier::new(3));
        let tasks = [(); 3].map(|()| {
            let (work, waiting, barrier) = (work.clone(), waiting.clone(), barrier.clone());
            tokio::spawn(async move {
                work.run("a", async {
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

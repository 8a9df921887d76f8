//! The seats of priority levels: how many requests of a level are executed at the same time. Seats
//! are granted to the flows of a level in turn, and one flow never has all seats.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::oneshot;

/// A priority level, as its PriorityLevelConfiguration configures it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PriorityLevel {
    /// The name of the PriorityLevelConfiguration.
    pub(crate) name: String,
    /// The number of requests that are executed at the same time; `None` if it is exempt.
    pub(crate) seats: Option<usize>,
    /// The number of requests of one flow that wait; `None` if requests are rejected.
    pub(crate) queue_length_limit: Option<usize>,
}

/// The reason of a rejection, as the label `reason` of
/// `apiserver_flowcontrol_rejected_requests_total`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RejectReason {
    /// The level has no seat, and its requests do not wait.
    ConcurrencyLimit,
    /// Too many requests of the flow wait.
    QueueFull,
    /// The request waited too long.
    TimeOut,
}

impl RejectReason {
    /// The value of the label.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::ConcurrencyLimit => "concurrency-limit",
            Self::QueueFull => "queue-full",
            Self::TimeOut => "time-out",
        }
    }
}

/// The seats of all priority levels of a server.
#[derive(Debug, Default)]
pub(crate) struct Seats {
    levels: Mutex<BTreeMap<String, LevelState>>,
}

#[derive(Debug, Default)]
struct LevelState {
    seats: usize,
    executing: usize,
    flows: BTreeMap<String, FlowState>,
    /// The flows with requests that wait; the first one is next.
    waiting_flows: VecDeque<String>,
}

#[derive(Debug, Default)]
struct FlowState {
    executing: usize,
    waiting: VecDeque<oneshot::Sender<()>>,
}

/// The seat of a request until it is dropped.
#[derive(Debug)]
pub(crate) struct Seat {
    seats: Arc<Seats>,
    level: String,
    flow: String,
}

/// A request that waits for a seat.
struct Waiting {
    granted: oneshot::Receiver<()>,
    seats: Arc<Seats>,
    level: String,
    flow: String,
}

impl LevelState {
    /// The seats that one flow may have.
    fn seats_of_flow(&self) -> usize {
        self.seats.div_ceil(2).max(1)
    }

    fn has_seat(&self, flow: &str) -> bool {
        let own = self.flows.get(flow).map_or(0, |flow| flow.executing);
        self.executing < self.seats && own < self.seats_of_flow()
    }

    fn take(&mut self, flow: &str) {
        self.executing += 1;
        self.flows.entry(flow.to_owned()).or_default().executing += 1;
    }

    fn release(&mut self, flow: &str) {
        self.executing -= 1;
        if let Some(state) = self.flows.get_mut(flow) {
            state.executing -= 1;
        }
        self.grant();
        let is_unused = |flow: &FlowState| flow.executing == 0 && flow.waiting.is_empty();
        if self.flows.get(flow).is_some_and(is_unused) {
            self.flows.remove(flow);
        }
    }

    /// Grants free seats to waiting flows, in turn.
    fn grant(&mut self) {
        let mut passed = 0;
        while passed < self.waiting_flows.len() {
            let Some(name) = self.waiting_flows.pop_front() else {
                return;
            };
            let has_seat = self.has_seat(&name);
            let Some(flow) = self.flows.get_mut(&name) else {
                continue;
            };
            if has_seat && let Some(next) = flow.waiting.pop_front() {
                // A request that no longer waits takes no seat.
                if next.send(()).is_ok() {
                    self.take(&name);
                }
                passed = 0;
            } else {
                passed += 1;
            }
            match self.flows.get(&name) {
                Some(flow) if !flow.waiting.is_empty() => self.waiting_flows.push_back(name),
                Some(flow) if flow.executing == 0 => drop(self.flows.remove(&name)),
                _ => {}
            }
        }
    }
}

impl Seats {
    /// Takes a seat of a priority level for a request of a flow, and waits for it up to `max_wait`.
    /// `None` if the level is exempt.
    ///
    /// # Errors
    /// The reason of the rejection.
    pub(crate) async fn acquire(
        self: &Arc<Self>,
        level: &PriorityLevel,
        flow: &str,
        max_wait: Duration,
    ) -> Result<Option<Seat>, RejectReason> {
        let Some(seats) = level.seats else {
            return Ok(None);
        };
        let seat = || Seat {
            seats: self.clone(),
            level: level.name.clone(),
            flow: flow.to_owned(),
        };
        let mut waiting = {
            let mut levels = self.levels.lock();
            let state = levels.entry(level.name.clone()).or_default();
            state.seats = seats;
            if state.has_seat(flow) {
                state.take(flow);
                return Ok(Some(seat()));
            }
            let limit = level.queue_length_limit;
            let limit = limit.ok_or(RejectReason::ConcurrencyLimit)?;
            let queue = state.flows.entry(flow.to_owned()).or_default();
            queue.waiting.retain(|waiting| !waiting.is_closed());
            if queue.waiting.len() >= limit {
                return Err(RejectReason::QueueFull);
            }
            let (sender, granted) = oneshot::channel();
            queue.waiting.push_back(sender);
            if !state.waiting_flows.iter().any(|waiting| waiting == flow) {
                state.waiting_flows.push_back(flow.to_owned());
            }
            Waiting {
                granted,
                seats: self.clone(),
                level: level.name.clone(),
                flow: flow.to_owned(),
            }
        };
        match tokio::time::timeout(max_wait, &mut waiting.granted).await {
            Ok(Ok(())) => Ok(Some(seat())),
            _ => Err(RejectReason::TimeOut),
        }
    }

    fn release(&self, level: &str, flow: &str) {
        if let Some(state) = self.levels.lock().get_mut(level) {
            state.release(flow);
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.seats.release(&self.level, &self.flow);
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.granted.close();
        // The seat was granted while the request stopped waiting.
        if self.granted.try_recv().is_ok() {
            self.seats.release(&self.level, &self.flow);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    const WAIT: Duration = Duration::from_secs(10);

    fn level(seats: usize, queue_length_limit: Option<usize>) -> PriorityLevel {
        PriorityLevel {
            name: "low".into(),
            seats: Some(seats),
            queue_length_limit,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_flow_does_not_take_the_last_seats() {
        let seats = Arc::new(Seats::default());
        let level = level(4, None);
        let take = async |flow: &str| seats.acquire(&level, flow, WAIT).await;
        let first = take("a").await.unwrap();
        let second = take("a").await.unwrap();
        assert!(first.is_some() && second.is_some());
        assert_eq!(
            take("a").await.unwrap_err().label(),
            RejectReason::ConcurrencyLimit.label()
        );
        let others = (take("b").await.unwrap(), take("b").await.unwrap());
        assert_eq!(take("c").await.unwrap_err(), RejectReason::ConcurrencyLimit);
        drop((first, second));
        assert!(take("c").await.is_ok());
        drop(others);
        assert_eq!(seats.levels.lock()["low"].executing, 0);
        assert!(seats.levels.lock()["low"].flows.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn flows_that_wait_take_turns() {
        let seats = Arc::new(Seats::default());
        let level = level(1, Some(2));
        let held = seats.acquire(&level, "a", WAIT).await.unwrap();
        let mut first = Box::pin(seats.acquire(&level, "a", WAIT));
        let mut second = Box::pin(seats.acquire(&level, "a", WAIT));
        let mut other = Box::pin(seats.acquire(&level, "b", WAIT));
        for waiting in [&mut first, &mut second, &mut other] {
            assert!(waiting.now_or_never().is_none());
        }
        let full = seats.acquire(&level, "a", WAIT).await;
        assert_eq!(full.unwrap_err(), RejectReason::QueueFull);
        drop(held);
        let seat = first.as_mut().now_or_never().unwrap().unwrap();
        drop(seat);
        assert!(second.as_mut().now_or_never().is_none(), "it is b's turn");
        let seat = other.as_mut().now_or_never().unwrap().unwrap();
        assert_eq!(second.await.unwrap_err(), RejectReason::TimeOut);
        drop(seat);
        assert_eq!(seats.levels.lock()["low"].executing, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_gave_up_leaves_its_seat() {
        let seats = Arc::new(Seats::default());
        let level = level(1, Some(2));
        let held = seats.acquire(&level, "a", WAIT).await.unwrap();
        let mut waiting = Box::pin(seats.acquire(&level, "b", WAIT));
        assert!((&mut waiting).now_or_never().is_none());
        // The seat is granted to a request that is dropped before it is resumed.
        drop(held);
        drop(waiting);
        assert!(seats.acquire(&level, "c", WAIT).await.is_ok());
    }
}

//! [`EventQueue`]: the future events of a replay.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use jiff::Timestamp;

/// An event. At the same time, events are handled in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    /// A run of a job completes.
    Complete {
        /// The job.
        job: usize,
        /// Its run; a run that was evicted does not complete.
        run: u32,
    },
    /// The pods of an evicted job are gone.
    Release {
        /// The job.
        job: usize,
    },
    /// A job is submitted.
    Submit {
        /// The job.
        job: usize,
    },
    /// The usage of a LocalQueue is sampled, for admission fair sharing.
    SampleUsage {
        /// The LocalQueue.
        queue: usize,
    },
}

/// The future events of a replay, by time.
#[derive(Debug, Default)]
pub(super) struct EventQueue {
    heap: BinaryHeap<Reverse<(Timestamp, Event)>>,
    /// The number of events of jobs.
    of_jobs: usize,
}

impl EventQueue {
    /// Adds an event.
    pub(super) fn push(&mut self, at: Timestamp, event: Event) {
        self.of_jobs += usize::from(is_of_job(event));
        self.heap.push(Reverse((at, event)));
    }

    /// The time of the next event; none without events of jobs.
    pub(super) fn next_time(&self) -> Option<Timestamp> {
        let next = self.heap.peek().map(|Reverse((at, _))| *at);
        next.filter(|_| self.of_jobs > 0)
    }

    /// Removes the next event, if it is due.
    pub(super) fn pop_due(&mut self, now: Timestamp) -> Option<Event> {
        let Reverse((at, event)) = *self.heap.peek()?;
        if at > now {
            return None;
        }
        self.heap.pop();
        self.of_jobs -= usize::from(is_of_job(event));
        Some(event)
    }
}

fn is_of_job(event: Event) -> bool {
    !matches!(event, Event::SampleUsage { .. })
}

//! Waits until a lab is idle.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::kueue_manager::CurrentController;
use crate::lab::Lab;
use kueue_lab_clock::Clock;
use kueue_lab_cluster::Cluster;

/// How long no object changes in an idle lab: longer than the intervals in which controllers collect
/// changes, such as the second of the Job controller, and the first retries after a conflict.
const QUIET: SignedDuration = SignedDuration::from_secs(3);
/// The interval of the checks.
const INTERVAL: Duration = Duration::from_millis(250);

/// Observes whether a lab does something.
#[derive(Clone)]
pub struct LabActivity {
    clock: Clock,
    controller: Option<CurrentController>,
    /// The revision of the last write that is not a heartbeat or an Event.
    state_revision: Arc<dyn Fn() -> u64 + Send + Sync>,
}

impl LabActivity {
    pub(crate) fn new(
        clock: Clock,
        controller: Option<CurrentController>,
        cluster: &Cluster,
    ) -> Self {
        Self {
            clock,
            controller,
            state_revision: match cluster {
                Cluster::Embedded(embedded) => Arc::new(embedded.state_revision()),
                Cluster::Remote(_) => Arc::new(|| 0),
            },
        }
    }

    /// Waits until the lab is idle, at most until `limit` in lab time. Returns the time since which it is
    /// idle, or `None` if it is not idle at the limit.
    ///
    /// In an idle lab no object but Leases and Events has changed for three seconds, and no deadline of the
    /// engine, such as the end of a backoff, is as near. The scheduler of an idle lab may still try the head
    /// of a StrictFIFO queue in every scheduling cycle. Running pods may finish later. Of a cluster that is not
    /// embedded only the engine is observed.
    pub async fn wait_until_idle(&self, limit: Timestamp) -> Option<Timestamp> {
        let mut changed_at = self.clock.now();
        let mut seen = (self.state_revision)();
        loop {
            let now = self.clock.now();
            let revision = (self.state_revision)();
            if revision != seen || self.has_near_deadline(now) {
                (seen, changed_at) = (revision, now);
            }
            if now.duration_since(changed_at) >= QUIET {
                return Some(changed_at);
            }
            let left = limit.duration_since(now);
            if left <= SignedDuration::ZERO {
                return None;
            }
            self.clock.sleep(INTERVAL.min(left.unsigned_abs())).await;
        }
    }

    /// Whether a deadline of the engine elapses before the lab would be idle.
    fn has_near_deadline(&self, now: Timestamp) -> bool {
        let controller = self.controller.as_ref().map(CurrentController::get);
        let deadline = controller.and_then(|c| c.shared().engine().next_deadline());
        deadline.is_some_and(|deadline| deadline.duration_since(now) < QUIET)
    }
}

impl Lab {
    /// See [`LabActivity::wait_until_idle`].
    pub async fn wait_until_idle(&self, limit: Timestamp) -> Option<Timestamp> {
        self.activity().wait_until_idle(limit).await
    }

    /// Lets lab time pass until `time`, and everything happen that is due until then.
    pub async fn run_until(&self, time: Timestamp) {
        self.clock().sleep_until(time).await;
        // With virtual time, a timer elapses when no task can run.
        self.clock().sleep(Duration::from_millis(1)).await;
    }
}

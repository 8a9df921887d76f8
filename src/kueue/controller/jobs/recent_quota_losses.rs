//! [`RecentQuotaLosses`]: the Workloads that recently lost their quota.
//!
//! Upstream's scheduler reserves quota again before the job controller has written that the pods
//! have to restart. A Workload that gets quota at its first attempt is therefore Recovered, not
//! Started.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;

use kueue_lab_api::v1beta2::Workload;
use kueue_lab_controller_runtime::Change;
use kueue_lab_engine::workload::predicates;

/// The Workloads that recently lost their quota. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct RecentQuotaLosses {
    /// The time for which a loss is recent.
    window: Duration,
    /// The end of the recent period by Workload UID.
    losses: Arc<Mutex<BTreeMap<String, Timestamp>>>,
}

impl RecentQuotaLosses {
    /// None yet. A loss is recent for the latency of a write of a Workload.
    pub(crate) fn new(window: Duration) -> Self {
        Self {
            window,
            losses: Arc::default(),
        }
    }

    /// The time for which a loss is recent.
    pub(crate) fn recent_window(&self) -> Duration {
        self.window
    }

    /// Records a change; true if the Workload lost its quota.
    pub(crate) fn record_change(&self, change: &Change<Workload>, now: Timestamp) -> bool {
        let reserved = predicates::has_quota_reservation;
        let Change::Updated { old, new } = change else {
            return false;
        };
        if !reserved(old) || reserved(new) {
            return false;
        }
        let recent = SignedDuration::try_from(self.window).unwrap_or(SignedDuration::ZERO);
        let mut losses = self.losses.lock();
        losses.retain(|_, until| *until > now);
        let until = now.saturating_add(recent).unwrap_or(Timestamp::MAX);
        losses.insert(predicates::uid(new).to_owned(), until);
        true
    }

    /// The remaining recent period of a Workload that has no quota since its loss. A caller that
    /// defers work for it has to requeue with this delay: of several delays of a key the work queue
    /// uses the shortest, so an earlier enqueue does not suffice.
    pub(crate) fn recent_for_remaining(&self, wl: &Workload, now: Timestamp) -> Option<Duration> {
        if predicates::has_quota_reservation(wl) {
            return None;
        }
        let until = self.losses.lock().get(predicates::uid(wl)).copied()?;
        let remaining = until.duration_since(now);
        (remaining > SignedDuration::ZERO).then(|| remaining.unsigned_abs())
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::*;
    use kueue_lab_api::constants as c;
    use kueue_lab_engine::status::condition;

    fn workload(reserved: bool) -> Arc<Workload> {
        let mut wl = Workload::named("wl");
        wl.metadata.uid = Some("u".to_owned());
        let now = Timestamp::UNIX_EPOCH;
        let mut reservation = condition(&wl, c::QUOTA_RESERVED, reserved, "R", "", now);
        reservation.last_transition_time = Time(now);
        wl.status.conditions.push(reservation);
        Arc::new(wl)
    }

    #[test]
    fn loss_is_recent_for_the_window() {
        const RECENT_WINDOW: Duration = Duration::from_millis(25);
        let losses = RecentQuotaLosses::new(RECENT_WINDOW);
        let (old, new) = (workload(true), workload(false));
        let now = Timestamp::UNIX_EPOCH;
        let kept = Change::Updated {
            old: old.clone(),
            new: old.clone(),
        };
        assert!(!losses.record_change(&kept, now));
        let lost = Change::Updated {
            old: old.clone(),
            new: new.clone(),
        };
        assert!(losses.record_change(&lost, now));
        assert_eq!(losses.recent_for_remaining(&new, now), Some(RECENT_WINDOW));
        assert_eq!(
            losses.recent_for_remaining(&old, now),
            None,
            "it has quota again"
        );
        assert_eq!(losses.recent_for_remaining(&new, now + RECENT_WINDOW), None);
    }
}

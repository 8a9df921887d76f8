//! [`RecentQuotaLosses`]: which Workloads lost their quota a moment ago.
//!
//! Kueue's scheduler gives quota out again before the job's controller has written that the pods of a
//! Workload will have to start anew. One that gets quota at its first attempt is recovered, not started.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;

use kueue_lab_admission::workload::predicates;
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_runtime::Change;

/// How long a loss is recent: Kueue takes about as long to write a Workload, and a scheduler that gets
/// nowhere comes by every 10 ms.
pub const RECENT_WINDOW: Duration = Duration::from_millis(25);

/// Workloads by UID, with the moment until which their loss is recent. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct RecentQuotaLosses(Arc<Mutex<BTreeMap<String, Timestamp>>>);

impl RecentQuotaLosses {
    /// Takes note of a change; true when it is a loss of quota.
    pub fn record_change(&self, change: &Change<Workload>, now: Timestamp) -> bool {
        let reserved = predicates::has_quota_reservation;
        let Change::Updated { old, new } = change else {
            return false;
        };
        if !reserved(old) || reserved(new) {
            return false;
        }
        let recent = SignedDuration::try_from(RECENT_WINDOW).unwrap_or(SignedDuration::ZERO);
        let mut losses = self.0.lock();
        losses.retain(|_, until| *until > now);
        let until = now.saturating_add(recent).unwrap_or(Timestamp::MAX);
        losses.insert(predicates::uid(new).to_owned(), until);
        true
    }

    /// How long the loss of a Workload that has not got any quota since will still be recent, where it
    /// is. Whoever puts something off for it has to come back by then: that a look was asked for when the
    /// quota was lost is not enough, since of several delays of a key the shortest counts.
    pub fn recent_for_remaining(&self, wl: &Workload, now: Timestamp) -> Option<Duration> {
        if predicates::has_quota_reservation(wl) {
            return None;
        }
        let until = self.0.lock().get(predicates::uid(wl)).copied()?;
        let left = until.duration_since(now);
        (left > SignedDuration::ZERO).then(|| left.unsigned_abs())
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::*;
    use kueue_lab_admission::status::condition;
    use kueue_lab_api::constants as c;

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
    fn a_loss_is_recent_for_a_moment() {
        let losses = RecentQuotaLosses::default();
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

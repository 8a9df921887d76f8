//! [`NodeHealthMap`]: when the grace period of each node ends, by the changes of its Lease.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::Lease;
use kube::ResourceExt;
use parking_lot::Mutex;

use kueue_lab_controller_runtime::Change;

/// Seconds without a heartbeat after which a node becomes Unknown.
const NODE_MONITOR_GRACE_PERIOD: i64 = 50;

/// The observed heartbeats of nodes by name, as upstream's `nodeHealthMap`.
#[derive(Default)]
pub(super) struct NodeHealthMap {
    nodes: Mutex<BTreeMap<String, NodeHealth>>,
}

struct NodeHealth {
    renew_time: Timestamp,
    grace_period_end: Timestamp,
}

impl NodeHealthMap {
    /// Records a change of a Lease that is observed `now`; returns whether the node has to be evaluated earlier
    /// than before, or for the first time.
    pub(super) fn observe(&self, change: &Change<Lease>, now: Timestamp) -> bool {
        let lease = change.object();
        let name = lease.name_any();
        let health = match change {
            Change::Deleted(_) => None,
            Change::Added(_) | Change::Updated { .. } => NodeHealth::new(lease, now),
        };
        let mut nodes = self.nodes.lock();
        let Some(health) = health else {
            nodes.remove(&name);
            return false;
        };
        match nodes.get(&name) {
            Some(known) if known.renew_time == health.renew_time => false,
            known => {
                let is_earlier =
                    known.is_none_or(|known| health.grace_period_end < known.grace_period_end);
                nodes.insert(name, health);
                is_earlier
            }
        }
    }

    /// When the grace period of a node ends; `None` without a Lease.
    pub(super) fn grace_period_end(&self, node: &str) -> Option<Timestamp> {
        let nodes = self.nodes.lock();
        nodes.get(node).map(|health| health.grace_period_end)
    }

    /// Whether the Lease has been renewed since the last observed change.
    pub(super) fn is_outdated(&self, lease: &Lease) -> bool {
        let nodes = self.nodes.lock();
        let known = nodes.get(&lease.name_any());
        renew_time(lease).is_some_and(|at| known.is_none_or(|known| known.renew_time != at))
    }
}

impl NodeHealth {
    /// The grace period starts when the change is observed: the clock of the kubelet can differ. With the same
    /// clock it starts with the heartbeat.
    fn new(lease: &Lease, now: Timestamp) -> Option<Self> {
        let renew_time = renew_time(lease)?;
        let grace_period = grace_period(lease);
        let after = |start: Timestamp| start.checked_add(grace_period).unwrap_or(Timestamp::MAX);
        let has_same_clock = renew_time <= now && after(renew_time) > now;
        Some(Self {
            renew_time,
            grace_period_end: after(if has_same_clock { renew_time } else { now }),
        })
    }
}

fn renew_time(lease: &Lease) -> Option<Timestamp> {
    Some(lease.spec.as_ref()?.renew_time.as_ref()?.0)
}

/// Nodes with a longer Lease duration have a longer grace period.
fn grace_period(lease: &Lease) -> SignedDuration {
    let spec = lease.spec.as_ref();
    let duration = spec.and_then(|spec| spec.lease_duration_seconds);
    let seconds = i64::from(duration.unwrap_or(0)) + 10;
    SignedDuration::from_secs(seconds.max(NODE_MONITOR_GRACE_PERIOD))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use k8s_openapi::api::coordination::v1::LeaseSpec;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn lease(renew_time: i64) -> Change<Lease> {
        Change::Added(Arc::new(Lease {
            metadata: ObjectMeta {
                name: Some("n".into()),
                ..ObjectMeta::default()
            },
            spec: Some(LeaseSpec {
                renew_time: Some(MicroTime(at(renew_time))),
                lease_duration_seconds: Some(40),
                ..LeaseSpec::default()
            }),
        }))
    }

    #[test]
    fn the_grace_period_starts_with_the_heartbeat_or_when_it_is_observed() {
        let nodes = NodeHealthMap::default();
        for (renew_time, end) in [(990, 1040), (700, 1050), (1300, 1050)] {
            nodes.observe(&lease(renew_time), at(1000));
            assert_eq!(nodes.grace_period_end("n"), Some(at(end)), "{renew_time}");
        }
    }

    #[test]
    fn a_lease_that_is_not_renewed_does_not_extend_the_grace_period() {
        let nodes = NodeHealthMap::default();
        assert!(nodes.observe(&lease(700), at(1000)));
        assert!(!nodes.observe(&lease(700), at(1040)));
        assert_eq!(nodes.grace_period_end("n"), Some(at(1050)));
        assert!(!nodes.is_outdated(lease(700).object()));
        assert!(nodes.is_outdated(lease(710).object()));
    }
}

//! [`LeaderElectionRecord`]: the fields of a Lease that the election uses.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;

use super::LeaderElectionConfig;

/// The fields of a Lease that the election uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LeaderElectionRecord {
    pub(super) holder_identity: Option<String>,
    pub(super) lease_duration: Option<Duration>,
    pub(super) acquire_time: Option<Timestamp>,
    pub(super) renew_time: Option<Timestamp>,
    pub(super) leader_transitions: i32,
}

impl LeaderElectionRecord {
    pub(super) fn from_lease(lease: &Lease) -> Self {
        let Some(spec) = &lease.spec else {
            return Self::default();
        };
        let seconds = spec
            .lease_duration_seconds
            .and_then(|s| u64::try_from(s).ok());
        Self {
            holder_identity: spec.holder_identity.clone().filter(|h| !h.is_empty()),
            lease_duration: seconds.map(Duration::from_secs),
            acquire_time: spec.acquire_time.as_ref().map(|t| t.0),
            renew_time: spec.renew_time.as_ref().map(|t| t.0),
            leader_transitions: spec.lease_transitions.unwrap_or_default(),
        }
    }

    /// The record of the first leader.
    pub(super) fn new_leader(config: &LeaderElectionConfig, now: Timestamp) -> Self {
        Self {
            holder_identity: Some(config.identity.clone()),
            lease_duration: Some(config.lease_duration),
            acquire_time: Some(now),
            renew_time: Some(now),
            leader_transitions: 0,
        }
    }

    /// The next record: a renewal by the same holder (`is_holder`) or a transition.
    pub(super) fn renewed(
        &self,
        config: &LeaderElectionConfig,
        is_holder: bool,
        now: Timestamp,
    ) -> Self {
        let first = Self::new_leader(config, now);
        match is_holder {
            true => Self {
                acquire_time: self.acquire_time,
                leader_transitions: self.leader_transitions,
                ..first
            },
            false => Self {
                leader_transitions: self.leader_transitions.saturating_add(1),
                ..first
            },
        }
    }

    /// The record after a release.
    pub(super) fn released(&self, now: Timestamp) -> Self {
        Self {
            holder_identity: None,
            lease_duration: Some(Duration::from_secs(1)),
            acquire_time: Some(now),
            renew_time: Some(now),
            leader_transitions: self.leader_transitions,
        }
    }

    /// Writes the record to a Lease; other fields stay.
    pub(super) fn apply_to(self, mut lease: Lease) -> Lease {
        let lease_duration_seconds = self
            .lease_duration
            .map(|d| i32::try_from(d.as_secs()).unwrap_or(i32::MAX));
        let before = lease.spec.take().unwrap_or_default();
        lease.spec = Some(LeaseSpec {
            holder_identity: Some(self.holder_identity.unwrap_or_default()),
            lease_duration_seconds,
            acquire_time: self.acquire_time.map(MicroTime),
            renew_time: self.renew_time.map(MicroTime),
            lease_transitions: Some(self.leader_transitions),
            ..before
        });
        lease
    }
}

//! What a Lease says.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;

use super::Rules;

/// What a Lease says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) holder: Option<String>,
    pub(super) lasts: Option<Duration>,
    pub(super) acquired: Option<Timestamp>,
    pub(super) renewed: Option<Timestamp>,
    pub(super) transitions: i32,
}

impl Record {
    pub(super) fn of(lease: &Lease) -> Self {
        let Some(spec) = &lease.spec else {
            return Self::default();
        };
        let seconds = spec
            .lease_duration_seconds
            .and_then(|s| u64::try_from(s).ok());
        Self {
            holder: spec.holder_identity.clone().filter(|h| !h.is_empty()),
            lasts: seconds.map(Duration::from_secs),
            acquired: spec.acquire_time.as_ref().map(|t| t.0),
            renewed: spec.renew_time.as_ref().map(|t| t.0),
            transitions: spec.lease_transitions.unwrap_or_default(),
        }
    }

    /// Of somebody who is the first ever.
    pub(super) fn first(rules: &Rules, now: Timestamp) -> Self {
        Self {
            holder: Some(rules.identity.clone()),
            lasts: Some(rules.lease),
            acquired: Some(now),
            renewed: Some(now),
            transitions: 0,
        }
    }

    /// After this one: of the same holder (`ours`) or of a new one.
    pub(super) fn renewed(&self, rules: &Rules, ours: bool, now: Timestamp) -> Self {
        let first = Self::first(rules, now);
        match ours {
            true => Self {
                acquired: self.acquired,
                transitions: self.transitions,
                ..first
            },
            false => Self {
                transitions: self.transitions.saturating_add(1),
                ..first
            },
        }
    }

    /// After this one: nobody's.
    pub(super) fn released(&self, now: Timestamp) -> Self {
        Self {
            holder: None,
            lasts: Some(Duration::from_secs(1)),
            acquired: Some(now),
            renewed: Some(now),
            transitions: self.transitions,
        }
    }

    /// Puts the record into a Lease, which keeps the rest.
    pub(super) fn onto(self, mut lease: Lease) -> Lease {
        let lasts = self
            .lasts
            .map(|d| i32::try_from(d.as_secs()).unwrap_or(i32::MAX));
        let before = lease.spec.take().unwrap_or_default();
        lease.spec = Some(LeaseSpec {
            holder_identity: Some(self.holder.unwrap_or_default()),
            lease_duration_seconds: lasts,
            acquire_time: self.acquired.map(MicroTime),
            renew_time: self.renewed.map(MicroTime),
            lease_transitions: Some(self.transitions),
            ..before
        });
        lease
    }
}

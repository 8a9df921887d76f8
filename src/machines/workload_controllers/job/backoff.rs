//! How long a Job waits before it replaces a failed pod: 10 seconds, doubled with each failure
//! after the last success, at most ten minutes.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;

use crate::workload_controllers::pods;

const DEFAULT_JOB_POD_FAILURE_BACKOFF: Duration = Duration::from_secs(10);
const MAX_JOB_POD_FAILURE_BACKOFF: Duration = Duration::from_secs(600);

/// The failures of a Job's pods since one last succeeded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backoff {
    /// How many pods failed since.
    pub failures: u32,
    /// When the last of them did.
    pub last_failure: Option<Timestamp>,
}

impl Backoff {
    /// The record once pods that finished since the last look are counted.
    pub fn after(self, succeeded: &[Arc<Pod>], failed: &[Arc<Pod>]) -> Self {
        let last_success = succeeded.iter().map(|p| pods::finished_at(p)).max();
        let before = if last_success.is_some() {
            Self::default()
        } else {
            self
        };
        let since = failed
            .iter()
            .map(|p| pods::finished_at(p))
            .filter(|at| last_success.is_none_or(|success| *at > success));
        let (count, last) = since.fold((0, None), |(n, last), at| (n + 1, last.max(Some(at))));
        Self {
            failures: before.failures.saturating_add(count),
            last_failure: last.or(before.last_failure),
        }
    }

    /// How long is left to wait.
    pub fn remaining(self, now: Timestamp) -> Duration {
        remaining(self.failures, self.last_failure, now)
    }
}

/// How long is left to wait after that many failures.
pub fn remaining(failures: u32, last: Option<Timestamp>, now: Timestamp) -> Duration {
    let (Some(last), true) = (last, failures > 0) else {
        return Duration::ZERO;
    };
    let doubled = 1u32.checked_shl(failures - 1).unwrap_or(u32::MAX);
    let wait = DEFAULT_JOB_POD_FAILURE_BACKOFF
        .checked_mul(doubled)
        .unwrap_or(MAX_JOB_POD_FAILURE_BACKOFF)
        .min(MAX_JOB_POD_FAILURE_BACKOFF);
    let elapsed = Duration::try_from(now.duration_since(last)).unwrap_or_default();
    wait.saturating_sub(elapsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_ten_minutes() {
        let now = Timestamp::UNIX_EPOCH;
        let waits = [0, 1, 2, 3, 7, 8, 40].map(|n| remaining(n, Some(now), now).as_secs());
        assert_eq!(waits, [0, 10, 20, 40, 600, 600, 600]);
        let later = Timestamp::from_second(15).unwrap();
        assert_eq!(remaining(2, Some(now), later).as_secs(), 5);
        assert_eq!(remaining(1, Some(now), later), Duration::ZERO);
    }
}

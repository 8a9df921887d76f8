//! Pod failure backoff of a Job: 10 seconds, doubled with each failure since the last success, at
//! most ten minutes.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;

use kueue_lab_controller_utils::pods;

const DEFAULT_JOB_POD_FAILURE_BACKOFF: Duration = Duration::from_secs(10);
const MAX_JOB_POD_FAILURE_BACKOFF: Duration = Duration::from_secs(600);

/// The failures since the last success.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Backoff {
    /// Number of failures.
    pub failures: u32,
    /// Time of the last failure.
    pub last_failure: Option<Timestamp>,
}

impl Backoff {
    /// The record after newly finished pods.
    pub(crate) fn after(self, succeeded: &[Arc<Pod>], failed: &[Arc<Pod>]) -> Self {
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

    /// The remaining backoff.
    pub(crate) fn remaining(self, now: Timestamp) -> Duration {
        remaining(self.failures, self.last_failure, now)
    }
}

/// The remaining backoff after that many failures.
pub(super) fn remaining(failures: u32, last: Option<Timestamp>, now: Timestamp) -> Duration {
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
    fn backoff_doubles_up_to_ten_minutes() {
        let now = Timestamp::UNIX_EPOCH;
        let waits = [0, 1, 2, 3, 7, 8, 40].map(|n| remaining(n, Some(now), now).as_secs());
        assert_eq!(waits, [0, 10, 20, 40, 600, 600, 600]);
        let later = Timestamp::from_second(15).unwrap();
        assert_eq!(remaining(2, Some(now), later).as_secs(), 5);
        assert_eq!(remaining(1, Some(now), later), Duration::ZERO);
    }
}

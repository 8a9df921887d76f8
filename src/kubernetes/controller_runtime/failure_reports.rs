//! [`FailureReports`]: which failures of reconciles are logged at a level that is on by default.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};

/// The failures of a key in a row after which it is not a conflict or another failure that ends by itself: with the
/// default backoff, ten seconds.
const LASTING: u32 = 11;
/// The time in which a cause is reported once.
const PERIOD: SignedDuration = SignedDuration::from_mins(10);
/// The most causes of which the time of the last report is known.
const MAX_CAUSES: usize = 256;

/// The errors of a controller and when they were reported, so that a reconcile that is retried for ever is seen and does
/// not fill the log.
#[derive(Debug, Default)]
pub(super) struct FailureReports {
    reported: HashMap<String, Timestamp>,
}

impl FailureReports {
    /// Whether to report an error of a key that has failed a number of times in a row.
    pub(super) fn is_due(&mut self, error: &str, failures: u32, now: Timestamp) -> bool {
        if failures < LASTING {
            return false;
        }
        let is_recent = |at: &Timestamp| now.duration_since(*at) < PERIOD;
        if self.reported.get(error).is_some_and(is_recent) {
            return false;
        }
        self.reported.retain(|_, at| is_recent(at));
        if self.reported.len() >= MAX_CAUSES {
            return false;
        }
        self.reported.insert(error.to_owned(), now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    #[test]
    fn a_lasting_failure_is_reported_once_in_a_period() {
        let mut reports = FailureReports::default();
        assert!(!reports.is_due("a", LASTING - 1, at(0)));
        assert!(reports.is_due("a", LASTING, at(0)));
        assert!(!reports.is_due("a", LASTING + 1, at(1)));
        assert!(reports.is_due("b", LASTING, at(1)));
        assert!(!reports.is_due("a", LASTING, at(599)));
        assert!(reports.is_due("a", LASTING, at(600)));
    }

    #[test]
    fn many_causes_are_limited_together() {
        let mut reports = FailureReports::default();
        let due = |reports: &mut FailureReports, second| {
            let errors = (0..1000).map(|n: i32| n.to_string());
            let due = errors.filter(|error| reports.is_due(error, LASTING, at(second)));
            due.count()
        };
        assert_eq!(due(&mut reports, 0), MAX_CAUSES);
        assert_eq!(due(&mut reports, 600), MAX_CAUSES);
    }
}

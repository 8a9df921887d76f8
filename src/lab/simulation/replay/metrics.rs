//! Statistics of a replay.

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::outcome::UsagePoint;

/// Percentiles of waits, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WaitPercentiles {
    /// The mean.
    pub mean: f64,
    /// The median.
    pub p50: f64,
    /// The 90th percentile.
    pub p90: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The longest.
    pub max: f64,
}

impl WaitPercentiles {
    /// The percentiles of sorted waits, by the nearest rank; none without waits.
    pub(super) fn of(sorted: &[f64]) -> Option<Self> {
        let max = sorted.last()?;
        let rank = |percent: usize| {
            let rank = (sorted.len() * percent).div_ceil(100).max(1);
            sorted[rank - 1]
        };
        Some(Self {
            mean: sorted.iter().sum::<f64>() / sorted.len() as f64,
            p50: rank(50),
            p90: rank(90),
            p99: rank(99),
            max: *max,
        })
    }
}

/// Jain's fairness index: 1 if all values are equal, 1/n if one has everything.
pub(super) fn jain_index(values: &[f64]) -> f64 {
    let sum: f64 = values.iter().sum();
    let squares: f64 = values.iter().map(|value| value * value).sum();
    match squares > 0.0 {
        true => sum * sum / (values.len() as f64 * squares),
        false => 1.0,
    }
}

/// The usage of one resource over time.
#[derive(Clone, Debug, Default)]
pub(super) struct UsageOverTime {
    used: f64,
    since: Option<Timestamp>,
    /// Unit-seconds.
    pub(super) integral: f64,
    pub(super) points: Vec<UsagePoint>,
}

impl UsageOverTime {
    /// Changes the usage.
    pub(super) fn add(&mut self, change: f64, now: Timestamp, start: Timestamp) {
        self.advance(now);
        self.used += change;
        let seconds = seconds(now.duration_since(start));
        match self.points.last_mut() {
            Some(last) if last.seconds == seconds => last.used = self.used,
            _ => self.points.push(UsagePoint {
                seconds,
                used: self.used,
            }),
        }
    }

    /// Integrates the usage up to a time.
    pub(super) fn advance(&mut self, now: Timestamp) {
        if let Some(since) = self.since.replace(now) {
            self.integral += self.used * seconds(now.duration_since(since));
        }
    }
}

/// A duration in seconds.
pub(super) fn seconds(duration: SignedDuration) -> f64 {
    duration.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_the_nearest_rank() {
        let waits: Vec<f64> = (1..=200).map(f64::from).collect();
        let found = WaitPercentiles::of(&waits).unwrap();
        assert_eq!(
            (found.mean, found.p50, found.p90, found.p99, found.max),
            (100.5, 100.0, 180.0, 198.0, 200.0)
        );
        assert_eq!(WaitPercentiles::of(&[]), None);
    }

    #[test]
    fn fairness_is_one_for_equal_values() {
        assert_eq!(jain_index(&[3.0, 3.0]), 1.0);
        assert_eq!(jain_index(&[4.0, 0.0]), 0.5);
        assert_eq!(jain_index(&[0.0, 0.0]), 1.0);
    }

    #[test]
    fn usage_is_integrated() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let mut usage = UsageOverTime::default();
        usage.add(2.0, at(10), at(10));
        usage.add(1.0, at(20), at(10));
        usage.add(-3.0, at(30), at(10));
        usage.advance(at(100));
        assert_eq!(usage.integral, 2.0 * 10.0 + 3.0 * 10.0);
        assert_eq!(usage.points.len(), 3);
    }
}

//! The mean usage of the main resource in equal intervals of a replay.

use crate::replay::UsagePoint;

/// The mean usage in each of `intervals` equal intervals from 0 to `end` seconds. The usage of a point lasts
/// until the next point, that of the last one until `end`.
pub(super) fn mean_usage(points: &[UsagePoint], end: f64, intervals: usize) -> Vec<f64> {
    let width = end / intervals as f64;
    let mut used_until = UsedUntil::new(points);
    let mut before = 0.0;
    let means = (1..=intervals).map(|interval| {
        let used = used_until.at(interval as f64 * width);
        let mean = (used - before) / width;
        before = used;
        mean
    });
    means.collect()
}

/// The integral of the usage from 0 to times that ascend.
struct UsedUntil<'a> {
    points: std::iter::Peekable<std::slice::Iter<'a, UsagePoint>>,
    /// The start of the current usage, and the integral until then.
    since: f64,
    integral: f64,
    used: f64,
}

impl<'a> UsedUntil<'a> {
    fn new(points: &'a [UsagePoint]) -> Self {
        Self {
            points: points.iter().peekable(),
            since: 0.0,
            integral: 0.0,
            used: 0.0,
        }
    }

    fn at(&mut self, time: f64) -> f64 {
        while let Some(point) = self.points.next_if(|point| point.seconds <= time) {
            self.integral += self.used * (point.seconds - self.since);
            self.since = point.seconds;
            self.used = point.used;
        }
        self.integral + self.used * (time - self.since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(seconds: f64, used: f64) -> UsagePoint {
        UsagePoint { seconds, used }
    }

    #[test]
    fn usage_within_an_interval_is_weighted_by_time() {
        let points = [point(0.0, 4.0), point(5.0, 8.0), point(25.0, 0.0)];
        assert_eq!(mean_usage(&points, 40.0, 4), [6.0, 8.0, 4.0, 0.0]);
        assert_eq!(mean_usage(&points[1..2], 10.0, 1), [4.0]);
        assert_eq!(mean_usage(&[], 10.0, 2), [0.0, 0.0]);
    }

    proptest::proptest! {
        /// Also where the boundary of an interval is not a floating point number.
        #[test]
        fn a_queue_that_is_full_is_full_in_every_interval(
            end in 1.0..1e7f64,
            steps in proptest::collection::vec(0.0..1.0f64, 0..50),
        ) {
            let mut times: Vec<f64> = steps.iter().map(|share| share * end).collect();
            times.push(0.0);
            times.sort_by(f64::total_cmp);
            let points: Vec<UsagePoint> = times.into_iter().map(|at| point(at, 8.0)).collect();
            for mean in mean_usage(&points, end, 240) {
                proptest::prop_assert!((mean - 8.0).abs() < 1e-3, "{mean}");
            }
        }
    }
}

//! Partial admission: the largest pod counts that fit.

use kueue_lab_api::v1beta2::PodSet;

/// The largest counts, between the minimum and the requested counts, for which `workload_fits`
/// returns a value. Bisects the reduction, which is proportional over the pod sets.
pub fn search_counts<R>(
    pod_sets: &[PodSet],
    mut fits: impl FnMut(&[i32]) -> Option<R>,
) -> Option<R> {
    let deltas: Vec<i32> = pod_sets
        .iter()
        .map(|ps| ps.count.saturating_sub(ps.min_count.unwrap_or(ps.count)))
        .collect();
    let total = deltas.iter().fold(0i32, |sum, &d| sum.saturating_add(d));
    if total <= 0 {
        return None;
    }
    let counts = |step: i32| -> Vec<i32> {
        let reduced = |(ps, &delta): (&PodSet, &i32)| {
            let less = i64::from(delta) * i64::from(step) / i64::from(total);
            ps.count
                .saturating_sub(i32::try_from(less).unwrap_or(i32::MAX))
        };
        pod_sets.iter().zip(&deltas).map(reduced).collect()
    };
    let (mut low, mut high) = (0, total.saturating_add(1));
    let mut last_good = None;
    while low < high {
        let middle = low + (high - low) / 2;
        match fits(&counts(middle)) {
            Some(result) => {
                last_good = Some((middle, result));
                high = middle;
            }
            None => low = middle + 1,
        }
    }
    last_good
        .filter(|(step, _)| *step == low)
        .map(|(_, result)| result)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod_set(count: i32, min_count: Option<i32>) -> PodSet {
        PodSet {
            count,
            min_count,
            ..Default::default()
        }
    }

    #[test]
    fn finds_the_largest_counts_that_fit() {
        let sets = [pod_set(10, Some(4)), pod_set(2, None)];
        let found = search_counts(&sets, |c| (c.iter().sum::<i32>() <= 9).then(|| c.to_vec()));
        assert_eq!(found, Some(vec![7, 2]));
        assert_eq!(
            search_counts(&sets, |c| (c.iter().sum::<i32>() <= 5).then_some(())),
            None
        );
        assert_eq!(search_counts(&[pod_set(3, None)], |_| Some(())), None);
    }
}

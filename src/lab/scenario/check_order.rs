//! Checks the order of the first admissions.

use super::mismatch::{Mismatch, workload_names};
use super::observed_state::ObservedState;
use super::workload_history::ObservedWorkload;

impl ObservedState {
    /// Checks that jobs were first admitted in an order.
    pub(super) fn check_order(&self, jobs: &[String]) -> Result<(), Mismatch> {
        let mut last: Option<(u64, Vec<&ObservedWorkload>)> = None;
        for pattern in jobs {
            let patterns = std::slice::from_ref(pattern);
            let found: Vec<_> = self.history.matching(patterns, true).collect();
            if found.is_empty() {
                return Err(self.no_job(patterns));
            }
            let mut waiting = found.clone();
            waiting.retain(|w| w.admissions.is_empty());
            if !waiting.is_empty() {
                let mut mismatch = Mismatch::of(&waiting, |w| format!("is {}", w.state()));
                mismatch.observed = format!("{}; {}", mismatch.observed, self.order_text(jobs));
                return Err(mismatch);
            }
            let numbers = || found.iter().map(|w| number(w));
            let (first, end) = (numbers().min(), numbers().max());
            if let (Some((before, others)), Some(first)) = (&last, first)
                && first <= *before
            {
                let too_early = found.iter().copied().filter(|w| number(w) <= *before);
                let too_late = others.iter().copied().filter(|w| number(w) >= first);
                let wrong: Vec<_> = too_early.take(1).chain(too_late).collect();
                return Err(Mismatch {
                    observed: self.order_text(jobs),
                    workloads: workload_names(&wrong),
                });
            }
            last = end.map(|end| (end, found));
        }
        Ok(())
    }

    /// The order of the first admissions of jobs as text.
    pub(super) fn order_text(&self, jobs: &[String]) -> String {
        let mut admitted: Vec<_> = self.history.matching(jobs, true).collect();
        admitted.retain(|w| !w.admissions.is_empty());
        admitted.sort_by_key(|w| number(w));
        let titles: Vec<_> = admitted.iter().map(|w| w.title()).collect();
        match titles.is_empty() {
            true => "none is admitted".to_owned(),
            false => format!("the order is {}", titles.join(", ")),
        }
    }
}

/// The number of the first admission.
fn number(workload: &ObservedWorkload) -> u64 {
    workload.admissions.first().map_or(u64::MAX, |a| a.number)
}

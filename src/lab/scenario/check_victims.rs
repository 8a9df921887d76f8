//! Checks which jobs were preempted.

use super::comparison::Comparison;
use super::glob::glob_matches;
use super::mismatch::Mismatch;
use super::observed_state::ObservedState;
use super::workload_history::ObservedWorkload;

impl ObservedState {
    /// Checks which jobs were preempted, by which job and why.
    pub(super) fn check_victims(
        &self,
        jobs: &[String],
        count: Option<&Comparison>,
        by: Option<&str>,
        reason: Option<&str>,
    ) -> Result<(), Mismatch> {
        let found: Vec<_> = self.history.matching(jobs, true).collect();
        let is_met = |w: &ObservedWorkload| self.is_victim(w, by, reason);
        let Some((met, other)) = self.met_and_others(jobs, &found, count, is_met)? else {
            return Ok(());
        };
        let text = |w: &ObservedWorkload| self.victim_text(w);
        // Those that were preempted come first.
        let mut shown = if count.is_some() {
            found.clone()
        } else {
            other
        };
        shown.sort_by_key(|w| w.preemptions.is_empty());
        let mut mismatch = Mismatch::of(&shown, text);
        let expected = |w: &ObservedWorkload| found.iter().any(|one| one.uid == w.uid);
        let all = self.history.all().iter();
        let others = all.filter(|w| !w.preemptions.is_empty() && !expected(w));
        let others: Vec<_> = others.collect();
        if !others.is_empty() {
            let others = Mismatch::of(&others, text).observed;
            mismatch.observed = format!("{}; {others}", mismatch.observed);
        }
        if count.is_some() {
            mismatch.prepend(format!("{} of {} match", met.len(), found.len()));
        }
        Err(mismatch)
    }

    /// Whether a Workload was preempted by a job and for a reason.
    pub(super) fn is_victim(
        &self,
        workload: &ObservedWorkload,
        by: Option<&str>,
        reason: Option<&str>,
    ) -> bool {
        workload.preemptions.iter().any(|preemption| {
            let by = by.is_none_or(|pattern| {
                let patterns = [pattern.to_owned()];
                let mut matching = self.history.matching(&patterns, true);
                matching.any(|w| preemption.preemptor.as_ref() == Some(&w.uid))
            });
            by && reason.is_none_or(|pattern| glob_matches(pattern, &preemption.reason))
        })
    }

    /// The last preemption of a Workload as text.
    pub(super) fn victim_text(&self, workload: &ObservedWorkload) -> String {
        let Some(last) = workload.preemptions.last() else {
            return format!("was not preempted, it is {}", workload.state());
        };
        let preemptor = last.preemptor.as_ref();
        let by = preemptor.and_then(|uid| self.history.by_uid(uid));
        let by = by.map_or(String::new(), |by| format!(" by {}", by.title()));
        format!("was preempted{by} ({})", last.reason)
    }
}

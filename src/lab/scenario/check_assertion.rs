//! Checks expectations in Kueue's terms against what a scenario observed.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use kueue_lab_api::v1beta2::API_VERSION;
use serde_json::Value;

use super::assertion::{Assertion, JobState};
use super::comparison::Comparison;
use super::duration::format_exact;
use super::glob::glob_matches;
use super::mismatch::{MAX_SHOWN, Mismatch, workload_names};
use super::observed_state::ObservedState;
use super::workload_history::ObservedWorkload;

type Workloads<'w> = Vec<&'w ObservedWorkload>;

impl ObservedState {
    /// Checks an expectation in Kueue's terms. With `any`, one job is enough where all are expected
    /// otherwise.
    ///
    /// # Errors
    /// The observed state.
    pub(super) fn check_assertion(
        &self,
        assertion: &Assertion,
        any: bool,
        now: Timestamp,
    ) -> Result<(), Mismatch> {
        let one = Comparison::at_least_one();
        let counted = |count: &'_ Option<Comparison>| match (count, any) {
            (None, true) => Some(one.clone()),
            (count, _) => count.clone(),
        };
        match assertion {
            Assertion::State {
                state,
                jobs,
                count,
                reason,
            } => self.check_state(*state, jobs, counted(count).as_ref(), reason.as_deref()),
            Assertion::Flavors { jobs, flavors } => {
                let wrong = |w: &ObservedWorkload| !has_flavors(w, flavors);
                self.check_each(jobs, any, wrong, flavors_text)
            }
            Assertion::Victims {
                jobs,
                count,
                by,
                reason,
            } => self.check_victims(
                jobs,
                counted(count).as_ref(),
                by.as_deref(),
                reason.as_deref(),
            ),
            Assertion::Evicted {
                jobs,
                reason,
                times,
            } => self.check_evicted(jobs, reason.as_deref(), times, any),
            Assertion::Waits { jobs, time } => {
                let wrong = |w: &ObservedWorkload| !time.holds_nanos(nanos(waited(w, now)));
                self.check_each(jobs, any, wrong, |w| waited_text(w, now))
            }
            Assertion::Order(jobs) => self.check_order(jobs),
            Assertion::Usage {
                cluster_queue,
                flavor,
                resources,
                is_borrowed,
            } => self.check_usage(cluster_queue, flavor.as_deref(), resources, *is_borrowed),
            Assertion::Share { kind, name, share } => self.check_share(kind, name, share),
            Assertion::Events {
                reason,
                kind,
                object,
                message,
                count,
            } => self.check_events(
                reason,
                kind.as_deref(),
                object.as_deref(),
                message.as_deref(),
                count,
            ),
        }
    }

    /// Checks that no job, or with `any` at least one, is wrong.
    pub(super) fn check_each(
        &self,
        jobs: &[String],
        any: bool,
        wrong: impl Fn(&ObservedWorkload) -> bool,
        text: impl Fn(&ObservedWorkload) -> String,
    ) -> Result<(), Mismatch> {
        let found: Vec<_> = self.history.matching(jobs, false).collect();
        if found.is_empty() {
            return Err(self.no_job(jobs));
        }
        let failed: Vec<_> = found.iter().copied().filter(|w| wrong(w)).collect();
        let met = match any {
            true => failed.len() < found.len(),
            false => failed.is_empty(),
        };
        match met {
            true => Ok(()),
            false => Err(Mismatch::of(&failed, text)),
        }
    }

    /// The Workloads that meet an assertion and the others. `None` if the assertion holds: if as many meet it as
    /// `count` says, else all.
    pub(super) fn met_and_others<'w>(
        &self,
        jobs: &[String],
        found: &[&'w ObservedWorkload],
        count: Option<&Comparison>,
        is_met: impl Fn(&ObservedWorkload) -> bool,
    ) -> Result<Option<(Workloads<'w>, Workloads<'w>)>, Mismatch> {
        let (met, other): (Vec<_>, Vec<_>) = found.iter().partition(|w| is_met(w));
        let holds = match count {
            Some(count) => count.holds(met.len()),
            None if found.is_empty() => return Err(self.no_job(jobs)),
            None => other.is_empty(),
        };
        Ok((!holds).then_some((met, other)))
    }

    fn check_state(
        &self,
        state: JobState,
        jobs: &[String],
        count: Option<&Comparison>,
        reason: Option<&str>,
    ) -> Result<(), Mismatch> {
        let found: Vec<_> = self.history.matching(jobs, false).collect();
        let is_met = |w: &ObservedWorkload| is_in_state(w, state, reason);
        let Some((met, other)) = self.met_and_others(jobs, &found, count, is_met)? else {
            return Ok(());
        };
        let Some(_) = count else {
            return Err(Mismatch::of(&other, |w| format!("is {}", w.state())));
        };
        let mut mismatch = Mismatch::of(&found, |w| format!("is {}", w.state()));
        let what = reason.map_or(state.as_str(), |_| "match");
        mismatch.prepend(format!("{} of {} {what}", met.len(), found.len()));
        mismatch.workloads = workload_names(if other.is_empty() { &met } else { &other });
        Err(mismatch)
    }

    pub(super) fn named(&self, kind: &str, name: &str) -> Option<&Value> {
        let mut objects = self.objects_of((API_VERSION, kind));
        objects.find(|o| o["metadata"]["name"] == name)
    }

    /// The mismatch of patterns that match no Workload, or only deleted ones.
    pub(super) fn no_job(&self, patterns: &[String]) -> Mismatch {
        let deleted: Vec<_> = self.history.matching(patterns, true).collect();
        if !deleted.is_empty() {
            let mut titles: Vec<_> = deleted.iter().map(|w| w.title()).collect();
            titles.dedup();
            let verb = if titles.len() == 1 { "is" } else { "are" };
            titles.truncate(MAX_SHOWN);
            return Mismatch::new(format!("{} {verb} deleted", titles.join(", ")));
        }
        let existing = self.history.all().iter().filter(|w| !w.is_deleted);
        let mut titles: Vec<_> = existing.map(ObservedWorkload::title).collect();
        titles.dedup();
        titles.truncate(MAX_SHOWN);
        let known = match titles.is_empty() {
            true => "there are no Workloads".to_owned(),
            false => format!("there are Workloads of {}", titles.join(", ")),
        };
        Mismatch::new(format!("no Workload of {}; {known}", patterns.join(", ")))
    }
}

/// Whether a Workload is in a state, for a reason.
pub(super) fn is_in_state(
    workload: &ObservedWorkload,
    state: JobState,
    reason: Option<&str>,
) -> bool {
    let is_in_state = match state {
        JobState::Admitted => workload.is_admitted() && !workload.is_finished(),
        JobState::Pending => workload.is_pending(),
        JobState::Finished => workload.is_finished(),
    };
    is_in_state && reason.is_none_or(|pattern| has_reason(workload, pattern))
}

/// The flavors of a Workload as text.
pub(super) fn flavors_text(workload: &ObservedWorkload) -> String {
    match workload.flavors() {
        flavors if flavors.is_empty() => format!("is {}", workload.state()),
        flavors => {
            let pairs = flavors.iter();
            let pairs = pairs.map(|(r, f)| format!("{r} from {}", f.join(" and ")));
            format!("has {}", pairs.collect::<Vec<_>>().join(", "))
        }
    }
}

/// The time from the creation of a Workload to its first admission, or until now.
pub(super) fn waited(workload: &ObservedWorkload, now: Timestamp) -> Duration {
    let end = workload.admissions.first().map_or(now, |first| first.at);
    end.duration_since(workload.created).unsigned_abs()
}

/// The time for which a Workload waited as text.
pub(super) fn waited_text(workload: &ObservedWorkload, now: Timestamp) -> String {
    let so_far = match workload.admissions.is_empty() {
        true => " so far",
        false => "",
    };
    format!("waited for {}{so_far}", format_exact(waited(workload, now)))
}

/// A time in billionths of a second.
pub(super) fn nanos(time: Duration) -> i128 {
    i128::try_from(time.as_nanos()).unwrap_or(i128::MAX)
}

pub(super) fn has_flavors(
    workload: &ObservedWorkload,
    expected: &BTreeMap<String, String>,
) -> bool {
    let flavors = workload.flavors();
    expected.iter().all(|(resource, pattern)| {
        let found = flavors.get(resource.as_str());
        found.is_some_and(|found| found.iter().all(|flavor| glob_matches(pattern, flavor)))
    })
}

/// Whether a pattern matches a reason, its message, or both.
fn has_reason(workload: &ObservedWorkload, pattern: &str) -> bool {
    let reasons = workload.pending_reasons();
    reasons.iter().any(|text| {
        let parts = text.split_once(": ");
        glob_matches(pattern, text)
            || parts.is_some_and(|(reason, message)| {
                glob_matches(pattern, reason) || glob_matches(pattern, message)
            })
    })
}

//! The observed state at the violation of a `never` expectation.

use jiff::Timestamp;

use super::assertion::Assertion;
use super::check_assertion::{flavors_text, has_flavors, is_in_state, nanos, waited, waited_text};
use super::check_evictions::{evictions_text, number_of_evictions};
use super::expect::Expected;
use super::mismatch::{Mismatch, workload_names};
use super::observed_state::ObservedState;
use super::workload_history::ObservedWorkload;

impl ObservedState {
    /// The mismatch of a violated `never` expectation.
    pub(super) fn never_violation(&self, never: &Expected, now: Timestamp) -> Mismatch {
        match never {
            Expected::Assertion(assertion) => self.describe_met(assertion, now),
            Expected::Object(expected) => Mismatch::new(self.describe_matching(expected)),
            Expected::Job { name, .. } => match self.job(name) {
                Some(job) => {
                    let (status, recoveries) = (job.status, job.recoveries);
                    Mismatch::new(format!("job {name} is {status}, {recoveries} recoveries"))
                }
                None => Mismatch::new(never.to_string()),
            },
            Expected::Never(_) => Mismatch::new(never.to_string()),
        }
    }

    fn describe_met(&self, assertion: &Assertion, now: Timestamp) -> Mismatch {
        match assertion {
            Assertion::State {
                state,
                jobs,
                count,
                reason,
            } => {
                let is_met = |w: &ObservedWorkload| is_in_state(w, *state, reason.as_deref());
                let text = |w: &ObservedWorkload| match w.preemptions.last() {
                    Some(last) => format!("is {}, it was preempted ({})", w.state(), last.reason),
                    None => format!("is {}", w.state()),
                };
                let all = self.history.matching(jobs, false).collect();
                let mut mismatch = describe(all, count.is_some(), is_met, text);
                if mismatch.observed.is_empty() {
                    mismatch.observed = format!("none is {}", state.as_str());
                }
                mismatch
            }
            Assertion::Flavors { jobs, flavors } => {
                let all = self.history.matching(jobs, false).collect();
                describe(all, false, |w| has_flavors(w, flavors), flavors_text)
            }
            Assertion::Victims {
                jobs,
                count,
                by,
                reason,
            } => {
                let is_met =
                    |w: &ObservedWorkload| self.is_victim(w, by.as_deref(), reason.as_deref());
                let all = self.history.matching(jobs, true).collect();
                let text = |w: &ObservedWorkload| self.victim_text(w);
                let mut mismatch = describe(all, count.is_some(), is_met, text);
                if mismatch.observed.is_empty() {
                    mismatch.observed = "none was preempted".to_owned();
                }
                mismatch
            }
            Assertion::Evicted {
                jobs,
                reason,
                times,
            } => {
                let is_met =
                    |w: &ObservedWorkload| times.holds(number_of_evictions(w, reason.as_deref()));
                let all = self.history.matching(jobs, false).collect();
                describe(all, false, is_met, evictions_text)
            }
            Assertion::Waits { jobs, time } => {
                let is_met = |w: &ObservedWorkload| time.holds_nanos(nanos(waited(w, now)));
                let all = self.history.matching(jobs, false).collect();
                describe(all, false, is_met, |w| waited_text(w, now))
            }
            Assertion::Order(jobs) => {
                let admitted = self.history.matching(jobs, true);
                let admitted: Vec<_> = admitted.collect();
                Mismatch {
                    observed: self.order_text(jobs),
                    workloads: workload_names(&admitted),
                }
            }
            Assertion::Usage {
                cluster_queue,
                flavor,
                resources,
                is_borrowed,
            } => Mismatch::new(self.describe_usage(
                cluster_queue,
                flavor.as_deref(),
                resources.keys(),
                *is_borrowed,
            )),
            Assertion::Share { kind, name, .. } => match self.share(kind, name) {
                Ok(share) => Mismatch::new(format!("the share is {share}")),
                Err(mismatch) => mismatch,
            },
            Assertion::Events {
                reason,
                kind,
                object,
                message,
                ..
            } => Mismatch::new(self.describe_events(
                reason,
                kind.as_deref(),
                object.as_deref(),
                message.as_deref(),
            )),
        }
    }
}

/// The Workloads that meet an expectation, with their number if it is `counted`.
fn describe(
    all: Vec<&ObservedWorkload>,
    counted: bool,
    is_met: impl Fn(&ObservedWorkload) -> bool,
    text: impl Fn(&ObservedWorkload) -> String,
) -> Mismatch {
    let number = all.len();
    let mut met = all;
    met.retain(|w| is_met(w));
    let mut mismatch = Mismatch::of(&met, text);
    if counted {
        mismatch.prepend(format!("{} of {number} match", met.len()));
    }
    mismatch
}

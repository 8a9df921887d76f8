//! Checks expectations in Kueue's terms against what a scenario observed.

use std::collections::BTreeMap;

use jiff::Timestamp;
use kueue_lab_api::v1beta2::API_VERSION;
use kueue_lab_quantity::Quantity;
use serde_json::Value;

use super::assertion::{Assertion, JobState};
use super::comparison::Comparison;
use super::duration::format_exact;
use super::expect::Expected;
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
    /// What is observed.
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
                let text = |w: &ObservedWorkload| match w.flavors() {
                    flavors if flavors.is_empty() => format!("is {}", w.state()),
                    flavors => {
                        let pairs = flavors.iter();
                        let pairs = pairs.map(|(r, f)| format!("{r} from {}", f.join(" and ")));
                        format!("has {}", pairs.collect::<Vec<_>>().join(", "))
                    }
                };
                self.check_each(jobs, any, wrong, text)
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
                let waited = |w: &ObservedWorkload| {
                    let end = w.admissions.first().map_or(now, |first| first.at);
                    end.duration_since(w.created).unsigned_abs()
                };
                let wrong = |w: &ObservedWorkload| {
                    let nanos = i128::try_from(waited(w).as_nanos()).unwrap_or(i128::MAX);
                    !time.holds_nanos(nanos)
                };
                let text = |w: &ObservedWorkload| {
                    let so_far = if w.admissions.is_empty() {
                        " so far"
                    } else {
                        ""
                    };
                    format!("waited for {}{so_far}", format_exact(waited(w)))
                };
                self.check_each(jobs, any, wrong, text)
            }
            Assertion::Order(jobs) => self.check_order(jobs),
            Assertion::Usage {
                cluster_queue,
                flavor,
                resources,
                is_borrowed,
            } => self.check_usage(cluster_queue, flavor.as_deref(), resources, *is_borrowed),
            Assertion::Share { kind, name, share } => {
                let Some(object) = self.named(kind, name) else {
                    return Err(Mismatch::new(format!("there is no {kind} {name}")));
                };
                match object["status"]["fairSharing"]["weightedShare"].as_i64() {
                    Some(value) if share.holds_nanos(i128::from(value) * 1_000_000_000) => Ok(()),
                    Some(value) => Err(Mismatch::new(format!("the share is {value}"))),
                    None => Err(Mismatch::new(format!("{kind} {name} has no share"))),
                }
            }
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

    /// The mismatch of what must not be met, and is.
    pub(super) fn describe_forbidden(&self, forbidden: &Expected) -> Mismatch {
        let Expected::Assertion(assertion) = forbidden else {
            return Mismatch::new(format!("{forbidden}"));
        };
        let found: Vec<_> = match assertion {
            Assertion::State { state, jobs, .. } => {
                let found = self.history.matching(jobs, false);
                found.filter(|w| is_in_state(w, *state)).collect()
            }
            Assertion::Victims { jobs, .. } => {
                let found = self.history.matching(jobs, true);
                found.filter(|w| !w.preemptions.is_empty()).collect()
            }
            _ => Vec::new(),
        };
        match found.is_empty() {
            true => Mismatch::new(format!("{assertion}")),
            false => Mismatch::of(&found, |w| match w.preemptions.last() {
                Some(last) => format!("is {}, it was preempted ({})", w.state(), last.reason),
                None => format!("is {}", w.state()),
            }),
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
    fn met_and_others<'w>(
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
        let is_met = |w: &ObservedWorkload| {
            is_in_state(w, state) && reason.is_none_or(|pattern| has_reason(w, pattern))
        };
        let Some((met, other)) = self.met_and_others(jobs, &found, count, is_met)? else {
            return Ok(());
        };
        let Some(_) = count else {
            return Err(Mismatch::of(&other, |w| format!("is {}", w.state())));
        };
        let mut mismatch = Mismatch::of(&found, |w| format!("is {}", w.state()));
        mismatch.prepend(format!(
            "{} of {} {}",
            met.len(),
            found.len(),
            state.as_str()
        ));
        mismatch.workloads = workload_names(if other.is_empty() { &met } else { &other });
        Err(mismatch)
    }

    fn check_victims(
        &self,
        jobs: &[String],
        count: Option<&Comparison>,
        by: Option<&str>,
        reason: Option<&str>,
    ) -> Result<(), Mismatch> {
        let found: Vec<_> = self.history.matching(jobs, true).collect();
        let preemptor = |uid: Option<&String>| uid.and_then(|uid| self.history.by_uid(uid));
        let is_met = |w: &ObservedWorkload| {
            w.preemptions.iter().any(|preemption| {
                let by = by.is_none_or(|pattern| {
                    let patterns = [pattern.to_owned()];
                    let mut matching = self.history.matching(&patterns, true);
                    matching.any(|w| preemption.preemptor.as_ref() == Some(&w.uid))
                });
                by && reason.is_none_or(|pattern| glob_matches(pattern, &preemption.reason))
            })
        };
        let Some((met, other)) = self.met_and_others(jobs, &found, count, is_met)? else {
            return Ok(());
        };
        let text = |w: &ObservedWorkload| match w.preemptions.last() {
            None => format!("was not preempted, it is {}", w.state()),
            Some(last) => {
                let by = preemptor(last.preemptor.as_ref());
                let by = by.map_or(String::new(), |by| format!(" by {}", by.title()));
                format!("was preempted{by} ({})", last.reason)
            }
        };
        let mut mismatch = Mismatch::of(if count.is_some() { &found } else { &other }, text);
        let expected = |w: &ObservedWorkload| found.iter().any(|one| one.uid == w.uid);
        let all = self.history.all().iter();
        let others = all.filter(|w| !w.preemptions.is_empty() && !expected(w));
        let others: Vec<_> = others.collect();
        if !others.is_empty() {
            let others = Mismatch::of(&others, text).observed;
            mismatch.observed = format!("{}; {others}", mismatch.observed);
        }
        if count.is_some() {
            mismatch.prepend(format!("{} of {} preempted", met.len(), found.len()));
        }
        Err(mismatch)
    }

    fn check_order(&self, jobs: &[String]) -> Result<(), Mismatch> {
        let mut last: Option<(u64, &str)> = None;
        let mut admitted: Vec<_> = self.history.matching(jobs, true).collect();
        admitted.retain(|w| !w.admissions.is_empty());
        let number = |w: &ObservedWorkload| w.admissions.first().map_or(u64::MAX, |a| a.number);
        admitted.sort_by_key(|w| number(w));
        let order = || {
            let titles: Vec<_> = admitted.iter().map(|w| w.title()).collect();
            match titles.is_empty() {
                true => "none is admitted".to_owned(),
                false => format!("the order is {}", titles.join(", ")),
            }
        };
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
                mismatch.observed = format!("{}; {}", mismatch.observed, order());
                return Err(mismatch);
            }
            let numbers = || found.iter().map(|w| number(w));
            let (first, end) = (numbers().min(), numbers().max());
            if let (Some((before, _)), Some(first)) = (last, first)
                && first <= before
            {
                return Err(Mismatch::new(order()));
            }
            last = end.map(|end| (end, pattern.as_str()));
        }
        Ok(())
    }

    fn check_usage(
        &self,
        cluster_queue: &str,
        flavor: Option<&str>,
        resources: &BTreeMap<String, Comparison>,
        is_borrowed: bool,
    ) -> Result<(), Mismatch> {
        let Some(queue) = self.named("ClusterQueue", cluster_queue) else {
            return Err(Mismatch::new(format!(
                "there is no ClusterQueue {cluster_queue}"
            )));
        };
        let field = if is_borrowed { "borrowed" } else { "total" };
        let mut used: BTreeMap<&str, i128> = BTreeMap::new();
        for of_flavor in queue["status"]["flavorsUsage"]
            .as_array()
            .into_iter()
            .flatten()
        {
            if flavor.is_some_and(|flavor| of_flavor["name"] != flavor) {
                continue;
            }
            for resource in of_flavor["resources"].as_array().into_iter().flatten() {
                let name = resource["name"].as_str().unwrap_or_default();
                let amount = Quantity::or_zero(resource.get(field)).nanos();
                *used.entry(name).or_default() += amount;
            }
        }
        let mut wrong = Vec::new();
        for (resource, amount) in resources {
            match used.get(resource.as_str()) {
                Some(value) if amount.holds_nanos(*value) => {}
                Some(value) => wrong.push(format!("{resource} is {}", decimal(*value))),
                None => wrong.push(format!("the ClusterQueue has no {resource}")),
            }
        }
        match wrong.is_empty() {
            true => Ok(()),
            false => Err(Mismatch::new(wrong.join(", "))),
        }
    }

    fn named(&self, kind: &str, name: &str) -> Option<&Value> {
        let mut objects = self.objects_of((API_VERSION, kind));
        objects.find(|o| o["metadata"]["name"] == name)
    }

    fn no_job(&self, patterns: &[String]) -> Mismatch {
        let mut titles: Vec<_> = self
            .history
            .all()
            .iter()
            .map(ObservedWorkload::title)
            .collect();
        titles.dedup();
        titles.truncate(MAX_SHOWN);
        let known = match titles.is_empty() {
            true => "there are no Workloads".to_owned(),
            false => format!("there are Workloads of {}", titles.join(", ")),
        };
        Mismatch::new(format!("no Workload of {}; {known}", patterns.join(", ")))
    }
}

fn is_in_state(workload: &ObservedWorkload, state: JobState) -> bool {
    match state {
        JobState::Admitted => workload.is_admitted() && !workload.is_finished(),
        JobState::Pending => workload.is_pending(),
        JobState::Finished => workload.is_finished(),
    }
}

fn has_flavors(workload: &ObservedWorkload, expected: &BTreeMap<String, String>) -> bool {
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

/// An amount in billionths as a decimal number.
fn decimal(nanos: i128) -> String {
    let (whole, rest) = (nanos / 1_000_000_000, (nanos % 1_000_000_000).abs());
    match rest {
        0 => whole.to_string(),
        rest => format!("{whole}.{:09}", rest)
            .trim_end_matches('0')
            .to_owned(),
    }
}

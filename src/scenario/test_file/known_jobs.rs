//! Finds jobs in the expectations of a case that no step creates.

use crate::assertion::Assertion;
use crate::expect::{Expectation, Expected};
use crate::format::{Scenario, Step, StepAction, StepTrigger};
use crate::glob::glob_matches;
use kueue_lab_yaml::{Position, closest};
use serde_json::Value;

use super::unknown_name::UnknownName;

/// The first expectation in a case of jobs that cannot exist. Only jobs of templates have names that are known
/// before; nothing is checked after a step that can create others.
pub(super) fn unknown_job(case: &Scenario) -> Option<UnknownName> {
    let mut jobs: Vec<(String, String)> = Vec::new();
    for step in &case.steps {
        if can_create_others(&step.action) {
            return None;
        }
        // A trigger comes before the action.
        if let StepTrigger::When(when) = &step.trigger
            && let Some(unknown) = check(when, &jobs)
        {
            return Some(unknown);
        }
        if let StepAction::CreateJobs(template) = &step.action {
            jobs.extend(template.jobs.iter().map(full_name));
        }
        if let Some(unknown) = expectations(step).find_map(|e| check(e, &jobs)) {
            return Some(unknown);
        }
    }
    None
}

/// The expectations of a step, without what must never be met: later steps can create the jobs of those.
fn expectations(step: &Step) -> impl Iterator<Item = &Expectation> {
    let all = step.expect.iter();
    all.filter(|e| !matches!(e.expected, Expected::Never(_)))
}

fn can_create_others(action: &StepAction) -> bool {
    matches!(
        action,
        StepAction::Launch { .. }
            | StepAction::Sample { .. }
            | StepAction::Apply(_)
            | StepAction::Create(_)
            | StepAction::SwitchPreset(_)
    )
}

fn full_name(job: &Value) -> (String, String) {
    let text = |field: &str| job["metadata"][field].as_str().unwrap_or_default();
    (text("namespace").to_owned(), text("name").to_owned())
}

fn check(expectation: &Expectation, jobs: &[(String, String)]) -> Option<UnknownName> {
    let Expected::Assertion(assertion) = &expectation.expected else {
        return None;
    };
    let patterns = expected_jobs(assertion).iter();
    let mut unknown_patterns =
        patterns.filter(|pattern| !jobs.iter().any(|job| can_be(pattern, job)));
    let first = unknown_patterns.next()?;
    Some(unknown(first, jobs, expectation.position))
}

/// The patterns of the jobs without which the expectation is not met.
fn expected_jobs(assertion: &Assertion) -> &[String] {
    match assertion {
        Assertion::State {
            count: None, jobs, ..
        }
        | Assertion::Victims {
            count: None, jobs, ..
        }
        | Assertion::Flavors { jobs, .. }
        | Assertion::Evicted { jobs, .. }
        | Assertion::Waits { jobs, .. }
        | Assertion::Order(jobs) => jobs,
        _ => &[],
    }
}

/// Whether a pattern matches a job, or can match its Workload `job-NAME-HASH`.
fn can_be(pattern: &str, (namespace, name): &(String, String)) -> bool {
    let (of, pattern) = match pattern.split_once('/') {
        Some((of, pattern)) => (Some(of), pattern),
        None => (None, pattern),
    };
    of.is_none_or(|of| glob_matches(of, namespace))
        && (glob_matches(pattern, name) || pattern.starts_with('*') || pattern.starts_with("job-"))
}

fn unknown(pattern: &str, jobs: &[(String, String)], at: Position) -> UnknownName {
    let names = jobs.iter().map(|(_, name)| name.as_str());
    let remedy = match closest(pattern, names.clone()) {
        Some(guess) => format!("did you mean {guess:?}?"),
        None if jobs.is_empty() => "create jobs first".to_owned(),
        None => {
            let names: Vec<&str> = names.take(10).collect();
            format!("the jobs are {}", names.join(", "))
        }
    };
    let message = format!("there is no job {pattern:?} in this step; {remedy}");
    UnknownName::new(at, pattern, message)
}

//! Finds jobs in the steps and expectations of a case that no step creates.

use crate::assertion::Assertion;
use crate::expect::{Expectation, Expected};
use crate::glob::glob_matches;
use crate::pod_selection::PodSelection;
use crate::scenario::{Scenario, Step, StepAction, StepTrigger};
use kueue_lab_json::ValueExt;
use kueue_lab_yaml::{Position, closest};
use serde_json::Value;

use super::unknown_name::{UnknownName, remedy};

/// The first name in a case of jobs that cannot exist. Only jobs of templates have names that are known
/// before; nothing is checked after a step that can create others.
pub(crate) fn unknown_job(case: &Scenario) -> Option<UnknownName> {
    let mut jobs: Vec<FullName> = Vec::new();
    let of_case = match case.steps.iter().any(|s| can_create_others(&s.action)) {
        true => None,
        false => Some(case.steps.iter().flat_map(created).collect::<Vec<_>>()),
    };
    for step in &case.steps {
        if can_create_others(&step.action) {
            return None;
        }
        // A trigger comes before the action.
        let when = match &step.trigger {
            StepTrigger::When(when) => check(when, &jobs, of_case.as_deref()),
            _ => None,
        };
        let of_action = || match step.refused {
            None => check_action(step, &jobs),
            Some(_) => None,
        };
        if let Some(unknown) = when.or_else(of_action) {
            return Some(unknown);
        }
        jobs.extend(created(step));
        let mut expectations = step.expect.iter();
        let unknown = expectations.find_map(|e| check(e, &jobs, of_case.as_deref()));
        if unknown.is_some() {
            return unknown;
        }
    }
    None
}

/// The namespace and name of a job.
type FullName = (String, String);

/// The jobs that a step creates from a template.
fn created(step: &Step) -> impl Iterator<Item = FullName> {
    let jobs: &[Value] = match &step.action {
        StepAction::CreateJobs(template) => &template.jobs,
        _ => &[],
    };
    jobs.iter().map(full_name)
}

/// Whether a pattern can match a job.
type IsKnown = fn(&str, &FullName) -> bool;

/// The first job of an action that cannot exist when the step starts.
fn check_action(step: &Step, jobs: &[FullName]) -> Option<UnknownName> {
    let (patterns, is_known): (&[String], IsKnown) = match &step.action {
        StepAction::EndPods { pods, .. }
        | StepAction::SetReady { pods, .. }
        | StepAction::DeletePods(pods) => {
            let PodSelection { jobs, .. } = pods;
            (jobs, can_be_pod)
        }
        StepAction::SetActive { jobs, .. } | StepAction::SetPriority { jobs, .. } => (jobs, can_be),
        StepAction::UpdateAdmissionCheck(update) => (&update.jobs, can_be),
        StepAction::UpdateProvisioningRequest(update) => (&update.jobs, can_be),
        _ => return None,
    };
    let is_unknown = |pattern: &&String| !jobs.iter().any(|job| is_known(pattern, job));
    let first = patterns.iter().find(is_unknown)?;
    Some(unknown("before this step", first, jobs, step.at))
}

/// Whether an action can create jobs other than those of templates.
pub(super) fn can_create_others(action: &StepAction) -> bool {
    matches!(
        action,
        StepAction::Launch { .. }
            | StepAction::Sample { .. }
            | StepAction::Apply(_)
            | StepAction::Create(_)
            | StepAction::SwitchPreset(_)
    )
}

fn full_name(job: &Value) -> FullName {
    let namespace = job.text("/metadata/namespace");
    (namespace.to_owned(), job.name().to_owned())
}

/// The first job of an expectation that is none of the `jobs` so far, or of those `of_case` if these are known and
/// later steps can create it.
fn check(
    expectation: &Expectation,
    jobs: &[FullName],
    of_case: Option<&[FullName]>,
) -> Option<UnknownName> {
    let at = expectation.position;
    let first = |assertion, jobs: &[FullName]| {
        let mut patterns = all_jobs(assertion);
        let first = patterns.find(|pattern| !jobs.iter().any(|job| can_be(pattern, job)))?;
        Some(unknown("of this case", first, jobs, at))
    };
    match &expectation.expected {
        Expected::Assertion(assertion) => {
            let mut expected = expected_jobs(assertion).iter();
            let first_expected =
                expected.find(|pattern| !jobs.iter().any(|job| can_be(pattern, job)));
            let of_step = first_expected.map(|first| unknown("in this step", first, jobs, at));
            of_step.or_else(|| first(assertion, of_case?))
        }
        Expected::Never(expected) => match &**expected {
            Expected::Assertion(assertion) => first(assertion, of_case?),
            _ => None,
        },
        Expected::Job { .. } | Expected::Object(_) => None,
    }
}

/// The first object of an expectation of Events in a case that is none of the `objects`, of the jobs and of their
/// Pods. Nothing is checked if a step can create other jobs than those of templates.
pub(super) fn unknown_object<'n>(
    case: &Scenario,
    objects: impl Iterator<Item = &'n String> + Clone,
) -> Option<UnknownName> {
    if case.steps.iter().any(|s| can_create_others(&s.action)) {
        return None;
    }
    let jobs: Vec<FullName> = case.steps.iter().flat_map(created).collect();
    let mut expectations = case.steps.iter().flat_map(|step| &step.expect);
    expectations.find_map(|e| unknown_object_of(e, &jobs, objects.clone()))
}

fn unknown_object_of<'n>(
    expectation: &Expectation,
    jobs: &[FullName],
    objects: impl Iterator<Item = &'n String> + Clone,
) -> Option<UnknownName> {
    let assertion = match &expectation.expected {
        Expected::Assertion(assertion) => assertion,
        Expected::Never(expected) => match &**expected {
            Expected::Assertion(assertion) => assertion,
            _ => return None,
        },
        _ => return None,
    };
    let Assertion::Events {
        object: Some(patterns),
        ..
    } = assertion
    else {
        return None;
    };
    let first = patterns.iter().find(|pattern| {
        let name = name_of(pattern);
        !jobs.iter().any(|job| can_be_pod(pattern, job))
            && !objects.clone().any(|object| glob_matches(name, object))
    })?;
    let names = jobs.iter().map(|(_, name)| name.as_str());
    let names = names.chain(objects.map(|name| name.as_str()));
    let remedy = remedy(name_of(first), names);
    let message = format!("there is no job or other object {first:?} in this case; {remedy}");
    Some(UnknownName::new(expectation.position, first, message))
}

/// A pattern without its namespace.
fn name_of(pattern: &str) -> &str {
    pattern.split_once('/').map_or(pattern, |(_, name)| name)
}

/// The patterns of all jobs of an expectation.
fn all_jobs(assertion: &Assertion) -> impl Iterator<Item = &String> {
    let (jobs, by): (&[String], Option<&String>) = match assertion {
        Assertion::Victims { jobs, by, .. } => (jobs, by.as_ref()),
        Assertion::State { jobs, .. }
        | Assertion::Flavors { jobs, .. }
        | Assertion::Evicted { jobs, .. }
        | Assertion::Waits { jobs, .. }
        | Assertion::Order(jobs) => (jobs, None),
        Assertion::Usage { .. } | Assertion::Share { .. } | Assertion::Events { .. } => (&[], None),
    };
    jobs.iter().chain(by)
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
fn can_be(pattern: &str, (namespace, name): &FullName) -> bool {
    let (of, pattern) = match pattern.split_once('/') {
        Some((of, pattern)) => (Some(of), pattern),
        None => (None, pattern),
    };
    of.is_none_or(|of| glob_matches(of, namespace))
        && (glob_matches(pattern, name) || pattern.starts_with('*') || pattern.starts_with("job-"))
}

/// Whether a pattern matches a job, or can match a Pod `NAME-HASH` of it.
fn can_be_pod(pattern: &str, job: &FullName) -> bool {
    let (of, written) = match pattern.split_once('/') {
        Some((of, written)) => (Some(of), written),
        None => (None, pattern),
    };
    let prefix = format!("{}-", job.1);
    let start = written.split('*').next().unwrap_or_default();
    let is_prefix = written.contains('*') && prefix.starts_with(start);
    can_be(pattern, job)
        || (of.is_none_or(|of| glob_matches(of, &job.0))
            && (is_prefix || start.starts_with(&prefix)))
}

fn unknown(scope: &str, pattern: &str, jobs: &[FullName], at: Position) -> UnknownName {
    let names = jobs.iter().map(|(_, name)| name.as_str());
    let guess = match closest(name_of(pattern), names.clone()) {
        Some(guess) => format!("did you mean {guess:?}?"),
        None if jobs.is_empty() => "create jobs first".to_owned(),
        None => {
            let names: Vec<&str> = names.take(10).collect();
            format!("the jobs are {}", names.join(", "))
        }
    };
    let message = format!("there is no job {pattern:?} {scope}; {guess}");
    UnknownName::new(at, pattern, message)
}

//! Finds names in steps that no object of the queue configuration has.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::assertion::Assertion;
use crate::expect::Expected;
use crate::format::{CheckAnswer, RequestAnswer, Scenario, Step, StepAction, StepTrigger};
use crate::glob::glob_matches;
use kueue_lab_api::constants::PRIORITY_CLASS_LABEL;
use kueue_lab_presets::Manifest;
use kueue_lab_yaml::{Position, Problem, closest};

/// The names of objects that steps refer to.
#[derive(Debug, Default)]
pub(super) struct KnownNames {
    /// LocalQueues as `NAMESPACE/NAME`.
    local_queues: BTreeSet<String>,
    cluster_queues: BTreeSet<String>,
    cohorts: BTreeSet<String>,
    priorities: BTreeSet<String>,
    admission_checks: BTreeSet<String>,
    flavors: BTreeSet<String>,
}

impl KnownNames {
    /// The names of a preset's objects.
    pub(super) fn of(manifests: &[Manifest]) -> Self {
        let mut names = Self::default();
        for manifest in manifests {
            names.add(&manifest.object);
        }
        names
    }

    fn add(&mut self, object: &Value) {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
        let Some(name) = text("/metadata/name") else {
            return;
        };
        let namespace = text("/metadata/namespace").unwrap_or("default");
        match text("/kind").unwrap_or_default() {
            "LocalQueue" => {
                self.local_queues.insert(format!("{namespace}/{name}"));
            }
            "ClusterQueue" => {
                self.cluster_queues.insert(name.to_owned());
                self.cohorts
                    .extend(text("/spec/cohortName").map(str::to_owned));
            }
            "Cohort" => {
                self.cohorts.insert(name.to_owned());
                self.cohorts
                    .extend(text("/spec/parentName").map(str::to_owned));
            }
            "WorkloadPriorityClass" => {
                self.priorities.insert(name.to_owned());
            }
            "ResourceFlavor" => {
                self.flavors.insert(name.to_owned());
            }
            "AdmissionCheck" => {
                self.admission_checks.insert(name.to_owned());
            }
            _ => {}
        }
    }

    /// The first name in a case that neither the configuration nor an earlier step defines. Nothing is
    /// checked after a switch to another preset.
    pub(super) fn check(&self, case: &Scenario) -> Option<Problem> {
        let mut names = Self {
            local_queues: self.local_queues.clone(),
            cluster_queues: self.cluster_queues.clone(),
            cohorts: self.cohorts.clone(),
            priorities: self.priorities.clone(),
            admission_checks: self.admission_checks.clone(),
            flavors: self.flavors.clone(),
        };
        for step in &case.steps {
            match &step.action {
                StepAction::SwitchPreset(_) => return None,
                StepAction::Apply(objects) | StepAction::Create(objects) => {
                    objects.iter().for_each(|object| names.add(object));
                }
                _ => {}
            }
            if let Some(problem) = names.check_step(step) {
                return Some(problem);
            }
        }
        None
    }

    fn check_step(&self, step: &Step) -> Option<Problem> {
        if let StepAction::CreateJobs(template) = &step.action
            && let Some(job) = template.jobs.first()
        {
            let metadata = &job["metadata"];
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let labels = &metadata["labels"];
            let namespace = text(&metadata["namespace"]);
            let queue = format!("{namespace}/{}", text(&labels["kueue.x-k8s.io/queue-name"]));
            if let Some(problem) = missing("LocalQueue", &queue, &self.local_queues, step.at) {
                return Some(problem);
            }
            let priority = text(&labels[PRIORITY_CLASS_LABEL]);
            if !priority.is_empty() {
                let kind = "WorkloadPriorityClass";
                if let Some(problem) = missing(kind, &priority, &self.priorities, step.at) {
                    return Some(problem);
                }
            }
        }
        let named = match &step.action {
            _ if step.refused.is_some() => None,
            StepAction::SetPriority { class, .. } => {
                missing("WorkloadPriorityClass", class, &self.priorities, step.at)
            }
            StepAction::AnswerCheck(CheckAnswer { check, .. })
            | StepAction::ActivateCheck { check, .. }
            | StepAction::AnswerRequest(RequestAnswer {
                check: Some(check), ..
            }) => missing("AdmissionCheck", check, &self.admission_checks, step.at),
            _ => None,
        };
        if named.is_some() {
            return named;
        }
        let when = match &step.trigger {
            StepTrigger::When(expectation) => Some(&**expectation),
            _ => None,
        };
        let mut expectations = step.expect.iter().chain(when);
        expectations.find_map(|e| self.check_expected(&e.expected, e.position))
    }

    fn check_expected(&self, expected: &Expected, at: Position) -> Option<Problem> {
        match expected {
            Expected::Never(inner) => self.check_expected(inner, at),
            Expected::Assertion(Assertion::Usage {
                cluster_queue,
                flavor,
                ..
            }) => missing("ClusterQueue", cluster_queue, &self.cluster_queues, at).or_else(|| {
                let flavor = flavor.as_ref()?;
                missing("ResourceFlavor", flavor, &self.flavors, at)
            }),
            Expected::Assertion(Assertion::Flavors { flavors, .. }) => {
                let is_known =
                    |pattern: &String| self.flavors.iter().any(|name| glob_matches(pattern, name));
                let unknown = flavors.values().find(|pattern| !is_known(pattern));
                unknown.and_then(|name| missing("ResourceFlavor", name, &self.flavors, at))
            }
            Expected::Assertion(Assertion::Share { kind, name, .. }) => match *kind {
                "Cohort" => missing("Cohort", name, &self.cohorts, at),
                _ => missing("ClusterQueue", name, &self.cluster_queues, at),
            },
            _ => None,
        }
    }
}

fn missing(kind: &str, name: &str, known: &BTreeSet<String>, at: Position) -> Option<Problem> {
    if known.contains(name) {
        return None;
    }
    let remedy = match closest(name, known.iter().map(String::as_str)) {
        Some(guess) => format!("did you mean {guess:?}?"),
        None if known.is_empty() => "the queue configuration has none".to_owned(),
        None => {
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            format!("there are {}", known.join(", "))
        }
    };
    Some(Problem::new(
        at,
        format!("there is no {kind} {name:?}; {remedy}"),
    ))
}

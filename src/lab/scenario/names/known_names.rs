//! Finds names in steps that no object of the queue configuration has.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::applied_node::power_failure_error;
use crate::assertion::Assertion;
use crate::expect::Expected;
use crate::glob::glob_matches;
use crate::scenario::{
    AdmissionCheckUpdate, ProvisioningRequestUpdate, Scenario, Step, StepAction, StepTrigger,
};
use kueue_lab_api::constants::{self as c, PRIORITY_CLASS_LABEL};
use kueue_lab_api::v1beta2::HOSTNAME_LABEL;
use kueue_lab_presets::{LabNode, Sample};
use kueue_lab_yaml::Position;

use super::event_kinds::EVENT_KINDS;
use super::known_jobs::{unknown_job, unknown_object};
use super::known_pods::too_many_pods;
use super::known_samples::KnownSamples;
use super::unknown_name::{UnknownName, remedy};

/// The reasons of preemptions.
const PREEMPTION_REASONS: [&str; 4] = [
    c::preempted::IN_CLUSTER_QUEUE,
    c::preempted::IN_COHORT_RECLAMATION,
    c::preempted::IN_COHORT_FAIR_SHARING,
    c::preempted::IN_COHORT_RECLAIM_WHILE_BORROWING,
];

/// The reasons of evictions and their underlying causes.
const EVICTION_REASONS: [&str; 19] = [
    c::evicted::PREEMPTED,
    c::evicted::FLAVOR_MIGRATION,
    c::evicted::PODS_READY_TIMEOUT,
    c::evicted::ADMISSION_CHECK,
    c::evicted::CLUSTER_QUEUE_STOPPED,
    c::evicted::LOCAL_QUEUE_STOPPED,
    c::evicted::NODE_FAILURES,
    c::evicted::ON_MANAGER_CLUSTER,
    c::evicted::WORKLOAD_SLICE_REPLACED,
    c::evicted::DEACTIVATED,
    c::preempted::IN_CLUSTER_QUEUE,
    c::preempted::IN_COHORT_RECLAMATION,
    c::preempted::IN_COHORT_FAIR_SHARING,
    c::preempted::IN_COHORT_RECLAIM_WHILE_BORROWING,
    c::deactivation::REQUEUING_LIMIT_EXCEEDED,
    c::deactivation::MAXIMUM_EXECUTION_TIME_EXCEEDED,
    c::pods_ready::WAIT_FOR_START,
    c::pods_ready::WAIT_FOR_RECOVERY,
    "DeactivatedDueTo",
];

/// The names of objects that steps refer to.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownNames {
    /// LocalQueues as `NAMESPACE/NAME`.
    local_queues: BTreeSet<String>,
    cluster_queues: BTreeSet<String>,
    cohorts: BTreeSet<String>,
    priorities: BTreeSet<String>,
    admission_checks: BTreeSet<String>,
    flavors: BTreeSet<String>,
    nodes: BTreeSet<String>,
    /// The Nodes that steps apply.
    applied_nodes: BTreeSet<String>,
    presets: BTreeSet<String>,
    /// The kinds of all objects.
    kinds: BTreeSet<String>,
    /// The names of all objects.
    objects: BTreeSet<String>,
    /// The samples of the preset.
    samples: KnownSamples,
    /// ClusterQueue, flavor and resource of all quotas.
    quotas: BTreeSet<(String, String, String)>,
    /// Whether quotas are changed by a step in a way that is not known.
    has_unknown_quotas: bool,
    /// Whether fair sharing is enabled.
    fair_sharing: bool,
}

impl KnownNames {
    /// The names of objects and of the nodes of pools.
    pub(crate) fn of<'o>(
        objects: impl Iterator<Item = &'o Value>,
        nodes: &[LabNode],
        fair_sharing: bool,
    ) -> Self {
        let hostnames = nodes
            .iter()
            .filter_map(|node| node.labels.get(HOSTNAME_LABEL));
        let mut names = Self {
            nodes: hostnames.cloned().collect(),
            fair_sharing,
            ..Self::default()
        };
        objects.for_each(|object| names.add(object));
        // Only steps apply Nodes of their own.
        names.applied_nodes.clear();
        names
    }

    /// The same with the presets that a step can activate, and the samples of this one.
    pub(crate) fn with_presets(
        mut self,
        presets: impl IntoIterator<Item = String>,
        samples: Vec<Sample>,
    ) -> Self {
        self.presets = presets.into_iter().collect();
        self.samples = KnownSamples::of(samples);
        self
    }

    /// The names of the objects of the preset, and of the nodes.
    fn objects(&self) -> impl Iterator<Item = &String> + Clone {
        self.objects.iter().chain(&self.nodes)
    }

    fn add(&mut self, object: &Value) {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
        self.kinds.extend(text("/kind").map(str::to_owned));
        self.objects
            .extend(text("/metadata/name").map(str::to_owned));
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
                self.add_quotas(name, object);
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
            "Node" => {
                let is_new = self.nodes.insert(name.to_owned());
                let applied = is_new.then(|| name.to_owned());
                self.applied_nodes.extend(applied);
            }
            _ => {}
        }
    }

    fn add_quotas(&mut self, cluster_queue: &str, object: &Value) {
        self.quotas.retain(|(queue, ..)| queue != cluster_queue);
        let list = |value: &Value, field: &str| value[field].as_array().cloned();
        let groups = list(&object["spec"], "resourceGroups").unwrap_or_default();
        for flavor in groups.iter().flat_map(|g| list(g, "flavors")).flatten() {
            for quota in list(&flavor, "resources").unwrap_or_default() {
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                let (flavor, resource) = (text(&flavor["name"]), text(&quota["name"]));
                self.quotas
                    .insert((cluster_queue.to_owned(), flavor, resource));
            }
        }
    }

    /// The first name in a case on a lab of its own that no object, job or pod has.
    pub(crate) fn unknown_name(&self, case: &Scenario) -> Option<UnknownName> {
        self.check(case)
            .or_else(|| unknown_job(case))
            .or_else(|| unknown_object(case, self.objects()))
            .or_else(|| too_many_pods(case))
    }

    /// The first name in a case that neither the configuration nor an earlier step defines. Nothing is
    /// checked after a switch to another preset.
    pub(crate) fn check(&self, case: &Scenario) -> Option<UnknownName> {
        let mut names = self.clone();
        for step in &case.steps {
            match &step.action {
                StepAction::SwitchPreset(preset) => {
                    return missing("preset", preset, &self.presets, step.at);
                }
                StepAction::Apply(objects) | StepAction::Create(objects) => {
                    objects.iter().for_each(|object| names.add(object));
                }
                StepAction::Patch { .. } | StepAction::Delete(_) => names.has_unknown_quotas = true,
                _ => {}
            }
            names.samples.submit(&step.action);
            let unknown = names.check_step(step);
            if let Some(unknown) = unknown.or_else(|| names.samples.check(step)) {
                return Some(unknown);
            }
        }
        None
    }

    fn check_step(&self, step: &Step) -> Option<UnknownName> {
        let action = match step.refused {
            None => self.check_action(step),
            Some(_) => None,
        };
        let when = match &step.trigger {
            StepTrigger::When(expectation) => Some(&**expectation),
            _ => None,
        };
        let mut expectations = step.expect.iter().chain(when);
        action.or_else(|| expectations.find_map(|e| self.check_expected(&e.expected, e.position)))
    }

    fn check_action(&self, step: &Step) -> Option<UnknownName> {
        let node = |node: &str| missing("node", node, &self.nodes, step.at);
        match &step.action {
            StepAction::CreateJobs(template) => {
                let metadata = &template.jobs.first()?["metadata"];
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                let labels = &metadata["labels"];
                let (namespace, queue) = (
                    text(&metadata["namespace"]),
                    text(&labels["kueue.x-k8s.io/queue-name"]),
                );
                let queue = format!("{namespace}/{queue}");
                missing("LocalQueue", &queue, &self.local_queues, step.at).or_else(|| {
                    let priority = text(&labels[PRIORITY_CLASS_LABEL]);
                    match priority.is_empty() {
                        true => None,
                        false => self.missing_priority(&priority, step.at),
                    }
                })
            }
            StepAction::SetPriority { class, .. } => self.missing_priority(class, step.at),
            StepAction::UpdateAdmissionCheck(AdmissionCheckUpdate { check, .. })
            | StepAction::ActivateCheck { check, .. }
            | StepAction::UpdateProvisioningRequest(ProvisioningRequestUpdate {
                check: Some(check),
                ..
            }) => missing("AdmissionCheck", check, &self.admission_checks, step.at),
            StepAction::NodePower { node: name, on } => match self.applied_nodes.contains(name) {
                true => Some(UnknownName::new(
                    step.at,
                    name,
                    power_failure_error(name, *on),
                )),
                false => node(name),
            },
            StepAction::Sample { sample, .. } => {
                missing("sample", sample, self.samples.names(), step.at)
            }
            StepAction::EndPods { pods, .. }
            | StepAction::SetReady { pods, .. }
            | StepAction::DeletePods(pods) => pods.node.as_deref().and_then(node),
            StepAction::Taint { taint, .. } => node(&taint.node),
            _ => None,
        }
    }

    fn missing_priority(&self, name: &str, at: Position) -> Option<UnknownName> {
        missing("WorkloadPriorityClass", name, &self.priorities, at)
    }

    fn check_expected(&self, expected: &Expected, at: Position) -> Option<UnknownName> {
        let assertion = match expected {
            Expected::Never(inner) => return self.check_expected(inner, at),
            Expected::Assertion(assertion) => assertion,
            _ => return None,
        };
        match assertion {
            Assertion::Usage {
                cluster_queue,
                flavor,
                resources,
                ..
            } => missing("ClusterQueue", cluster_queue, &self.cluster_queues, at)
                .or_else(|| {
                    let flavor = flavor.as_ref()?;
                    missing("ResourceFlavor", flavor, &self.flavors, at)
                })
                .or_else(|| {
                    let mut resources = resources.keys();
                    resources.find_map(|resource| {
                        self.missing_quota(Some(cluster_queue), flavor.as_deref(), resource, at)
                    })
                }),
            Assertion::Flavors { flavors, .. } => {
                let is_known =
                    |pattern: &String| self.flavors.iter().any(|name| glob_matches(pattern, name));
                let unknown = flavors.values().find(|pattern| !is_known(pattern));
                let unknown = unknown.and_then(|f| missing("ResourceFlavor", f, &self.flavors, at));
                unknown.or_else(|| {
                    let mut resources = flavors.keys();
                    resources.find_map(|name| self.missing_quota(None, None, name, at))
                })
            }
            Assertion::Share { kind, name, .. } => {
                let known = match *kind {
                    "Cohort" => &self.cohorts,
                    _ => &self.cluster_queues,
                };
                missing(kind, name, known, at).or_else(|| {
                    let message = format!(
                        "{kind} {name} has no share: fair sharing is not enabled; set fairSharing in kueue.yaml"
                    );
                    (!self.fair_sharing).then(|| UnknownName::new(at, "share", message))
                })
            }
            Assertion::Victims {
                reason: Some(reason),
                ..
            } if !PREEMPTION_REASONS.iter().any(|r| glob_matches(reason, r)) => {
                let known = PREEMPTION_REASONS.into_iter();
                Some(UnknownName::among(
                    "reason of preemptions",
                    reason,
                    known,
                    at,
                ))
            }
            Assertion::Evicted {
                reason: Some(reason),
                ..
            } if !is_eviction_reason(reason) => {
                let known = EVICTION_REASONS.into_iter();
                Some(UnknownName::among("reason of evictions", reason, known, at))
            }
            Assertion::Events {
                kind: Some(kind), ..
            } if !self.kinds.contains(kind) && !EVENT_KINDS.contains(&kind.as_str()) => {
                let known = self.kinds.iter().map(String::as_str);
                let known = EVENT_KINDS.into_iter().chain(known);
                Some(UnknownName::among("kind", kind, known, at))
            }
            _ => None,
        }
    }

    /// A resource for which a ClusterQueue, or no ClusterQueue, has a quota in a flavor, or in any.
    fn missing_quota(
        &self,
        cluster_queue: Option<&str>,
        flavor: Option<&str>,
        resource: &str,
        at: Position,
    ) -> Option<UnknownName> {
        let is_of = |of: &Option<&str>, name: &str| of.is_none_or(|of| of == name);
        let of_queue = self
            .quotas
            .iter()
            .filter(|(queue, ..)| is_of(&cluster_queue, queue));
        if flavor.is_some() && !of_queue.clone().any(|(_, f, _)| is_of(&flavor, f)) {
            let known: BTreeSet<&str> = of_queue.map(|(_, f, _)| f.as_str()).collect();
            return self.unknown_quota("flavor", cluster_queue, flavor?, &known, at);
        }
        let of_flavor = of_queue.filter(|(_, f, _)| is_of(&flavor, f));
        let known: BTreeSet<&str> = of_flavor.map(|(.., r)| r.as_str()).collect();
        match known.contains(resource) {
            true => None,
            false => self.unknown_quota("quota of", cluster_queue, resource, &known, at),
        }
    }

    fn unknown_quota(
        &self,
        what: &str,
        cluster_queue: Option<&str>,
        name: &str,
        known: &BTreeSet<&str>,
        at: Position,
    ) -> Option<UnknownName> {
        let of = match cluster_queue {
            Some(queue) => format!("ClusterQueue {queue} has no"),
            None => "no ClusterQueue has a".to_owned(),
        };
        let remedy = remedy(name, known.iter().copied());
        let message = format!("{of} {what} {name:?}; {remedy}");
        (!self.has_unknown_quotas).then(|| UnknownName::new(at, name, message))
    }
}

/// Whether a pattern can match `REASON`, `CAUSE` or `REASON/CAUSE` of an eviction.
fn is_eviction_reason(pattern: &str) -> bool {
    let is_known = |pattern: &str| EVICTION_REASONS.iter().any(|r| glob_matches(pattern, r));
    let parts = pattern.split_once('/');
    is_known(pattern)
        || pattern.starts_with("DeactivatedDueTo")
        || parts.is_some_and(|(reason, cause)| is_known(reason) && is_known(cause))
}

fn missing(kind: &str, name: &str, known: &BTreeSet<String>, at: Position) -> Option<UnknownName> {
    let names = known.iter().map(String::as_str);
    (!known.contains(name)).then(|| UnknownName::among(kind, name, names, at))
}

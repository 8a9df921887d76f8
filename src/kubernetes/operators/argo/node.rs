//! The nodes of a workflow: one for each use of a template.

use std::time::Duration;

use jiff::SignedDuration;
use kube::ResourceExt;
use serde_json::{Value, json};

use super::super::child_objects::{items, text_of};
use super::super::observed::{Observed, parse_timestamp};
use super::super::substitution::{Brackets, Variables, substitute};
use super::node_pod::{is_pod_of, node_id, node_pod};
use kueue_lab_controller_utils::pods::{is_active, phase};

const BRACKETS: Brackets = Brackets {
    open: "{{",
    close: "}}",
};
/// The nesting depth of templates.
const MAX_DEPTH: usize = 32;

/// The phase of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Pending,
    Running,
    Succeeded,
    Failed,
}

impl Phase {
    /// Its name in the status.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Running => "Running",
            Self::Succeeded => "Succeeded",
            Self::Failed => "Failed",
        }
    }

    fn of(text: &str) -> Option<Self> {
        let all = [Self::Pending, Self::Running, Self::Succeeded, Self::Failed];
        all.into_iter().find(|phase| phase.text() == text)
    }

    fn is_finished(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed)
    }
}

/// A node and its state.
struct Node {
    name: String,
    display_name: String,
    node_type: &'static str,
    template: String,
    phase: Phase,
    message: Option<String>,
}

/// The nodes of a workflow, evaluated from its entrypoint on.
pub(super) struct Nodes<'a> {
    workflow: &'a Observed<'a>,
    /// The nodes of the last status.
    old: Value,
    stopped: bool,
    depth: usize,
    active: usize,
    nodes: Vec<Node>,
    pods: Vec<Value>,
    is_partial: bool,
    warnings: Vec<String>,
    requeue_after: Option<Duration>,
}

/// A feature of a Workflow that is not simulated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum UnsupportedFeature {
    /// The template does not exist.
    #[error("template {0:?} is not found")]
    TemplateNotFound(String),
    /// The template is nested too deeply.
    #[error("template {0:?} is nested too deeply")]
    Depth(String),
    /// The type of the template.
    #[error("the type of template {0}")]
    TemplateType(String),
    /// Dependencies as an expression.
    #[error("dag.tasks.depends")]
    Depends,
    /// A field of a step or task.
    #[error("{field} of step {step}")]
    StepField {
        /// The field.
        field: &'static str,
        /// The step.
        step: String,
    },
}

impl<'a> Nodes<'a> {
    /// No nodes yet. Without `stopped` missing pods are created.
    pub(super) fn new(workflow: &'a Observed<'a>, status: &Value, stopped: bool) -> Self {
        Self {
            workflow,
            old: status["nodes"].clone(),
            stopped,
            depth: 0,
            active: workflow.pods.iter().filter(|pod| is_active(pod)).count(),
            nodes: Vec::new(),
            pods: Vec::new(),
            is_partial: false,
            warnings: Vec::new(),
            requeue_after: None,
        }
    }

    /// Evaluates a node with the template of that name.
    ///
    /// # Errors
    /// A feature of the template is not simulated.
    pub(super) fn template(
        &mut self,
        name: &str,
        display_name: &str,
        template: &str,
        arguments: &Value,
        globals: &Variables,
    ) -> Result<Phase, UnsupportedFeature> {
        let found = items(&self.workflow.spec()["templates"])
            .iter()
            .find(|t| t["name"] == template);
        let Some(found) = found else {
            return Err(UnsupportedFeature::TemplateNotFound(template.to_owned()));
        };
        if self.depth >= MAX_DEPTH {
            return Err(UnsupportedFeature::Depth(template.to_owned()));
        }
        let mut own = found.clone();
        substitute(&mut own, &inputs(found, arguments, globals), BRACKETS);
        for field in ["retryStrategy", "memoize", "synchronization", "metrics"] {
            if !own[field].is_null() {
                self.warnings
                    .push(format!("template {template}: {field} has no effect"));
            }
        }
        let at = self.nodes.len();
        self.nodes.push(Node {
            name: name.to_owned(),
            display_name: display_name.to_owned(),
            node_type: "Pod",
            template: template.to_owned(),
            phase: Phase::Pending,
            message: None,
        });
        self.depth += 1;
        let (node_type, phase) = if own["container"].is_object() || own["script"].is_object() {
            let (phase, message) = self.pod(name, &own);
            self.nodes[at].message = message;
            ("Pod", phase)
        } else if own["steps"].is_array() {
            ("Steps", self.steps(name, &own["steps"], globals)?)
        } else if own["dag"].is_object() {
            ("DAG", self.dag(name, &own["dag"], globals)?)
        } else if own["suspend"].is_object() {
            ("Suspend", self.suspend(name, &own["suspend"]))
        } else {
            return Err(UnsupportedFeature::TemplateType(template.to_owned()));
        };
        self.depth -= 1;
        let node = &mut self.nodes[at];
        (node.node_type, node.phase) = (node_type, phase);
        Ok(phase)
    }

    /// The state of a node in the last status.
    fn before(&self, name: &str) -> &Value {
        &self.old[node_id(&self.workflow.name(), name)]
    }

    /// A node with a pod: its phase and the message of a failure.
    fn pod(&mut self, name: &str, template: &Value) -> (Phase, Option<String>) {
        let before = self.before(name)["phase"].as_str().and_then(Phase::of);
        if let Some(finished) = before.filter(|phase| phase.is_finished()) {
            return (
                finished,
                self.before(name)["message"].as_str().map(str::to_owned),
            );
        }
        let pod = self.workflow.pods.iter().find(|pod| is_pod_of(pod, name));
        match pod {
            Some(pod) => match phase(pod) {
                "Succeeded" => (Phase::Succeeded, None),
                "Failed" => (Phase::Failed, Some(failure_of(pod))),
                "Running" => (Phase::Running, None),
                _ => (Phase::Pending, None),
            },
            None if before.is_some() => (Phase::Failed, Some("pod deleted".to_owned())),
            None => {
                let spec = self.workflow.spec();
                let limit = spec["parallelism"].as_u64().unwrap_or(u64::MAX);
                let waits = self.stopped || spec["suspend"] == true;
                if !waits && (self.active as u64) < limit {
                    if self.pods.len() < self.workflow.burst_replicas {
                        self.pods.push(node_pod(self.workflow, name, template));
                        self.active += 1;
                    } else {
                        self.is_partial = true;
                    }
                }
                (Phase::Pending, None)
            }
        }
    }

    /// Groups of steps, one after the other.
    fn steps(
        &mut self,
        name: &str,
        groups: &Value,
        globals: &Variables,
    ) -> Result<Phase, UnsupportedFeature> {
        for (index, group) in items(groups).iter().enumerate() {
            let mut phases = Vec::new();
            for step in items(group) {
                let step_name = text_of(&step["name"]);
                let node = format!("{name}[{index}].{step_name}");
                phases.extend(self.calls(&node, &step_name, step, globals)?);
            }
            match joined(&phases) {
                Phase::Succeeded => {}
                other => return Ok(other),
            }
        }
        Ok(Phase::Succeeded)
    }

    /// Tasks with dependencies.
    fn dag(
        &mut self,
        name: &str,
        dag: &Value,
        globals: &Variables,
    ) -> Result<Phase, UnsupportedFeature> {
        let mut phases: Vec<(String, Phase)> = Vec::new();
        let tasks = items(&dag["tasks"]);
        if tasks.iter().any(|task| !task["depends"].is_null()) {
            return Err(UnsupportedFeature::Depends);
        }
        // Each round evaluates the tasks whose dependencies are known; a cycle ends the rounds.
        loop {
            let known = phases.len();
            for task in tasks {
                let task_name = text_of(&task["name"]);
                let phase_of = |name: &str| phases.iter().find(|(n, _)| n == name).map(|(_, p)| *p);
                let mut dependencies = items(&task["dependencies"]).iter().map(text_of);
                let ready = dependencies.all(|name| phase_of(&name) == Some(Phase::Succeeded));
                if !ready || phase_of(&task_name).is_some() {
                    continue;
                }
                let node = format!("{name}.{task_name}");
                let all = self.calls(&node, &task_name, task, globals)?;
                phases.push((task_name, joined(&all)));
            }
            if phases.len() == known {
                break;
            }
        }
        let all: Vec<Phase> = phases.iter().map(|(_, phase)| *phase).collect();
        Ok(match joined(&all) {
            Phase::Succeeded if all.len() < tasks.len() => Phase::Running,
            other => other,
        })
    }

    /// The nodes of a step or task: one, or one for each item of `withItems`.
    fn calls(
        &mut self,
        node: &str,
        name: &str,
        step: &Value,
        globals: &Variables,
    ) -> Result<Vec<Phase>, UnsupportedFeature> {
        let unsupported = [
            "when",
            "withParam",
            "withSequence",
            "templateRef",
            "inline",
            "continueOn",
            "hooks",
            "onExit",
        ];
        if let Some(field) = unsupported.iter().find(|field| !step[**field].is_null()) {
            return Err(UnsupportedFeature::StepField {
                field,
                step: name.to_owned(),
            });
        }
        let template = text_of(&step["template"]);
        if !step["withItems"].is_array() {
            return Ok(vec![self.template(
                node,
                name,
                &template,
                &step["arguments"],
                globals,
            )?]);
        }
        let mut phases = Vec::new();
        for (index, item) in items(&step["withItems"]).iter().enumerate() {
            let suffix = format!("({index}:{})", text_of(item));
            let mut variables = globals.clone();
            variables.insert("item".to_owned(), item.clone());
            for (key, value) in super::super::child_objects::fields(item) {
                variables.insert(format!("item.{key}"), value.clone());
            }
            let mut arguments = step["arguments"].clone();
            substitute(&mut arguments, &variables, BRACKETS);
            let (node, name) = (format!("{node}{suffix}"), format!("{name}{suffix}"));
            phases.push(self.template(&node, &name, &template, &arguments, globals)?);
        }
        Ok(phases)
    }

    /// A pause: until its duration has passed, or until the node is set to Succeeded.
    fn suspend(&mut self, name: &str, suspend: &Value) -> Phase {
        let before = self.before(name);
        if before["phase"] == "Succeeded" {
            return Phase::Succeeded;
        }
        let Some(duration) = suspend_duration(suspend) else {
            return Phase::Running;
        };
        let since = parse_timestamp(&before["startedAt"]).unwrap_or(self.workflow.now);
        let left = duration.saturating_sub(self.workflow.now.duration_since(since));
        if left <= SignedDuration::ZERO {
            return Phase::Succeeded;
        }
        let left = left.unsigned_abs();
        self.requeue_after = Some(self.requeue_after.map_or(left, |at| at.min(left)));
        Phase::Running
    }

    /// `status.nodes`.
    pub(super) fn status(&self) -> Value {
        let workflow = self.workflow.name();
        let now = self.workflow.timestamp();
        let mut all = json!({});
        for node in &self.nodes {
            let id = node_id(&workflow, &node.name);
            let before = &self.old[&id];
            let mut status = json!({
                "id": id, "name": node.name, "displayName": node.display_name,
                "type": node.node_type, "templateName": node.template,
                "phase": node.phase.text(), "startedAt": now,
            });
            for (field, is_set) in [
                ("startedAt", true),
                ("finishedAt", node.phase.is_finished()),
            ] {
                let time = Some(&before[field]).filter(|time| time.is_string());
                if is_set {
                    status[field] = time.cloned().unwrap_or_else(|| json!(now));
                }
            }
            if let Some(message) = &node.message {
                status["message"] = json!(message);
            }
            all[&id] = status;
        }
        all
    }

    /// The finished and all pods, such as `1/3`.
    pub(super) fn progress(&self) -> String {
        let pods = || self.nodes.iter().filter(|node| node.node_type == "Pod");
        let done = pods().filter(|node| node.phase == Phase::Succeeded).count();
        format!("{done}/{}", pods().count())
    }

    /// The message of a failed workflow.
    pub(super) fn failure(&self, root: &str) -> Option<String> {
        let failed = self
            .nodes
            .iter()
            .rev()
            .find(|node| node.phase == Phase::Failed)?;
        match failed.name == root {
            true => failed.message.clone(),
            false => Some(format!("child '{}' failed", node_id(root, &failed.name))),
        }
    }

    /// Parts of the templates without effect.
    pub(super) fn warnings(&self) -> Vec<String> {
        let mut warnings = self.warnings.clone();
        warnings.sort();
        warnings.dedup();
        warnings
    }

    /// When a pause ends.
    pub(super) fn requeue_after(&self) -> Option<Duration> {
        self.requeue_after
    }

    /// Whether more pods are missing than are created.
    pub(super) fn is_partial(&self) -> bool {
        self.is_partial
    }

    /// The pods to create.
    pub(super) fn into_pods(self) -> Vec<Value> {
        self.pods
    }
}

/// The variables of a template: the given arguments, else the defaults of its inputs.
fn inputs(template: &Value, arguments: &Value, globals: &Variables) -> Variables {
    let mut variables = globals.clone();
    for parameter in items(&template["inputs"]["parameters"]) {
        let Some(name) = parameter["name"].as_str() else {
            continue;
        };
        let given = items(&arguments["parameters"])
            .iter()
            .find(|given| given["name"] == name);
        let values = [
            given.map(|given| &given["value"]),
            Some(&parameter["value"]),
            Some(&parameter["default"]),
        ];
        let value = values.into_iter().flatten().find(|value| !value.is_null());
        if let Some(value) = value {
            let mut value = json!(text_of(value));
            substitute(&mut value, globals, BRACKETS);
            variables.insert(format!("inputs.parameters.{name}"), value);
        }
    }
    variables
}

/// The phase of nodes that run together: it fails when all have finished.
fn joined(phases: &[Phase]) -> Phase {
    if phases.iter().any(|phase| !phase.is_finished()) {
        Phase::Running
    } else if phases.contains(&Phase::Failed) {
        Phase::Failed
    } else {
        Phase::Succeeded
    }
}

/// The duration of a pause: seconds or a duration.
fn suspend_duration(suspend: &Value) -> Option<SignedDuration> {
    let text = text_of(&suspend["duration"]);
    if let Ok(seconds) = text.parse::<i64>() {
        return Some(SignedDuration::from_secs(seconds));
    }
    let duration = text.parse::<kueue_lab_duration::Duration>().ok()?;
    SignedDuration::try_from(duration.to_std()).ok()
}

fn failure_of(pod: &k8s_openapi::api::core::v1::Pod) -> String {
    let statuses = pod
        .status
        .iter()
        .flat_map(|s| s.container_statuses.iter().flatten());
    let mut main = statuses.filter(|status| status.name == "main");
    let ended = main.find_map(|status| status.state.as_ref()?.terminated.clone());
    match ended {
        Some(ended) => format!("Error (exit code {})", ended.exit_code),
        None => pod
            .status
            .as_ref()
            .and_then(|s| s.message.clone())
            .unwrap_or_else(|| format!("pod {} failed", pod.name_any())),
    }
}

//! Jobs from a template: `jobs: {name: train, count: 20, queue: gpus, requests: {cpu: 2}, runs: 10m}`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::{Value, json};

use super::comparison::QUANTITY_PATTERN;
use super::duration::ScenarioDuration;
use super::located::Located;
use kueue_lab_api::constants::{PRIORITY_CLASS_LABEL, QUEUE_LABEL};
use kueue_lab_kubelet::READY_ANNOTATION;
use kueue_lab_quantity::Quantity;
use kueue_lab_yaml::{Position, Problem};

/// The name of a Job, as a regular expression of JSON schemas.
const NAME: &str = "^[a-z0-9]([-a-z0-9]{0,55}[a-z0-9])?$";
/// The most jobs of one template.
const MAX_JOBS: u32 = 10_000;
/// The namespace of jobs without one.
pub(super) const DEFAULT_NAMESPACE: &str = "default";
/// The time between the creations of two jobs without `every`: creation timestamps have whole seconds, and Kueue
/// orders jobs of one second by UID.
const DEFAULT_INTERVAL: Duration = Duration::from_secs(1);
/// How long pods run without `runs`: longer than any scenario.
const FOREVER: Duration = Duration::from_secs(100 * 365 * 86_400);

/// The annotation of pods with the time for which they run.
const RUN_FOR: &str = "kueue-lab.dev/run-for";

/// Jobs from a template.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct RawJobs {
    /// The name; with count a prefix.
    #[schemars(regex(pattern = NAME))]
    pub(super) name: Located<String>,
    /// The number of jobs, named NAME-1, NAME-2 and so on.
    #[schemars(range(min = 1, max = MAX_JOBS))]
    count: Option<Located<u32>>,
    /// The LocalQueue.
    queue: Located<String>,
    /// The namespace.
    namespace: Option<String>,
    /// The requests of a pod by resource.
    #[serde(default)]
    requests: BTreeMap<String, Located<RequestText>>,
    /// Parallelism and completions, 1 by default.
    pods: Option<Located<u32>>,
    /// The least parallelism, less than pods.
    #[schemars(range(min = 1))]
    min_pods: Option<Located<u32>>,
    /// A WorkloadPriorityClass.
    priority: Option<String>,
    /// How long each pod runs; without it, for ever.
    runs: Option<ScenarioDuration>,
    /// The exit code of the pods.
    exit_code: Option<u8>,
    /// Whether the pods get ready.
    ready: Option<bool>,
    /// The time between the creations of two jobs, 1s by default.
    every: Option<ScenarioDuration>,
    /// The backoffLimit of the Job.
    backoff_limit: Option<u32>,
    /// Labels of the Job and its pods.
    #[serde(default)]
    labels: BTreeMap<String, String>,
    /// Annotations of the Job and its pods.
    #[serde(default)]
    annotations: BTreeMap<String, String>,
    /// The node selector of the pods.
    #[serde(default)]
    node_selector: BTreeMap<String, String>,
    /// Tolerations of the pods.
    #[serde(default)]
    tolerations: Vec<Value>,
}

/// A quantity as text or number.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "a quantity such as 2, 500m or 1Gi")]
enum RequestText {
    Text(String),
    Integer(u64),
    Number(f64),
}

impl JsonSchema for RequestText {
    fn schema_name() -> Cow<'static, str> {
        "Quantity".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A quantity such as 2, 500m or 1Gi",
            "type": ["string", "number"],
            "pattern": format!("^{QUANTITY_PATTERN}$"),
        })
    }
}

impl RequestText {
    fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Integer(number) => number.to_string(),
            Self::Number(number) => number.to_string(),
        }
    }
}

/// Jobs to create, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct JobTemplate {
    /// The `batch/v1` Jobs.
    pub jobs: Vec<Value>,
    /// The time between the creations of two of them.
    pub interval: Duration,
    /// The template as text, such as `20 jobs train in gpus`.
    pub description: String,
}

impl JobTemplate {
    /// Expands a template.
    pub(super) fn read(raw: RawJobs, at: Position) -> Result<Self, Problem> {
        let count = raw.count.as_ref().map_or(1, |count| count.value);
        if count == 0 || count > MAX_JOBS {
            let at = raw.count.map_or(at, |count| count.at);
            let message = format!("count is a number from 1 to {MAX_JOBS}");
            return Err(Problem::new(at, message));
        }
        if !is_name(&raw.name.value) {
            let message = format!(
                "{:?} is no name of a Job: use lower-case letters, digits and `-`",
                raw.name.value
            );
            return Err(Problem::new(raw.name.at, message));
        }
        let mut requests = BTreeMap::new();
        for (resource, amount) in &raw.requests {
            let text = amount.value.text();
            if text.parse::<Quantity>().is_err() {
                let message = format!("{text:?} is no quantity; write one such as 2, 500m or 1Gi");
                return Err(Problem::new(amount.at, message));
            }
            requests.insert(resource.clone(), text);
        }
        let pods = raw.pods.as_ref().map_or(1, |pods| pods.value);
        let is_possible = |min: &Located<u32>| (1..pods).contains(&min.value);
        if let Some(min) = raw.min_pods.as_ref().filter(|min| !is_possible(min)) {
            let message = format!("minPods is at least 1 and less than pods, which is {pods}");
            return Err(Problem::new(min.at, message));
        }
        let names = match raw.count {
            None => vec![raw.name.value.clone()],
            Some(_) => (1..=count)
                .map(|number| format!("{}-{number}", raw.name.value))
                .collect(),
        };
        let plural = if count == 1 { "job" } else { "jobs" };
        let description = format!("{count} {plural} {} in {}", raw.name.value, raw.queue.value);
        let jobs = names.iter().map(|name| raw.job(name, pods, &requests));
        Ok(Self {
            jobs: jobs.collect(),
            interval: raw.every.map_or(DEFAULT_INTERVAL, |every| every.0),
            description,
        })
    }
}

impl RawJobs {
    fn job(&self, name: &str, pods: u32, requests: &BTreeMap<String, String>) -> Value {
        let mut labels = self.labels.clone();
        let mut pod_labels = self.labels.clone();
        // A pod with a queue is a job of its own.
        pod_labels.remove(QUEUE_LABEL);
        labels.insert(QUEUE_LABEL.into(), self.queue.value.clone());
        if let Some(priority) = &self.priority {
            labels.insert(PRIORITY_CLASS_LABEL.into(), priority.clone());
        }
        let mut annotations = self.annotations.clone();
        if let Some(min) = &self.min_pods {
            annotations.insert(
                "kueue.x-k8s.io/job-min-parallelism".into(),
                min.value.to_string(),
            );
        }
        let mut of_pods = self.annotations.clone();
        if self.runs.is_some() || !of_pods.contains_key(RUN_FOR) {
            let runs = self.runs.map_or(FOREVER, |runs| runs.0);
            of_pods.insert(RUN_FOR.into(), format!("{}s", runs.as_secs_f64()));
        }
        if let Some(code) = self.exit_code {
            of_pods.insert("kueue-lab.dev/exit-code".into(), code.to_string());
        }
        if self.ready == Some(false) {
            of_pods.insert(READY_ANNOTATION.into(), "false".into());
        }
        // Extended resources need limits.
        let extended = requests
            .iter()
            .filter(|(resource, _)| resource.contains('/'));
        let limits: BTreeMap<_, _> = extended.collect();
        let namespace = self.namespace.as_deref().unwrap_or(DEFAULT_NAMESPACE);
        let mut job = json!({
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {
                "name": name, "namespace": namespace,
                "labels": labels, "annotations": annotations,
            },
            "spec": {
                "parallelism": pods,
                "completions": pods,
                "template": {
                    "metadata": {"labels": pod_labels, "annotations": of_pods},
                    "spec": {
                        "restartPolicy": "Never",
                        "nodeSelector": self.node_selector,
                        "tolerations": self.tolerations,
                        "containers": [{
                            "name": "main", "image": "busybox",
                            "resources": {"requests": requests, "limits": limits},
                        }],
                    },
                },
            },
        });
        if let Some(limit) = self.backoff_limit {
            job["spec"]["backoffLimit"] = limit.into();
        }
        job
    }
}

/// Whether a text is a DNS label with room for a number.
fn is_name(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !text.is_empty()
        && text.len() <= 57
        && text.chars().all(allowed)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

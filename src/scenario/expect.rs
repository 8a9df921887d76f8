//! What must be seen: a managed job in a state, or objects of the cluster as described.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use indexmap::IndexMap;
use serde_json::Value;

use super::glob::glob_matches;
use super::raw::{RawCondition, RawExpectation, RawSelector, RawStatus};
use kueue_lab_api::v1beta2::API_VERSION as KUEUE;
use kueue_lab_skypilot::jobs::ManagedJobStatus;
use kueue_lab_yaml::{Position, Problem, closest};

/// How long is waited for something when the scenario does not say, in lab time.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// Kinds a scenario may name without their API version.
const KNOWN_KINDS: [(&str, &str); 17] = [
    ("Workload", KUEUE),
    ("ClusterQueue", KUEUE),
    ("LocalQueue", KUEUE),
    ("Cohort", KUEUE),
    ("ResourceFlavor", KUEUE),
    ("AdmissionCheck", KUEUE),
    ("WorkloadPriorityClass", KUEUE),
    ("ProvisioningRequest", "autoscaling.x-k8s.io/v1"),
    ("Pod", "v1"),
    ("Node", "v1"),
    ("Namespace", "v1"),
    ("ConfigMap", "v1"),
    ("Job", "batch/v1"),
    ("Deployment", "apps/v1"),
    ("StatefulSet", "apps/v1"),
    ("Event", "events.k8s.io/v1"),
    ("RayJob", "ray.io/v1"),
];

/// Objects by kind, name, namespace and labels. Names and label values may hold `*`.
#[derive(Clone, Debug, PartialEq)]
pub struct Selector {
    /// API version.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// Namespace; `None` for any.
    pub namespace: Option<String>,
    /// Name; `None` for any.
    pub name: Option<String>,
    /// Labels.
    pub labels: BTreeMap<String, String>,
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        if let Some(namespace) = &self.namespace {
            write!(f, " {namespace}/{}", self.name.as_deref().unwrap_or("*"))?;
        } else if let Some(name) = &self.name {
            write!(f, " {name}")?;
        }
        for (key, value) in &self.labels {
            write!(f, " {key}={value}")?;
        }
        Ok(())
    }
}

impl Selector {
    pub(super) fn read(raw: RawSelector, at: Position) -> Result<Self, Problem> {
        let kind = raw.kind.value;
        let api_version = match raw.api_version {
            Some(version) => version,
            None => match KNOWN_KINDS.iter().find(|(k, _)| *k == kind) {
                Some((_, version)) => (*version).to_owned(),
                None => {
                    let known = KNOWN_KINDS.iter().map(|(k, _)| *k);
                    let hint = match closest(&kind, known) {
                        Some(guess) => format!("did you mean {guess:?}?"),
                        None => "give its apiVersion, too".into(),
                    };
                    let message = format!("unknown kind {kind:?}; {hint}");
                    return Err(Problem::new(raw.kind.at, message));
                }
            },
        };
        if raw.name.is_none() && raw.labels.is_empty() && raw.namespace.is_none() {
            let message = "say which objects: a name, a namespace or labels";
            return Err(Problem::new(at, message));
        }
        Ok(Self {
            api_version,
            kind,
            namespace: raw.namespace,
            name: raw.name,
            labels: raw.labels,
        })
    }

    /// Whether an object of the kind is meant.
    pub(super) fn selects(&self, object: &Value) -> bool {
        let metadata = &object["metadata"];
        let text = |field: &str| metadata[field].as_str().unwrap_or_default();
        let wanted = |pattern: &Option<String>, field: &str| {
            pattern
                .as_ref()
                .is_none_or(|p| glob_matches(p, text(field)))
        };
        wanted(&self.name, "name")
            && wanted(&self.namespace, "namespace")
            && self.labels.iter().all(|(key, pattern)| {
                let value = metadata["labels"][key].as_str();
                value.is_some_and(|v| glob_matches(pattern, v))
            })
    }
}

/// One thing that must be seen.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    /// What.
    pub expected: Expected,
    /// How long it may take, in lab time.
    pub timeout: Duration,
    /// How long it must then stay so.
    pub holds: Duration,
    /// Where it is written.
    pub position: Position,
}

/// What can be seen.
#[derive(Clone, Debug, PartialEq)]
pub enum Expected {
    /// A managed job.
    Job {
        /// Its name in the story.
        name: String,
        /// Its state.
        status: Option<ManagedJobStatus>,
        /// How often it has recovered.
        recoveries: Option<u32>,
    },
    /// Objects.
    Object(Box<ExpectedObject>),
}

/// Objects as described.
#[derive(Clone, Debug, PartialEq)]
pub struct ExpectedObject {
    /// Which.
    pub object: Selector,
    /// Conditions they have.
    pub conditions: IndexMap<String, ExpectedCondition>,
    /// Fields they have; `null` for fields they must not have.
    pub fields: IndexMap<String, Value>,
    /// How many there are; one or more where not said.
    pub count: Option<usize>,
    /// Created later than these.
    pub newer_than: Option<Selector>,
}

/// A condition as expected; what is left out may be anything.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExpectedCondition {
    /// Status.
    pub status: Option<String>,
    /// Reason, with `*`.
    pub reason: Option<String>,
    /// Message, with `*`.
    pub message: Option<String>,
}

const STATUSES: [ManagedJobStatus; 8] = [
    ManagedJobStatus::Pending,
    ManagedJobStatus::Starting,
    ManagedJobStatus::Running,
    ManagedJobStatus::Recovering,
    ManagedJobStatus::Cancelling,
    ManagedJobStatus::Succeeded,
    ManagedJobStatus::Failed,
    ManagedJobStatus::Cancelled,
];

impl Expectation {
    pub(super) fn read(
        raw: RawExpectation,
        at: Position,
        jobs: &BTreeSet<String>,
    ) -> Result<Self, Problem> {
        let of_object = !raw.conditions.is_empty()
            || !raw.fields.is_empty()
            || raw.count.is_some()
            || raw.absent
            || raw.newer_than.is_some();
        let fact = match (raw.job, raw.object) {
            (Some(_), Some(_)) | (None, None) => {
                return Err(Problem::new(at, "expect either a job or an object"));
            }
            (Some(job), None) => {
                if of_object {
                    let message = "a job has status and recoveries, nothing else";
                    return Err(Problem::new(at, message));
                }
                if !jobs.contains(&job.value) {
                    let message = format!("no step before this one launches {:?}", job.value);
                    return Err(Problem::new(job.at, message));
                }
                let status = raw.status.map(|s| status(&s.value, s.at)).transpose()?;
                if status.is_none() && raw.recoveries.is_none() {
                    return Err(Problem::new(
                        at,
                        "say what of the job: status or recoveries",
                    ));
                }
                Expected::Job {
                    name: job.value,
                    status,
                    recoveries: raw.recoveries.map(|r| r.value),
                }
            }
            (None, Some(object)) => {
                if raw.status.is_some() || raw.recoveries.is_some() {
                    let message = "status and recoveries are of jobs; for objects use fields";
                    return Err(Problem::new(at, message));
                }
                if raw.absent && raw.count.is_some() {
                    return Err(Problem::new(
                        at,
                        "absent means count: 0; keep one of the two",
                    ));
                }
                let newer_than = raw.newer_than.map(|s| Selector::read(s.value, s.at));
                Expected::Object(Box::new(ExpectedObject {
                    object: Selector::read(object.value, object.at)?,
                    conditions: raw.conditions.into_iter().map(condition).collect(),
                    fields: raw.fields,
                    count: if raw.absent { Some(0) } else { raw.count },
                    newer_than: newer_than.transpose()?,
                }))
            }
        };
        Ok(Self {
            expected: fact,
            timeout: raw.within.map_or(DEFAULT_TIMEOUT, |w| w.0),
            holds: raw.holds.map_or(Duration::ZERO, |h| h.0),
            position: at,
        })
    }

    /// The kinds of objects that have to be watched for it.
    pub(super) fn selectors(&self) -> Vec<&Selector> {
        match &self.expected {
            Expected::Job { .. } => Vec::new(),
            Expected::Object(fact) => std::iter::once(&fact.object)
                .chain(&fact.newer_than)
                .collect(),
        }
    }
}

fn status(text: &str, at: Position) -> Result<ManagedJobStatus, Problem> {
    let upper = text.to_ascii_uppercase();
    let found = STATUSES.into_iter().find(|s| s.as_str() == upper);
    found.ok_or_else(|| {
        let known: Vec<_> = STATUSES.iter().map(|s| s.as_str()).collect();
        let message = format!("unknown status {text:?}; known are {}", known.join(", "));
        Problem::new(at, message)
    })
}

fn condition((name, raw): (String, RawCondition)) -> (String, ExpectedCondition) {
    let flag = |b: bool| if b { "True" } else { "False" }.to_owned();
    let condition = match raw {
        RawCondition::Flag(b) => ExpectedCondition {
            status: Some(flag(b)),
            ..ExpectedCondition::default()
        },
        RawCondition::Status(text) => ExpectedCondition {
            status: Some(text),
            ..ExpectedCondition::default()
        },
        RawCondition::Parts(parts) => ExpectedCondition {
            status: parts.status.map(|s| match s {
                RawStatus::Flag(b) => flag(b),
                RawStatus::Text(text) => text,
            }),
            reason: parts.reason,
            message: parts.message,
        },
    };
    (name, condition)
}

impl fmt::Display for ExpectedCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.status.as_deref().unwrap_or("*"))?;
        if let Some(reason) = &self.reason {
            write!(f, "/{reason}")?;
        }
        if let Some(message) = &self.message {
            write!(f, " {message:?}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Expectation {
    /// The expectation in one line: `job job1 is RUNNING`, `Workload pod-* has Admitted=True`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.expected {
            Expected::Job {
                name,
                status,
                recoveries,
            } => {
                write!(f, "job {name}")?;
                if let Some(status) = status {
                    write!(f, " is {status}")?;
                }
                if let Some(recoveries) = recoveries {
                    write!(f, " with {recoveries} recoveries")?;
                }
            }
            Expected::Object(fact) => write!(f, "{fact}")?,
        }
        if !self.holds.is_zero() {
            write!(f, " for {}", super::duration::format_duration(self.holds))?;
        }
        Ok(())
    }
}

impl fmt::Display for ExpectedObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count {
            Some(0) => write!(f, "no {}", self.object)?,
            Some(n) => write!(f, "{n} of {}", self.object)?,
            None => write!(f, "{}", self.object)?,
        }
        let conditions = self
            .conditions
            .iter()
            .map(|(name, c)| format!("{name}={c}"));
        let fields = self
            .fields
            .iter()
            .map(|(path, value)| format!("{path}={value}"));
        let parts: Vec<String> = conditions.chain(fields).collect();
        if !parts.is_empty() {
            write!(f, " with {}", parts.join(", "))?;
        }
        if let Some(other) = &self.newer_than {
            write!(f, ", newer than {other}")?;
        }
        Ok(())
    }
}

//! Selects objects by kind, name, namespace and labels.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use super::glob::glob_matches;
use super::raw::RawSelector;
use kueue_lab_api::v1beta2::API_VERSION as KUEUE;
use kueue_lab_yaml::{Position, Problem, closest};

/// Kinds that need no `apiVersion` in a scenario.
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

/// Selects objects by kind, name, namespace and labels. `*` in names and label values matches any text.
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
                        None => "add its apiVersion".into(),
                    };
                    let message = format!("unknown kind {kind:?}; {hint}");
                    return Err(Problem::new(raw.kind.at, message));
                }
            },
        };
        if raw.name.is_none() && raw.labels.is_empty() && raw.namespace.is_none() {
            let message = "select objects by name, namespace or labels";
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

    /// Whether the selector matches an object of its kind with some labels.
    pub(super) fn can_select(&self, namespace: &str, name: &str) -> bool {
        let matches = |pattern: &Option<String>, text: &str| {
            pattern.as_ref().is_none_or(|p| glob_matches(p, text))
        };
        matches(&self.namespace, namespace) && matches(&self.name, name)
    }

    /// Whether the selector matches an object of its kind.
    pub(super) fn selects(&self, object: &Value) -> bool {
        let metadata = &object["metadata"];
        let text = |field: &str| metadata[field].as_str().unwrap_or_default();
        let matches = |pattern: &Option<String>, field: &str| {
            pattern
                .as_ref()
                .is_none_or(|p| glob_matches(p, text(field)))
        };
        matches(&self.name, "name")
            && matches(&self.namespace, "namespace")
            && self.labels.iter().all(|(key, pattern)| {
                let value = metadata["labels"][key].as_str();
                value.is_some_and(|v| glob_matches(pattern, v))
            })
    }
}

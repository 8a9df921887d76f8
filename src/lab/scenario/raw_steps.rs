//! Steps about jobs, pods and nodes as deserialized.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::Value;

use super::duration::ScenarioDuration;
use super::raw::RawCondition;
use super::raw_assertions::Names;
use kueue_lab_yaml::Located;

/// Pods of jobs, or of a node.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawPods {
    pub(super) jobs: Option<Names>,
    pub(super) node: Option<String>,
    pub(super) pods: Option<Located<RawPodCount>>,
}

impl From<Vec<String>> for RawPods {
    fn from(jobs: Vec<String>) -> Self {
        Self {
            jobs: Some(Names(jobs)),
            ..Self::default()
        }
    }
}

/// A number of pods, or `all`.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "pods is a number, or all")]
pub(super) enum RawPodCount {
    Number(u32),
    Word(String),
}

/// The state of an admission check.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct RawCheck {
    pub(super) name: String,
    pub(super) jobs: Option<Names>,
    pub(super) state: Option<Located<String>>,
    pub(super) message: Option<String>,
    pub(super) active: Option<bool>,
    pub(super) pod_set_updates: Option<RawPodSetUpdates>,
    pub(super) requeue_after: Option<Located<ScenarioDuration>>,
}

/// The update of every pod set by an admission check.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct RawPodSetUpdates {
    #[serde(default)]
    pub(super) labels: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) annotations: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) node_selector: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) tolerations: Vec<Value>,
}

/// The conditions of ProvisioningRequests.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawProvisioningRequest {
    pub(super) jobs: Names,
    pub(super) check: Option<String>,
    pub(super) conditions: IndexMap<String, RawCondition>,
    #[serde(default)]
    pub(super) details: BTreeMap<String, String>,
}

/// The WorkloadPriorityClass of jobs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawPriority {
    pub(super) jobs: Names,
    pub(super) class: String,
}

/// A taint of a node.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTaint {
    pub(super) node: String,
    pub(super) key: String,
    pub(super) value: Option<String>,
    pub(super) effect: Option<Located<String>>,
}

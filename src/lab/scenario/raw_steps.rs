//! Steps about jobs, pods and nodes as deserialized.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::duration::ScenarioDuration;
use super::json_schema::or_null;
use super::located::Located;
use super::raw::RawCondition;
use super::raw_assertions::Names;

/// The states of an admission check.
pub(super) const CHECK_STATES: [&str; 4] = ["Pending", "Ready", "Retry", "Rejected"];
/// The effects of a taint.
pub(super) const TAINT_EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/// Pods of jobs, or of a node.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawPods {
    /// Patterns of jobs.
    pub(super) jobs: Option<Names>,
    /// The pods of this node.
    pub(super) node: Option<String>,
    /// The oldest pods of each job.
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
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "pods is a number, or all")]
pub(super) enum RawPodCount {
    Number(u32),
    Word(String),
}

/// The state of an admission check.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct RawCheck {
    /// The AdmissionCheck.
    pub(super) name: String,
    /// Patterns of jobs.
    pub(super) jobs: Option<Names>,
    /// The state.
    #[schemars(extend("enum" = or_null(&CHECK_STATES)))]
    pub(super) state: Option<Located<String>>,
    /// The message.
    pub(super) message: Option<String>,
    /// Whether the AdmissionCheck is active; the other fields belong to an answer.
    pub(super) active: Option<bool>,
    /// What the check adds to every pod set.
    pub(super) pod_set_updates: Option<RawPodSetUpdates>,
    /// The delay of a Retry.
    pub(super) requeue_after: Option<Located<ScenarioDuration>>,
}

/// The update of every pod set by an admission check.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct RawPodSetUpdates {
    /// Labels of the pods.
    #[serde(default)]
    pub(super) labels: BTreeMap<String, String>,
    /// Annotations of the pods.
    #[serde(default)]
    pub(super) annotations: BTreeMap<String, String>,
    /// Node selector of the pods.
    #[serde(default)]
    pub(super) node_selector: BTreeMap<String, String>,
    /// Tolerations of the pods.
    #[serde(default)]
    pub(super) tolerations: Vec<Value>,
}

/// The conditions of ProvisioningRequests.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawProvisioningRequest {
    /// Patterns of jobs.
    pub(super) jobs: Names,
    /// The AdmissionCheck.
    pub(super) check: Option<String>,
    /// Conditions by type.
    #[schemars(with = "BTreeMap<String, RawCondition>")]
    pub(super) conditions: IndexMap<String, RawCondition>,
    /// `status.provisioningClassDetails`.
    #[serde(default)]
    pub(super) details: BTreeMap<String, String>,
}

/// The WorkloadPriorityClass of jobs.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawPriority {
    /// Patterns of jobs.
    pub(super) jobs: Names,
    /// A WorkloadPriorityClass.
    pub(super) class: String,
}

/// A taint of a node.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTaint {
    /// A node.
    pub(super) node: String,
    /// The key.
    pub(super) key: String,
    /// The value of an added taint.
    pub(super) value: Option<String>,
    /// The effect.
    #[schemars(extend("enum" = or_null(&TAINT_EFFECTS)))]
    pub(super) effect: Option<Located<String>>,
}

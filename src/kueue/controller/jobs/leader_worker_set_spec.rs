//! [`LeaderWorkerSet`]: the fields of a LeaderWorkerSet that Kueue reads.

use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The default of `spec.replicas`.
const DEFAULT_REPLICAS: i32 = 1;
/// The default of `spec.leaderWorkerTemplate.size`.
const DEFAULT_SIZE: i32 = 1;

/// A LeaderWorkerSet with the fields that Kueue reads; others are preserved.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct LeaderWorkerSet {
    /// Standard metadata.
    pub metadata: ObjectMeta,
    /// The desired state.
    #[serde(default)]
    pub spec: LeaderWorkerSetSpec,
    /// The observed state.
    #[serde(default)]
    pub status: LeaderWorkerSetStatus,
}

kueue_lab_codec::impl_codec!(LeaderWorkerSet);

kueue_lab_codec::impl_resource!(namespaced LeaderWorkerSet "leaderworkerset.x-k8s.io" "v1" "leaderworkersets");

/// The spec of a LeaderWorkerSet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct LeaderWorkerSetSpec {
    /// Number of groups.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// The templates of a group.
    pub leader_worker_template: LeaderWorkerTemplate,
    /// The rollout strategy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rollout_strategy: Option<RolloutStrategy>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The templates of a group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct LeaderWorkerTemplate {
    /// Number of pods of a group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<i32>,
    /// The template of the leader; the worker template if it is absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leader_template: Option<PodTemplateSpec>,
    /// The template of the workers.
    pub worker_template: PodTemplateSpec,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The rollout strategy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct RolloutStrategy {
    /// The type; upstream writes an empty one.
    #[serde(rename = "type")]
    pub type_: String,
    /// Parameters of a rolling update.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rolling_update_configuration: Option<RollingUpdateConfiguration>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// Parameters of a rolling update.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct RollingUpdateConfiguration {
    /// The number of groups above `spec.replicas`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_surge: Option<IntOrString>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The status of a LeaderWorkerSet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct LeaderWorkerSetStatus {
    /// Number of groups.
    pub replicas: i32,
    /// Number of groups that are ready.
    pub ready_replicas: i32,
    /// Number of groups of the current revision.
    pub updated_replicas: i32,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl LeaderWorkerSet {
    /// Number of groups.
    pub(crate) fn replicas(&self) -> i32 {
        self.spec.replicas.unwrap_or(DEFAULT_REPLICAS)
    }

    /// Number of pods of a group.
    pub(crate) fn size(&self) -> i32 {
        self.spec
            .leader_worker_template
            .size
            .unwrap_or(DEFAULT_SIZE)
    }

    /// Whether a rolling update has groups above `spec.replicas`.
    fn is_rolling_update_with_surge(&self) -> bool {
        let strategy = self.spec.rollout_strategy.as_ref();
        let rolling = strategy.and_then(|s| s.rolling_update_configuration.as_ref());
        let surge = match rolling.and_then(|r| r.max_surge.as_ref()) {
            Some(IntOrString::Int(surge)) => *surge,
            // As Go's `IntValue`.
            Some(IntOrString::String(text)) => text.parse().unwrap_or(0),
            None => 0,
        };
        surge > 0 && self.status.updated_replicas < self.replicas()
    }

    /// The number of Workloads. During a rolling update there are more groups than
    /// `spec.replicas`; otherwise the status lags behind when groups are removed.
    pub(super) fn workload_count(&self) -> i32 {
        match self.is_rolling_update_with_surge() {
            true => self.replicas().max(self.status.replicas),
            false => self.replicas(),
        }
    }
}

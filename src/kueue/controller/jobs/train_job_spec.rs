//! The spec of a TrainJob: the runtime, its overrides, and patches of the runtime.

use k8s_openapi::api::core::v1::{EnvVar, LocalObjectReference, ResourceRequirements};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The spec of a TrainJob.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct TrainJobSpec {
    /// The runtime.
    pub runtime_ref: RuntimeRef,
    /// The initializers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initializer: Option<Initializer>,
    /// The training itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trainer: Option<Trainer>,
    /// Patches of the template of the runtime.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub runtime_patches: Vec<RuntimePatch>,
    /// Whether the TrainJob is suspended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A reference to a runtime.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct RuntimeRef {
    /// Name.
    pub name: String,
    /// API group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_group: Option<String>,
    /// Kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
}

/// The initializers of a TrainJob.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Initializer {
    /// The initializer of the data set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dataset: Option<InitializerStep>,
    /// The initializer of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<InitializerStep>,
}

/// One initializer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct InitializerStep {
    /// The URI of the provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage_uri: Option<String>,
    /// Environment variables.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<EnvVar>,
    /// The secret with credentials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<LocalObjectReference>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The training of a TrainJob.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Trainer {
    /// The image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// The command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
    /// The arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args: Option<Vec<String>>,
    /// Environment variables.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<EnvVar>,
    /// Training nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub num_nodes: Option<i32>,
    /// Resources of a node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources_per_node: Option<ResourceRequirements>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A patch of the template of the runtime.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct RuntimePatch {
    /// The manager, which is the key of the patch.
    pub manager: String,
    /// The patch of the spec of the runtime.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub training_runtime_spec: Option<TrainingRuntimeSpecPatch>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A patch of the spec of a runtime.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct TrainingRuntimeSpecPatch {
    /// The patch of the template of JobSets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<JobSetTemplatePatch>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A patch of the template of JobSets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct JobSetTemplatePatch {
    /// The patch of the spec.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec: Option<JobSetSpecPatch>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A patch of the spec of JobSets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct JobSetSpecPatch {
    /// Patches of replicated jobs, by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub replicated_jobs: Vec<Value>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl RuntimePatch {
    /// The patch of the spec of JobSets.
    pub(super) fn job_set_spec(&self) -> Option<&JobSetSpecPatch> {
        let spec = self.training_runtime_spec.as_ref()?;
        spec.template.as_ref()?.spec.as_ref()
    }
}

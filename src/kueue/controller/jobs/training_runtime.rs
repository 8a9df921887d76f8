//! TrainingRuntimes and ClusterTrainingRuntimes (`trainer.kubeflow.org/v1alpha1`), with the fields
//! that determine the pod sets of a TrainJob.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The API group.
pub(super) const GROUP: &str = "trainer.kubeflow.org";

/// A TrainingRuntime.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct TrainingRuntime {
    /// Standard metadata.
    pub metadata: ObjectMeta,
    /// The runtime.
    #[serde(default)]
    pub spec: TrainingRuntimeSpec,
}

/// A ClusterTrainingRuntime.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct ClusterTrainingRuntime {
    /// Standard metadata.
    pub metadata: ObjectMeta,
    /// The runtime.
    #[serde(default)]
    pub spec: TrainingRuntimeSpec,
}

kueue_lab_codec::impl_codec!(TrainingRuntime, ClusterTrainingRuntime);
kueue_lab_codec::impl_resource!(namespaced TrainingRuntime "trainer.kubeflow.org" "v1alpha1" "trainingruntimes");
kueue_lab_codec::impl_resource!(cluster ClusterTrainingRuntime "trainer.kubeflow.org" "v1alpha1" "clustertrainingruntimes");

/// The fields of a runtime that determine pod sets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct TrainingRuntimeSpec {
    /// The policy of the machine learning framework.
    pub ml_policy: Option<MlPolicy>,
    /// The policy of gang scheduling.
    pub pod_group_policy: Option<PodGroupPolicy>,
    /// The template of JobSets.
    pub template: JobSetTemplateSpec,
}

/// The policy of the machine learning framework.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct MlPolicy {
    /// Training nodes; defaults to 1.
    pub num_nodes: Option<i32>,
    /// PyTorch.
    pub torch: Option<TorchMlPolicySource>,
    /// MPI.
    pub mpi: Option<MpiMlPolicySource>,
}

/// The policy of PyTorch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct TorchMlPolicySource {
    /// More containers with the environment variables of torchrun.
    pub env_injection: Option<EnvInjection>,
}

/// Containers with the environment variables of torchrun.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct EnvInjection {
    /// The containers by replicated job.
    pub targets: Vec<EnvInjectionTarget>,
}

/// Containers of one replicated job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct EnvInjectionTarget {
    /// The replicated job.
    pub job_name: String,
    /// The containers.
    pub container_names: Vec<String>,
}

/// The policy of MPI.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct MpiMlPolicySource {
    /// Whether the launcher is one of the nodes.
    pub run_launcher_as_node: Option<bool>,
}

/// The policy of gang scheduling.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct PodGroupPolicy {
    /// The coscheduling plugin of the scheduler.
    pub coscheduling: Option<Map<String, Value>>,
}

/// The template of JobSets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct JobSetTemplateSpec {
    /// The spec of a JobSet.
    pub spec: Value,
}

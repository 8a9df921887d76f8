//! [`KubeflowJob`]: the fields of a job of Kubeflow that Kueue reads, and their encoding.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kueue_lab_codec::Codec;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::kubeflow_job::KubeflowJobControl;

/// The API group.
const GROUP: &str = "kubeflow.org";

/// A job of one kind, with the fields that Kueue reads; others are preserved.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct KubeflowJob<C> {
    /// Standard metadata.
    pub metadata: ObjectMeta,
    /// The desired state.
    pub spec: KubeflowJobSpec,
    /// The observed state.
    pub status: JobStatus,
    control: PhantomData<C>,
}

/// The desired state of a job.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct KubeflowJobSpec {
    /// The run policy.
    pub run_policy: Option<RunPolicy>,
    /// The replica specs by type.
    pub replica_specs: BTreeMap<String, ReplicaSpec>,
    /// Unknown fields.
    pub other: Map<String, Value>,
}

/// A job as it is encoded; the field of the replica specs has a different name in each kind.
#[derive(Serialize, Deserialize)]
struct EncodedJob {
    metadata: ObjectMeta,
    #[serde(default)]
    spec: EncodedJobSpec,
    #[serde(default)]
    status: JobStatus,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct EncodedJobSpec {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    run_policy: Option<RunPolicy>,
    #[serde(flatten)]
    other: Map<String, Value>,
}

/// The run policy of a job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct RunPolicy {
    /// Whether the job is suspended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,
    /// The scheduling policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduling_policy: Option<SchedulingPolicy>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The scheduling policy of a job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SchedulingPolicy {
    /// The PriorityClass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority_class: Option<String>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The replicas of one type.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ReplicaSpec {
    /// Number of pods; defaults to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// The template of the pods.
    pub template: PodTemplateSpec,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The status of a job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct JobStatus {
    /// Conditions, such as Running.
    #[serde(deserialize_with = "null_as_default")]
    pub conditions: Vec<JobCondition>,
    /// The replicas by type.
    #[serde(deserialize_with = "null_as_default")]
    pub replica_statuses: BTreeMap<String, Option<ReplicaStatus>>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A condition of a job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct JobCondition {
    /// The type.
    #[serde(rename = "type")]
    pub type_: String,
    /// True, False or Unknown.
    pub status: String,
    /// The message.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The status of the replicas of one type.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ReplicaStatus {
    /// Active pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active: Option<i32>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The operator writes null for empty maps and lists.
fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

fn decode_replica_specs(field: Option<Value>) -> serde_json::Result<BTreeMap<String, ReplicaSpec>> {
    let specs: Option<BTreeMap<String, Option<ReplicaSpec>>> =
        serde_json::from_value(field.unwrap_or_default())?;
    let specs = specs.unwrap_or_default().into_iter();
    Ok(specs
        .filter_map(|(name, spec)| Some((name, spec?)))
        .collect())
}

impl<C: KubeflowJobControl> Codec for KubeflowJob<C> {
    fn decode(text: &str) -> serde_json::Result<Self> {
        let mut encoded: EncodedJob = serde_json::from_str(text)?;
        let replica_specs = encoded.spec.other.remove(C::REPLICA_SPECS_FIELD_NAME);
        Ok(Self {
            metadata: encoded.metadata,
            spec: KubeflowJobSpec {
                run_policy: encoded.spec.run_policy,
                replica_specs: decode_replica_specs(replica_specs)?,
                other: encoded.spec.other,
            },
            status: encoded.status,
            control: PhantomData,
        })
    }

    fn encode(&self) -> serde_json::Result<String> {
        let mut other = self.spec.other.clone();
        let replica_specs = serde_json::to_value(&self.spec.replica_specs)?;
        other.insert(C::REPLICA_SPECS_FIELD_NAME.to_owned(), replica_specs);
        serde_json::to_string(&EncodedJob {
            metadata: self.metadata.clone(),
            spec: EncodedJobSpec {
                run_policy: self.spec.run_policy.clone(),
                other,
            },
            status: self.status.clone(),
        })
    }
}

impl<C: KubeflowJobControl> k8s_openapi::Resource for KubeflowJob<C> {
    const API_VERSION: &'static str = C::API_VERSION;
    const GROUP: &'static str = GROUP;
    const KIND: &'static str = C::KIND;
    const VERSION: &'static str = C::VERSION;
    const URL_PATH_SEGMENT: &'static str = C::RESOURCE;
    type Scope = NamespaceResourceScope;
}

impl<C: KubeflowJobControl> k8s_openapi::Metadata for KubeflowJob<C> {
    type Ty = ObjectMeta;

    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn metadata_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

impl<C: KubeflowJobControl> KubeflowJob<C> {
    pub(super) fn set_suspend(&mut self, suspend: bool) {
        self.spec.run_policy.get_or_insert_default().suspend = Some(suspend);
    }

    /// The replica specs that exist, in the order of pod sets.
    pub(crate) fn ordered_replica_specs(
        &self,
    ) -> impl Iterator<Item = (&'static str, &ReplicaSpec)> {
        let types = C::ORDERED_REPLICA_TYPES.iter();
        types.filter_map(|name| Some((*name, self.spec.replica_specs.get(*name)?)))
    }

    /// The templates of [`Self::ordered_replica_specs`].
    pub(super) fn ordered_templates_mut(&mut self) -> Vec<&mut PodTemplateSpec> {
        let mut specs: Vec<_> = self.spec.replica_specs.iter_mut().collect();
        specs.retain(|(name, _)| position::<C>(name).is_some());
        specs.sort_by_key(|(name, _)| position::<C>(name));
        specs
            .into_iter()
            .map(|(_, spec)| &mut spec.template)
            .collect()
    }

    pub(super) fn has_true_condition(&self, type_: &str) -> bool {
        let mut conditions = self.status.conditions.iter();
        conditions.any(|c| c.type_ == type_ && c.status == "True")
    }
}

fn position<C: KubeflowJobControl>(replica_type: &str) -> Option<usize> {
    let mut types = C::ORDERED_REPLICA_TYPES.iter();
    types.position(|name| *name == replica_type)
}

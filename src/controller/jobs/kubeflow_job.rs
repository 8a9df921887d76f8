//! The integration shared by the jobs of Kubeflow's training operator and MPIJob: a job with a run
//! policy and named replica specs.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::marker::PhantomData;

use async_trait::async_trait;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kueue_lab_codec::Codec;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::generic_job::{JobKind, JobResult, ManagedBy};
use super::go_pod_template;
use super::integration_context::IntegrationContext;
use super::pod_set_info::{PodSetInfo, PodSetInfoError, merge_into, restore_pod_spec};
use super::pod_set_topology_request::{TopologyIndexLabels, pod_set_topology_request};
use crate::jobs::webhooks::{Denial, base_webhook, tas_validation};
use kueue_lab_api::config::{Feature, FeatureGates};
use kueue_lab_api::field::{FieldErrors, Path};
use kueue_lab_api::v1beta2::PodSet;

/// The API group.
const GROUP: &str = "kubeflow.org";
/// The label with the index of a pod among the replicas of its type.
const REPLICA_INDEX: &str = "training.kubeflow.org/replica-index";

/// The properties of one kind (upstream `KFJobControl`).
pub(crate) trait KubeflowJobControl:
    Clone + Debug + Default + PartialEq + Send + Sync + 'static
{
    /// Group and version.
    const API_VERSION: &'static str = "kubeflow.org/v1";
    /// Version.
    const VERSION: &'static str = "v1";
    /// Kind.
    const KIND: &'static str;
    /// Plural resource name.
    const RESOURCE: &'static str;
    /// The framework name in the configuration.
    const FRAMEWORK: &'static str;
    /// The field of the spec with the replica specs.
    const REPLICA_SPECS_FIELD_NAME: &'static str;
    /// The replica types, in the order of pod sets.
    const ORDERED_REPLICA_TYPES: &'static [&'static str];
    /// The value of `managedBy` of its operator.
    const CONTROLLER: &'static str = "kubeflow.org/training-operator";
    /// Whether an update is also validated as a new job, and errors are sorted by field.
    const HAS_OWN_WEBHOOK: bool = false;

    /// Defaults of the kind.
    fn set_defaults(_env: &IntegrationContext, _job: &mut KubeflowJob<Self>) {}

    /// Validates topology annotations.
    ///
    /// # Errors
    /// A pod set cannot be computed and no field error explains why.
    fn validate_topology_request(
        env: &IntegrationContext,
        job: &KubeflowJob<Self>,
    ) -> Result<FieldErrors, Denial> {
        validate_topology_request(env, job)
    }
}

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

/// A job as it is encoded; the field of the replica specs has a name of its own in each kind.
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
    fn set_suspend(&mut self, suspend: bool) {
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
    fn ordered_templates_mut(&mut self) -> Vec<&mut PodTemplateSpec> {
        let mut specs: Vec<_> = self.spec.replica_specs.iter_mut().collect();
        specs.retain(|(name, _)| position::<C>(name).is_some());
        specs.sort_by_key(|(name, _)| position::<C>(name));
        specs
            .into_iter()
            .map(|(_, spec)| &mut spec.template)
            .collect()
    }

    fn has_true_condition(&self, type_: &str) -> bool {
        let mut conditions = self.status.conditions.iter();
        conditions.any(|c| c.type_ == type_ && c.status == "True")
    }
}

fn position<C: KubeflowJobControl>(replica_type: &str) -> Option<usize> {
    let mut types = C::ORDERED_REPLICA_TYPES.iter();
    types.position(|name| *name == replica_type)
}

/// The integration of one kind.
pub(crate) struct KubeflowJobKind<C>(PhantomData<C>);

#[async_trait]
impl<C: KubeflowJobControl> JobKind for KubeflowJobKind<C> {
    type Object = KubeflowJob<C>;
    const FRAMEWORK: &'static str = C::FRAMEWORK;
    const SORTS_FIELD_ERRORS: bool = C::HAS_OWN_WEBHOOK;

    fn managed_by(job: &mut KubeflowJob<C>) -> Option<(ManagedBy<'_>, &'static str)> {
        let policy = job.spec.run_policy.get_or_insert_default();
        Some((ManagedBy::Other(&mut policy.other), C::CONTROLLER))
    }

    fn is_suspended(job: &KubeflowJob<C>) -> bool {
        let policy = job.spec.run_policy.as_ref();
        policy.is_some_and(|policy| policy.suspend == Some(true))
    }

    fn suspend(job: &mut KubeflowJob<C>) {
        job.set_suspend(true);
    }

    fn run_with_pod_sets_info(
        job: &mut KubeflowJob<C>,
        infos: &[PodSetInfo],
        gates: &FeatureGates,
    ) -> Result<(), PodSetInfoError> {
        job.set_suspend(false);
        let templates = job.ordered_templates_mut();
        if templates.len() != infos.len() {
            return Err(PodSetInfoError::Length {
                want: templates.len(),
                got: infos.len(),
            });
        }
        for (template, info) in templates.into_iter().zip(infos) {
            let meta = template.metadata.get_or_insert_default();
            merge_into(meta, template.spec.get_or_insert_default(), info, gates)?;
        }
        Ok(())
    }

    fn restore_pod_sets_info(job: &mut KubeflowJob<C>, infos: &[PodSetInfo]) {
        let templates = job.ordered_templates_mut();
        if templates.len() != infos.len() {
            return;
        }
        for (template, info) in templates.into_iter().zip(infos) {
            let meta = template.metadata.get_or_insert_default();
            restore_pod_spec(meta, template.spec.get_or_insert_default(), info);
        }
    }

    fn finished(job: &KubeflowJob<C>) -> Option<JobResult> {
        let mut conditions = job.status.conditions.iter();
        let end = conditions
            .find(|c| ["Succeeded", "Failed"].contains(&c.type_.as_str()) && c.status == "True")?;
        Some(JobResult {
            success: end.type_ != "Failed",
            message: end.message.clone(),
        })
    }

    fn pod_sets(job: &KubeflowJob<C>, gates: &FeatureGates) -> Result<Vec<PodSet>, String> {
        let specs = job.ordered_replica_specs();
        specs
            .map(|(name, spec)| pod_set(name, spec, gates))
            .collect()
    }

    fn is_active(job: &KubeflowJob<C>) -> bool {
        let mut statuses = job.status.replica_statuses.values().flatten();
        statuses.any(|status| status.active.is_some_and(|active| active != 0))
    }

    fn pods_ready(job: &KubeflowJob<C>) -> bool {
        job.has_true_condition("Running")
    }

    fn priority_class(job: &KubeflowJob<C>) -> Option<String> {
        let policy = job.spec.run_policy.as_ref();
        let policy = policy.and_then(|policy| policy.scheduling_policy.as_ref());
        let own = policy.and_then(|policy| policy.priority_class.clone());
        let of_pods = job.ordered_replica_specs().filter_map(|(_, spec)| {
            let spec = spec.template.spec.as_ref()?;
            spec.priority_class_name.clone()
        });
        own.into_iter().chain(of_pods).find(|name| !name.is_empty())
    }

    fn encode_as_go(job: &mut KubeflowJob<C>) {
        for spec in job.spec.replica_specs.values_mut() {
            go_pod_template::encode_as_go(&mut spec.template);
        }
    }

    async fn default(
        env: &IntegrationContext,
        _namespace: &str,
        job: &mut KubeflowJob<C>,
    ) -> Result<(), Denial> {
        C::set_defaults(env, job);
        Ok(())
    }

    async fn validate_on_create(
        env: &IntegrationContext,
        _namespace: &str,
        job: &KubeflowJob<C>,
    ) -> Result<FieldErrors, Denial> {
        match env.enabled(Feature::TopologyAwareScheduling) {
            true => C::validate_topology_request(env, job),
            false => Ok(FieldErrors::new()),
        }
    }

    async fn validate_on_update(
        env: &IntegrationContext,
        namespace: &str,
        new: &KubeflowJob<C>,
        _old: &KubeflowJob<C>,
    ) -> Result<FieldErrors, Denial> {
        match C::HAS_OWN_WEBHOOK {
            true => base_webhook::validate_create::<Self>(env, namespace, new).await,
            false => Self::validate_on_create(env, namespace, new).await,
        }
    }
}

fn pod_set(name: &str, spec: &ReplicaSpec, gates: &FeatureGates) -> Result<PodSet, String> {
    let indexes = TopologyIndexLabels {
        pod_index_label: Some(REPLICA_INDEX),
        ..TopologyIndexLabels::default()
    };
    Ok(PodSet {
        name: name.to_lowercase(),
        topology_request: pod_set_topology_request(
            spec.template.metadata.as_ref(),
            indexes,
            gates,
        )?,
        template: spec.template.clone().into(),
        count: spec.replicas.unwrap_or(1),
        min_count: None,
    })
}

/// The path of the metadata of the pod template of a replica type.
pub(crate) fn template_metadata_path<C: KubeflowJobControl>(replica_type: &str) -> Path {
    let specs = Path::new("spec").child(C::REPLICA_SPECS_FIELD_NAME);
    specs.key(replica_type).child("template").child("metadata")
}

fn validate_topology_request<C: KubeflowJobControl>(
    env: &IntegrationContext,
    job: &KubeflowJob<C>,
) -> Result<FieldErrors, Denial> {
    let pod_sets = KubeflowJobKind::pod_sets(job, &env.gates);
    let mut errors = FieldErrors::new();
    for (i, (name, spec)) in job.ordered_replica_specs().enumerate() {
        let path = template_metadata_path::<C>(name);
        let meta = spec.template.metadata.clone().unwrap_or_default();
        errors.extend(tas_validation::validate_tas_pod_set_request(
            env, &path, &meta,
        ));
        if let Some(pod_set) = pod_sets.as_ref().ok().and_then(|sets| sets.get(i)) {
            errors.extend(tas_validation::validate_slice_size_upper_bound(
                &path,
                &meta,
                pod_set.count,
            ));
        }
    }
    match pod_sets {
        Err(message) if errors.is_empty() => Err(Denial::Other(message)),
        _ => Ok(errors),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tf_job::{TfJob, TfJobKind};
    use super::*;
    use serde_json::json;

    fn tf_job(status: Value) -> KubeflowJob<TfJob> {
        let template =
            |class: &str| json!({"spec": {"containers": [], "priorityClassName": class}});
        Codec::from_value(&json!({
            "metadata": {"name": "t"},
            "spec": {"enableDynamicWorker": true, "runPolicy": {"suspend": true, "backoffLimit": 3},
                "tfReplicaSpecs": {
                    "Worker": {"replicas": 3, "restartPolicy": "Never", "template": template("low")},
                    "PS": {"template": template("")},
                    "Other": {"template": template("x")},
                    "Chief": null}},
            "status": status,
        }))
        .unwrap()
    }

    #[test]
    fn pod_sets_are_the_known_replica_types_in_order() {
        let job = tf_job(json!({}));
        let sets = TfJobKind::pod_sets(&job, &FeatureGates::default()).unwrap();
        let shown: Vec<_> = sets.iter().map(|s| (s.name.as_str(), s.count)).collect();
        assert_eq!(shown, [("ps", 1), ("worker", 3)]);
        let index = sets[1].topology_request.as_ref();
        let index = index.and_then(|request| request.pod_index_label.as_deref());
        assert_eq!(index, Some(REPLICA_INDEX));
        assert_eq!(TfJobKind::priority_class(&job).as_deref(), Some("low"));
    }

    #[test]
    fn start_and_stop_change_the_templates_and_the_run_policy_only() {
        let gates = FeatureGates::default();
        let given = tf_job(json!({}));
        let mut job = given.clone();
        let infos: Vec<_> = [("ps", "a"), ("worker", "b")]
            .map(|(name, label)| PodSetInfo {
                name: name.to_owned(),
                labels: [("l".to_owned(), label.to_owned())].into(),
                ..PodSetInfo::default()
            })
            .into();
        assert!(TfJobKind::run_with_pod_sets_info(&mut job.clone(), &infos[..1], &gates).is_err());
        TfJobKind::run_with_pod_sets_info(&mut job, &infos, &gates).unwrap();
        assert!(!TfJobKind::is_suspended(&job));
        let encoded = job.to_value().unwrap();
        let spec = &encoded["spec"];
        assert_eq!(spec["enableDynamicWorker"], true);
        assert_eq!(
            spec["runPolicy"],
            json!({"suspend": false, "backoffLimit": 3})
        );
        let worker = &spec["tfReplicaSpecs"]["Worker"];
        assert_eq!(worker["restartPolicy"], "Never");
        assert_eq!(worker["template"]["metadata"]["labels"], json!({"l": "b"}));
        TfJobKind::suspend(&mut job);
        let sets = TfJobKind::pod_sets(&given, &gates).unwrap();
        let infos: Vec<_> = sets.iter().map(PodSetInfo::from_pod_set).collect();
        TfJobKind::restore_pod_sets_info(&mut job, &infos);
        let labels = |job: &KubeflowJob<TfJob>| {
            let meta = job.spec.replica_specs["Worker"].template.metadata.clone();
            meta.unwrap_or_default().labels
        };
        assert_eq!(
            (labels(&job), job.spec.run_policy),
            (None, given.spec.run_policy)
        );
    }

    #[test]
    fn conditions_and_replica_statuses_give_the_state() {
        let condition =
            |type_: &str, status: &str| json!({"type": type_, "status": status, "message": "m"});
        let running = tf_job(json!({"conditions": [condition("Running", "True")],
            "replicaStatuses": {"PS": null, "Worker": {"active": 1}}}));
        assert!(TfJobKind::pods_ready(&running) && TfJobKind::is_active(&running));
        assert_eq!(TfJobKind::finished(&running), None);
        let failed = tf_job(json!({"replicaStatuses": null, "conditions": [
            condition("Running", "False"), condition("Succeeded", "False"), condition("Failed", "True")]}));
        assert!(!TfJobKind::pods_ready(&failed) && !TfJobKind::is_active(&failed));
        let end = JobResult {
            success: false,
            message: "m".to_owned(),
        };
        assert_eq!(TfJobKind::finished(&failed), Some(end));
    }
}

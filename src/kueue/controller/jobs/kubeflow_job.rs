//! The integration shared by the jobs of Kubeflow's training operator and MPIJob: a job with a run
//! policy and named replica specs.

use std::fmt::Debug;
use std::marker::PhantomData;

use async_trait::async_trait;

use super::generic_job::{JobKind, JobResult, ManagedBy};
use super::integration_context::IntegrationContext;
use super::kubeflow_job_spec::{KubeflowJob, ReplicaSpec};
use super::pod_set_info::{PodSetInfo, PodSetInfoError, merge_into, restore_pod_spec};
use super::pod_set_topology_request::{
    TopologyIndexLabels, TopologyRequestError, pod_set_topology_request,
};
use super::pod_sets_error::PodSetsError;
use crate::jobs::webhooks::{Denial, base_webhook, tas_validation};
use kueue_lab_api::config::{Feature, FeatureGates};
use kueue_lab_api::field::{FieldErrors, Path};
use kueue_lab_api::v1beta2::PodSet;

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

    fn pod_sets(job: &KubeflowJob<C>, gates: &FeatureGates) -> Result<Vec<PodSet>, PodSetsError> {
        let specs = job.ordered_replica_specs();
        specs
            .map(|(name, spec)| Ok(pod_set(name, spec, gates)?))
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

fn pod_set(
    name: &str,
    spec: &ReplicaSpec,
    gates: &FeatureGates,
) -> Result<PodSet, TopologyRequestError> {
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
        Err(error) if errors.is_empty() => Err(error.into()),
        _ => Ok(errors),
    }
}

#[cfg(test)]
mod tests {
    use super::super::training_operator_jobs::{TfJob, TfJobKind};
    use super::*;
    use kueue_lab_codec::Codec;
    use serde_json::{Value, json};

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

//! The JobSet integration (`jobset.x-k8s.io/v1alpha2`).

use async_trait::async_trait;
use k8s_openapi::api::batch::v1::JobTemplateSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::generic_job::{JobKind, JobResult, ManagedBy};
use super::go_pod_template;
use super::integration_context::IntegrationContext;
use super::pod_set_info::{PodSetInfo, PodSetInfoError, merge_into, restore_pod_spec};
use super::pod_set_topology_request::{TopologyIndexLabels, pod_set_topology_request};
use super::pod_sets_error::PodSetsError;
use crate::jobs::webhooks::{Denial, base_webhook, tas_validation};
use kueue_lab_api::conditions::find_true_condition;
use kueue_lab_api::config::{Feature, FeatureGates};
use kueue_lab_api::field::{FieldErrors, Path};
use kueue_lab_api::v1beta2::{PodSet, ReclaimablePod};

const COMPLETION_INDEX: &str = "batch.kubernetes.io/job-completion-index";
const JOB_INDEX: &str = "jobset.sigs.k8s.io/job-index";

/// A JobSet with the fields that Kueue reads; others are preserved.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct JobSet {
    /// Standard metadata.
    pub metadata: ObjectMeta,
    /// The desired state.
    #[serde(default)]
    pub spec: JobSetSpec,
    /// The observed state.
    #[serde(default)]
    pub status: JobSetStatus,
}

kueue_lab_codec::impl_codec!(JobSet);
kueue_lab_codec::impl_resource!(namespaced JobSet "jobset.x-k8s.io" "v1alpha2" "jobsets");

/// The spec of a JobSet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct JobSetSpec {
    /// The replicated jobs.
    pub replicated_jobs: Vec<ReplicatedJob>,
    /// Whether the JobSet is suspended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A group of Jobs with one template.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ReplicatedJob {
    /// Name of the group.
    pub name: String,
    /// Number of Jobs; defaults to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// The template of the Jobs.
    pub template: JobTemplateSpec,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The status of a JobSet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct JobSetStatus {
    /// Conditions, such as Completed.
    pub conditions: Vec<Condition>,
    /// The status of each replicated job.
    pub replicated_jobs_status: Vec<ReplicatedJobStatus>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The status of a replicated job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ReplicatedJobStatus {
    /// Name of the group.
    pub name: String,
    /// Jobs whose pods are all ready.
    pub ready: i32,
    /// Jobs that succeeded.
    pub succeeded: i32,
    /// Jobs with active pods.
    pub active: i32,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl ReplicatedJob {
    fn replicas(&self) -> i32 {
        self.replicas.unwrap_or(1)
    }

    /// The parallelism of one Job.
    fn pods_per_job(&self) -> i32 {
        let spec = self.template.spec.as_ref();
        let parallelism = spec.and_then(|s| s.parallelism).unwrap_or(1);
        let completions = spec.and_then(|s| s.completions).unwrap_or(parallelism);
        parallelism.min(completions)
    }
}

/// The JobSet integration.
pub(crate) struct JobSetKind;

#[async_trait]
impl JobKind for JobSetKind {
    type Object = JobSet;
    const FRAMEWORK: &'static str = "jobset.x-k8s.io/jobset";

    fn managed_by(set: &mut JobSet) -> Option<(ManagedBy<'_>, &'static str)> {
        Some((
            ManagedBy::Other(&mut set.spec.other),
            "jobset.sigs.k8s.io/jobset-controller",
        ))
    }

    fn is_suspended(set: &JobSet) -> bool {
        set.spec.suspend == Some(true)
    }

    fn suspend(set: &mut JobSet) {
        set.spec.suspend = Some(true);
    }

    fn run_with_pod_sets_info(
        set: &mut JobSet,
        infos: &[PodSetInfo],
        gates: &FeatureGates,
    ) -> Result<(), PodSetInfoError> {
        let jobs = &mut set.spec.replicated_jobs;
        if jobs.len() != infos.len() {
            return Err(PodSetInfoError::Length {
                want: jobs.len(),
                got: infos.len(),
            });
        }
        for (job, info) in jobs.iter_mut().zip(infos) {
            let template = &mut job.template.spec.get_or_insert_default().template;
            let meta = template.metadata.get_or_insert_default();
            merge_into(meta, template.spec.get_or_insert_default(), info, gates)?;
        }
        set.spec.suspend = Some(false);
        Ok(())
    }

    fn restore_pod_sets_info(set: &mut JobSet, infos: &[PodSetInfo]) {
        let jobs = &mut set.spec.replicated_jobs;
        if jobs.len() != infos.len() {
            return;
        }
        for (job, info) in jobs.iter_mut().zip(infos) {
            let template = &mut job.template.spec.get_or_insert_default().template;
            let meta = template.metadata.get_or_insert_default();
            restore_pod_spec(meta, template.spec.get_or_insert_default(), info);
        }
    }

    fn finished(set: &JobSet) -> Option<JobResult> {
        let end = |type_: &str| find_true_condition(&set.status.conditions, type_);
        let finish = |c: &Condition, success| JobResult {
            success,
            message: c.message.clone(),
        };
        let completed = end("Completed").map(|c| finish(c, true));
        completed.or_else(|| end("Failed").map(|c| finish(c, false)))
    }

    fn pod_sets(set: &JobSet, gates: &FeatureGates) -> Result<Vec<PodSet>, PodSetsError> {
        let jobs = set.spec.replicated_jobs.iter();
        jobs.map(|job| {
            let mut template = job.template.spec.clone().unwrap_or_default().template;
            go_pod_template::encode_as_go(&mut template);
            let indexes = TopologyIndexLabels {
                pod_index_label: Some(COMPLETION_INDEX),
                sub_group_index_label: Some(JOB_INDEX),
                sub_group_count: Some(job.replicas()),
            };
            Ok(PodSet {
                name: job.name.to_lowercase(),
                topology_request: pod_set_topology_request(
                    template.metadata.as_ref(),
                    indexes,
                    gates,
                )?,
                template: template.into(),
                count: job.replicas().saturating_mul(job.pods_per_job()),
                min_count: None,
            })
        })
        .collect()
    }

    fn is_active(set: &JobSet) -> bool {
        set.status
            .replicated_jobs_status
            .iter()
            .any(|job| job.active > 0)
    }

    fn pods_ready(set: &JobSet) -> bool {
        let wanted: i64 = set
            .spec
            .replicated_jobs
            .iter()
            .map(|j| i64::from(j.replicas()))
            .sum();
        let of = |j: &ReplicatedJobStatus| i64::from(j.ready) + i64::from(j.succeeded);
        wanted
            == set
                .status
                .replicated_jobs_status
                .iter()
                .map(of)
                .sum::<i64>()
    }

    fn reclaimable_pods(set: &JobSet) -> Option<Vec<ReclaimablePod>> {
        let done = |job: &ReplicatedJob| {
            let mut all = set.status.replicated_jobs_status.iter();
            let succeeded = all.find(|s| s.name == job.name)?.succeeded;
            (succeeded > 0 && succeeded <= job.replicas()).then(|| ReclaimablePod {
                name: job.name.to_lowercase(),
                count: succeeded.saturating_mul(job.pods_per_job()),
            })
        };
        Some(set.spec.replicated_jobs.iter().filter_map(done).collect())
    }

    async fn validate_on_create(
        env: &IntegrationContext,
        _namespace: &str,
        set: &JobSet,
    ) -> Result<FieldErrors, Denial> {
        validate_topology_request(env, set)
    }

    async fn validate_on_update(
        env: &IntegrationContext,
        namespace: &str,
        new: &JobSet,
        _old: &JobSet,
    ) -> Result<FieldErrors, Denial> {
        base_webhook::validate_create::<Self>(env, namespace, new).await
    }
}

fn validate_topology_request(
    env: &IntegrationContext,
    set: &JobSet,
) -> Result<FieldErrors, Denial> {
    let mut errors = FieldErrors::new();
    if !env.enabled(Feature::TopologyAwareScheduling) {
        return Ok(errors);
    }
    let pod_sets = JobSetKind::pod_sets(set, &env.gates)?;
    let jobs = Path::new("spec").child("replicatedJobs");
    let mut annotations = Vec::with_capacity(pod_sets.len());
    for (i, pod_set) in pod_sets.iter().enumerate() {
        let template = jobs
            .index(i)
            .child("template")
            .child("spec")
            .child("template");
        let path = template.child("metadata");
        errors.extend(tas_validation::validate_pod_set(env, &path, pod_set));
        annotations.push(path.child("annotations"));
    }
    errors.extend(tas_validation::validate_pod_set_grouping_topology(
        &pod_sets,
        &annotations,
    ));
    Ok(errors)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn set() -> JobSet {
        let job = |parallelism: i32| json!({"spec": {"parallelism": parallelism, "template": {"spec": {"containers": []}}}});
        serde_json::from_value(json!({
            "metadata": {"name": "s"},
            "spec": {"suspend": true, "network": {"enableDNSHostnames": true}, "replicatedJobs": [
                {"name": "Driver", "template": job(1), "groupName": "default"},
                {"name": "workers", "replicas": 2, "template": job(3)}]},
            "status": {"restarts": 1, "replicatedJobsStatus": [
                {"name": "workers", "ready": 1, "succeeded": 1, "active": 1, "failed": 0, "suspended": 0}]},
        }))
        .unwrap()
    }

    #[test]
    fn each_replicated_job_is_a_pod_set() {
        let gates = FeatureGates::default();
        let sets = JobSetKind::pod_sets(&set(), &gates).unwrap();
        let shown: Vec<_> = sets.iter().map(|s| (s.name.as_str(), s.count)).collect();
        assert_eq!(shown, [("driver", 1), ("workers", 6)]);
        assert!(JobSetKind::is_active(&set()) && !JobSetKind::pods_ready(&set()));
        let done = JobSetKind::reclaimable_pods(&set()).unwrap();
        assert_eq!(
            (done.len(), done[0].name.as_str(), done[0].count),
            (1, "workers", 3)
        );
    }

    #[test]
    fn unknown_fields_of_a_job_set_are_preserved() {
        let (gates, mut set) = (FeatureGates::default(), set());
        let before = set.clone();
        let sets = JobSetKind::pod_sets(&set, &gates).unwrap();
        let info = PodSetInfo {
            labels: [("a".to_owned(), "b".to_owned())].into(),
            ..Default::default()
        };
        JobSetKind::run_with_pod_sets_info(&mut set, &[info.clone(), info.clone()], &gates)
            .unwrap();
        assert!(!JobSetKind::is_suspended(&set));
        assert_eq!(set.spec.other, before.spec.other);
        assert_eq!(
            set.spec.replicated_jobs[0].other,
            before.spec.replicated_jobs[0].other
        );
        let infos: Vec<_> = sets.iter().map(PodSetInfo::from_pod_set).collect();
        JobSetKind::suspend(&mut set);
        JobSetKind::restore_pod_sets_info(&mut set, &infos);
        let template = |set: &JobSet| {
            JobSetKind::pod_sets(set, &gates).unwrap()[0]
                .template
                .metadata
                .clone()
        };
        assert!(template(&set).unwrap_or_default().labels.is_none());
        assert!(JobSetKind::run_with_pod_sets_info(&mut set, &[info], &gates).is_err());
    }
}

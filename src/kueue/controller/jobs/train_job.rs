//! The TrainJob integration (`trainer.kubeflow.org/v1alpha1`).

use async_trait::async_trait;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::child_job_set::{ChildJobSetError, child_job_set};
use super::error::JobError;
use super::generic_job::{JobKind, JobResult, ManagedBy};
use super::integration_context::IntegrationContext;
use super::job_set::{JobSet, JobSetKind, JobSetSpec, JobSetStatus, ReplicatedJobStatus};
use super::patching::{PatchTarget, confirm_version, patch_object};
use super::pod_set_info::{PodSetInfo, PodSetInfoError};
use super::pod_sets_error::PodSetsError;
use super::train_job_spec::{
    JobSetSpecPatch, JobSetTemplatePatch, RuntimePatch, RuntimeRef, TrainJobSpec,
    TrainingRuntimeSpecPatch,
};
use super::training_runtime::{
    ClusterTrainingRuntime, GROUP, TrainingRuntime, TrainingRuntimeSpec,
};
use crate::jobs::webhooks::{Denial, base_webhook, tas_validation};
use crate::object_meta;
use kueue_lab_api::conditions::find_true_condition;
use kueue_lab_api::config::{Feature, FeatureGates};
use kueue_lab_api::field::{FieldErrors, Path};
use kueue_lab_api::v1beta2::{PodSet, ReclaimablePod};
use kueue_lab_controller_runtime::Api;

/// The manager of Kueue's runtime patch, which has the pod set infos.
pub(super) const RUNTIME_PATCH_MANAGER: &str = "kueue.x-k8s.io/manager";

/// A TrainJob with the fields that Kueue reads; others are preserved.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct TrainJob {
    /// Standard metadata.
    pub metadata: ObjectMeta,
    /// The desired state.
    #[serde(default)]
    pub spec: TrainJobSpec,
    /// The observed state.
    #[serde(default)]
    pub status: TrainJobStatus,
    /// The JobSet of the job, or the error of its runtime.
    #[serde(skip)]
    job_set: Option<Result<JobSetSpec, ChildJobSetError>>,
}

kueue_lab_codec::impl_codec!(TrainJob);
kueue_lab_codec::impl_resource!(namespaced TrainJob "trainer.kubeflow.org" "v1alpha1" "trainjobs");

/// The status of a TrainJob.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct TrainJobStatus {
    /// Conditions, such as Complete.
    pub conditions: Vec<Condition>,
    /// The status of each replicated job.
    pub jobs_status: Vec<ReplicatedJobStatus>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl TrainJob {
    /// The JobSet of the job, with its status.
    fn job_set(&self) -> Result<JobSet, ChildJobSetError> {
        let spec = self.job_set.clone();
        let spec = spec.unwrap_or(Err(ChildJobSetError::NotLoaded))?;
        Ok(JobSet {
            metadata: self.metadata.clone(),
            spec,
            status: JobSetStatus {
                replicated_jobs_status: self.status.jobs_status.clone(),
                ..JobSetStatus::default()
            },
        })
    }

    /// Kueue's runtime patch of the spec of JobSets.
    fn kueue_runtime_patch(&mut self) -> Option<&mut JobSetSpecPatch> {
        let mut patches = self.spec.runtime_patches.iter_mut();
        let patch = patches.find(|patch| patch.manager == RUNTIME_PATCH_MANAGER)?;
        let spec = patch.training_runtime_spec.get_or_insert_default();
        let template = spec.template.get_or_insert_default();
        Some(template.spec.get_or_insert_default())
    }
}

/// The TrainJob integration.
pub(crate) struct TrainJobKind;

#[async_trait]
impl JobKind for TrainJobKind {
    type Object = TrainJob;
    const FRAMEWORK: &'static str = "trainer.kubeflow.org/trainjob";
    // Trainer rejects patches of a job that is not suspended.
    const WRITES_INFOS_WHILE_SUSPENDED: bool = true;

    async fn load_references(env: &IntegrationContext, job: &mut TrainJob) {
        let namespace = object_meta::namespace(&job.metadata).to_owned();
        load_job_set(env, &namespace, job).await;
    }

    fn managed_by(job: &mut TrainJob) -> Option<(ManagedBy<'_>, &'static str)> {
        let fields = &mut job.spec.other;
        Some((
            ManagedBy::Other(fields),
            "trainer.kubeflow.org/trainjob-controller",
        ))
    }

    fn is_suspended(job: &TrainJob) -> bool {
        job.spec.suspend == Some(true)
    }

    fn suspend(job: &mut TrainJob) {
        job.spec.suspend = Some(true);
    }

    fn run_with_pod_sets_info(
        job: &mut TrainJob,
        infos: &[PodSetInfo],
        _gates: &FeatureGates,
    ) -> Result<(), PodSetInfoError> {
        let set = job.job_set()?;
        let want = set.spec.replicated_jobs.len();
        if want != infos.len() {
            let got = infos.len();
            return Err(PodSetInfoError::Length { want, got });
        }
        let Some(patch) = job.kueue_runtime_patch() else {
            return Err(PodSetInfoError::NoRuntimePatch);
        };
        patch.replicated_jobs = infos.iter().map(replicated_job_patch).collect();
        job.spec.suspend = Some(false);
        Ok(())
    }

    fn restore_pod_sets_info(job: &mut TrainJob, _infos: &[PodSetInfo]) {
        if let Some(patch) = job.kueue_runtime_patch() {
            patch.replicated_jobs.clear();
        }
    }

    fn finished(job: &TrainJob) -> Option<JobResult> {
        let end = |type_: &str, success| {
            let end = find_true_condition(&job.status.conditions, type_)?;
            Some(JobResult {
                success,
                message: end.message.clone(),
            })
        };
        end("Complete", true).or_else(|| end("Failed", false))
    }

    fn pod_sets(job: &TrainJob, gates: &FeatureGates) -> Result<Vec<PodSet>, PodSetsError> {
        JobSetKind::pod_sets(&job.job_set()?, gates)
    }

    fn is_active(job: &TrainJob) -> bool {
        job.status
            .jobs_status
            .iter()
            .any(|status| status.active > 0)
    }

    fn pods_ready(job: &TrainJob) -> bool {
        job.job_set().is_ok_and(|set| JobSetKind::pods_ready(&set))
    }

    fn reclaimable_pods(job: &TrainJob) -> Option<Vec<ReclaimablePod>> {
        JobSetKind::reclaimable_pods(&job.job_set().ok()?)
    }

    async fn stop(
        env: &IntegrationContext,
        api: &Api<TrainJob>,
        job: &mut TrainJob,
        infos: &[PodSetInfo],
    ) -> Option<Result<bool, JobError>> {
        let _ = env;
        Some(stop_in_steps(api, job, infos).await)
    }

    async fn default(
        _env: &IntegrationContext,
        _namespace: &str,
        job: &mut TrainJob,
    ) -> Result<(), Denial> {
        let template = JobSetTemplatePatch {
            spec: Some(JobSetSpecPatch::default()),
            ..JobSetTemplatePatch::default()
        };
        job.spec.runtime_patches.push(RuntimePatch {
            manager: RUNTIME_PATCH_MANAGER.to_owned(),
            training_runtime_spec: Some(TrainingRuntimeSpecPatch {
                template: Some(template),
                ..TrainingRuntimeSpecPatch::default()
            }),
            ..RuntimePatch::default()
        });
        Ok(())
    }

    async fn validate_on_create(
        env: &IntegrationContext,
        namespace: &str,
        job: &TrainJob,
    ) -> Result<FieldErrors, Denial> {
        if !env.enabled(Feature::TopologyAwareScheduling) {
            return Ok(FieldErrors::new());
        }
        let mut job = job.clone();
        load_job_set(env, namespace, &mut job).await;
        let pod_sets = Self::pod_sets(&job, &env.gates)?;
        Ok(validate_topology_request(env, &pod_sets))
    }

    async fn validate_on_update(
        env: &IntegrationContext,
        namespace: &str,
        new: &TrainJob,
        _old: &TrainJob,
    ) -> Result<FieldErrors, Denial> {
        base_webhook::validate_create::<Self>(env, namespace, new).await
    }
}

/// Computes the JobSet of a job from its runtime.
async fn load_job_set(env: &IntegrationContext, namespace: &str, job: &mut TrainJob) {
    let runtime = runtime_spec(env, namespace, &job.spec.runtime_ref).await;
    job.job_set =
        Some(runtime.and_then(|runtime| {
            child_job_set(object_meta::name(&job.metadata), &job.spec, &runtime)
        }));
}

async fn runtime_spec(
    env: &IntegrationContext,
    namespace: &str,
    reference: &RuntimeRef,
) -> Result<TrainingRuntimeSpec, ChildJobSetError> {
    let client = env.shared.ctx.client.clone();
    let group = reference.api_group.as_deref().unwrap_or_default();
    let kind = reference.kind.as_deref().unwrap_or_default();
    let name = &reference.name;
    let spec = match (group, kind) {
        (GROUP, "ClusterTrainingRuntime") => {
            let api = Api::<ClusterTrainingRuntime>::all(client);
            api.get(name).await.map(|runtime| runtime.spec)
        }
        (GROUP, "TrainingRuntime") => {
            let api = Api::<TrainingRuntime>::namespaced(client, namespace);
            api.get(name).await.map(|runtime| runtime.spec)
        }
        (group, kind) => {
            return Err(ChildJobSetError::UnsupportedRuntime {
                group: group.to_owned(),
                kind: kind.to_owned(),
            });
        }
    };
    spec.map_err(|_| ChildJobSetError::RuntimeNotFound(name.clone()))
}

/// `job` always equals the version on the server, also after a failed write.
async fn stop_in_steps(
    api: &Api<TrainJob>,
    job: &mut TrainJob,
    infos: &[PodSetInfo],
) -> Result<bool, JobError> {
    if !TrainJobKind::is_suspended(job) {
        let mut wanted = job.clone();
        TrainJobKind::suspend(&mut wanted);
        *job = patch_object(api, job, &wanted, PatchTarget::Object).await?;
    }
    if TrainJobKind::is_active(job) {
        return Err(JobError::Retryable("jobs are still active".to_owned()));
    }
    if job.kueue_runtime_patch().is_none() {
        let message = "error restoring info to the trainjob".to_owned();
        return Err(JobError::Retryable(message));
    }
    let mut wanted = job.clone();
    TrainJobKind::restore_pod_sets_info(&mut wanted, infos);
    *job = match wanted == *job {
        true => {
            // A deleted job is not reported as stopped.
            confirm_version(api, job).await?
        }
        false => patch_object(api, job, &wanted, PatchTarget::Object).await?,
    };
    Ok(true)
}

/// The patch of a replicated job with the info of its pod set.
fn replicated_job_patch(info: &PodSetInfo) -> Value {
    let metadata = non_empty([
        ("annotations", json!(info.annotations)),
        ("labels", json!(info.labels)),
    ]);
    let spec = non_empty([
        ("nodeSelector", json!(info.node_selector)),
        ("tolerations", json!(info.tolerations)),
        ("schedulingGates", json!(info.scheduling_gates)),
    ]);
    json!({
        "name": info.name,
        "template": {"spec": {"template": {"metadata": metadata, "spec": spec}}},
    })
}

/// An object of the fields that are not empty.
fn non_empty<const N: usize>(fields: [(&str, Value); N]) -> Map<String, Value> {
    let fields = fields.into_iter().filter(|(_, value)| {
        let map = value.as_object().is_some_and(|map| !map.is_empty());
        map || value.as_array().is_some_and(|list| !list.is_empty())
    });
    fields
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

fn validate_topology_request(env: &IntegrationContext, pod_sets: &[PodSet]) -> FieldErrors {
    let mut errors = FieldErrors::new();
    for pod_set in pod_sets {
        let path = Path::new("job").key(&pod_set.name);
        errors.extend(tas_validation::validate_pod_set(env, &path, pod_set));
    }
    for error in &mut errors {
        error.detail.push_str(
            r#". Adjust either the "TrainJob.spec.runtimePatches" or the "TrainingRuntime.Template" annotations for the corresponding Job"#,
        );
    }
    errors
}

#[cfg(test)]
mod tests {
    use kube::client::Body;
    use tower::BoxError;

    use super::*;

    /// An API server without objects.
    fn empty_server() -> Api<TrainJob> {
        let service = tower::service_fn(async |_: http::Request<Body>| {
            let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure",
                "reason": "NotFound", "code": 404, "message": "not found"});
            let body = Body::from(status.to_string().into_bytes());
            Ok::<_, BoxError>(http::Response::builder().status(404).body(body).unwrap())
        });
        Api::namespaced(kube::Client::new(service, "ns"), "ns")
    }

    /// Its pending Workload is deleted with it, while the cache still has the job.
    #[tokio::test]
    async fn a_deleted_job_is_not_stopped() {
        let mut job = train_job();
        job.status.jobs_status[0].active = 0;
        let stopped = stop_in_steps(&empty_server(), &mut job, &[]).await;
        assert!(stopped.is_err(), "{stopped:?}");
    }

    fn train_job() -> TrainJob {
        let patch = |manager: &str| {
            json!({"manager": manager, "time": "2026-01-01T00:00:00Z",
            "trainingRuntimeSpec": {"template": {"spec": {}}}})
        };
        let mut job: TrainJob = serde_json::from_value(json!({
            "metadata": {"name": "t", "namespace": "ns"},
            "spec": {"suspend": true, "runtimeRef": {"name": "r"}, "trainer": {"numProcPerNode": 2},
                "runtimePatches": [patch("example.com/user"), patch(RUNTIME_PATCH_MANAGER)]},
            "status": {"jobsStatus": [
                {"name": "node", "active": 1, "ready": 1, "succeeded": 0, "failed": 0, "suspended": 0}]},
        }))
        .unwrap();
        let spec = json!({"replicatedJobs": [{"name": "node", "replicas": 1,
            "template": {"spec": {"parallelism": 2, "completions": 2, "template": {"spec": {"containers": []}}}}}]});
        job.job_set = Some(serde_json::from_value(spec).map_err(Into::into));
        job
    }

    #[test]
    fn infos_are_written_to_kueues_patch_and_removed_again() {
        let (gates, given) = (FeatureGates::default(), train_job());
        let info = PodSetInfo {
            name: "node".to_owned(),
            node_selector: [("pool".to_owned(), "a".to_owned())].into(),
            ..PodSetInfo::default()
        };
        let mut job = given.clone();
        TrainJobKind::run_with_pod_sets_info(&mut job, std::slice::from_ref(&info), &gates)
            .unwrap();
        assert!(!TrainJobKind::is_suspended(&job));
        let patches = json!(job.spec.runtime_patches);
        assert_eq!(patches[0], json!(given.spec.runtime_patches[0]));
        assert_eq!(
            patches[1]["trainingRuntimeSpec"]["template"]["spec"],
            json!({"replicatedJobs": [{"name": "node", "template": {"spec": {"template": {
                "metadata": {}, "spec": {"nodeSelector": {"pool": "a"}}}}}}]})
        );
        TrainJobKind::restore_pod_sets_info(&mut job, &[]);
        TrainJobKind::suspend(&mut job);
        assert_eq!(job, given);
        assert!(matches!(
            TrainJobKind::run_with_pod_sets_info(&mut job, &[], &gates),
            Err(PodSetInfoError::Length { want: 1, got: 0 })
        ));
        job.spec.runtime_patches.pop();
        assert!(matches!(
            TrainJobKind::run_with_pod_sets_info(&mut job, &[info], &gates),
            Err(PodSetInfoError::NoRuntimePatch)
        ));
    }

    #[test]
    fn the_state_is_that_of_the_job_set() {
        let gates = FeatureGates::default();
        let mut job = train_job();
        let sets = TrainJobKind::pod_sets(&job, &gates).unwrap();
        assert_eq!((sets[0].name.as_str(), sets[0].count), ("node", 2));
        assert!(TrainJobKind::is_active(&job) && TrainJobKind::pods_ready(&job));
        job.status.jobs_status[0].active = 0;
        job.status.jobs_status[0].succeeded = 1;
        let done = TrainJobKind::reclaimable_pods(&job).unwrap();
        assert_eq!((done[0].name.as_str(), done[0].count), ("node", 2));
        job.job_set = Some(Err(ChildJobSetError::RuntimeNotFound("r".to_owned())));
        assert_eq!(
            TrainJobKind::pod_sets(&job, &gates)
                .unwrap_err()
                .to_string(),
            "runtime 'r' not found"
        );
        assert!(!TrainJobKind::pods_ready(&job));
    }
}

//! RayJob: a RayCluster and a submitter; a state machine over `status.jobDeploymentStatus`.

use std::time::Duration;

use jiff::SignedDuration;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::core::DynamicObject;
use serde_json::{Value, json};

use super::super::child_objects::{count, has_containers};
use super::super::job_status;
use super::super::observed::{Observed, parse_timestamp};
use super::super::reconcile_plan::{ChildReference, ReconcilePlan};
use super::{
    DISABLE_HEAD_RESTART, ORIGINATED_FROM_CR_NAME, ORIGINATED_FROM_CRD, inherited, ray_cluster,
    submitter,
};
use kueue_lab_controller_runtime::ObjectKey;
use kueue_lab_controller_utils::event_recorder::NewEvent;

/// The length of the random part of names.
const SUFFIX: usize = 5;

/// Reconciles a RayJob.
pub(in super::super) fn reconcile(job: &Observed<'_>) -> ReconcilePlan {
    let spec = job.spec();
    let mut status = job.status();
    let deployment = status["jobDeploymentStatus"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    if let Some(reason) = invalid(spec)
        && !is_terminal(&deployment)
    {
        status["jobDeploymentStatus"] = json!("ValidationFailed");
        status["reason"] = json!("ValidationFailed");
        status["message"] = json!(reason);
        let mut plan = ReconcilePlan::status(status);
        plan.events
            .push(NewEvent::warning("InvalidRayJobSpec", reason));
        return plan;
    }
    match deployment.as_str() {
        "" => start(job, status),
        "Initializing" => with_cluster(job, status, initializing),
        "Waiting" => waiting(job, status),
        "Running" => with_cluster(job, status, running),
        "Suspending" | "Retrying" => stopping(job, status),
        "Suspended" if spec["suspend"] != true => {
            status["jobStatus"] = json!("");
            status["jobDeploymentStatus"] = json!("");
            ReconcilePlan::status(status)
        }
        "Complete" | "Failed" => finished(job, &status),
        _ => ReconcilePlan::default(),
    }
}

fn is_terminal(deployment: &str) -> bool {
    matches!(deployment, "Complete" | "Failed")
}

/// The validation error of KubeRay for the spec.
fn invalid(spec: &Value) -> Option<String> {
    let selects = spec["clusterSelector"]
        .as_object()
        .is_some_and(|s| !s.is_empty());
    let shuts_down = spec["shutdownAfterJobFinishes"] == true;
    let message = if !selects && !spec["rayClusterSpec"].is_object() {
        "one of RayClusterSpec or ClusterSelector must be set"
    } else if spec["suspend"] == true && selects {
        "the ClusterSelector mode doesn't support the suspend operation"
    } else if spec["suspend"] == true && !shuts_down {
        "a RayJob with shutdownAfterJobFinishes set to false is not allowed to be suspended"
    } else if count(&spec["ttlSecondsAfterFinished"], 0) > 0 && !shuts_down {
        "a RayJob with shutdownAfterJobFinishes set to false cannot have TTLSecondsAfterFinished"
    } else if count(&spec["backoffLimit"], 0) > 0 && selects {
        "the ClusterSelector mode doesn't support the backoffLimit"
    } else if !selects && !has_containers(&spec["rayClusterSpec"]["headGroupSpec"]["template"]) {
        "headGroupSpec should have at least one container"
    } else {
        return None;
    };
    Some(format!("The RayJob spec is invalid: {message}"))
}

fn start(job: &Observed<'_>, mut status: Value) -> ReconcilePlan {
    let spec = job.spec();
    let mode = spec["submissionMode"].as_str().unwrap_or_default();
    if mode != "InteractiveMode" && status["jobId"].as_str().is_none_or(str::is_empty) {
        let own = spec["jobId"]
            .as_str()
            .filter(|id| !id.is_empty())
            .map(str::to_owned);
        status["jobId"] = json!(own.unwrap_or_else(|| generated_name(job)));
    }
    if status["rayClusterName"].as_str().is_none_or(str::is_empty) {
        let selected = spec["clusterSelector"]["ray.io/cluster"]
            .as_str()
            .map(str::to_owned);
        status["rayClusterName"] = json!(selected.unwrap_or_else(|| generated_name(job)));
    }
    status["jobDeploymentStatus"] = json!("Initializing");
    status["startTime"] = json!(job.timestamp());
    if let Some(fields) = status.as_object_mut() {
        fields.remove("endTime");
    }
    ReconcilePlan::status(status)
}

fn generated_name(job: &Observed<'_>) -> String {
    format!("{}-{}", job.name(), job.entropy.suffix(SUFFIX))
}

/// The RayCluster, or its creation in `plan`.
fn cluster(
    job: &Observed<'_>,
    status: &Value,
    plan: &mut ReconcilePlan,
) -> Option<std::sync::Arc<DynamicObject>> {
    let name = status["rayClusterName"].as_str().unwrap_or_default();
    let found = (job.lookup).find("RayCluster", &ObjectKey::new(job.namespace(), name));
    if found.is_some() {
        return found;
    }
    let selects = job.spec()["clusterSelector"]
        .as_object()
        .is_some_and(|s| !s.is_empty());
    if selects {
        let message = format!(
            "RayCluster {}/{name} set in the clusterSelector is not found. It must be created manually",
            job.namespace()
        );
        plan.warnings
            .push(NewEvent::warning("RayClusterNotFound", message));
        plan.requeue(Duration::from_secs(3));
        return None;
    }
    plan.create.push(ray_cluster(job, name));
    None
}

fn ray_cluster(job: &Observed<'_>, name: &str) -> Value {
    let mode = job.spec()["submissionMode"]
        .as_str()
        .unwrap_or("K8sJobMode");
    let own = job.name();
    let labels = [
        (ORIGINATED_FROM_CR_NAME, own.as_str()),
        (ORIGINATED_FROM_CRD, "RayJob"),
        ("ray.io/job-submission-mode", mode),
    ];
    let sidecar = mode == "SidecarMode";
    let annotations = [(DISABLE_HEAD_RESTART, "true")];
    let mut spec = job.spec()["rayClusterSpec"].clone();
    if sidecar {
        submitter::add_sidecar(job, &mut spec);
    }
    json!({
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {
            "name": name,
            "labels": inherited(job.object.labels().iter(), &labels),
            "annotations": inherited(
                job.object.annotations().iter(),
                if sidecar { &annotations } else { &[] },
            ),
        },
        "spec": spec,
    })
}

/// Moves to Suspending if the RayJob is suspended, or to Failed after its deadline.
fn interrupted(job: &Observed<'_>, status: &mut Value) -> bool {
    if job.spec()["suspend"] == true {
        status["jobDeploymentStatus"] = json!("Suspending");
        return true;
    }
    if job
        .remaining_time(job.spec(), status)
        .is_some_and(|left| left.is_zero())
    {
        status["jobDeploymentStatus"] = json!("Failed");
        status["reason"] = json!("DeadlineExceeded");
        status["message"] = json!("The RayJob has passed the activeDeadlineSeconds.");
        end(job, status);
        return true;
    }
    false
}

/// Sets the end time and the counters of a finished attempt; a failed one is retried within
/// `backoffLimit`.
fn end(job: &Observed<'_>, status: &mut Value) {
    let succeeded = status["jobDeploymentStatus"] == "Complete";
    status["endTime"] = json!(job.timestamp());
    let counter = if succeeded { "succeeded" } else { "failed" };
    let attempts = count(&status[counter], 0).saturating_add(1);
    status[counter] = json!(attempts);
    let limit = count(&job.spec()["backoffLimit"], 0);
    if !succeeded && attempts <= limit && status["reason"] != "DeadlineExceeded" {
        status["jobDeploymentStatus"] = json!("Retrying");
    }
}

/// Moves on with the RayCluster by `next`, unless the RayJob is interrupted.
fn with_cluster(
    job: &Observed<'_>,
    mut status: Value,
    next: fn(&Observed<'_>, &DynamicObject, &mut Value, &mut ReconcilePlan),
) -> ReconcilePlan {
    if interrupted(job, &mut status) {
        return ReconcilePlan::status(status);
    }
    let mut plan = ReconcilePlan::default();
    if let Some(left) = job.remaining_time(job.spec(), &status) {
        plan.requeue(left);
    }
    let Some(cluster) = cluster(job, &status, &mut plan) else {
        return plan;
    };
    if cluster.data["status"].is_object() {
        status["rayClusterStatus"] = cluster.data["status"].clone();
    }
    next(job, &cluster, &mut status, &mut plan);
    plan.status = Some(status);
    plan
}

fn initializing(
    job: &Observed<'_>,
    cluster: &DynamicObject,
    status: &mut Value,
    _: &mut ReconcilePlan,
) {
    let cluster_status = &cluster.data["status"];
    if ray_cluster::is_cluster_ready(cluster_status) {
        let service = cluster_status["head"]["serviceName"]
            .as_str()
            .unwrap_or_default();
        status["dashboardURL"] = json!(format!(
            "{service}.{}.svc.cluster.local:8265",
            job.namespace()
        ));
        let interactive = job.spec()["submissionMode"] == "InteractiveMode";
        status["jobDeploymentStatus"] = json!(if interactive { "Waiting" } else { "Running" });
        status["jobStatus"] = json!(if interactive { "" } else { "PENDING" });
    }
}

fn waiting(job: &Observed<'_>, mut status: Value) -> ReconcilePlan {
    let Some(id) = job.spec()["jobId"].as_str().filter(|id| !id.is_empty()) else {
        return ReconcilePlan::default();
    };
    status["jobId"] = json!(id);
    status["jobDeploymentStatus"] = json!("Running");
    status["jobStatus"] = json!("PENDING");
    ReconcilePlan::status(status)
}

/// The state of the submitted job.
enum Progress {
    Pending,
    Running,
    Succeeded,
    Failed(String),
}

fn running(
    job: &Observed<'_>,
    cluster: &DynamicObject,
    status: &mut Value,
    plan: &mut ReconcilePlan,
) {
    let progress = match job.spec()["submissionMode"].as_str() {
        Some("SidecarMode") => sidecar_progress(job, cluster, plan),
        Some("HTTPMode" | "InteractiveMode") => entrypoint_progress(job, status, plan),
        _ => submitter_progress(job, cluster, plan),
    };
    let now = json!(job.timestamp());
    if !matches!(progress, Progress::Pending) && status["rayJobInfo"]["startTime"].is_null() {
        status["rayJobInfo"] = json!({"startTime": now});
    }
    match progress {
        Progress::Pending => {}
        Progress::Running => {
            status["jobStatus"] = json!("RUNNING");
            status["message"] = json!("Job is currently running.");
        }
        Progress::Succeeded => {
            status["jobStatus"] = json!("SUCCEEDED");
            status["jobDeploymentStatus"] = json!("Complete");
            status["message"] = json!("Job finished successfully.");
            status["rayJobInfo"]["endTime"] = now;
            end(job, status);
        }
        Progress::Failed(message) => {
            status["jobStatus"] = json!("FAILED");
            status["jobDeploymentStatus"] = json!("Failed");
            status["reason"] = json!("AppFailed");
            status["message"] = json!(message);
            status["rayJobInfo"]["endTime"] = now;
            end(job, status);
        }
    }
}

fn exit_message(code: i32) -> String {
    format!("Job entrypoint command failed with exit code {code}")
}

/// The progress by the submitter Job, created if there is none.
fn submitter_progress(
    job: &Observed<'_>,
    cluster: &DynamicObject,
    plan: &mut ReconcilePlan,
) -> Progress {
    let Some(submitter) = job.jobs.iter().find(|j| j.name_any() == job.name()) else {
        plan.create
            .push(submitter::submitter_job(job, &cluster.data["spec"]));
        return Progress::Pending;
    };
    if job_status::is_complete(submitter) {
        Progress::Succeeded
    } else if job_status::is_failed(submitter) {
        Progress::Failed(exit_message(1))
    } else if job_status::ready(submitter) > 0 {
        Progress::Running
    } else {
        Progress::Pending
    }
}

/// The progress by the submitter container of the head pod.
fn sidecar_progress(
    job: &Observed<'_>,
    cluster: &DynamicObject,
    plan: &mut ReconcilePlan,
) -> Progress {
    let name = cluster.data["status"]["head"]["podName"]
        .as_str()
        .unwrap_or_default();
    let Some(head) = (job.lookup).pod(&ObjectKey::new(job.namespace(), name)) else {
        plan.requeue(Duration::from_secs(1));
        return Progress::Pending;
    };
    match exit_code(&head, submitter::CONTAINER) {
        Some(0) => Progress::Succeeded,
        Some(code) => Progress::Failed(exit_message(code)),
        None => {
            plan.requeue(Duration::from_secs(1));
            Progress::Running
        }
    }
}

fn exit_code(pod: &Pod, container: &str) -> Option<i32> {
    let statuses = pod.status.as_ref()?.container_statuses.as_ref()?;
    let status = statuses.iter().find(|s| s.name == container)?;
    Some(status.state.as_ref()?.terminated.as_ref()?.exit_code)
}

/// The progress without a submitter: the entrypoint runs on the cluster as long as it would.
fn entrypoint_progress(job: &Observed<'_>, status: &Value, plan: &mut ReconcilePlan) -> Progress {
    let Some((time, code)) = submitter::entrypoint_end(job) else {
        return Progress::Running;
    };
    let started = parse_timestamp(&status["rayJobInfo"]["startTime"]).unwrap_or(job.now);
    let elapsed = job.now.duration_since(started).unsigned_abs();
    match time.checked_sub(elapsed).filter(|left| !left.is_zero()) {
        Some(left) => {
            plan.requeue(left);
            Progress::Running
        }
        None if code == 0 => Progress::Succeeded,
        None => Progress::Failed(exit_message(code)),
    }
}

/// Deletes cluster and submitter, then resets the status.
fn stopping(job: &Observed<'_>, mut status: Value) -> ReconcilePlan {
    let mut plan = ReconcilePlan::default();
    for cluster in job.children_of_kind("RayCluster") {
        plan.delete.push(ChildReference::dynamic(cluster));
    }
    for submitter in &job.jobs {
        plan.delete.push(ChildReference::of(submitter.as_ref()));
    }
    if !plan.delete.is_empty() {
        plan.requeue(Duration::from_secs(1));
        return plan;
    }
    let suspending = status["jobDeploymentStatus"] == "Suspending";
    if suspending && status["jobId"].is_string() && status["rayClusterStatus"].is_null() {
        // Without a cluster yet: its id and PENDING stay, as in KubeRay 1.0. Later versions clear both.
        if let Some(fields) = status.as_object_mut() {
            fields.remove("rayClusterName");
        }
        status["jobStatus"] = json!("PENDING");
        status["jobDeploymentStatus"] = json!("Suspended");
        return ReconcilePlan::status(status);
    }
    if let Some(fields) = status.as_object_mut() {
        for field in [
            "rayClusterStatus",
            "rayClusterName",
            "dashboardURL",
            "jobId",
            "message",
            "reason",
            "rayJobInfo",
            "endTime",
        ] {
            fields.remove(field);
        }
    }
    status["jobStatus"] = json!("");
    status["jobDeploymentStatus"] = json!(if suspending { "Suspended" } else { "" });
    ReconcilePlan::status(status)
}

/// Deletes the cluster of a finished RayJob after its TTL.
fn finished(job: &Observed<'_>, status: &Value) -> ReconcilePlan {
    let mut plan = ReconcilePlan::default();
    let spec = job.spec();
    if spec["deletionStrategy"].is_object() {
        plan.warn_not_simulated("deletionStrategy has no effect");
    }
    let clusters: Vec<_> = job.children_of_kind("RayCluster").collect();
    if spec["shutdownAfterJobFinishes"] != true || clusters.is_empty() {
        return plan;
    }
    let ttl = SignedDuration::from_secs(spec["ttlSecondsAfterFinished"].as_i64().unwrap_or(0));
    let ended = parse_timestamp(&status["endTime"]).unwrap_or(job.now);
    let left = ttl.saturating_sub(job.now.duration_since(ended));
    if left > SignedDuration::ZERO {
        plan.requeue(left.unsigned_abs());
        return plan;
    }
    plan.delete
        .extend(clusters.into_iter().map(|c| ChildReference::dynamic(c)));
    plan
}

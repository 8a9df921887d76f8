//! The submitter of a RayJob: its Job or sidecar, and how long the entrypoint runs.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Container, Pod};
use serde_json::{Value, json};

use super::super::child_objects::{self, items};
use super::super::observed::Observed;
use super::{ORIGINATED_FROM_CR_NAME, ORIGINATED_FROM_CRD};
use kueue_lab_kubelet::container_program;

/// The name of the submitter's container.
pub(super) const CONTAINER: &str = "ray-job-submitter";

/// The command that submits the job and follows it.
fn submit_command(job: &Observed<'_>, address: &str) -> String {
    let id = job.status()["jobId"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let entrypoint = job.spec()["entrypoint"]
        .as_str()
        .unwrap_or_default()
        .trim()
        .to_owned();
    format!("ray job submit --address http://{address} --submission-id {id} -- {entrypoint}")
}

/// The submitter's container, with the image of the head.
fn container(job: &Observed<'_>, cluster: &Value) -> Value {
    let head = &cluster["headGroupSpec"]["template"]["spec"]["containers"][0];
    let mut container = json!({
        "name": CONTAINER,
        "image": head["image"],
        "resources": {
            "requests": {"cpu": "500m", "memory": "200Mi"},
            "limits": {"cpu": "1", "memory": "1Gi"},
        },
    });
    set_command(job, &mut container);
    container
}

fn set_command(job: &Observed<'_>, container: &mut Value) {
    let address = job.status()["dashboardURL"]
        .as_str()
        .unwrap_or("127.0.0.1:8265")
        .to_owned();
    container["command"] = json!(["/bin/bash", "-c", "--"]);
    container["args"] = json!([submit_command(job, &address)]);
}

/// The submitter Job of a RayJob in K8sJobMode.
pub(super) fn submitter_job(job: &Observed<'_>, cluster: &Value) -> Value {
    let name = job.name();
    let labels = [
        (ORIGINATED_FROM_CR_NAME, name.as_str()),
        (ORIGINATED_FROM_CRD, "RayJob"),
        ("app.kubernetes.io/created-by", "kuberay-operator"),
    ];
    let own = &job.spec()["submitterPodTemplate"];
    let mut template = match child_objects::has_containers(own) {
        true => own.clone(),
        false => json!({"spec": {"containers": [container(job, cluster)]}}),
    };
    if template["spec"]["restartPolicy"].is_null() {
        template["spec"]["restartPolicy"] = json!("Never");
    }
    if let Some(container) =
        child_objects::items_mut(&mut template["spec"]["containers"]).first_mut()
        && items(&container["command"]).is_empty()
    {
        set_command(job, container);
    }
    child_objects::add_env(
        &mut template["spec"],
        &[("PYTHONUNBUFFERED", "1".to_owned())],
    );
    let backoff = job.spec()["submitterConfig"]["backoffLimit"].as_i64();
    let mut submitter = json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"backoffLimit": backoff.unwrap_or(2), "template": template},
    });
    child_objects::set_labels(&mut submitter, &labels);
    submitter
}

/// Adds the submitter to the head of the cluster of a RayJob in SidecarMode.
pub(super) fn add_sidecar(job: &Observed<'_>, cluster: &mut Value) {
    let sidecar = container(job, cluster);
    let spec = &mut cluster["headGroupSpec"]["template"]["spec"];
    spec["restartPolicy"] = json!("Never");
    if let Value::Array(containers) = &mut spec["containers"] {
        containers.push(sidecar);
    }
}

/// How long the entrypoint runs and its exit code; `None` if it never ends.
pub(super) fn entrypoint_end(job: &Observed<'_>) -> Option<(Duration, i32)> {
    let command = [
        "/bin/bash",
        "-c",
        "--",
        &submit_command(job, "127.0.0.1:8265"),
    ];
    let container = Container {
        command: Some(command.map(str::to_owned).to_vec()),
        ..Container::default()
    };
    let mut pod = Pod::default();
    pod.metadata
        .annotations
        .clone_from(&job.object.metadata.annotations);
    let spec = k8s_openapi::api::core::v1::PodSpec {
        restart_policy: Some("Never".to_owned()),
        ..Default::default()
    };
    pod.spec = Some(spec);
    container_program(job.runtime, &container, &pod, true).end()
}

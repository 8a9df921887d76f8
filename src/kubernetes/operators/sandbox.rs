//! Sandbox of agent-sandbox: one pod, and its headless service.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::child_objects::{self, count, has_containers};
use super::observed::{Observed, parse_timestamp};
use super::reconcile_plan::{ChildReference, ReconcilePlan};
use kueue_lab_controller_utils::pods::{is_deleting, is_ready, phase};
use kueue_lab_controller_utils::template_hash::fnv32a;

/// Label: the hash of the name of the sandbox of a pod or service.
const NAME_HASH: &str = "agents.x-k8s.io/sandbox-name-hash";

/// Reconciles a Sandbox.
pub(super) fn reconcile(sandbox: &Observed<'_>) -> ReconcilePlan {
    let spec = sandbox.spec();
    if !has_containers(&spec["podTemplate"]) {
        return ReconcilePlan::not_simulated("podTemplate.spec needs a container");
    }
    let mut plan = ReconcilePlan::default();
    let mut status = sandbox.status();
    let replicas = count(&spec["replicas"], 1).min(1);
    let hash = format!("{:08x}", fnv32a(sandbox.name().as_bytes()));
    let expires = parse_timestamp(&spec["shutdownTime"]);
    let expired = expires.is_some_and(|at| at <= sandbox.now);
    if let Some(at) = expires.filter(|_| !expired) {
        plan.requeue(
            at.duration_since(sandbox.now)
                .unsigned_abs()
                .max(Duration::from_millis(1)),
        );
    }
    let pod = sandbox.pods.first();
    if expired || replicas == 0 {
        let pods = sandbox.pods.iter().filter(|pod| !is_deleting(pod));
        plan.delete
            .extend(pods.map(|pod| ChildReference::of(pod.as_ref())));
    } else if pod.is_none() {
        plan.create.push(sandbox_pod(sandbox, &hash));
    }
    let with_service = spec["service"] == true && !expired;
    if with_service && status["service"].is_null() {
        plan.create.push(service(sandbox, &hash));
        status["service"] = json!(sandbox.name());
        let name = format!(
            "{}.{}.svc.cluster.local",
            sandbox.name(),
            sandbox.namespace()
        );
        status["serviceFQDN"] = json!(name);
    }
    status["replicas"] = json!(usize::from(pod.is_some()));
    status["selector"] = json!(format!("{NAME_HASH}={hash}"));
    status["podIPs"] = pod_ips(pod);
    let (ready, reason, message) = match (expired, replicas) {
        (true, _) => (false, "SandboxExpired", "Sandbox has expired".to_owned()),
        (_, 0) => (false, "SandboxSuspended", suspended_message(pod).to_owned()),
        _ => readiness(pod, with_service),
    };
    sandbox.set_condition(&mut status, "Ready", ready, reason, &message);
    if matches!(reason, "PodSucceeded" | "PodFailed") {
        sandbox.set_condition(&mut status, "Finished", true, reason, &message);
    }
    if replicas == 0 && !expired {
        let (reason, message) = match pod {
            None => ("PodTerminated", "Pod has been terminated"),
            Some(_) => ("PodNotTerminated", "Pod is terminating"),
        };
        sandbox.set_condition(&mut status, "Suspended", pod.is_none(), reason, message);
    }
    plan.delete_self = expired && spec["shutdownPolicy"] == "Delete" && pod.is_none();
    plan.status = Some(status);
    plan
}

fn suspended_message(pod: Option<&Arc<Pod>>) -> &'static str {
    match pod {
        Some(_) => "Sandbox is suspending",
        None => "Sandbox is suspended",
    }
}

/// Status, reason and message of the condition Ready.
fn readiness(pod: Option<&Arc<Pod>>, service: bool) -> (bool, &'static str, String) {
    let suffix = if service { "; Service Exists" } else { "" };
    let Some(pod) = pod else {
        return (
            false,
            "DependenciesNotReady",
            format!("Pod does not exist{suffix}"),
        );
    };
    match phase(pod) {
        "Succeeded" => (
            false,
            "PodSucceeded",
            "Pod completed successfully".to_owned(),
        ),
        "Failed" => (false, "PodFailed", "Pod failed".to_owned()),
        "Running" if is_ready(pod) => (true, "DependenciesReady", format!("Pod is Ready{suffix}")),
        "Running" => (
            false,
            "DependenciesNotReady",
            format!("Pod is Running but not Ready{suffix}"),
        ),
        phase => (
            false,
            "DependenciesNotReady",
            format!("Pod exists with phase: {phase}{suffix}"),
        ),
    }
}

fn pod_ips(pod: Option<&Arc<Pod>>) -> Value {
    let status = pod.and_then(|pod| pod.status.as_ref());
    let ips = status
        .into_iter()
        .flat_map(|status| status.pod_ips.iter().flatten());
    ips.map(|ip| json!(ip.ip)).collect()
}

fn sandbox_pod(sandbox: &Observed<'_>, hash: &str) -> Value {
    let name = json!({"name": sandbox.name()});
    child_objects::pod(&sandbox.spec()["podTemplate"], name, &[(NAME_HASH, hash)])
}

fn service(sandbox: &Observed<'_>, hash: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": sandbox.name(), "labels": {NAME_HASH: hash}},
        "spec": {"clusterIP": "None", "selector": {NAME_HASH: hash}},
    })
}

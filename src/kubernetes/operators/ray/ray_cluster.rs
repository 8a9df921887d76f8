//! RayCluster: a head pod, the pods of the worker groups and the head service.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::super::child_objects::{self, count, has_containers, items, label};
use super::super::conditions::{find, is_true};
use super::super::observed::Observed;
use super::super::reconcile_plan::{ChildReference, ReconcilePlan};
use super::DISABLE_HEAD_RESTART;
use super::gcs_fault_tolerance;
use super::ray_pods::{self, GROUP, HEAD_GROUP, PORTS};
use kueue_lab_controller_utils::pods::{compare_active_pods, is_deleting, is_ready, is_terminal};
use kueue_lab_quantity::Quantity;

/// Reconciles a RayCluster.
pub(in super::super) fn reconcile(cluster: &Observed<'_>) -> ReconcilePlan {
    if let Some(plan) = gcs_fault_tolerance::reconcile(cluster) {
        return plan;
    }
    let spec = cluster.spec();
    let groups = items(&spec["workerGroupSpecs"]);
    let mut templates = groups.iter().map(|g| &g["template"]);
    if !has_containers(&spec["headGroupSpec"]["template"]) || !templates.all(has_containers) {
        return ReconcilePlan::not_simulated(
            "headGroupSpec and every worker group need a container",
        );
    }
    let mut plan = ReconcilePlan::default();
    if spec["suspend"] == true {
        plan.delete = alive(&cluster.pods)
            .map(|pod| ChildReference::of(pod.as_ref()))
            .collect();
    } else {
        plan_head(cluster, &mut plan);
        for group in groups {
            plan_group(cluster, group, &mut plan);
        }
        if spec["enableInTreeAutoscaling"] == true {
            plan.warn_not_simulated("enableInTreeAutoscaling: worker groups keep their replicas");
        }
    }
    plan.status = Some(status(cluster));
    plan
}

/// Pods that are not being deleted.
fn alive(pods: &[Arc<Pod>]) -> impl Iterator<Item = &Arc<Pod>> {
    pods.iter().filter(|pod| !is_deleting(pod))
}

fn plan_head(cluster: &Observed<'_>, plan: &mut ReconcilePlan) {
    if cluster.status()["head"]["serviceName"].is_null() {
        plan.create.push(ray_pods::head_service(cluster));
    }
    let annotations = cluster.object.metadata.annotations.as_ref();
    let stays =
        annotations.is_some_and(|a| a.get(DISABLE_HEAD_RESTART).is_some_and(|v| v == "true"));
    let heads: Vec<_> = alive(&cluster.pods)
        .filter(|p| label(p, GROUP) == Some(HEAD_GROUP))
        .collect();
    match heads.first() {
        None => plan.create.push(ray_pods::head_pod(cluster)),
        Some(head) if is_terminal(head) && !stays => {
            plan.delete.push(ChildReference::of(head.as_ref()));
        }
        Some(_) => {}
    }
}

/// The number of pods of a worker group.
fn desired_workers(group: &Value) -> usize {
    if group["suspend"] == true {
        return 0;
    }
    let (min, max) = (
        count(&group["minReplicas"], 0),
        count(&group["maxReplicas"], usize::MAX),
    );
    let replicas = count(&group["replicas"], 0).max(min).min(max);
    replicas.saturating_mul(count(&group["numOfHosts"], 1))
}

fn plan_group(cluster: &Observed<'_>, group: &Value, plan: &mut ReconcilePlan) {
    let name = group["groupName"].as_str().unwrap_or_default();
    let named = items(&group["scaleStrategy"]["workersToDelete"]);
    let in_group = alive(&cluster.pods).filter(|pod| label(pod, GROUP) == Some(name));
    let (gone, mut running): (Vec<_>, Vec<_>) = in_group.partition(|pod| {
        let name = pod.metadata.name.as_deref();
        is_terminal(pod) || named.iter().any(|n| n.as_str() == name && name.is_some())
    });
    running.sort_by(|a, b| compare_active_pods(a, b));
    let desired = desired_workers(group);
    let surplus = running.len().saturating_sub(desired);
    let deleted = gone
        .into_iter()
        .chain(running.iter().take(surplus).copied());
    plan.delete
        .extend(deleted.map(|pod| ChildReference::of(pod.as_ref())));
    let missing = desired.saturating_sub(running.len());
    plan.create_replicas(cluster, 0..missing, |_| {
        ray_pods::worker_pod(cluster, group)
    });
}

/// The new status.
fn status(cluster: &Observed<'_>) -> Value {
    let (spec, old, now) = (cluster.spec(), cluster.status(), cluster.timestamp());
    let mut status = old.clone();
    let groups = items(&spec["workerGroupSpecs"]);
    let is_head = |pod: &&Arc<Pod>| label(pod, GROUP) == Some(HEAD_GROUP);
    let workers = || cluster.pods.iter().filter(|pod| !is_head(pod));
    let desired = groups.iter().map(desired_workers);
    let desired = desired.fold(0, usize::saturating_add);
    let total = |field: &str, default: usize| -> usize {
        let active = groups.iter().filter(|g| g["suspend"] != true);
        let each =
            active.map(|g| count(&g[field], default).saturating_mul(count(&g["numOfHosts"], 1)));
        each.fold(0, usize::saturating_add).min(i32::MAX as usize)
    };
    status["observedGeneration"] = json!(cluster.object.metadata.generation);
    status["desiredWorkerReplicas"] = json!(desired);
    status["minWorkerReplicas"] = json!(total("minReplicas", 0));
    status["maxWorkerReplicas"] = json!(total("maxReplicas", i32::MAX as usize));
    status["readyWorkerReplicas"] = json!(workers().filter(|pod| is_ready(pod)).count());
    let phase = |pod: &Pod| kueue_lab_controller_utils::pods::phase(pod).to_owned();
    let available = workers().filter(|pod| phase(pod) == "Running").count();
    status["availableWorkerReplicas"] = json!(available);
    for (field, amount) in desired_resources(spec) {
        status[field] = json!(amount.to_string());
    }
    let endpoints = PORTS.map(|(name, port)| (name.to_owned(), json!(port.to_string())));
    status["endpoints"] = Value::Object(endpoints.into_iter().collect());
    let head = cluster.pods.iter().find(is_head);
    let ip = head.and_then(|pod| pod.status.as_ref()?.pod_ip.clone());
    let mut info = json!({"serviceName": ray_pods::head_service_name(cluster)});
    if let Some(head) = head {
        info["podName"] = json!(head.metadata.name);
    }
    if let Some(ip) = ip {
        info["podIP"] = json!(ip);
        info["serviceIP"] = json!(ip);
    }
    status["head"] = info;

    let all_ready = !cluster.pods.is_empty() && cluster.pods.iter().all(|pod| is_ready(pod));
    if all_ready && cluster.pods.len() == desired.saturating_add(1) && spec["suspend"] != true {
        status["state"] = json!("ready");
    }
    if spec["suspend"] == true && cluster.pods.is_empty() {
        status["state"] = json!("suspended");
    }
    set_conditions(cluster, head.map(AsRef::as_ref), all_ready, &mut status);
    if status["state"] != old["state"]
        && let Some(state) = status["state"].as_str().map(str::to_owned)
    {
        if !status["stateTransitionTimes"].is_object() {
            status["stateTransitionTimes"] = json!({});
        }
        status["stateTransitionTimes"][state] = json!(now);
    }
    let mut compared = status.clone();
    compared["lastUpdateTime"] = old["lastUpdateTime"].clone();
    if compared == old {
        return old;
    }
    status["lastUpdateTime"] = json!(now);
    status
}

fn set_conditions(cluster: &Observed<'_>, head: Option<&Pod>, all_ready: bool, status: &mut Value) {
    let mut set = |condition_type: &str, is: bool, reason: &str, message: &str| {
        cluster.set_condition(status, condition_type, is, reason, message);
    };
    match head {
        None => set(
            "HeadPodReady",
            false,
            "HeadPodNotFound",
            "Head Pod not found",
        ),
        Some(head) if is_ready(head) => set("HeadPodReady", true, "HeadPodRunningAndReady", ""),
        Some(_) => set("HeadPodReady", false, "ContainersNotReady", ""),
    }
    let suspend = cluster.spec()["suspend"] == true;
    let was_suspended = is_true(&cluster.status(), "RayClusterSuspended");
    let was_provisioned = is_true(&cluster.status(), "RayClusterProvisioned");
    if suspend && cluster.pods.is_empty() {
        let message = "RayCluster has been suspended";
        set(
            "RayClusterProvisioned",
            false,
            "RayClusterPodsProvisioning",
            message,
        );
        set("RayClusterSuspending", false, "RayClusterSuspending", "");
        set("RayClusterSuspended", true, "RayClusterSuspended", "");
        return;
    }
    if was_suspended && suspend {
        return;
    }
    if all_ready && !suspend {
        let message = "All Ray Pods are ready for the first time";
        set(
            "RayClusterProvisioned",
            true,
            "AllPodRunningAndReadyFirstTime",
            message,
        );
    } else if !was_provisioned {
        let message = "RayCluster Pods are being provisioned for first time";
        set(
            "RayClusterProvisioned",
            false,
            "RayClusterPodsProvisioning",
            message,
        );
    }
    set("RayClusterSuspended", false, "RayClusterSuspended", "");
    set("RayClusterSuspending", suspend, "RayClusterSuspending", "");
}

/// The fields of the status with the requests of all desired pods.
fn desired_resources(spec: &Value) -> [(&'static str, Quantity); 4] {
    let mut total = [Quantity::default(); 4];
    let mut add = |template: &Value, pods: usize| {
        for container in items(&template["spec"]["containers"]) {
            let resources = &container["resources"];
            let names = child_objects::fields(&resources["requests"])
                .chain(child_objects::fields(&resources["limits"]));
            let mut seen: Vec<&str> = Vec::new();
            for (name, value) in names {
                let at = match name.as_str() {
                    "cpu" => 0,
                    "memory" => 1,
                    "google.com/tpu" => 3,
                    name if name.ends_with("gpu") => 2,
                    _ => continue,
                };
                // A limit counts where there is no request.
                if seen.contains(&name.as_str()) {
                    continue;
                }
                seen.push(name);
                let pods = i64::try_from(pods).unwrap_or(i64::MAX);
                let amount = Quantity::or_zero(Some(value)).times(pods);
                total[at] = match total[at].is_zero() {
                    true => amount,
                    false => total[at] + amount,
                };
            }
        }
    };
    add(&spec["headGroupSpec"]["template"], 1);
    for group in items(&spec["workerGroupSpecs"]) {
        add(&group["template"], desired_workers(group));
    }
    let [cpu, memory, gpu, tpu] = total;
    [
        ("desiredCPU", cpu),
        ("desiredMemory", memory),
        ("desiredGPU", gpu),
        ("desiredTPU", tpu),
    ]
}

/// Whether all pods of a RayCluster are ready, by its status.
pub(super) fn is_cluster_ready(status: &Value) -> bool {
    status["state"] == "ready" && find(status, "HeadPodReady").is_none_or(|c| c["status"] == "True")
}

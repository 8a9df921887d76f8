//! RayService: a RayCluster and its services; ready when the cluster is.

use kube::ResourceExt;
use kube::core::DynamicObject;
use serde_json::{Value, json};

use super::super::child_objects::has_containers;
use super::super::conditions::{find, is_true};
use super::super::observed::Observed;
use super::super::reconcile_plan::{ChildReference, ReconcilePlan};
use super::gcs_fault_tolerance;
use super::{ORIGINATED_FROM_CR_NAME, ORIGINATED_FROM_CRD, inherited, ray_cluster};

/// Reconciles a RayService.
pub(in super::super) fn reconcile(service: &Observed<'_>) -> ReconcilePlan {
    if let Some(plan) = gcs_fault_tolerance::reconcile_service(service) {
        return plan;
    }
    let spec = service.spec();
    if !has_containers(&spec["rayClusterConfig"]["headGroupSpec"]["template"]) {
        return ReconcilePlan::not_simulated("rayClusterConfig.headGroupSpec needs a container");
    }
    let mut status = service.status();
    status["observedGeneration"] = json!(service.object.metadata.generation);
    if spec["suspend"] == true {
        return suspend(service, status);
    }
    if is_true(&status, "Suspended") {
        let message = "Spec.Suspend is false; RayService has resumed.";
        service.set_condition(
            &mut status,
            "Suspended",
            false,
            "RayServiceResumed",
            message,
        );
    }
    if find(&status, "Ready").is_none() {
        service.set_condition(
            &mut status,
            "Ready",
            false,
            "Initializing",
            "RayService is initializing",
        );
        service.set_condition(
            &mut status,
            "UpgradeInProgress",
            false,
            "Initializing",
            "RayService is initializing",
        );
    }
    let mut plan = ReconcilePlan::default();
    let named = |field: &str| {
        let name = status[field]["rayClusterName"].as_str().unwrap_or_default();
        (!name.is_empty()).then(|| name.to_owned())
    };
    let name = match named("activeServiceStatus").or_else(|| named("pendingServiceStatus")) {
        Some(name) => name,
        None => {
            let name = format!("{}-{}", service.name(), service.entropy.suffix(5));
            status["pendingServiceStatus"] = json!({"rayClusterName": name});
            return ReconcilePlan::status(status);
        }
    };
    match service.child("RayCluster", &name) {
        None => plan.create.push(ray_cluster(service, &name)),
        Some(cluster) => follow(service, cluster, &mut status, &mut plan),
    }
    plan.status = Some(status);
    plan
}

/// Updates cluster and status.
fn follow(
    service: &Observed<'_>,
    cluster: &DynamicObject,
    status: &mut Value,
    plan: &mut ReconcilePlan,
) {
    let (wanted, actual) = (&service.spec()["rayClusterConfig"], &cluster.data["spec"]);
    if wanted["suspend"] == true
        || actual["suspend"] == true
        || replicas(wanted) != replicas(actual)
    {
        // A suspended cluster takes the node selectors of its next admission.
        if wanted != actual {
            plan.patch
                .push((ChildReference::dynamic(cluster), json!({"spec": wanted})));
        }
    } else if templates(wanted) != templates(actual) {
        plan.warn_not_simulated("an upgrade to a new RayCluster does not happen");
    }
    let cluster_status = &cluster.data["status"];
    let ready = ray_cluster::is_cluster_ready(cluster_status) && actual["suspend"] != true;
    let name = cluster.name_any();
    let entry = json!({"rayClusterName": name, "rayClusterStatus": cluster_status});
    let is_active = status["activeServiceStatus"]["rayClusterName"] == json!(name);
    if is_active || ready {
        if !is_active {
            plan.create.extend(services(service, cluster));
        }
        status["activeServiceStatus"] = entry;
        if let Some(fields) = status.as_object_mut() {
            fields.remove("pendingServiceStatus");
        }
    } else {
        status["pendingServiceStatus"] = entry;
    }
    let endpoints = match ready {
        true => cluster_status["readyWorkerReplicas"]
            .as_i64()
            .unwrap_or(0)
            .saturating_add(1),
        false => 0,
    };
    status["numServeEndpoints"] = json!(endpoints);
    let was_ready = is_true(status, "Ready");
    if ready {
        let message = "Number of serve endpoints is greater than 0";
        service.set_condition(status, "Ready", true, "NonZeroServeEndpoints", message);
        let message = "Active Ray cluster exists and no pending Ray cluster";
        service.set_condition(
            status,
            "UpgradeInProgress",
            false,
            "NoPendingCluster",
            message,
        );
    } else if was_ready {
        service.set_condition(
            status,
            "Ready",
            false,
            "ZeroServeEndpoints",
            "Number of serve endpoints dropped to 0",
        );
    }
    status["serviceStatus"] = json!(if ready { "Running" } else { "" });
}

/// The replicas of the worker groups.
fn replicas(cluster: &Value) -> Vec<&Value> {
    let groups = super::super::child_objects::items(&cluster["workerGroupSpecs"]);
    groups.iter().map(|group| &group["replicas"]).collect()
}

/// The pod templates.
fn templates(cluster: &Value) -> Vec<&Value> {
    let groups = super::super::child_objects::items(&cluster["workerGroupSpecs"]);
    let head = std::iter::once(&cluster["headGroupSpec"]["template"]);
    head.chain(groups.iter().map(|group| &group["template"]))
        .collect()
}

fn ray_cluster(service: &Observed<'_>, name: &str) -> Value {
    let own = service.name();
    let labels = [
        (ORIGINATED_FROM_CR_NAME, own.as_str()),
        (ORIGINATED_FROM_CRD, "RayService"),
    ];
    let annotations = [("ray.io/enable-serve-service", "true")];
    json!({
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {
            "name": name,
            "labels": inherited(service.object.labels().iter(), &labels),
            "annotations": inherited(service.object.annotations().iter(), &annotations),
        },
        "spec": service.spec()["rayClusterConfig"].clone(),
    })
}

/// The head service and the serve service.
fn services(service: &Observed<'_>, cluster: &DynamicObject) -> [Value; 2] {
    let (own, cluster) = (service.name(), cluster.name_any());
    let labels = json!({ORIGINATED_FROM_CR_NAME: own, ORIGINATED_FROM_CRD: "RayService"});
    let new = |suffix: &str, selector: Value, ports: &[(&str, u16)]| {
        let port =
            |(name, port): &(&str, u16)| json!({"name": name, "port": port, "protocol": "TCP"});
        let ports: Vec<Value> = ports.iter().map(port).collect();
        json!({
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": format!("{own}-{suffix}-svc"), "labels": labels},
            "spec": {"selector": selector, "ports": ports},
        })
    };
    let head = json!({"ray.io/cluster": cluster, "ray.io/node-type": "head"});
    [
        new("head", head, &super::ray_pods::PORTS),
        new(
            "serve",
            json!({"ray.io/cluster": cluster}),
            &[("serve", 8000)],
        ),
    ]
}

/// Deletes all clusters, then reports Suspended.
fn suspend(service: &Observed<'_>, mut status: Value) -> ReconcilePlan {
    let mut plan = ReconcilePlan::default();
    let clusters = service.children_of_kind("RayCluster");
    plan.delete = clusters.map(|c| ChildReference::dynamic(c)).collect();
    let gone = plan.delete.is_empty();
    if let Some(fields) = status.as_object_mut() {
        fields.remove("activeServiceStatus");
        fields.remove("pendingServiceStatus");
    }
    status["numServeEndpoints"] = json!(0);
    status["serviceStatus"] = json!("");
    if gone {
        service.set_condition(
            &mut status,
            "Suspending",
            false,
            "SuspendComplete",
            "RayService is suspended.",
        );
        service.set_condition(
            &mut status,
            "Suspended",
            true,
            "SuspendComplete",
            "RayService is suspended.",
        );
        service.set_condition(
            &mut status,
            "Ready",
            false,
            "SuspendComplete",
            "RayService is suspended.",
        );
    } else {
        let message =
            "Spec.Suspend is true; will delete all Kubernetes resources owned by this RayService.";
        service.set_condition(&mut status, "Suspending", true, "SuspendRequested", message);
        service.set_condition(
            &mut status,
            "Ready",
            false,
            "SuspendInProgress",
            "RayService is suspending.",
        );
    }
    plan.status = Some(status);
    plan
}

//! Namespaces, priority classes, APIServices and the service `kubernetes`.

use serde_json::json;

use super::bootstrap_object::{BootstrapObject, status_manager};
use crate::plugins::AggregatedApi;
use crate::server_state::ServerState;

/// The address of the Service `kubernetes`.
pub(crate) const KUBERNETES_SERVICE_IP: &str = "10.96.0.1";

const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

pub(super) fn namespaces() -> impl Iterator<Item = BootstrapObject> {
    NAMESPACES.into_iter().map(|name| {
        let fields = json!({
            "spec": {"finalizers": ["kubernetes"]},
            "status": {"phase": "Active"},
        });
        let labels = [("kubernetes.io/metadata.name", name)];
        BootstrapObject::new(("", "v1", "namespaces"), "Namespace", name, &labels, fields)
    })
}

pub(super) fn priority_classes() -> impl Iterator<Item = BootstrapObject> {
    let classes = [
        (
            "system-node-critical",
            2_000_001_000,
            "Used for system critical pods that must not be moved from their current node.",
        ),
        (
            "system-cluster-critical",
            2_000_000_000,
            "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
        ),
    ];
    classes.into_iter().map(|(name, value, description)| {
        let resource = ("scheduling.k8s.io", "v1", "priorityclasses");
        let fields = json!({
            "value": value,
            "description": description,
            "preemptionPolicy": "PreemptLowerPriority",
        });
        BootstrapObject::new(resource, "PriorityClass", name, &[], fields)
    })
}

/// One APIService for each built-in group version.
pub(super) fn api_services(core: &ServerState) -> impl Iterator<Item = BootstrapObject> {
    let table = core.registry.table();
    let now = kueue_lab_apimachinery::object_meta::metav1_time(core.clock.now());
    let mut seeds = Vec::new();
    for group in table.groups() {
        for (i, version) in group.versions.iter().enumerate() {
            let name = format!("{}.{}", version.name, group.name);
            let fields = json!({
                "spec": {
                    "group": &*group.name,
                    "version": &*version.name,
                    "groupPriorityMinimum": if group.name.is_empty() { 18000 } else { 17000 },
                    "versionPriority": 15 - i.min(14),
                },
                "status": {"conditions": [{
                    "type": "Available",
                    "status": "True",
                    "reason": "Local",
                    "message": "Local APIServices are always available",
                    "lastTransitionTime": now,
                }]},
            });
            let resource = ("apiregistration.k8s.io", "v1", "apiservices");
            let labels = [("kube-aggregator.kubernetes.io/automanaged", "onstart")];
            seeds.push(BootstrapObject::new(
                resource,
                "APIService",
                &name,
                &labels,
                fields,
            ));
        }
    }
    seeds.into_iter()
}

/// One APIService for each version of an extension API server.
pub(super) fn aggregated_api_services(
    core: &ServerState,
    api: &dyn AggregatedApi,
) -> impl Iterator<Item = BootstrapObject> {
    let now = kueue_lab_apimachinery::object_meta::metav1_time(core.clock.now());
    let (namespace, service) = api.service();
    api.versions().iter().map(move |version| {
        let fields = json!({
            "spec": {
                "group": api.group(),
                "version": version,
                "groupPriorityMinimum": 100,
                "versionPriority": 100,
                "insecureSkipTLSVerify": true,
                "service": {"namespace": namespace, "name": service, "port": 443},
            },
            "status": {"conditions": [{
                "type": "Available",
                "status": "True",
                "reason": "Passed",
                "message": "all checks passed",
                "lastTransitionTime": now,
            }]},
        });
        let resource = ("apiregistration.k8s.io", "v1", "apiservices");
        let name = format!("{version}.{}", api.group());
        let mut object = BootstrapObject::new(resource, "APIService", &name, &[], fields);
        object.object["metadata"]["managedFields"] = json!([status_manager(
            "apiregistration.k8s.io/v1",
            core.clock.now()
        )]);
        object
    })
}

/// The service `kubernetes` in the default namespace.
pub(super) fn kubernetes_service() -> impl Iterator<Item = BootstrapObject> {
    let labels = [("component", "apiserver"), ("provider", "kubernetes")];
    let fields = json!({
        "spec": {
            "type": "ClusterIP",
            "clusterIP": KUBERNETES_SERVICE_IP,
            "clusterIPs": [KUBERNETES_SERVICE_IP],
            "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack",
            "internalTrafficPolicy": "Cluster",
            "sessionAffinity": "None",
            "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}],
        },
        "status": {"loadBalancer": {}},
    });
    let mut seed = BootstrapObject::new(
        ("", "v1", "services"),
        "Service",
        "kubernetes",
        &labels,
        fields,
    );
    seed.object["metadata"]["namespace"] = "default".into();
    std::iter::once(seed)
}

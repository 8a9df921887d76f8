//! A cluster as its Pods show it.

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Pod, Service};
use kube::ResourceExt;
use kueue_lab_quantity::Quantity;

use super::cluster_client::PodExt;
use crate::gpu_labels::{GPU_RESOURCES, GpuLabelFormatter};

/// The label with the name in Kubernetes.
pub(super) const CLUSTER_LABEL: &str = "skypilot-cluster-name";
/// The annotation with the name the user gave.
const DISPLAY_NAME: &str = "skypilot-cluster-name";
/// The label of the head's Pod.
const HEAD: &str = "skypilot-head-node";

/// The states of a cluster that keeps its Pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClusterStatus {
    /// Some Pods do not run, or are missing.
    Init,
    /// All Pods run.
    Up,
}

impl fmt::Display for ClusterStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Init => "INIT",
            Self::Up => "UP",
        })
    }
}

/// A cluster: its Pods, the head first.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// The name that the user gave.
    pub name: String,
    /// The name in Kubernetes.
    pub name_on_cloud: String,
    /// The number of nodes at its launch.
    pub num_nodes: usize,
    pub(super) pods: Vec<Pod>,
}

impl Cluster {
    /// The clusters of Pods and Services, by name. A cluster without Pods does not exist.
    pub(super) fn group(pods: Vec<Pod>, services: &[Service]) -> Vec<Self> {
        let mut clusters: BTreeMap<String, Self> = BTreeMap::new();
        for pod in pods {
            let Some(name_on_cloud) = pod.labels().get(CLUSTER_LABEL).cloned() else {
                continue;
            };
            let name = pod.annotations().get(DISPLAY_NAME).cloned();
            let cluster = clusters.entry(name_on_cloud.clone());
            let cluster = cluster.or_insert_with(|| Self {
                name: name.unwrap_or_else(|| name_on_cloud.clone()),
                num_nodes: headless_services(services, &name_on_cloud),
                name_on_cloud,
                pods: Vec::new(),
            });
            cluster.pods.push(pod);
        }
        let mut clusters: Vec<Self> = clusters.into_values().collect();
        for cluster in &mut clusters {
            cluster.num_nodes = cluster.num_nodes.max(cluster.pods.len());
            cluster.pods.sort_by_cached_key(|pod| {
                let name = pod.name_any();
                (!is_head(pod), name.len(), name)
            });
        }
        clusters.sort_by(|a, b| a.name.cmp(&b.name));
        clusters
    }

    /// The state.
    pub fn status(&self) -> ClusterStatus {
        let all_run = self.pods.iter().all(PodExt::is_running);
        match all_run && self.pods.len() == self.num_nodes {
            true => ClusterStatus::Up,
            false => ClusterStatus::Init,
        }
    }

    /// The addresses of its nodes, that of the head first.
    pub(super) fn ips(&self) -> Vec<String> {
        let ip = |pod: &Pod| pod.status.as_ref()?.pod_ip.clone();
        self.pods.iter().filter_map(ip).collect()
    }

    /// The GPUs of each node.
    pub(super) fn gpus_per_node(&self) -> f64 {
        self.pods.first().and_then(gpus).unwrap_or(0.0)
    }

    /// The creation time of its oldest Pod.
    pub(super) fn launched_at(&self) -> Option<Timestamp> {
        let created = |pod: &Pod| Some(pod.metadata.creation_timestamp.as_ref()?.0);
        self.pods.iter().filter_map(created).min()
    }

    /// The requests of its nodes, such as `2x(gpus=H100:4, cpus=6, mem=16, ...)`.
    pub(super) fn resources(&self) -> String {
        let Some(pod) = self.pods.first() else {
            return "-".into();
        };
        let mut parts = Vec::new();
        if let Some(gpus) = gpus(pod) {
            let name = gpu_name(pod).unwrap_or_else(|| "GPU".into());
            parts.push(format!("gpus={name}:{gpus}"));
        }
        if let Some(cpus) = requested(pod, "cpu") {
            parts.push(format!("cpus={}", tenths(cpus)));
        }
        if let Some(memory) = requested(pod, "memory") {
            parts.push(format!("mem={}", tenths(memory / 1e9)));
        }
        format!("{}x({}, ...)", self.num_nodes, parts.join(", "))
    }
}

/// The amount of a resource that the container of a node requests.
fn requested(pod: &Pod, resource: &str) -> Option<f64> {
    let container = pod.spec.as_ref()?.containers.first()?;
    let requests = container.resources.as_ref()?.requests.as_ref()?;
    let amount = Quantity::try_from(requests.get(resource)?).ok()?;
    Some(amount.approximate())
}

/// The GPUs of a node.
fn gpus(pod: &Pod) -> Option<f64> {
    let resources = GPU_RESOURCES.into_iter();
    resources.filter_map(|name| requested(pod, name)).next()
}

/// The number of nodes: each has a headless Service.
fn headless_services(services: &[Service], cluster: &str) -> usize {
    let is_own = |service: &&Service| {
        let spec = service.spec.as_ref();
        let is_headless = spec.and_then(|s| s.cluster_ip.as_deref()) == Some("None");
        is_headless
            && service
                .labels()
                .get(CLUSTER_LABEL)
                .is_some_and(|c| c == cluster)
    };
    services.iter().filter(is_own).count()
}

fn is_head(pod: &Pod) -> bool {
    pod.labels().get(HEAD).is_some_and(|value| value == "1")
}

/// The GPU that the node affinity of a Pod requires.
fn gpu_name(pod: &Pod) -> Option<String> {
    let affinity = pod
        .spec
        .as_ref()?
        .affinity
        .as_ref()?
        .node_affinity
        .as_ref()?;
    let required = affinity
        .required_during_scheduling_ignored_during_execution
        .as_ref()?;
    let mut expressions = required
        .node_selector_terms
        .iter()
        .flat_map(|term| term.match_expressions.iter().flatten());
    expressions.find_map(|expression| {
        let mut labels = GpuLabelFormatter::ALL.into_iter();
        let label = labels.find(|label| label.key() == expression.key)?;
        let value = expression.values.as_ref()?.first()?;
        Some(label.accelerator(value))
    })
}

fn tenths(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_fixtures::planned;
    use serde_json::{Value, json};

    fn launched(task: &str) -> (Vec<Pod>, Vec<Service>) {
        let plan = planned(task, "Train_A", "{}");
        let pod = |mut pod: Value| {
            let requests = &mut pod["spec"]["containers"][0]["resources"]["requests"];
            // As the API server stores them.
            for (_, amount) in requests.as_object_mut().unwrap() {
                *amount = json!(amount.as_str().map_or(amount.to_string(), str::to_owned));
            }
            let limits = &mut pod["spec"]["containers"][0]["resources"]["limits"];
            for (_, amount) in limits.as_object_mut().into_iter().flatten() {
                *amount = json!(amount.to_string());
            }
            serde_json::from_value(pod).unwrap()
        };
        let service = |service: Value| serde_json::from_value(service).unwrap();
        (
            plan.pods.into_iter().map(pod).collect(),
            plan.services.into_iter().map(service).collect(),
        )
    }

    fn run(pod: &mut Pod) {
        let status = json!({"phase": "Running", "containerStatuses": [{
            "name": "ray-node", "ready": true, "restartCount": 0, "image": "i", "imageID": "",
            "state": {"running": {}},
        }]});
        pod.status = Some(serde_json::from_value(status).unwrap());
    }

    #[test]
    fn a_cluster_is_up_when_every_node_runs() {
        let (mut pods, services) = launched("num_nodes: 2\nresources: {accelerators: 'H100:4'}\n");
        pods.reverse();
        let cluster = Cluster::group(pods.clone(), &services).remove(0);
        assert_eq!((cluster.name.as_str(), cluster.num_nodes), ("Train_A", 2));
        assert_eq!(cluster.name_on_cloud, "train-a-5c1e7a9b");
        assert!(is_head(&cluster.pods[0]));
        assert_eq!(cluster.resources(), "2x(gpus=H100:4, cpus=16, mem=64, ...)");
        assert_eq!(cluster.status(), ClusterStatus::Init);
        pods.iter_mut().for_each(run);
        let cluster = |pods: &[Pod]| Cluster::group(pods.to_vec(), &services).remove(0);
        assert_eq!(cluster(&pods).status(), ClusterStatus::Up);
        // The Services show that a node is missing.
        assert_eq!(cluster(&pods[..1]).num_nodes, 2);
        assert_eq!(cluster(&pods[..1]).status(), ClusterStatus::Init);
        assert!(Cluster::group(Vec::new(), &services).is_empty());
    }

    #[test]
    fn resources_without_gpus_are_cpus_and_memory() {
        let (pods, services) = launched("resources: {cpus: 2.5, memory: 10}\n");
        let cluster = Cluster::group(pods, &services).remove(0);
        assert_eq!(cluster.resources(), "1x(cpus=2.5, mem=10, ...)");
    }
}

//! The pods of SkyPilot's clusters: the runtime in their containers.

use std::sync::{Arc, Weak};

use async_trait::async_trait;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kueue_lab_skylet::{JobsController, Node, Nodes, Runtime};

use super::simulated_runtime::{RuntimeState, SimulatedRuntime};
use kueue_lab_controller_runtime::ObjectKey;
use kueue_lab_kubelet::{Kubelet, WeakKubelet};

/// The label of all pods that SkyPilot creates, with its value.
const PARENT: (&str, &str) = ("parent", "skypilot");
/// The label with the name of the cluster.
const CLUSTER: &str = "skypilot-cluster-name";
/// The label of the head node.
const HEAD: &str = "skypilot-head-node";
/// The container of a node.
const CONTAINER: &str = "ray-node";

/// The pods of the cluster of one pod.
struct ClusterPods {
    kubelet: WeakKubelet,
    runtime: Weak<RuntimeState>,
    namespace: String,
    cluster: String,
}

/// The runtime of SkyPilot in a container; `None` in containers of other pods.
pub(super) fn runtime(
    kubelet: &Kubelet,
    containers: &SimulatedRuntime,
    pod: &Pod,
    container: &str,
) -> Option<Arc<Runtime>> {
    let labels = pod.labels();
    let is_node = labels.get(PARENT.0).is_some_and(|value| value == PARENT.1);
    let cluster = labels.get(CLUSTER)?;
    (is_node && container == CONTAINER).then(|| {
        Runtime::new(Box::new(ClusterPods {
            kubelet: kubelet.downgrade(),
            runtime: containers.weak(),
            namespace: pod.namespace().unwrap_or_default(),
            cluster: cluster.clone(),
        }))
    })
}

#[async_trait]
impl Nodes for ClusterPods {
    async fn nodes(&self) -> Vec<Node> {
        let runtime = self.runtime.upgrade().map(SimulatedRuntime::of);
        let (Some(kubelet), Some(runtime)) = (self.kubelet.upgrade(), runtime) else {
            return Vec::new();
        };
        let pods = kubelet.pods().list_namespace(&self.namespace);
        let is_own = |pod: &Arc<Pod>| pod.labels().get(CLUSTER) == Some(&self.cluster);
        let mut pods: Vec<Arc<Pod>> = pods.into_iter().filter(is_own).collect();
        // The head, then the workers by number.
        pods.sort_by_cached_key(|pod| {
            let is_worker = pod.labels().get(HEAD).is_none_or(|value| value != "1");
            let name = pod.name_any();
            (is_worker, name.len(), name)
        });
        let mut nodes = Vec::with_capacity(pods.len());
        for pod in pods {
            let (key, uid) = (ObjectKey::of(&*pod), pod.uid().unwrap_or_default());
            let instance = kubelet.running_instance(&key, &uid, CONTAINER);
            let ip = pod.status.as_ref().and_then(|status| status.pod_ip.clone());
            if let (Some(instance), Some(ip)) = (instance, ip) {
                nodes.push(Node {
                    ip,
                    container: runtime.current_container(&kubelet, &instance).await,
                });
            }
        }
        nodes
    }

    fn namespace(&self) -> &str {
        &self.namespace
    }

    fn jobs_controller(&self) -> Option<Arc<dyn JobsController>> {
        self.runtime.upgrade()?.jobs_controller.get().cloned()
    }
}

//! The Node object of a pool's n-th node, as its kubelet would register it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{
    DaemonEndpoint, Node, NodeAddress, NodeCondition, NodeDaemonEndpoints, NodeSpec, NodeStatus,
    NodeSystemInfo, Taint,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;
use kube::api::ObjectMeta;

use super::ttl_controller::TTL_ANNOTATION;
use super::{NodePool, NodePools};
use kueue_lab_clock::whole_seconds;

/// Label of virtual nodes; nodes without it are never changed.
pub(crate) const MANAGED: &str = "kueue-lab.dev/managed";
/// Label that names the pool of a node.
pub const POOL: &str = "kueue-lab.dev/pool";
/// Annotation that stops the kubelet of a virtual node with the value `stopped`.
const KUBELET_ANNOTATION: &str = "kueue-lab.dev/kubelet";
/// Annotation with the labels and taints of the pool, so that they can be removed with it.
pub(super) const FROM_POOL_ANNOTATION: &str = "kueue-lab.dev/from-pool";
/// The kubelet port.
const KUBELET_PORT: i32 = 10250;
/// The kubelet version of the nodes.
const VERSION: &str = "v1.36.0";

/// Taint of virtual nodes in a real cluster: pods without a toleration prefer real nodes.
const VIRTUAL: &str = "kueue-lab.dev/virtual";

/// The kind of cluster that virtual nodes are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClusterType {
    /// The embedded cluster: the lab assigns addresses.
    Embedded,
    /// A real cluster with its own nodes and network. Virtual nodes have no addresses or pod CIDRs,
    /// so that network add-ons skip them; load balancers and autoscalers ignore them, and pods
    /// prefer real nodes.
    Remote,
}

impl ClusterType {
    /// The pool with the labels and taints its nodes need in this cluster.
    pub(super) fn adjust_pool(self, pool: &NodePool) -> NodePool {
        let mut pool = pool.clone();
        if self == Self::Remote {
            let label = "node.kubernetes.io/exclude-from-external-load-balancers";
            let labels = &mut pool.labels;
            labels
                .entry(label.into())
                .or_insert_with(|| "true".to_owned());
            // PreferNoSchedule rather than NoSchedule: queued pods need no toleration.
            pool.taints.push(Taint {
                key: VIRTUAL.into(),
                value: Some("true".into()),
                effect: "PreferNoSchedule".into(),
                time_added: None,
            });
        }
        pool
    }
}

/// The address at which API servers in other processes reach the lab's kubelets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KubeletAddress {
    /// Host name or address of this machine.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl KubeletAddress {
    /// The node's `Hostname` address and its kubelet port. API servers use `Hostname` if there is
    /// no `InternalIP`, which network add-ons would treat as a reachable machine.
    pub(super) fn hostname_and_port(address: Option<&Self>, node: &str) -> (String, i32) {
        match address {
            Some(address) => (address.host.clone(), address.port.into()),
            None => (node.to_owned(), KUBELET_PORT),
        }
    }
}

/// Whether this is a virtual node of the lab.
pub fn is_managed(node: &Node) -> bool {
    node.labels().get(MANAGED).is_some_and(|v| v == "true")
}

/// Whether an annotation stops the kubelet of the node.
pub fn has_stopped_kubelet(node: &Node) -> bool {
    let value = node.annotations().get(KUBELET_ANNOTATION);
    value.is_some_and(|value| value == "stopped")
}

/// The labels of a pool's n-th node.
pub(super) fn labels(pool: &NodePool, index: u32) -> BTreeMap<String, String> {
    let mut labels = BTreeMap::from([
        ("beta.kubernetes.io/arch", "amd64".to_string()),
        ("beta.kubernetes.io/os", "linux".to_string()),
        ("kubernetes.io/arch", "amd64".to_string()),
        ("kubernetes.io/os", "linux".to_string()),
        ("kubernetes.io/hostname", pool.node_name(index)),
        (MANAGED, "true".to_string()),
        (POOL, pool.name.clone()),
    ])
    .into_iter()
    .map(|(k, v)| (k.to_string(), v))
    .collect::<BTreeMap<_, _>>();
    if !pool.zones.is_empty() {
        let zone = &pool.zones[index as usize % pool.zones.len()];
        labels.insert("topology.kubernetes.io/zone".into(), zone.clone());
    }
    for level in &pool.topology {
        let prefix = level.prefix.clone().unwrap_or_else(|| {
            let word = level.label.rsplit(['/', '-']).next().unwrap_or("domain");
            format!("{}-{word}", pool.name)
        });
        let domain = index / level.nodes_per_domain.max(1);
        labels.insert(level.label.clone(), format!("{prefix}-{domain}"));
    }
    labels.extend(pool.labels.clone());
    labels
}

/// The labels and taints of the pool as the value of the annotation.
pub(super) fn from_pool_annotation(pool: &NodePool, index: u32) -> String {
    let labels: Vec<String> = labels(pool, index).into_keys().collect();
    let taints: Vec<String> = pool
        .taints
        .iter()
        .map(|t| format!("{}:{}", t.key, t.effect))
        .collect();
    format!("{};{}", labels.join(","), taints.join(","))
}

/// The node; `number` is unique among all nodes of the lab and determines its addresses.
pub(super) fn node(
    pool: &NodePool,
    index: u32,
    number: u32,
    now: Timestamp,
    cluster_type: ClusterType,
    kubelet: Option<&KubeletAddress>,
) -> Node {
    let name = pool.node_name(index);
    let embedded = cluster_type == ClusterType::Embedded;
    let mut annotations = BTreeMap::from([(
        FROM_POOL_ANNOTATION.to_string(),
        from_pool_annotation(pool, index),
    )]);
    if embedded {
        annotations.insert(TTL_ANNOTATION.into(), "0".into());
    } else {
        let key = "cluster-autoscaler.kubernetes.io/scale-down-disabled";
        annotations.insert(key.into(), "true".into());
    }
    let cidr = embedded.then(|| pod_cidr(number));
    Node {
        metadata: ObjectMeta {
            name: Some(name.clone()),
            labels: Some(labels(pool, index)),
            annotations: Some(annotations),
            ..ObjectMeta::default()
        },
        spec: Some(NodeSpec {
            taints: (!pool.taints.is_empty()).then(|| pool.taints.clone()),
            pod_cidr: cidr.clone(),
            pod_cidrs: cidr.map(|cidr| vec![cidr]),
            provider_id: Some(provider_id(pool, &name)),
            ..NodeSpec::default()
        }),
        status: Some(status(pool, &name, number, now, cluster_type, kubelet)),
    }
}

/// The provider ID of a node.
fn provider_id(pool: &NodePool, name: &str) -> String {
    match &pool.provider_id {
        Some(id) => id.replace("$(NODE_NAME)", name),
        None => format!("kueue-lab://{}/{name}", pool.name),
    }
}

/// The template node of a pool for scale-up simulations.
pub fn template_node(pool: &NodePool, index: u32, now: Timestamp) -> Node {
    node(pool, index, index, now, ClusterType::Embedded, None)
}

impl NodePools {
    /// The nodes of all pools as they register on an embedded cluster, ready and without pods.
    pub fn nodes(&self, now: Timestamp) -> Vec<Node> {
        let pools = self.pools.iter();
        let all = pools.flat_map(|pool| (0..pool.count).map(move |index| (pool, index)));
        let nodes = all.zip(0..).map(|((pool, index), number)| {
            node(pool, index, number, now, ClusterType::Embedded, None)
        });
        nodes.collect()
    }
}

/// The pod CIDR of the n-th node: 10.64.0.0/10 has room for 16,384 nodes.
fn pod_cidr(number: u32) -> String {
    let number = number % 16_384;
    format!("10.{}.{}.0/24", 64 + number / 256, number % 256)
}

/// The capacity of each node as the API writes it.
pub(super) fn capacity(
    pool: &NodePool,
) -> BTreeMap<String, k8s_openapi::apimachinery::pkg::api::resource::Quantity> {
    let all = pool.resources.iter();
    all.map(|(name, amount)| (name.clone(), (*amount).into()))
        .collect()
}

/// The conditions of a healthy node, with the kubelet's messages.
pub(super) fn conditions(since: Timestamp, now: Timestamp) -> Vec<NodeCondition> {
    [
        (
            "MemoryPressure",
            "False",
            "KubeletHasSufficientMemory",
            "kubelet has sufficient memory available",
        ),
        (
            "DiskPressure",
            "False",
            "KubeletHasNoDiskPressure",
            "kubelet has no disk pressure",
        ),
        (
            "PIDPressure",
            "False",
            "KubeletHasSufficientPID",
            "kubelet has sufficient PID available",
        ),
        (
            "Ready",
            "True",
            "KubeletReady",
            "kubelet is posting ready status",
        ),
    ]
    .map(|(kind, status, reason, message)| NodeCondition {
        type_: kind.into(),
        status: status.into(),
        reason: Some(reason.into()),
        message: Some(message.into()),
        last_heartbeat_time: Some(Time(whole_seconds(now))),
        last_transition_time: Some(Time(whole_seconds(since))),
    })
    .to_vec()
}

fn status(
    pool: &NodePool,
    name: &str,
    number: u32,
    now: Timestamp,
    cluster_type: ClusterType,
    kubelet: Option<&KubeletAddress>,
) -> NodeStatus {
    let address = |kind: &str, address: String| NodeAddress {
        type_: kind.into(),
        address,
    };
    let number = number % 65_000;
    let (host, port) = KubeletAddress::hostname_and_port(kubelet, name);
    let mut addresses = vec![address("Hostname", host)];
    if cluster_type == ClusterType::Embedded {
        let virtual_ip = || format!("172.18.{}.{}", number / 254, 1 + number % 254);
        let ip = pool.address.map_or_else(virtual_ip, |ip| ip.to_string());
        addresses.insert(0, address("InternalIP", ip));
    }
    NodeStatus {
        addresses: Some(addresses),
        allocatable: Some(capacity(pool)),
        capacity: Some(capacity(pool)),
        conditions: Some(conditions(now, now)),
        daemon_endpoints: Some(NodeDaemonEndpoints {
            kubelet_endpoint: Some(DaemonEndpoint { port }),
        }),
        images: (!pool.images.is_empty()).then(|| pool.images.clone()),
        node_info: Some(NodeSystemInfo {
            architecture: "amd64".into(),
            operating_system: "linux".into(),
            kubelet_version: VERSION.into(),
            kube_proxy_version: VERSION.into(),
            container_runtime_version: "containerd://2.2.0".into(),
            kernel_version: "6.12.0-kueue-lab".into(),
            os_image: "kueue-lab virtual node".into(),
            machine_id: format!("{number:032x}"),
            system_uuid: format!("{number:08x}-0000-4000-8000-000000000000"),
            boot_id: format!("{number:08x}-0000-4000-8000-000000000001"),
            swap: None,
        }),
        ..NodeStatus::default()
    }
}

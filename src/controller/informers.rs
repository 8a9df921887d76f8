//! [`Informers`]: what is in the cluster, kind by kind.

use std::time::Duration;

use k8s_openapi::api::core::v1::{LimitRange, Namespace, Node, Pod};
use k8s_openapi::api::node::v1::RuntimeClass;
use k8s_openapi::api::resource::v1::{DeviceClass, ResourceClaimTemplate, ResourceSlice};
use k8s_openapi::api::scheduling::v1::PriorityClass;
use kube::Api;

use super::jobs::marks;
use kueue_lab_api::config::FeatureGates;

use kueue_lab_admission::workload::predicates;
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::{
    AdmissionCheck, ClusterQueue, Cohort, LocalQueue, ProvisioningRequestConfig, ResourceFlavor,
    Topology, Workload, WorkloadPriorityClass,
};
use kueue_lab_runtime::{Context, Informer};

/// What is in the cluster, kind by kind. Handles are cheap to clone.
#[derive(Clone)]
pub struct Informers {
    /// Workloads; indexes [`BY_QUEUE`], [`BY_CLUSTER_QUEUE`], [`BY_OWNER`].
    pub workloads: Informer<Workload>,
    /// ClusterQueues.
    pub cluster_queues: Informer<ClusterQueue>,
    /// LocalQueues; index [`BY_CLUSTER_QUEUE`].
    pub local_queues: Informer<LocalQueue>,
    /// Cohorts.
    pub cohorts: Informer<Cohort>,
    /// ResourceFlavors.
    pub flavors: Informer<ResourceFlavor>,
    /// AdmissionChecks.
    pub checks: Informer<AdmissionCheck>,
    /// Topologies.
    pub topologies: Informer<Topology>,
    /// Settings of provisioning checks.
    pub provisioning_configs: Informer<ProvisioningRequestConfig>,
    /// Kueue's own priority classes.
    pub workload_priority_classes: Informer<WorkloadPriorityClass>,
    /// Kubernetes' priority classes.
    pub priority_classes: Informer<PriorityClass>,
    /// Namespaces.
    pub namespaces: Informer<Namespace>,
    /// LimitRanges.
    pub limit_ranges: Informer<LimitRange>,
    /// RuntimeClasses.
    pub runtime_classes: Informer<RuntimeClass>,
    /// Nodes.
    pub nodes: Informer<Node>,
    /// Pods; indexes [`BY_OWNER`], [`BY_POD_GROUP`],
    /// [`BY_WORKLOAD`], [`BY_NODE`], [`BY_SELECTED_NODE`].
    pub pods: Informer<Pod>,
    /// Devices of dynamic resource allocation, where they count and the cluster serves them.
    pub devices: Option<DeviceInformers>,
}

/// What of dynamic resource allocation bears on admission.
#[derive(Clone)]
pub struct DeviceInformers {
    /// DeviceClasses.
    pub classes: Informer<DeviceClass>,
    /// ResourceClaimTemplates.
    pub templates: Informer<ResourceClaimTemplate>,
    /// ResourceSlices.
    pub slices: Informer<ResourceSlice>,
}

impl DeviceInformers {
    fn start(ctx: &Context) -> Self {
        let client = || ctx.client.clone();
        Self {
            classes: Informer::builder(Api::all(client())).start(ctx),
            templates: Informer::builder(Api::all(client())).start(ctx),
            slices: Informer::builder(Api::all(client())).start(ctx),
        }
    }

    /// Whether the cluster serves all of it.
    pub(super) async fn are_served(ctx: &Context) -> bool {
        loop {
            let asked = ctx.client.list_api_group_resources("resource.k8s.io/v1");
            match asked.await {
                Ok(list) => {
                    let there = |name: &str| list.resources.iter().any(|r| r.name == name);
                    let wanted = ["deviceclasses", "resourceclaimtemplates", "resourceslices"];
                    return wanted.into_iter().all(there);
                }
                Err(kube::Error::Api(status)) => {
                    if status.code != 404 {
                        tracing::warn!(%status, "devices do not count: their kinds cannot be listed");
                    }
                    return false;
                }
                Err(error) => {
                    tracing::debug!(%error, "the kinds of devices will be asked for again");
                    ctx.clock.sleep(Duration::from_secs(1)).await;
                }
            }
        }
    }
}

/// Index of Workloads by `namespace/queue name`.
pub const BY_QUEUE: &str = "queue";
/// Index by ClusterQueue: of Workloads the one that admitted them, of LocalQueues the one behind.
pub const BY_CLUSTER_QUEUE: &str = "clusterQueue";
/// Index by the UIDs of owners.
pub const BY_OWNER: &str = "owner";

/// Index of Workloads by owner: [`owner_key`].
pub const BY_OWNER_NAME: &str = "ownerName";

/// A job as owner, by kind and name: `apiVersion/kind/namespace/name`.
pub fn owner_key(api_version: &str, kind: &str, namespace: &str, name: &str) -> String {
    format!("{api_version}/{kind}/{namespace}/{name}")
}

/// Index of Pods by `namespace/group`.
pub const BY_POD_GROUP: &str = "podGroup";

/// Index of Pods by `namespace/slice`, or `namespace/Workload` of those that are in no slice.
pub const BY_WORKLOAD: &str = "workload";

fn workload_of(pod: &Pod) -> Vec<String> {
    let keys = [c::WORKLOAD_SLICE_NAME_ANNOTATION, c::WORKLOAD_ANNOTATION];
    let name = keys
        .iter()
        .find_map(|key| marks::annotation(&pod.metadata, key));
    let namespace = marks::namespace(&pod.metadata);
    name.map(|name| format!("{namespace}/{name}"))
        .into_iter()
        .collect()
}

/// Index of Pods by the node they are bound to.
pub const BY_NODE: &str = "node";
/// Index of Pods by the node their selector names.
pub const BY_SELECTED_NODE: &str = "selectedNode";

fn node_of(pod: &Pod) -> Vec<String> {
    let spec = pod.spec.as_ref();
    spec.and_then(|spec| spec.node_name.clone())
        .into_iter()
        .collect()
}

fn selected_node(pod: &Pod) -> Vec<String> {
    let selector = pod
        .spec
        .as_ref()
        .and_then(|spec| spec.node_selector.as_ref());
    let node = selector.and_then(|selector| selector.get("kubernetes.io/hostname"));
    node.cloned().into_iter().collect()
}

fn pod_groups(pod: &Pod, gates: &FeatureGates) -> Vec<String> {
    let group = marks::pod_group(&pod.metadata, gates);
    let namespace = marks::namespace(&pod.metadata);
    group
        .map(|group| format!("{namespace}/{group}"))
        .into_iter()
        .collect()
}

fn owner_names(meta: &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta) -> Vec<String> {
    let namespace = meta.namespace.as_deref().unwrap_or_default();
    let owners = meta.owner_references.iter().flatten();
    owners
        .map(|owner| owner_key(&owner.api_version, &owner.kind, namespace, &owner.name))
        .collect()
}

fn owners(meta: &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta) -> Vec<String> {
    let owners = meta.owner_references.iter().flatten();
    owners.map(|owner| owner.uid.clone()).collect()
}

impl Informers {
    /// Starts watching everything, devices where there are any.
    pub(super) fn start(ctx: &Context, gates: FeatureGates, devices: bool) -> Self {
        macro_rules! all {
            ($kind:ty) => {
                Informer::builder(Api::<$kind>::all(ctx.client.clone()))
            };
        }
        Self {
            namespaces: all!(Namespace).start(ctx),
            limit_ranges: all!(LimitRange).start(ctx),
            runtime_classes: all!(RuntimeClass).start(ctx),
            priority_classes: all!(PriorityClass).start(ctx),
            workload_priority_classes: all!(WorkloadPriorityClass).start(ctx),
            topologies: all!(Topology).start(ctx),
            flavors: all!(ResourceFlavor).start(ctx),
            provisioning_configs: all!(ProvisioningRequestConfig).start(ctx),
            checks: all!(AdmissionCheck).start(ctx),
            cohorts: all!(Cohort).start(ctx),
            cluster_queues: all!(ClusterQueue).start(ctx),
            local_queues: all!(LocalQueue)
                .index(BY_CLUSTER_QUEUE, |lq: &LocalQueue| {
                    vec![lq.spec.cluster_queue.clone()]
                })
                .start(ctx),
            workloads: all!(Workload)
                .index(BY_QUEUE, |wl: &Workload| {
                    vec![predicates::local_queue_key(wl).as_str().to_owned()]
                })
                .index(BY_CLUSTER_QUEUE, |wl: &Workload| {
                    wl.status
                        .admission
                        .iter()
                        .map(|a| a.cluster_queue.clone())
                        .collect()
                })
                .index(BY_OWNER, |wl: &Workload| owners(&wl.metadata))
                .index(BY_OWNER_NAME, |wl: &Workload| owner_names(&wl.metadata))
                .start(ctx),
            nodes: all!(Node).start(ctx),
            pods: all!(Pod)
                .index(BY_OWNER, |pod: &Pod| owners(&pod.metadata))
                .index(BY_WORKLOAD, workload_of)
                .index(BY_NODE, node_of)
                .index(BY_SELECTED_NODE, selected_node)
                .index(BY_POD_GROUP, move |pod: &Pod| pod_groups(pod, &gates))
                .start(ctx),
            devices: devices.then(|| DeviceInformers::start(ctx)),
        }
    }

    /// Waits until everything that is in the cluster is known.
    pub async fn synced(&self) {
        self.namespaces.synced().await;
        self.limit_ranges.synced().await;
        self.runtime_classes.synced().await;
        self.priority_classes.synced().await;
        self.workload_priority_classes.synced().await;
        self.topologies.synced().await;
        self.flavors.synced().await;
        self.provisioning_configs.synced().await;
        self.checks.synced().await;
        self.cohorts.synced().await;
        self.cluster_queues.synced().await;
        self.local_queues.synced().await;
        self.workloads.synced().await;
        self.nodes.synced().await;
        self.pods.synced().await;
        if let Some(devices) = &self.devices {
            devices.classes.synced().await;
            devices.templates.synced().await;
            devices.slices.synced().await;
        }
    }
}

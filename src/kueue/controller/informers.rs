//! [`Informers`]: the shared informers of the controllers.

use std::time::Duration;

use k8s_openapi::api::core::v1::{LimitRange, Namespace, Node, Pod};
use k8s_openapi::api::node::v1::RuntimeClass;
use k8s_openapi::api::resource::v1::{DeviceClass, ResourceClaimTemplate, ResourceSlice};
use k8s_openapi::api::scheduling::v1::PriorityClass;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::constants::LEADER_WORKER_SET_NAME_LABEL;
use super::job_annotations;
use super::object_meta;
use kueue_lab_api::config::FeatureGates;

use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::{
    AdmissionCheck, ClusterQueue, Cohort, HOSTNAME_LABEL, LocalQueue, ProvisioningRequestConfig,
    ResourceFlavor, Topology, Workload, WorkloadPriorityClass,
};
use kueue_lab_controller_runtime::{Api, Context, Informer};
use kueue_lab_engine::workload::predicates;

/// The shared informers of the controllers. Clones share them.
#[derive(Clone)]
pub struct Informers {
    /// Workloads; indexes [`BY_LOCAL_QUEUE`], [`BY_CLUSTER_QUEUE`], [`BY_OWNER_UID`],
    /// [`BY_OWNER_NAME`], [`BY_ADMITTED_NODE`].
    pub workloads: Informer<Workload>,
    /// ClusterQueues.
    pub cluster_queues: Informer<ClusterQueue>,
    /// LocalQueues; index [`BY_CLUSTER_QUEUE`].
    pub local_queues: Informer<LocalQueue>,
    /// Cohorts.
    pub cohorts: Informer<Cohort>,
    /// ResourceFlavors.
    pub resource_flavors: Informer<ResourceFlavor>,
    /// AdmissionChecks.
    pub admission_checks: Informer<AdmissionCheck>,
    /// Topologies.
    pub topologies: Informer<Topology>,
    /// ProvisioningRequestConfigs.
    pub provisioning_request_configs: Informer<ProvisioningRequestConfig>,
    /// WorkloadPriorityClasses.
    pub workload_priority_classes: Informer<WorkloadPriorityClass>,
    /// PriorityClasses.
    pub priority_classes: Informer<PriorityClass>,
    /// Namespaces.
    pub namespaces: Informer<Namespace>,
    /// LimitRanges.
    pub limit_ranges: Informer<LimitRange>,
    /// RuntimeClasses.
    pub runtime_classes: Informer<RuntimeClass>,
    /// Nodes.
    pub nodes: Informer<Node>,
    /// Pods; indexes [`BY_POD_GROUP`], [`BY_WORKLOAD_SLICE`], [`BY_NODE`], [`BY_SELECTED_NODE`],
    /// [`BY_LEADER_WORKER_SET`].
    pub pods: Informer<Pod>,
    /// Kinds of dynamic resource allocation; None if the integration is disabled or the cluster
    /// does not serve them.
    pub dra: Option<DraInformers>,
}

/// Informers of `resource.k8s.io`.
#[derive(Clone)]
pub struct DraInformers {
    /// DeviceClasses.
    pub device_classes: Informer<DeviceClass>,
    /// ResourceClaimTemplates.
    pub resource_claim_templates: Informer<ResourceClaimTemplate>,
    /// ResourceSlices.
    pub resource_slices: Informer<ResourceSlice>,
}

impl DraInformers {
    fn start(ctx: &Context) -> Self {
        let client = || ctx.client.clone();
        Self {
            device_classes: Informer::builder(Api::all(client())).start(ctx),
            resource_claim_templates: Informer::builder(Api::all(client())).start(ctx),
            resource_slices: Informer::builder(Api::all(client())).start(ctx),
        }
    }

    /// Whether the cluster serves these kinds. Retries until the API server responds.
    pub(super) async fn resource_api_is_served(ctx: &Context) -> bool {
        loop {
            let response = ctx.client.list_api_group_resources("resource.k8s.io/v1");
            match response.await {
                Ok(list) => {
                    let is_served = |name: &str| list.resources.iter().any(|r| r.name == name);
                    let required = ["deviceclasses", "resourceclaimtemplates", "resourceslices"];
                    return required.into_iter().all(is_served);
                }
                Err(kube::Error::Api(status)) => {
                    if status.code != 404 {
                        tracing::warn!(%status, "dynamic resource allocation is disabled: cannot list the kinds of resource.k8s.io");
                    }
                    return false;
                }
                Err(error) => {
                    tracing::debug!(%error, "cannot list the kinds of resource.k8s.io; retrying");
                    ctx.clock.sleep(Duration::from_secs(1)).await;
                }
            }
        }
    }
}

/// Index of Workloads by `namespace/queue name`.
pub(crate) const BY_LOCAL_QUEUE: &str = "queue";
/// Index by ClusterQueue: of Workloads by `status.admission`, of LocalQueues by
/// `spec.clusterQueue`.
pub(crate) const BY_CLUSTER_QUEUE: &str = "clusterQueue";
/// Index by owner UID.
pub(crate) const BY_OWNER_UID: &str = "owner";

/// Index of Workloads by the nodes they are assigned to: those that are admitted and neither finished
/// nor evicted. Upstream's `AdmittedWorkloadNodesKey`.
pub(crate) const BY_ADMITTED_NODE: &str = "admittedNode";

fn admitted_workload_nodes(wl: &Workload) -> Vec<String> {
    if predicates::is_finished(wl) || predicates::is_evicted(wl) {
        return Vec::new();
    }
    predicates::tas_assigned_node_names(wl)
}

/// Index of Workloads by owner: [`owner_key`].
pub(crate) const BY_OWNER_NAME: &str = "ownerName";

/// The index key of an owner: `apiVersion/kind/namespace/name`.
pub(crate) fn owner_key(api_version: &str, kind: &str, namespace: &str, name: &str) -> String {
    format!("{api_version}/{kind}/{namespace}/{name}")
}

/// Index of Pods by `namespace/group`.
pub(crate) const BY_POD_GROUP: &str = "podGroup";

/// Index of Pods and StatefulSets by LeaderWorkerSet: [`leader_worker_set_key`].
pub(crate) const BY_LEADER_WORKER_SET: &str = "leaderWorkerSet";

/// The index key of a LeaderWorkerSet: `namespace/name`.
pub(crate) fn leader_worker_set_key(namespace: &str, name: &str) -> String {
    format!("{namespace}/{name}")
}

/// The index key of the LeaderWorkerSet of an object, by its label.
pub(crate) fn leader_worker_sets(meta: &ObjectMeta) -> Vec<String> {
    let name = object_meta::label(meta, LEADER_WORKER_SET_NAME_LABEL);
    let key = name.map(|name| leader_worker_set_key(object_meta::namespace(meta), name));
    key.into_iter().collect()
}

/// Index of Pods by `namespace/slice`, or `namespace/workload` without a slice annotation.
pub(crate) const BY_WORKLOAD_SLICE: &str = "workload";

/// The first slice of the chain of a pod, or its Workload.
pub(crate) fn workload_slice_name(pod: &Pod) -> Option<&str> {
    let mut keys = [c::WORKLOAD_SLICE_NAME_ANNOTATION, c::WORKLOAD_ANNOTATION].iter();
    keys.find_map(|key| object_meta::annotation(&pod.metadata, key))
}

fn workload_of(pod: &Pod) -> Vec<String> {
    let namespace = object_meta::namespace(&pod.metadata);
    workload_slice_name(pod)
        .map(|name| format!("{namespace}/{name}"))
        .into_iter()
        .collect()
}

/// Index of Pods by `spec.nodeName`.
pub(crate) const BY_NODE: &str = "node";
/// Index of Pods by the hostname in their node selector.
pub(crate) const BY_SELECTED_NODE: &str = "selectedNode";

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
    let node = selector.and_then(|selector| selector.get(HOSTNAME_LABEL));
    node.cloned().into_iter().collect()
}

fn pod_groups(pod: &Pod, gates: &FeatureGates) -> Vec<String> {
    let group = job_annotations::pod_group_name(&pod.metadata, gates);
    let namespace = object_meta::namespace(&pod.metadata);
    group
        .map(|group| format!("{namespace}/{group}"))
        .into_iter()
        .collect()
}

fn owner_keys(meta: &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta) -> Vec<String> {
    let namespace = meta.namespace.as_deref().unwrap_or_default();
    let owners = meta.owner_references.iter().flatten();
    owners
        .map(|owner| owner_key(&owner.api_version, &owner.kind, namespace, &owner.name))
        .collect()
}

fn owner_uids(meta: &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta) -> Vec<String> {
    let owners = meta.owner_references.iter().flatten();
    owners.map(|owner| owner.uid.clone()).collect()
}

impl Informers {
    /// Starts all informers, those of `resource.k8s.io` if `devices`.
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
            resource_flavors: all!(ResourceFlavor).start(ctx),
            provisioning_request_configs: all!(ProvisioningRequestConfig).start(ctx),
            admission_checks: all!(AdmissionCheck).start(ctx),
            cohorts: all!(Cohort).start(ctx),
            cluster_queues: all!(ClusterQueue).start(ctx),
            local_queues: all!(LocalQueue)
                .index(BY_CLUSTER_QUEUE, |lq: &LocalQueue| {
                    vec![lq.spec.cluster_queue.clone()]
                })
                .start(ctx),
            workloads: all!(Workload)
                .index(BY_LOCAL_QUEUE, |wl: &Workload| {
                    vec![predicates::local_queue_key(wl).as_str().to_owned()]
                })
                .index(BY_CLUSTER_QUEUE, |wl: &Workload| {
                    wl.status
                        .admission
                        .iter()
                        .map(|a| a.cluster_queue.clone())
                        .collect()
                })
                .index(BY_ADMITTED_NODE, admitted_workload_nodes)
                .index(BY_OWNER_UID, |wl: &Workload| owner_uids(&wl.metadata))
                .index(BY_OWNER_NAME, |wl: &Workload| owner_keys(&wl.metadata))
                .start(ctx),
            nodes: all!(Node).start(ctx),
            pods: all!(Pod)
                .index(BY_WORKLOAD_SLICE, workload_of)
                .index(BY_NODE, node_of)
                .index(BY_SELECTED_NODE, selected_node)
                .index(BY_POD_GROUP, move |pod: &Pod| pod_groups(pod, &gates))
                .index(BY_LEADER_WORKER_SET, |pod: &Pod| {
                    leader_worker_sets(&pod.metadata)
                })
                .start(ctx),
            dra: devices.then(|| DraInformers::start(ctx)),
        }
    }

    /// Waits until all informers are synced.
    pub async fn wait_for_cache_sync(&self) {
        self.namespaces.wait_for_cache_sync().await;
        self.limit_ranges.wait_for_cache_sync().await;
        self.runtime_classes.wait_for_cache_sync().await;
        self.priority_classes.wait_for_cache_sync().await;
        self.workload_priority_classes.wait_for_cache_sync().await;
        self.topologies.wait_for_cache_sync().await;
        self.resource_flavors.wait_for_cache_sync().await;
        self.provisioning_request_configs
            .wait_for_cache_sync()
            .await;
        self.admission_checks.wait_for_cache_sync().await;
        self.cohorts.wait_for_cache_sync().await;
        self.cluster_queues.wait_for_cache_sync().await;
        self.local_queues.wait_for_cache_sync().await;
        self.workloads.wait_for_cache_sync().await;
        self.nodes.wait_for_cache_sync().await;
        self.pods.wait_for_cache_sync().await;
        if let Some(devices) = &self.dra {
            devices.device_classes.wait_for_cache_sync().await;
            devices.resource_claim_templates.wait_for_cache_sync().await;
            devices.resource_slices.wait_for_cache_sync().await;
        }
    }
}

//! [`ClusterState`]: what a plan compares of a lab.

use std::collections::BTreeMap;

use kube::core::{ApiResource, GroupVersionKind};
use kueue_lab_admission::engine::PendingOrder;
use kueue_lab_admission::workload::WorkloadKey;
use kueue_lab_api::v1beta2::GROUP;
use kueue_lab_import::PagedLists;
use kueue_lab_json::ValueExt;
use kueue_lab_lab::Lab;
use serde_json::Value;

use super::quota_state::QuotaState;
use super::workload_state::WorkloadState;

/// The resources of the objects that a preset configures: group, version, kind, plural.
const CONFIGURED: [(&str, &str, &str, &str); 15] = [
    ("", "v1", "Namespace", "namespaces"),
    ("", "v1", "LimitRange", "limitranges"),
    ("", "v1", "ResourceQuota", "resourcequotas"),
    ("", "v1", "ConfigMap", "configmaps"),
    (
        "scheduling.k8s.io",
        "v1",
        "PriorityClass",
        "priorityclasses",
    ),
    (
        GROUP,
        "v1beta2",
        "WorkloadPriorityClass",
        "workloadpriorityclasses",
    ),
    (GROUP, "v1beta2", "Topology", "topologies"),
    (
        GROUP,
        "v1beta2",
        "ProvisioningRequestConfig",
        "provisioningrequestconfigs",
    ),
    (GROUP, "v1beta2", "ResourceFlavor", "resourceflavors"),
    (GROUP, "v1beta2", "MultiKueueConfig", "multikueueconfigs"),
    (GROUP, "v1beta2", "MultiKueueCluster", "multikueueclusters"),
    (GROUP, "v1beta2", "AdmissionCheck", "admissionchecks"),
    (GROUP, "v1beta2", "Cohort", "cohorts"),
    (GROUP, "v1beta2", "ClusterQueue", "clusterqueues"),
    (GROUP, "v1beta2", "LocalQueue", "localqueues"),
];
/// ConfigMaps that the lab and kube-controller-manager write.
const GENERATED_CONFIG_MAPS: [&str; 2] = ["kueue-lab-presets", "kube-root-ca.crt"];

/// What a plan compares of a lab.
#[derive(Clone, Debug, Default)]
pub struct ClusterState {
    /// The Workloads by namespace and name.
    pub workloads: BTreeMap<String, WorkloadState>,
    /// The objects that presets configure, by kind, namespace and name.
    pub(crate) objects: BTreeMap<(usize, String, String), Value>,
    pub(crate) quotas: QuotaState,
    /// Active ClusterQueues that can admit no Workloads, and why.
    pub(crate) blocked_queues: BTreeMap<String, String>,
}

impl ClusterState {
    /// Reads the state of a lab.
    ///
    /// # Errors
    /// The API server of the lab does not answer.
    pub async fn of_lab(lab: &Lab) -> Result<Self, kube::Error> {
        let mut lists = PagedLists::new(lab.client());
        let mut state = Self::default();
        for (rank, (group, version, kind, plural)) in CONFIGURED.into_iter().enumerate() {
            for object in lists.list(&resource(group, version, kind, plural)).await? {
                match kind {
                    "ClusterQueue" => state.quotas.add_queue(&object),
                    "Cohort" => state.quotas.add_cohort(&object),
                    _ => {}
                }
                let namespace = object.text("/metadata/namespace").to_owned();
                let key = (rank, namespace, object.name().to_owned());
                let is_generated =
                    kind == "ConfigMap" && GENERATED_CONFIG_MAPS.contains(&object.name());
                if !is_generated {
                    state.objects.insert(key, object);
                }
            }
        }
        let workloads = resource(GROUP, "v1beta2", "Workload", "workloads");
        let workloads = lists.list(&workloads).await?;
        let now = lab.clock().now();
        let controller = lab.controller();
        let shared = controller.as_ref().map(|controller| controller.shared());
        // No scheduling cycle runs meanwhile, so that the order is computed once.
        let mut engine = shared.as_ref().map(|shared| shared.engine());
        let mut order = PendingOrder::default();
        if let Some(engine) = engine.as_deref() {
            let queues = state.quotas.cohort_of_queues.iter();
            let has_cycle = |queue: &str| engine.cache().workload_ancestors(queue).is_err();
            let blocked = queues
                .filter(|(queue, _)| has_cycle(queue))
                .map(|(queue, cohort)| (queue.clone(), state.quotas.cycle_text(cohort)));
            state.blocked_queues = blocked.collect();
        }
        for workload in workloads {
            let key = WorkloadKey::new(workload.text("/metadata/namespace"), workload.name());
            let explanation = engine
                .as_deref_mut()
                .and_then(|engine| engine.explain_in_order(&key, &mut order, now));
            let state_ = WorkloadState::new(&workload, explanation.as_ref());
            state.workloads.insert(state_.key.clone(), state_);
        }
        Ok(state)
    }

    /// The state of imported objects, as their statuses say.
    pub(crate) fn of_objects(objects: &[Value]) -> Self {
        let mut state = Self::default();
        for object in objects {
            let kind = object.text("/kind");
            if kind == "Workload" {
                let workload = WorkloadState::new(object, None);
                state.workloads.insert(workload.key.clone(), workload);
                continue;
            }
            let rank = CONFIGURED.iter().position(|(group, _, k, _)| {
                let api_version = object.text("/apiVersion");
                let (of, _) = api_version.split_once('/').unwrap_or(("", api_version));
                *k == kind && of == *group
            });
            if let Some(rank) = rank {
                let namespace = object.text("/metadata/namespace").to_owned();
                let key = (rank, namespace, object.name().to_owned());
                state.objects.insert(key, object.clone());
            }
        }
        state
    }

    /// Whether there is a ClusterQueue.
    pub(crate) fn has_cluster_queue(&self, name: &str) -> bool {
        self.queues()
            .any(|((rank, _, n), _)| kind_of(*rank) == "ClusterQueue" && n == name)
    }

    /// The ClusterQueues and LocalQueues.
    pub(crate) fn queues(&self) -> impl Iterator<Item = (&(usize, String, String), &Value)> {
        self.objects
            .iter()
            .filter(|((rank, ..), _)| matches!(kind_of(*rank), "ClusterQueue" | "LocalQueue"))
    }
}

/// The kind at a rank of the objects.
pub(crate) fn kind_of(rank: usize) -> &'static str {
    CONFIGURED.get(rank).map_or("", |(_, _, kind, _)| kind)
}

fn resource(group: &str, version: &str, kind: &str, plural: &str) -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural)
}

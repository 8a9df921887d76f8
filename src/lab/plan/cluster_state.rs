//! [`ClusterState`]: the state of a lab that a plan compares.

use std::collections::BTreeMap;
use std::fmt;

use kube::Api;
use kube::api::{DynamicObject, ListParams};
use kube::core::{ApiResource, GroupVersionKind};
use kueue_lab_api::preemption_policy::CANDIDATES_ANNOTATION;
use kueue_lab_api::v1beta2::GROUP;
use kueue_lab_engine::cycle::RecordedCandidates;
use kueue_lab_engine::engine::PendingOrder;
use kueue_lab_engine::workload::WorkloadKey;
use kueue_lab_import::{NamedObjects, ObjectName, PagedLists};
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
/// Page size of the list of Events.
const PAGE: u32 = 500;
/// ConfigMaps that the lab and kube-controller-manager write.
const GENERATED_CONFIG_MAPS: [&str; 2] = ["kueue-lab-presets", "kube-root-ca.crt"];

/// The identity of an object, in the order of the plan.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ObjectId {
    /// The index in [`CONFIGURED`], or its length for other kinds.
    rank: usize,
    pub(crate) group: String,
    pub(crate) kind: String,
    /// Empty for objects of the cluster.
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl ObjectId {
    /// The identity of an object with `apiVersion` and `kind`.
    fn of(object: &Value) -> Self {
        let api_version = object.text("/apiVersion");
        let (group, _) = api_version.split_once('/').unwrap_or(("", api_version));
        let kind = object.text("/kind");
        Self {
            rank: rank(group, kind),
            group: group.to_owned(),
            kind: kind.to_owned(),
            namespace: object.text("/metadata/namespace").to_owned(),
            name: object.name().to_owned(),
        }
    }
}

impl fmt::Display for ObjectId {
    /// `Kind/name` or `Kind/namespace/name`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            kind,
            namespace,
            name,
            ..
        } = self;
        match namespace.as_str() {
            "" => write!(f, "{kind}/{name}"),
            namespace => write!(f, "{kind}/{namespace}/{name}"),
        }
    }
}

/// The index of a kind in [`CONFIGURED`], or its length.
fn rank(group: &str, kind: &str) -> usize {
    let mut configured = CONFIGURED.iter();
    let found = configured.position(|(g, _, k, _)| (*g, *k) == (group, kind));
    found.unwrap_or(CONFIGURED.len())
}

/// The state of a lab that a plan compares.
#[derive(Clone, Debug, Default)]
pub struct ClusterState {
    /// The Workloads by namespace and name.
    pub workloads: BTreeMap<String, WorkloadState>,
    /// The objects that presets configure.
    pub(crate) objects: BTreeMap<ObjectId, Value>,
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
        Self::with_objects(lab, &[]).await
    }

    /// Reads the state of a lab, with objects of kinds that presets seldom have.
    pub(crate) async fn with_objects(
        lab: &Lab,
        others: &[ObjectName],
    ) -> Result<Self, kube::Error> {
        let mut lists = PagedLists::new(lab.client());
        let mut state = Self::default();
        for (group, version, kind, plural) in CONFIGURED {
            for object in lists.list(&resource(group, version, kind, plural)).await? {
                match kind {
                    "ClusterQueue" => state.quotas.add_queue(&object),
                    "Cohort" => state.quotas.add_cohort(&object),
                    _ => {}
                }
                let is_generated =
                    kind == "ConfigMap" && GENERATED_CONFIG_MAPS.contains(&object.name());
                if !is_generated {
                    state.objects.insert(ObjectId::of(&object), object);
                }
            }
        }
        let mut named = NamedObjects::new(lab.client());
        let is_listed = |name: &&ObjectName| rank(name.group(), &name.kind) < CONFIGURED.len();
        for name in others.iter().filter(|name| !is_listed(name)) {
            if let Some(object) = named.get(name).await? {
                state.objects.insert(ObjectId::of(&object), object);
            }
        }
        let workloads = resource(GROUP, "v1beta2", "Workload", "workloads");
        let workloads = lists.list(&workloads).await?;
        let is_evicted = |workload: &Value| workload.has("/status/schedulingStats/evictions");
        let mut preempted_among = match workloads.iter().any(is_evicted) {
            true => preempted_among(lab).await?,
            false => BTreeMap::new(),
        };
        let now = lab.clock().now();
        let controller = lab.controller();
        let shared = controller.as_ref().map(|controller| controller.shared());
        // No scheduling cycle runs in between, so that the order is computed once.
        let mut engine = shared.as_ref().map(|shared| shared.engine());
        let mut order = PendingOrder::default();
        if let Some(engine) = engine.as_deref() {
            let queues = state.queues().map(|(id, _)| id);
            let queues = queues.filter(|id| id.kind == "ClusterQueue");
            let blocked = queues.filter_map(|id| {
                let cycle = engine.cohort_cycle(&id.name)?;
                Some((id.name.clone(), cycle.to_string()))
            });
            state.blocked_queues = blocked.collect();
        }
        for workload in workloads {
            let key = WorkloadKey::new(workload.text("/metadata/namespace"), workload.name());
            let explanation = engine
                .as_deref_mut()
                .and_then(|engine| engine.explain_in_order(&key, &mut order, now));
            let mut state_ = WorkloadState::new(&workload, explanation.as_ref());
            let among = preempted_among.remove(&state_.uid);
            state_.preempted_among = among.map_or_else(String::new, |(_, text)| text);
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
            let id = ObjectId::of(object);
            if id.rank < CONFIGURED.len() {
                state.objects.insert(id, object.clone());
            }
        }
        state
    }

    /// Whether there is a ClusterQueue.
    pub(crate) fn has_cluster_queue(&self, name: &str) -> bool {
        self.queues()
            .any(|(id, _)| id.kind == "ClusterQueue" && id.name == name)
    }

    /// The ClusterQueues and LocalQueues.
    pub(crate) fn queues(&self) -> impl Iterator<Item = (&ObjectId, &Value)> {
        let objects = self.objects.iter();
        objects.filter(|(id, _)| {
            id.group == GROUP && matches!(id.kind.as_str(), "ClusterQueue" | "LocalQueue")
        })
    }
}

/// The candidates of the last preemption of each Workload with an Event of it, by its uid.
async fn preempted_among(lab: &Lab) -> Result<BTreeMap<String, (String, String)>, kube::Error> {
    let events =
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("", "v1", "Event"), "events");
    let api: Api<DynamicObject> = Api::all_with(lab.client(), &events);
    let mut params = ListParams::default().fields("reason=Preempted").limit(PAGE);
    let mut last: BTreeMap<String, (String, String)> = BTreeMap::new();
    loop {
        let page = api.list(&params).await?;
        for event in page.items {
            let annotations = event.metadata.annotations.as_ref();
            let recorded = annotations.and_then(|all| all.get(CANDIDATES_ANNOTATION));
            let recorded: Option<RecordedCandidates> =
                recorded.and_then(|text| serde_json::from_str(text).ok());
            let Some(text) = recorded.and_then(|recorded| recorded.text()) else {
                continue;
            };
            // RFC 3339 in UTC.
            let time = event.data.text("/eventTime").to_owned();
            let known = last.entry(event.data.text("/involvedObject/uid").to_owned());
            let known = known.or_default();
            if known.0 <= time {
                *known = (time, text);
            }
        }
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params.continue_token = Some(token),
            None => return Ok(last),
        }
    }
}

fn resource(group: &str, version: &str, kind: &str, plural: &str) -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural)
}

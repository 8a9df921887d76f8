//! The DaemonSet controller: one pod on every eligible node.
//!
//! Node selector, required node affinity and taints decide which nodes are eligible; the pod is
//! bound by the scheduler, with affinity to that one node.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{DaemonSet, DaemonSetSpec, DaemonSetStatus};
use k8s_openapi::api::core::v1::{
    Node, NodeAffinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, Pod, Toleration,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::ResourceExt;

use super::controller_history::ControllerHistory;
use super::daemonset_node_predicate::{DAEMON_TOLERATIONS, should_run_on_node};
use super::statefulset::identity::{REVISION, revision_of};
use crate::workload_controllers::apps::reconciler::{self, Reconciler};
use crate::workload_controllers::pod_control::PodControl;
use crate::workload_controllers::{SharedInformers, pod_template};
use kueue_lab_controller_runtime::{
    Api, Change, Context, Informer, ObjectKey, ReconcileResult, WorkQueue, controller_of,
};
use kueue_lab_controller_utils::pods;
use kueue_lab_controller_utils::pods::CONTROLLER_UID_INDEX;

const WORKERS: usize = 2;
/// Maximum number of pods created or deleted per sync.
const BURST_REPLICAS: usize = 250;

/// Starts the controller in the tasks of `context`.
pub(crate) fn start(context: &Context, shared: &SharedInformers) {
    let queue: WorkQueue<ObjectKey> = WorkQueue::new(context);
    let recorder = shared.recorder.with_component("daemonset-controller", None);
    let controller = Arc::new(DaemonSetController {
        context: context.clone(),
        sets: Informer::builder(Api::all(context.client.clone())).start(context),
        nodes: shared.nodes.clone(),
        pods: shared.pods.clone(),
        history: ControllerHistory::new(context, shared),
        control: PodControl::new(context, shared.pods.clone(), recorder),
    });
    let on_pod = queue.clone();
    controller.pods.add_event_handler(move |change| {
        let pod = change.object();
        let owner = controller_of(&pod.metadata).filter(|o| o.kind == "DaemonSet");
        if let Some(owner) = owner {
            let namespace = pod.namespace().unwrap_or_default();
            on_pod.add(ObjectKey::new(namespace, owner.name.as_str()));
        }
    });
    let (on_node, sets) = (queue.clone(), controller.sets.clone());
    controller.nodes.add_event_handler(move |change| {
        if should_sync_for_node_change(change) {
            let all = sets.list();
            all.iter()
                .for_each(|set| on_node.add(ObjectKey::of(set.as_ref())));
        }
    });
    let (nodes, pods) = (controller.nodes.clone(), controller.pods.clone());
    let history = controller.history.clone();
    let ready = async move {
        nodes.wait_for_cache_sync().await;
        pods.wait_for_cache_sync().await;
        history.synced().await;
    };
    reconciler::run(context, "daemonset", WORKERS, queue, controller, ready);
}

/// Whether a change of a node can affect its eligibility; heartbeats cannot.
fn should_sync_for_node_change(change: &Change<Node>) -> bool {
    match change {
        Change::Updated { old, new } => {
            old.metadata.labels != new.metadata.labels || old.spec != new.spec
        }
        Change::Added(_) | Change::Deleted(_) => true,
    }
}

struct DaemonSetController {
    context: Context,
    sets: Informer<DaemonSet>,
    nodes: Informer<Node>,
    pods: Informer<Pod>,
    history: ControllerHistory,
    control: PodControl,
}

impl Reconciler for DaemonSetController {
    type Object = DaemonSet;
    type Dependent = Pod;

    fn objects(&self) -> &Informer<DaemonSet> {
        &self.sets
    }

    fn dependents(&self) -> &Informer<Pod> {
        &self.pods
    }

    fn selector(set: &DaemonSet) -> Option<&LabelSelector> {
        set.spec.as_ref().map(|spec| &spec.selector)
    }

    async fn reconcile(
        &self,
        set: &DaemonSet,
        owned: Vec<Arc<Pod>>,
    ) -> Result<ReconcileResult, kube::Error> {
        let Some(spec) = &set.spec else {
            return Ok(ReconcileResult::Done);
        };
        let collisions = set.status.as_ref().and_then(|s| s.collision_count);
        let recorded = self
            .history
            .sync_revision(set, &spec.template, &spec.selector, collisions);
        let revision = recorded.await?.name_any();
        let sync = DaemonSetSync {
            set,
            spec,
            eligible_nodes: self.eligible_nodes(spec),
            revision: &revision,
            now: self.context.clock.now(),
        };
        let mut failure = None;
        if set.metadata.deletion_timestamp.is_none() {
            let mut plan = sync.plan(&owned);
            // The changes of these cause the next sync.
            plan.delete.truncate(BURST_REPLICAS);
            plan.create.truncate(BURST_REPLICAS);
            failure = self.control.delete(set, &plan.delete, None).await.error;
            let created = self.control.create(set, plan.create).await;
            failure = failure.or(created.error);
        }
        let uid = set.uid().unwrap_or_default();
        let status = sync.status(&self.pods.by_index(CONTROLLER_UID_INDEX, &uid));
        if set.status.as_ref() != Some(&status) {
            let next = DaemonSet {
                status: Some(status),
                ..set.clone()
            };
            reconciler::write_status(&self.context.client, &self.sets, &next).await?;
        }
        failure.map_or(Ok(ReconcileResult::Done), Err)
    }
}

impl DaemonSetController {
    /// The names of the eligible nodes.
    fn eligible_nodes(&self, spec: &DaemonSetSpec) -> BTreeSet<String> {
        let nodes = self.nodes.list().into_iter();
        let is_eligible = |node: &Node| {
            spec.template
                .spec
                .as_ref()
                .is_some_and(|s| should_run_on_node(s, node))
        };
        nodes
            .filter(|node| is_eligible(node))
            .map(|node| node.name_any())
            .collect()
    }
}

struct DaemonSetPlan {
    create: Vec<Pod>,
    delete: Vec<Arc<Pod>>,
}

/// One reconciliation of a DaemonSet.
struct DaemonSetSync<'a> {
    set: &'a DaemonSet,
    spec: &'a DaemonSetSpec,
    /// The names of the eligible nodes.
    eligible_nodes: BTreeSet<String>,
    /// The name of the current revision.
    revision: &'a str,
    now: Timestamp,
}

impl DaemonSetSync<'_> {
    /// The pods to create and to delete.
    fn plan(&self, owned: &[Arc<Pod>]) -> DaemonSetPlan {
        let mut delete = Vec::new();
        let mut by_node: BTreeMap<String, Vec<Arc<Pod>>> = BTreeMap::new();
        for pod in owned.iter().filter(|p| !pods::is_deleting(p)) {
            match target_node_name(pod).filter(|node| self.eligible_nodes.contains(*node)) {
                // A terminal pod is replaced, like one on a node that is no longer eligible.
                Some(node) if !pods::is_terminal(pod) => {
                    by_node
                        .entry(node.to_string())
                        .or_default()
                        .push(pod.clone());
                }
                _ => delete.push(pod.clone()),
            }
        }
        for duplicates in by_node.values_mut().filter(|pods| pods.len() > 1) {
            duplicates.sort_by_key(|p| (pods::created(p.as_ref()), p.name_any()));
            delete.extend(duplicates.drain(1..));
        }
        let terminating = owned
            .iter()
            .filter(|p| pods::is_deleting(p))
            .filter_map(|p| target_node_name(p));
        let terminating: BTreeSet<&str> = terminating.collect();
        let free = self
            .eligible_nodes
            .iter()
            .filter(|node| !by_node.contains_key(*node) && !terminating.contains(node.as_str()));
        let create = free
            .map(|node| pod(self.set, self.spec, node, self.revision))
            .collect();
        delete.extend(self.rolling_update_deletions(&by_node));
        DaemonSetPlan { create, delete }
    }

    /// Pods of old templates to delete, up to `maxUnavailable`.
    fn rolling_update_deletions(&self, by_node: &BTreeMap<String, Vec<Arc<Pod>>>) -> Vec<Arc<Pod>> {
        let desired = self.eligible_nodes.len();
        let strategy = self.spec.update_strategy.as_ref();
        if strategy.and_then(|s| s.type_.as_deref()) == Some("OnDelete") {
            return Vec::new();
        }
        let rolling = strategy.and_then(|s| s.rolling_update.as_ref());
        let max_unavailable = rolling.and_then(|r| r.max_unavailable.as_ref());
        let max_unavailable = max_unavailable
            .map_or(1, |m| {
                kueue_lab_component_helpers::int_or_percent::scaled_value_from_int_or_percent(
                    m,
                    desired as i32,
                    true,
                )
            })
            .max(1);
        let min_ready = self.spec.min_ready_seconds.unwrap_or(0);
        let available = |pod: &Pod| pods::is_available(pod, min_ready, self.now);
        let all = || by_node.values().flatten();
        let unavailable = desired.saturating_sub(all().filter(|p| available(p)).count());
        let budget = (max_unavailable as usize).saturating_sub(unavailable);
        let old = all().filter(|p| revision_of(p) != self.revision);
        let (available_pods, unavailable_pods): (Vec<_>, Vec<_>) =
            old.cloned().partition(|p| available(p));
        unavailable_pods
            .into_iter()
            .chain(available_pods.into_iter().take(budget))
            .collect()
    }

    /// The status.
    fn status(&self, owned: &[Arc<Pod>]) -> DaemonSetStatus {
        let min_ready = self.spec.min_ready_seconds.unwrap_or(0);
        let mut by_node: BTreeMap<&str, &Arc<Pod>> = BTreeMap::new();
        for pod in owned.iter().filter(|p| !pods::is_deleting(p)) {
            if let Some(node) = target_node_name(pod) {
                by_node.entry(node).or_insert(pod);
            }
        }
        let scheduled = || {
            by_node
                .iter()
                .filter(|(node, _)| self.eligible_nodes.contains(**node))
                .map(|(_, pod)| *pod)
        };
        let count = |which: &dyn Fn(&Pod) -> bool| scheduled().filter(|p| which(p)).count() as i32;
        let positive = |number: i32| Some(number).filter(|n| *n > 0);
        let desired = self.eligible_nodes.len() as i32;
        let available = count(&|p| pods::is_available(p, min_ready, self.now));
        let before = self.set.status.clone().unwrap_or_default();
        DaemonSetStatus {
            desired_number_scheduled: desired,
            current_number_scheduled: scheduled().count() as i32,
            number_misscheduled: by_node
                .keys()
                .filter(|node| !self.eligible_nodes.contains(**node))
                .count() as i32,
            number_ready: count(&pods::is_ready),
            number_available: positive(available),
            number_unavailable: positive(desired - available),
            updated_number_scheduled: positive(count(&|p| revision_of(p) == self.revision)),
            observed_generation: self.set.metadata.generation,
            collision_count: before.collision_count,
            conditions: before.conditions,
        }
    }
}

/// The node that a pod is bound to, or has affinity to.
fn target_node_name(pod: &Pod) -> Option<&str> {
    let spec = pod.spec.as_ref()?;
    if let Some(node) = spec.node_name.as_deref().filter(|n| !n.is_empty()) {
        return Some(node);
    }
    let affinity = spec.affinity.as_ref()?.node_affinity.as_ref()?;
    let required = affinity
        .required_during_scheduling_ignored_during_execution
        .as_ref()?;
    let fields = required
        .node_selector_terms
        .iter()
        .filter_map(|t| t.match_fields.as_ref());
    let mut names = fields.flatten().filter(|f| f.key == "metadata.name");
    names
        .find_map(|f| f.values.as_ref()?.first())
        .map(String::as_str)
}

/// The pod for one node.
fn pod(set: &DaemonSet, spec: &DaemonSetSpec, node: &str, revision: &str) -> Pod {
    let mut pod = pod_template::pod_from_template(&spec.template, set);
    let labels = pod.metadata.labels.get_or_insert_default();
    labels.insert(REVISION.to_string(), revision.to_string());
    let Some(spec) = &mut pod.spec else {
        return pod;
    };
    let only = NodeSelectorRequirement {
        key: "metadata.name".to_string(),
        operator: "In".to_string(),
        values: Some(vec![node.to_string()]),
    };
    let affinity = spec.affinity.get_or_insert_default();
    let affinity: &mut NodeAffinity = affinity.node_affinity.get_or_insert_default();
    affinity.required_during_scheduling_ignored_during_execution = Some(NodeSelector {
        node_selector_terms: vec![NodeSelectorTerm {
            match_expressions: None,
            match_fields: Some(vec![only]),
        }],
    });
    let tolerations = spec.tolerations.get_or_insert_default();
    for (key, effect) in DAEMON_TOLERATIONS {
        tolerations.push(Toleration {
            key: Some(key.to_string()),
            operator: Some("Exists".to_string()),
            effect: Some(effect.to_string()),
            ..Toleration::default()
        });
    }
    pod
}

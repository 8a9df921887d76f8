//! The node failure controller: records failed nodes in `status.unhealthyNodes` of the Workloads
//! with pods assigned to them, so that the scheduler replaces the node. A Workload with a second
//! failed node is evicted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use k8s_openapi::api::core::v1::{Node, Pod, Taint, Toleration};
use kube::api::Patch;
use serde_json::json;

use super::pods::{annotation, has_topology_gate, is_tas_pod};
use crate::ControllerContext;
use crate::core::workload::evict;
use crate::event_recorder::EventSpec;
use crate::informers::{BY_ADMITTED_NODE, BY_NODE, BY_SELECTED_NODE, BY_WORKLOAD_SLICE};
use crate::object_meta;
use crate::pod_util::is_terminated;
use crate::update::patch_params;
use crate::workload_patching::{self, StatusApplyMode};
use kueue_lab_api::config::Feature;
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::{HOSTNAME_LABEL, PodSetAssignment, UnhealthyNode, Workload};
use kueue_lab_component_helpers::toleration::{
    ComparisonOperators, is_scheduling_taint, tolerates_taint,
};
use kueue_lab_controller_runtime::api_errors::ignore_not_found;
use kueue_lab_controller_runtime::{Api, Change, ObjectKey, ReconcileResult, WorkQueue};
use kueue_lab_engine::messages::EventType;
use kueue_lab_engine::status::Eviction;
use kueue_lab_engine::topology_assignment::assigned_node_names;
use kueue_lab_engine::workload::predicates;

/// A node that is not ready for this long counts as failed.
const NODE_FAILURE_DELAY: SignedDuration = SignedDuration::from_secs(30);
/// Batch period for changes of pods.
const RECONCILE_BATCH_PERIOD: Duration = Duration::from_millis(100);
const REPORTING_CONTROLLER: &str = "tas-resource-flavor-controller";

pub(super) fn start(shared: &ControllerContext) {
    let queue = WorkQueue::new(&shared.ctx);
    let (queue_handle, s) = (queue.clone(), shared.clone());
    shared.informers.nodes.add_event_handler(move |change| {
        let node = match change {
            Change::Updated { old, new } if !is_relevant_update(&s, old, new) => return,
            Change::Added(node) | Change::Updated { new: node, .. } | Change::Deleted(node) => node,
        };
        queue_handle.add(ObjectKey::of(node.as_ref()));
    });
    let queue_handle = queue.clone();
    shared.informers.pods.add_event_handler(move |change| {
        let pod = change.object();
        if !is_tas_pod(pod) {
            return;
        }
        let spec = pod.spec.as_ref();
        let bound = spec
            .and_then(|spec| spec.node_name.as_deref())
            .filter(|n| !n.is_empty());
        let selected = spec.and_then(|spec| spec.node_selector.as_ref()?.get(HOSTNAME_LABEL));
        match (bound, selected) {
            (Some(node), _) if pod.metadata.deletion_timestamp.is_some() || is_terminated(pod) => {
                queue_handle.add_after(ObjectKey::cluster(node), RECONCILE_BATCH_PERIOD);
            }
            (None, Some(node)) => {
                queue_handle.add_after(ObjectKey::cluster(node), RECONCILE_BATCH_PERIOD)
            }
            _ => {}
        }
    });
    shared.start_workers(
        &queue,
        "node-failures",
        ("Node", 1),
        |shared, key| async move {
            NodeReconciler {
                shared: &shared,
                node: &key.name,
            }
            .reconcile(&key)
            .await
        },
    );
}

fn ready_condition(node: &Node) -> Option<&k8s_openapi::api::core::v1::NodeCondition> {
    let mut conditions = node
        .status
        .iter()
        .flat_map(|s| s.conditions.iter().flatten());
    conditions.find(|cond| cond.type_ == "Ready")
}

fn is_ready(node: &Node) -> bool {
    ready_condition(node).is_some_and(|cond| cond.status == "True")
}

fn taints(node: &Node) -> &[Taint] {
    node.spec
        .as_ref()
        .and_then(|spec| spec.taints.as_deref())
        .unwrap_or_default()
}

fn is_relevant_update(shared: &ControllerContext, old: &Node, new: &Node) -> bool {
    is_ready(old) != is_ready(new)
        || (shared.settings.enabled(Feature::TASReplaceNodeOnNodeTaints)
            && taints(old) != taints(new))
}

/// Whether the assignment of a pod set includes a node.
fn is_assigned_to_node(psa: &PodSetAssignment, node: &str) -> bool {
    let assignment = psa.topology_assignment.as_ref();
    assignment.is_some_and(|assignment| assigned_node_names(assignment).any(|name| name == node))
}

fn pod_set_assignments(wl: &Workload) -> impl Iterator<Item = &PodSetAssignment> {
    wl.status
        .admission
        .iter()
        .flat_map(|a| &a.pod_set_assignments)
}

/// The result of checking a Workload on a node.
#[derive(Default)]
struct WorkloadHealthCheck {
    /// The node is unhealthy for the Workload.
    unhealthy: bool,
    /// Pods that cannot run on the node.
    pods_to_terminate: Vec<Arc<Pod>>,
}

/// A node to reconcile.
struct NodeReconciler<'a> {
    shared: &'a ControllerContext,
    node: &'a str,
}

impl NodeReconciler<'_> {
    fn enabled(&self, feature: Feature) -> bool {
        self.shared.settings.enabled(feature)
    }

    async fn reconcile(&self, key: &ObjectKey) -> kube::Result<ReconcileResult> {
        let node = self.shared.informers.nodes.get(key);
        let condition = node.as_deref().and_then(ready_condition);
        let mut expired = false;
        if let Some(cond) = condition.filter(|cond| cond.status != "True") {
            let since = cond.last_transition_time.as_ref().map(|t| t.0);
            let passed = since.map_or(SignedDuration::MAX, |at| {
                self.shared.now().duration_since(at)
            });
            expired = passed >= NODE_FAILURE_DELAY;
            if !expired && !self.enabled(Feature::TASReplaceNodeOnPodTermination) {
                return Ok(ReconcileResult::RequeueAfter(
                    (NODE_FAILURE_DELAY - passed).unsigned_abs(),
                ));
            }
        }
        let mut affected = self.workloads_on_node_from_tas_assignment();
        let (Some(node), Some(_)) = (&node, condition) else {
            self.handle_unhealthy_node(&affected).await?;
            return Ok(ReconcileResult::Done);
        };
        if expired && self.enabled(Feature::TASReplaceNodeDueToNotReadyOverFixedTime) {
            let evicted = self.handle_unhealthy_node(&affected).await?;
            affected.retain(|key| !evicted.contains(key));
        }
        let waiting = self.pods_assigned_by_node_selector();
        for key in waiting.keys() {
            let wl = self.shared.informers.workloads.get(key);
            if wl.is_some_and(|wl| !predicates::is_finished(&wl) && !predicates::is_evicted(&wl)) {
                affected.insert(key.clone());
            }
        }
        self.reconcile_workloads_on_node(node, &affected, &waiting)
            .await?;
        Ok(ReconcileResult::Done)
    }

    /// The admitted Workloads with an assignment to the node that are neither finished nor evicted.
    fn workloads_on_node_from_tas_assignment(&self) -> BTreeSet<ObjectKey> {
        let workloads = &self.shared.informers.workloads;
        let on_node = workloads.by_index(BY_ADMITTED_NODE, self.node).into_iter();
        on_node.map(|wl| ObjectKey::of(wl.as_ref())).collect()
    }

    /// The pods whose node selector names the node, by Workload.
    fn pods_assigned_by_node_selector(&self) -> BTreeMap<ObjectKey, Vec<Arc<Pod>>> {
        let mut pods: BTreeMap<ObjectKey, Vec<Arc<Pod>>> = BTreeMap::new();
        for pod in self
            .shared
            .informers
            .pods
            .by_index(BY_SELECTED_NODE, self.node)
        {
            if let Some(wl) = annotation(&pod, c::WORKLOAD_ANNOTATION) {
                let namespace = pod.metadata.namespace.clone().unwrap_or_default();
                pods.entry(ObjectKey::new(namespace, wl))
                    .or_default()
                    .push(pod);
            }
        }
        pods
    }

    async fn reconcile_workloads_on_node(
        &self,
        node: &Node,
        affected: &BTreeSet<ObjectKey>,
        waiting: &BTreeMap<ObjectKey, Vec<Arc<Pod>>>,
    ) -> kube::Result<()> {
        let (mut failed, mut stuck) = (BTreeSet::new(), Vec::new());
        for key in affected {
            let Some(wl) = self.shared.informers.workloads.get(key) else {
                continue;
            };
            let assigned_pods = waiting.get(key).map_or(&[] as &[_], Vec::as_slice);
            let health = self.workload_health(node, &wl, assigned_pods);
            stuck.push((key, health.pods_to_terminate));
            if health.unhealthy {
                failed.insert(key.clone());
            } else if predicates::has_unhealthy_node(&wl, self.node) {
                workload_patching::patch_admission_status(
                    self.shared,
                    &wl,
                    StatusApplyMode::Strict,
                    |wl| {
                        wl.status.unhealthy_nodes.retain(|n| n.name != self.node);
                        true
                    },
                )
                .await?;
            }
        }
        let evicted = self.handle_unhealthy_node(&failed).await?;
        for (_, pods) in stuck.into_iter().filter(|(key, _)| !evicted.contains(*key)) {
            for pod in pods {
                self.mark_pod_failed(&pod).await?;
            }
        }
        Ok(())
    }

    fn workload_health(
        &self,
        node: &Node,
        wl: &Workload,
        assigned_pods: &[Arc<Pod>],
    ) -> WorkloadHealthCheck {
        let on_termination = self.enabled(Feature::TASReplaceNodeOnPodTermination);
        let failed = WorkloadHealthCheck {
            unhealthy: true,
            pods_to_terminate: Vec::new(),
        };
        if !pod_set_assignments(wl).any(|psa| is_assigned_to_node(psa, self.node)) {
            // Pods created for a node that was replaced.
            return WorkloadHealthCheck {
                unhealthy: false,
                pods_to_terminate: unbound_pending_pods(assigned_pods),
            };
        }
        if !is_ready(node) {
            return if on_termination {
                self.check_pods_on_node(wl, assigned_pods)
            } else {
                failed
            };
        }
        if !self.enabled(Feature::TASReplaceNodeOnNodeTaints) {
            return WorkloadHealthCheck::default();
        }
        match self.classify_taints(node, wl) {
            TaintToleration::ToleratedPermanently => WorkloadHealthCheck::default(),
            TaintToleration::ToleratedTemporarily => self.check_pods_on_node(wl, assigned_pods),
            TaintToleration::Untolerated if on_termination => {
                self.check_pods_on_node(wl, assigned_pods)
            }
            TaintToleration::Untolerated => failed,
        }
    }

    /// The node is unhealthy for a Workload when none of its pods runs on it.
    fn check_pods_on_node(&self, wl: &Workload, assigned_pods: &[Arc<Pod>]) -> WorkloadHealthCheck {
        let slice = predicates::annotation(wl, c::WORKLOAD_SLICE_NAME_ANNOTATION);
        let slice = slice.unwrap_or(predicates::name(wl));
        let index = format!("{}/{slice}", predicates::namespace(wl));
        let is_not_terminated =
            |pod: &Arc<Pod>| pod.metadata.deletion_timestamp.is_none() && !is_terminated(pod);
        let on_node = self.shared.informers.pods.by_index(BY_NODE, self.node);
        let own = self
            .shared
            .informers
            .pods
            .by_index(BY_WORKLOAD_SLICE, &index);
        let runs = on_node
            .iter()
            .any(|pod| is_not_terminated(pod) && own.iter().any(|o| Arc::ptr_eq(o, pod)));
        WorkloadHealthCheck {
            unhealthy: !runs,
            pods_to_terminate: unbound_pending_pods(assigned_pods),
        }
    }

    /// The toleration of the taints of the node by the pods of a Workload.
    fn classify_taints(&self, node: &Node, wl: &Workload) -> TaintToleration {
        let sets: Vec<Vec<Toleration>> = pod_set_assignments(wl)
            .filter(|psa| is_assigned_to_node(psa, self.node))
            .map(|psa| self.effective_tolerations(wl, psa))
            .collect();
        let mut worst = TaintToleration::ToleratedPermanently;
        for taint in taints(node)
            .iter()
            .filter(|taint| is_scheduling_taint(taint))
        {
            for set in &sets {
                let fitting = || {
                    let comparison = ComparisonOperators::Enabled;
                    set.iter()
                        .filter(move |t| tolerates_taint(t, taint, comparison))
                };
                if fitting().next().is_none() {
                    return TaintToleration::Untolerated;
                }
                if !fitting().any(|t| t.toleration_seconds.is_none()) {
                    worst = TaintToleration::ToleratedTemporarily;
                }
            }
        }
        worst
    }

    /// The tolerations of a pod set: of its template, its flavors and its admission checks.
    fn effective_tolerations(&self, wl: &Workload, psa: &PodSetAssignment) -> Vec<Toleration> {
        let set = wl.spec.pod_sets.iter().find(|ps| ps.name == psa.name);
        let own = set.and_then(|ps| ps.template.spec.as_ref()?.tolerations.clone());
        let mut all = own.unwrap_or_default();
        for flavor in psa.flavors.values() {
            if let Some(flavor) = self
                .shared
                .informers
                .resource_flavors
                .get(&ObjectKey::cluster(flavor))
            {
                all.extend(flavor.spec.tolerations.iter().cloned());
            }
        }
        let updates = wl
            .status
            .admission_checks
            .iter()
            .flat_map(|check| &check.pod_set_updates);
        let of_set = updates.filter(|update| update.name == psa.name);
        all.extend(of_set.flat_map(|update| update.tolerations.iter().cloned()));
        all
    }

    /// Adds the node to `unhealthyNodes`; Workloads with another unhealthy node are evicted and
    /// returned.
    async fn handle_unhealthy_node(
        &self,
        affected: &BTreeSet<ObjectKey>,
    ) -> kube::Result<BTreeSet<ObjectKey>> {
        let mut evicted = BTreeSet::new();
        for key in affected {
            let Some(wl) = self.shared.informers.workloads.get(key) else {
                continue;
            };
            if predicates::is_evicted(&wl) {
                evicted.insert(key.clone());
                continue;
            }
            if predicates::has_unhealthy_node(&wl, self.node) {
                continue;
            }
            if wl.status.unhealthy_nodes.is_empty() {
                workload_patching::patch_admission_status(
                    self.shared,
                    &wl,
                    StatusApplyMode::Strict,
                    |wl| {
                        wl.status.unhealthy_nodes.push(UnhealthyNode {
                            name: self.node.to_owned(),
                        });
                        true
                    },
                )
                .await?;
                continue;
            }
            let mut names: Vec<&str> = wl
                .status
                .unhealthy_nodes
                .iter()
                .map(|n| n.name.as_str())
                .collect();
            names.push(self.node);
            let message = format!(
                "Workload eviction triggered due to multiple TAS assigned node failures, including: {}",
                names.join(", ")
            );
            let eviction = Eviction::new(c::evicted::NODE_FAILURES, message);
            evict(self.shared, &wl, &eviction, |_| {}).await?;
            evicted.insert(key.clone());
        }
        Ok(evicted)
    }

    /// Marks a pod as Failed.
    async fn mark_pod_failed(&self, pod: &Pod) -> kube::Result<()> {
        let message = "Pod terminated by Kueue NodeController due to node taint";
        let now = self.shared.ctx.clock.time();
        let status = pod.status.as_ref();
        let mut conditions = json!(
            status
                .and_then(|s| s.conditions.clone())
                .unwrap_or_default()
        );
        if let Some(list) = conditions.as_array_mut() {
            list.push(json!({
                "type": "TerminatedByKueue", "status": "True",
                "reason": "UnschedulableOnAssignedNode", "message": message,
                "lastTransitionTime": now,
            }));
        }
        let body = json!({
            "metadata": { "resourceVersion": pod.metadata.resource_version },
            "status": { "phase": "Failed", "conditions": conditions },
        });
        let namespace = object_meta::namespace(&pod.metadata);
        let name = object_meta::name(&pod.metadata);
        let api = Api::<Pod>::namespaced(self.shared.ctx.client.clone(), namespace);
        let written = api
            .patch_status(name, &patch_params(), &Patch::Merge(&body))
            .await;
        if let Some(written) = ignore_not_found(written)? {
            let reason = c::event::POD_TERMINATED_BY_KUEUE;
            let event = EventSpec {
                action: "PodTerminated",
                ..EventSpec::new(REPORTING_CONTROLLER, EventType::Normal, reason, message)
            };
            self.shared.recorder.record(&written, event);
        }
        Ok(())
    }
}

/// The toleration of the taints of a node by pods.
enum TaintToleration {
    Untolerated,
    ToleratedTemporarily,
    ToleratedPermanently,
}

/// The pending, ungated pods that are not bound to a node.
fn unbound_pending_pods(assigned_pods: &[Arc<Pod>]) -> Vec<Arc<Pod>> {
    let is_unbound = |pod: &&Arc<Pod>| {
        let bound = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
        let phase = pod
            .status
            .as_ref()
            .and_then(|status| status.phase.as_deref());
        bound.unwrap_or_default().is_empty() && phase == Some("Pending") && !has_topology_gate(pod)
    };
    assigned_pods.iter().filter(is_unbound).cloned().collect()
}

//! The scheduler cache: nodes with the pods on them, pending, assumed and nominated pods.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::api::resource::v1::{DeviceClass, ResourceClaim, ResourceSlice};
use kube::ResourceExt;

use super::dynamic_resources::DraManager;
use super::filter::Nodes;
use super::scheduling_queue::SchedulingQueue;
use super::{NAME, NodeInfo, PodInfo};
use kueue_lab_controller_runtime::ObjectKey;
use kueue_lab_controller_utils::pods::{is_terminal, node_of};
use kueue_lab_controller_utils::resource_claims;

/// The scheduler cache and queue. Reads no clock and makes no requests.
#[derive(Default)]
pub(super) struct SchedulerState {
    pub(super) nodes: Nodes,
    /// Unscheduled pods.
    pub(super) pending: HashMap<ObjectKey, Arc<PodInfo>>,
    pub(super) queue: SchedulingQueue,
    /// The nodes of assigned and assumed pods.
    assigned: HashMap<ObjectKey, String>,
    /// Nominated nodes of preemptors.
    nominated: HashMap<ObjectKey, String>,
    /// The number of assigned pods with anti-affinity.
    pub(super) pods_with_anti_affinity: usize,
    /// Whether labels of pending pods affect where they fit; set once and kept.
    pub(super) labels_matter: bool,
    /// Whether capacity was freed since the last decision.
    pub(super) capacity_freed: bool,
    /// The last message reported for each pod.
    pub(super) reported_messages: HashMap<ObjectKey, Arc<str>>,
    /// New pods, which may belong to an unschedulable class.
    pub(super) arrived: Vec<ObjectKey>,
    /// Round-robin start of the search for feasible nodes.
    pub(super) next_start_node_index: usize,
    /// The last message of each equivalence class.
    pub(super) class_messages: HashMap<String, Arc<str>>,
    /// ResourceClaims, DeviceClasses and ResourceSlices.
    pub(super) dra: DraManager,
    /// Unscheduled pods that wait for their ResourceClaims to exist.
    waiting_for_claims: HashMap<ObjectKey, Arc<PodInfo>>,
    /// The extended resources that DeviceClasses back.
    device_resources: BTreeSet<String>,
}

impl SchedulerState {
    /// Adds, updates or removes a node.
    pub(super) fn update_node(&mut self, name: &str, node: Option<Arc<Node>>) {
        let gone = node.is_none();
        let info = self
            .nodes
            .entry(name.to_string())
            .or_insert_with(|| NodeInfo::named(name));
        let before = info.node.take();
        self.capacity_freed |=
            !gone && !is_unchanged_for_scheduling(before.as_deref(), node.as_deref());
        info.set_node(node);
        if gone && info.pods.is_empty() {
            self.nodes.remove(name);
        }
    }

    /// Sets the extended resources that DeviceClasses back.
    fn set_device_resources(&mut self, backed: BTreeSet<String>) {
        if self.device_resources == backed {
            return;
        }
        self.device_resources = backed;
        let pending: Vec<Arc<Pod>> = self.pending.values().map(|info| info.pod.clone()).collect();
        pending.into_iter().for_each(|pod| self.update_pod(pod));
        self.capacity_freed = true;
    }

    /// Adds, updates or removes a DeviceClass.
    pub(super) fn update_class(&mut self, name: &str, class: Option<Arc<DeviceClass>>) {
        self.dra.update_class(name, class);
        self.set_device_resources(self.dra.device_resources());
        self.capacity_freed = true;
    }

    /// Adds, updates or removes a ResourceSlice.
    pub(super) fn update_slice(&mut self, name: &str, slice: Option<Arc<ResourceSlice>>) {
        self.dra.update_slice(name, slice);
        self.capacity_freed = true;
    }

    /// Adds or updates a ResourceClaim.
    pub(super) fn update_claim(&mut self, claim: Arc<ResourceClaim>) {
        self.capacity_freed |= self.dra.update_claim(claim.clone());
        self.update_pods_of_claim(&claim);
    }

    /// Removes a ResourceClaim.
    pub(super) fn delete_claim(&mut self, claim: &ResourceClaim) {
        self.capacity_freed |= self.dra.delete_claim(&ObjectKey::of(claim));
        self.update_pods_of_claim(claim);
    }

    /// The allocation of a claim was written, or the write failed.
    pub(super) fn remove_pending_allocation(&mut self, claim: &ResourceClaim) {
        self.dra.remove_pending_allocation(claim);
        self.update_pods_of_claim(claim);
    }

    /// Queues the unscheduled pods again that use a claim.
    fn update_pods_of_claim(&mut self, claim: &ResourceClaim) {
        let namespace = claim.namespace().unwrap_or_default();
        let unscheduled = |key: &ObjectKey| {
            let known = self.pending.get(key);
            known.or_else(|| self.waiting_for_claims.get(key)).cloned()
        };
        let pods: Vec<Arc<PodInfo>> = match resource_claims::owning_pod(claim) {
            Some((name, _)) => unscheduled(&ObjectKey::new(namespace, name))
                .into_iter()
                .collect(),
            None => {
                let name = claim.name_any();
                let waiting = self.waiting_for_claims.values();
                let mut pods: Vec<_> = waiting
                    .chain(self.pending.values())
                    .filter(|pod| pod.key.namespace == namespace && pod.uses_claim(&name))
                    .cloned()
                    .collect();
                pods.sort_by(|a, b| a.key.cmp(&b.key));
                pods
            }
        };
        for pod in pods.into_iter().filter(|pod| pod.needs_devices()) {
            let key = pod.key.clone();
            self.add_pending(pod);
            self.queue.activate(&key);
        }
    }

    /// Adds or updates a pod.
    pub(super) fn update_pod(&mut self, pod: Arc<Pod>) {
        let mut info = PodInfo::of(pod);
        info.set_device_resources(&self.device_resources);
        let info = Arc::new(info);
        let key = info.key.clone();
        let node = node_of(&info.pod).map(str::to_owned);
        match node {
            _ if is_terminal(&info.pod) => self.delete_pod(&key),
            Some(node) => {
                self.remove_pending(&key);
                self.assign_pod(info, node);
            }
            None if info.terminating() => self.delete_pod(&key),
            None if self.assigned.contains_key(&key) => {
                // Assumed, and the watch has not delivered the binding yet.
                let same = self.assumed_uid(&key).is_some_and(|uid| uid == info.uid());
                if !same {
                    self.unassign_pod(&key);
                    self.add_pending(info);
                }
            }
            None => self.add_pending(info),
        }
    }

    /// Removes a pod that was deleted or is terminal.
    pub(super) fn delete_pod(&mut self, key: &ObjectKey) {
        self.remove_pending(key);
        self.unassign_pod(key);
    }

    /// Forgets an assumed pod whose binding failed, and requeues it.
    pub(super) fn binding_failed(&mut self, pod: &Arc<PodInfo>) {
        if self
            .assumed_uid(&pod.key)
            .is_some_and(|uid| uid == pod.uid())
        {
            self.unassign_pod(&pod.key);
            self.add_pending(pod.clone());
        }
    }

    /// Nominates a node for a preemptor, which reserves the freed capacity.
    pub(super) fn nominate(&mut self, pod: &Arc<PodInfo>, node: &str) {
        self.remove_nomination(&pod.key);
        if let Some(info) = self.nodes.get_mut(node) {
            info.nominated.insert(pod.key.clone(), pod.clone());
            self.nominated.insert(pod.key.clone(), node.to_string());
        }
        let class = self.equivalence_class(pod);
        self.queue
            .put(&pod.key, pod.priority, &class, pod.depends_on_other_pods());
    }

    fn remove_nomination(&mut self, key: &ObjectKey) {
        if let Some(node) = self.nominated.remove(key)
            && let Some(info) = self.nodes.get_mut(&node)
        {
            info.nominated.remove(key);
        }
    }

    pub(super) fn add_pending(&mut self, info: Arc<PodInfo>) {
        let key = info.key.clone();
        let spec = info.spec();
        let gated = spec
            .and_then(|s| s.scheduling_gates.as_ref())
            .is_some_and(|gates| !gates.is_empty());
        let ours = spec
            .and_then(|s| s.scheduler_name.as_deref())
            .unwrap_or(NAME)
            == NAME;
        if gated || !ours {
            self.remove_pending(&key);
            return;
        }
        if info.has_claims() && self.dra.pod_claims(&info.pod).is_err() {
            self.remove_pending(&key);
            self.waiting_for_claims.insert(key, info);
            return;
        }
        self.waiting_for_claims.remove(&key);
        if self
            .pending
            .get(&key)
            .is_some_and(|known| known.uid() != info.uid())
        {
            self.remove_pending(&key);
        }
        let class = self.equivalence_class(&info);
        self.queue
            .put(&key, info.priority, &class, info.depends_on_other_pods());
        if self.pending.insert(key.clone(), info).is_none() {
            self.arrived.push(key);
        }
    }

    pub(super) fn remove_pending(&mut self, key: &ObjectKey) {
        if self.pending.remove(key).is_some() {
            self.queue.remove(key);
        }
        self.waiting_for_claims.remove(key);
        self.reported_messages.remove(key);
        if self.nominated.contains_key(key) {
            self.remove_nomination(key);
            self.capacity_freed = true;
        }
        if self.pending.is_empty() {
            self.class_messages.clear();
        }
    }

    pub(super) fn equivalence_class(&self, pod: &PodInfo) -> String {
        let mut class = pod.equivalence_class(self.labels_matter);
        if let Some(node) = self.nominated.get(&pod.key) {
            // A nominated pod is a class of its own.
            class.push_str(&format!("{node} {}", pod.key));
        }
        if pod.has_claims() {
            class.push_str(&self.dra.equivalence_class(&pod.pod));
        }
        class
    }

    pub(super) fn assign_pod(&mut self, info: Arc<PodInfo>, node: String) {
        let key = info.key.clone();
        if self.assigned.get(&key).is_some_and(|known| *known != node) {
            self.unassign_pod(&key);
        }
        let with_anti_affinity = usize::from(!info.anti_affinity_terms().is_empty());
        let node_info = self
            .nodes
            .entry(node.clone())
            .or_insert_with(|| NodeInfo::named(&node));
        if let Some(before) = node_info.remove(&key) {
            self.pods_with_anti_affinity -= usize::from(!before.anti_affinity_terms().is_empty());
            self.capacity_freed |= before.requests != info.requests;
        }
        node_info.add(info);
        self.pods_with_anti_affinity += with_anti_affinity;
        self.assigned.insert(key, node);
        if with_anti_affinity > 0 && !self.labels_matter {
            self.labels_matter = true;
            let all: Vec<Arc<PodInfo>> = self.pending.values().cloned().collect();
            for pod in all {
                let class = self.equivalence_class(&pod);
                self.queue
                    .put(&pod.key, pod.priority, &class, pod.depends_on_other_pods());
            }
        }
    }

    /// Removes a pod from its node, which frees capacity.
    fn unassign_pod(&mut self, key: &ObjectKey) {
        let Some(node) = self.assigned.remove(key) else {
            return;
        };
        self.capacity_freed = true;
        let Some(info) = self.nodes.get_mut(&node) else {
            return;
        };
        if let Some(pod) = info.remove(key) {
            self.pods_with_anti_affinity -= usize::from(!pod.anti_affinity_terms().is_empty());
        }
        if info.node.is_none() && info.pods.is_empty() {
            self.nodes.remove(&node);
        }
    }

    fn assumed_uid(&self, key: &ObjectKey) -> Option<&str> {
        let node = self.assigned.get(key)?;
        Some(self.nodes.get(node)?.pods.get(key)?.uid())
    }

    /// All nodes, for tests.
    #[cfg(test)]
    pub(super) fn nodes(&self) -> &Nodes {
        &self.nodes
    }
}

/// Whether nothing changed that filters depend on.
fn is_unchanged_for_scheduling(old: Option<&Node>, new: Option<&Node>) -> bool {
    let (Some(old), Some(new)) = (old, new) else {
        return false;
    };
    let allocatable = |n: &Node| n.status.as_ref().and_then(|s| s.allocatable.clone());
    old.labels() == new.labels() && old.spec == new.spec && allocatable(old) == allocatable(new)
}

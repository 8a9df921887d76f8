//! The scheduler's picture of the cluster, and the next decision it leads to. A function of what it
//! was told: it reads no clock and calls nobody.

use std::collections::HashMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::ResourceExt;

use super::filter::{Filter, Nodes};
use super::fit_error::{self, FilterFailure};
use super::scheduling_queue::SchedulingQueue;
use super::{NAME, NodeInfo, PodInfo, default_preemption, score};
use kueue_lab_runtime::ObjectKey;

/// What is to be done next.
#[derive(Debug)]
pub(super) enum SchedulingDecision {
    /// Bind the pod to the node; the picture shows it there already.
    Bind { pod: Arc<PodInfo>, node: String },
    /// Tell these pods that there is no node for them.
    Unschedulable {
        pods: Vec<Arc<PodInfo>>,
        message: String,
    },
    /// Delete the victims, so that the pod can be bound later.
    Preempt {
        pod: Arc<PodInfo>,
        node: String,
        victims: Vec<Arc<PodInfo>>,
        message: String,
    },
}

/// The picture.
#[derive(Default)]
pub(super) struct SchedulerState {
    nodes: Nodes,
    /// Pods that wait.
    pending: HashMap<ObjectKey, Arc<PodInfo>>,
    queue: SchedulingQueue,
    /// Where pods are that are on nodes, or soon will be.
    assigned: HashMap<ObjectKey, String>,
    /// Where pods are going to be once their victims are gone.
    nominated: HashMap<ObjectKey, String>,
    /// How many placed pods have anti-affinity.
    pods_with_anti_affinity: usize,
    /// Whether labels of waiting pods matter to where they fit: once they do they always may.
    labels_matter: bool,
    /// Something became freer since the last decision.
    capacity_freed: bool,
    /// The message each blocked class was told.
    reported_messages: HashMap<ObjectKey, Arc<str>>,
    /// Pods that arrived and may have come to a blocked class.
    arrived: Vec<ObjectKey>,
    /// Where the search for nodes begins, so that all get their share.
    next_start_node_index: usize,
    /// The last message a pod of a class was given, by class.
    class_messages: HashMap<String, Arc<str>>,
}

impl SchedulerState {
    /// A node is new, or has changed, or is gone.
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

    /// A pod is new or has changed.
    pub(super) fn update_pod(&mut self, pod: Arc<Pod>) {
        let info = Arc::new(PodInfo::of(pod));
        let key = info.key.clone();
        let spec = info.spec();
        let ended = info
            .pod
            .status
            .as_ref()
            .and_then(|s| s.phase.as_deref())
            .is_some_and(|phase| matches!(phase, "Succeeded" | "Failed"));
        let node = spec
            .and_then(|s| s.node_name.clone())
            .filter(|n| !n.is_empty());
        match node {
            _ if ended => self.delete_pod(&key),
            Some(node) => {
                self.remove_pending(&key);
                self.assign_pod(info, node);
            }
            None if info.terminating() => self.delete_pod(&key),
            None if self.assigned.contains_key(&key) => {
                // Assumed to be bound, and the watch has not brought that yet.
                let same = self.assumed_uid(&key).is_some_and(|uid| uid == info.uid());
                if !same {
                    self.unassign_pod(&key);
                    self.add_pending(info);
                }
            }
            None => self.add_pending(info),
        }
    }

    /// A pod is gone, or has ended and takes nothing any more.
    pub(super) fn delete_pod(&mut self, key: &ObjectKey) {
        self.remove_pending(key);
        self.unassign_pod(key);
    }

    /// A binding was refused: the pod waits again.
    pub(super) fn binding_failed(&mut self, pod: &Arc<PodInfo>) {
        if self
            .assumed_uid(&pod.key)
            .is_some_and(|uid| uid == pod.uid())
        {
            self.unassign_pod(&pod.key);
            self.add_pending(pod.clone());
        }
    }

    /// The next decision, or none until something changes.
    pub(super) fn next(&mut self) -> Option<SchedulingDecision> {
        if std::mem::take(&mut self.capacity_freed) {
            self.queue.move_all_to_active();
        }
        if let Some(decision) = self.report_new_arrivals() {
            return Some(decision);
        }
        let key = self.queue.first()?;
        let Some(pod) = self.pending.get(&key).cloned() else {
            self.queue.remove(&key);
            return self.next();
        };
        let filter = Filter::new(&pod, &self.nodes, self.pods_with_anti_affinity > 0);
        match self.schedule_pod(&filter) {
            Ok(node) => {
                self.remove_pending(&key);
                self.assign_pod(pod.clone(), node.clone());
                if self.labels_matter || pod.depends_on_other_pods() {
                    self.queue.move_pod_dependent_to_active();
                }
                Some(SchedulingDecision::Bind { pod, node })
            }
            Err(obstacles) => Some(self.post_filter(pod, &obstacles)),
        }
    }

    /// Pods that came to a class which is known to fit nowhere.
    fn report_new_arrivals(&mut self) -> Option<SchedulingDecision> {
        while let Some(key) = self.arrived.pop() {
            if !self.queue.take_unreported(&key) {
                continue;
            }
            let Some(pod) = self.pending.get(&key).cloned() else {
                continue;
            };
            let class = self.equivalence_class(&pod);
            if let Some(message) = self.class_messages.get(&class).cloned() {
                self.reported_messages.insert(key, message.clone());
                return Some(SchedulingDecision::Unschedulable {
                    pods: vec![pod],
                    message: message.to_string(),
                });
            }
        }
        None
    }

    /// The best node, or the obstacle of each.
    fn schedule_pod(&mut self, filter: &Filter<'_>) -> Result<String, Vec<FilterFailure>> {
        // Written without `self.nodes` borrowed across `self.start`.
        let nodes: Vec<&NodeInfo> = self.nodes.values().filter(|n| n.node.is_some()).collect();
        let enough = num_feasible_nodes_to_find(nodes.len());
        let mut fitting = Vec::new();
        let mut obstacles = vec![None; nodes.len()];
        let mut seen = 0;
        let start = if enough >= nodes.len() {
            0
        } else {
            self.next_start_node_index
        };
        for step in 0..nodes.len() {
            let at = (start + step) % nodes.len();
            seen += 1;
            match filter.check(nodes[at]) {
                None => fitting.push(nodes[at]),
                Some(obstacle) => obstacles[at] = Some(obstacle),
            }
            if fitting.len() >= enough {
                break;
            }
        }
        if let Some(name) = filter.pod.nominated()
            && let Some(nominated) = fitting.iter().find(|n| n.name == name)
        {
            return Ok(nominated.name.clone());
        }
        let best = score::select_host(filter.pod, &fitting, &self.nodes).map(|n| n.name.clone());
        self.next_start_node_index = (start + seen) % nodes.len().max(1);
        best.ok_or_else(|| obstacles.into_iter().flatten().collect())
    }

    fn post_filter(
        &mut self,
        pod: Arc<PodInfo>,
        obstacles: &[FilterFailure],
    ) -> SchedulingDecision {
        let room = default_preemption::find_candidate(
            &pod,
            &self.nodes,
            obstacles,
            self.pods_with_anti_affinity > 0,
        );
        match room {
            Ok(room) => {
                let message = fit_error::fit_error_message(obstacles, "");
                self.nominate(&pod, &room.node);
                self.queue.mark_unschedulable(&pod.key);
                SchedulingDecision::Preempt {
                    pod,
                    node: room.node,
                    victims: room.victims,
                    message,
                }
            }
            Err(reason) => {
                let reason = if obstacles.is_empty() { "" } else { &reason };
                let message: Arc<str> = Arc::from(fit_error::fit_error_message(obstacles, reason));
                let class = self.equivalence_class(&pod);
                self.class_messages.insert(class, message.clone());
                let told = self.queue.mark_unschedulable(&pod.key);
                let pods = told
                    .into_iter()
                    .filter(|key| self.reported_messages.get(key) != Some(&message))
                    .filter_map(|key| self.pending.get(&key).cloned())
                    .collect::<Vec<_>>();
                for pod in &pods {
                    self.reported_messages
                        .insert(pod.key.clone(), message.clone());
                }
                SchedulingDecision::Unschedulable {
                    pods,
                    message: message.to_string(),
                }
            }
        }
    }

    /// Keeps the room a preemption makes for the pod.
    fn nominate(&mut self, pod: &Arc<PodInfo>, node: &str) {
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

    fn add_pending(&mut self, info: Arc<PodInfo>) {
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

    fn remove_pending(&mut self, key: &ObjectKey) {
        if self.pending.remove(key).is_some() {
            self.queue.remove(key);
        }
        self.reported_messages.remove(key);
        if self.nominated.contains_key(key) {
            self.remove_nomination(key);
            self.capacity_freed = true;
        }
        if self.pending.is_empty() {
            self.class_messages.clear();
        }
    }

    fn equivalence_class(&self, pod: &PodInfo) -> String {
        let mut class = pod.equivalence_class(self.labels_matter);
        if let Some(node) = self.nominated.get(&pod.key) {
            // Whoever waits for victims of its own waits alone.
            class.push_str(&format!("{node} {}", pod.key));
        }
        class
    }

    fn assign_pod(&mut self, info: Arc<PodInfo>, node: String) {
        let key = info.key.clone();
        if self.assigned.get(&key).is_some_and(|known| *known != node) {
            self.unassign_pod(&key);
        }
        let minds = usize::from(!info.anti_affinity_terms().is_empty());
        let node_info = self
            .nodes
            .entry(node.clone())
            .or_insert_with(|| NodeInfo::named(&node));
        if let Some(before) = node_info.remove(&key) {
            self.pods_with_anti_affinity -= usize::from(!before.anti_affinity_terms().is_empty());
            self.capacity_freed |= before.requests != info.requests;
        }
        node_info.add(info);
        self.pods_with_anti_affinity += minds;
        self.assigned.insert(key, node);
        if minds > 0 && !self.labels_matter {
            self.labels_matter = true;
            let all: Vec<Arc<PodInfo>> = self.pending.values().cloned().collect();
            for pod in all {
                let class = self.equivalence_class(&pod);
                self.queue
                    .put(&pod.key, pod.priority, &class, pod.depends_on_other_pods());
            }
        }
    }

    /// Takes a pod from its node. However it comes to that (gone, ended, replaced, its binding
    /// refused), there is room now that others may have been waiting for.
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

/// How many fitting nodes are looked for among `all`: in large clusters not every one.
fn num_feasible_nodes_to_find(all: usize) -> usize {
    if all < 100 {
        return all.max(1);
    }
    let percent = 50usize.saturating_sub(all / 125).max(5);
    (all * percent / 100).max(100)
}

/// Whether nothing changed that decides which pods fit.
fn is_unchanged_for_scheduling(old: Option<&Node>, new: Option<&Node>) -> bool {
    let (Some(old), Some(new)) = (old, new) else {
        return false;
    };
    let allocatable = |n: &Node| n.status.as_ref().and_then(|s| s.allocatable.clone());
    old.labels() == new.labels() && old.spec == new.spec && allocatable(old) == allocatable(new)
}

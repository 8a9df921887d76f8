//! The scheduler's picture of the cluster, and the next decision it leads to. A function of what it
//! was told: it reads no clock and calls nobody.

use std::collections::HashMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::ResourceExt;

use super::filter::{Filter, Nodes};
use super::queue::Queue;
use super::why::{self, Obstacle};
use super::{NAME, NodeInfo, PodInfo, preempt, score};
use kueue_lab_runtime::ObjectKey;

/// What is to be done next.
#[derive(Debug)]
pub(super) enum Decision {
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
pub(super) struct State {
    nodes: Nodes,
    /// Pods that wait.
    waiting: HashMap<ObjectKey, Arc<PodInfo>>,
    queue: Queue,
    /// Where pods are that are on nodes, or soon will be.
    placed: HashMap<ObjectKey, String>,
    /// Where pods are going to be once their victims are gone.
    nominated: HashMap<ObjectKey, String>,
    /// How many placed pods have anti-affinity.
    minding: usize,
    /// Whether labels of waiting pods matter to where they fit: once they do they always may.
    labels_matter: bool,
    /// Something became freer since the last decision.
    freer: bool,
    /// The message each blocked class was told.
    said: HashMap<ObjectKey, Arc<str>>,
    /// Pods that arrived and may have come to a blocked class.
    arrived: Vec<ObjectKey>,
    /// Where the search for nodes begins, so that all get their share.
    start: usize,
    /// The last message a pod of a class was given, by class.
    messages: HashMap<String, Arc<str>>,
}

impl State {
    /// A node is new, or has changed, or is gone.
    pub(super) fn node(&mut self, name: &str, node: Option<Arc<Node>>) {
        let gone = node.is_none();
        let info = self
            .nodes
            .entry(name.to_string())
            .or_insert_with(|| NodeInfo::named(name));
        let before = info.node.take();
        self.freer |= !gone && !same_for_pods(before.as_deref(), node.as_deref());
        info.describe(node);
        if gone && info.pods.is_empty() {
            self.nodes.remove(name);
        }
    }

    /// A pod is new or has changed.
    pub(super) fn pod(&mut self, pod: Arc<Pod>) {
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
            _ if ended => self.pod_gone(&key),
            Some(node) => {
                self.forget_waiting(&key);
                self.place(info, node);
            }
            None if info.terminating() => self.pod_gone(&key),
            None if self.placed.contains_key(&key) => {
                // Assumed to be bound, and the watch has not brought that yet.
                let same = self.assumed_uid(&key).is_some_and(|uid| uid == info.uid());
                if !same {
                    self.unplace(&key);
                    self.wait(info);
                }
            }
            None => self.wait(info),
        }
    }

    /// A pod is gone, or has ended and takes nothing any more.
    pub(super) fn pod_gone(&mut self, key: &ObjectKey) {
        self.forget_waiting(key);
        self.unplace(key);
    }

    /// A binding was refused: the pod waits again.
    pub(super) fn binding_failed(&mut self, pod: &Arc<PodInfo>) {
        if self
            .assumed_uid(&pod.key)
            .is_some_and(|uid| uid == pod.uid())
        {
            self.unplace(&pod.key);
            self.wait(pod.clone());
        }
    }

    /// The next decision, or none until something changes.
    pub(super) fn next(&mut self) -> Option<Decision> {
        if std::mem::take(&mut self.freer) {
            self.queue.unblock_all();
        }
        if let Some(decision) = self.newcomers() {
            return Some(decision);
        }
        let key = self.queue.first()?;
        let Some(pod) = self.waiting.get(&key).cloned() else {
            self.queue.remove(&key);
            return self.next();
        };
        let filter = Filter::new(&pod, &self.nodes, self.minding > 0);
        match self.search(&filter) {
            Ok(node) => {
                self.forget_waiting(&key);
                self.place(pod.clone(), node.clone());
                if self.labels_matter || pod.minds_pods() {
                    self.queue.unblock_minding();
                }
                Some(Decision::Bind { pod, node })
            }
            Err(obstacles) => Some(self.no_node(pod, &obstacles)),
        }
    }

    /// Pods that came to a class which is known to fit nowhere.
    fn newcomers(&mut self) -> Option<Decision> {
        while let Some(key) = self.arrived.pop() {
            if !self.queue.take_untold(&key) {
                continue;
            }
            let Some(pod) = self.waiting.get(&key).cloned() else {
                continue;
            };
            let class = self.class(&pod);
            if let Some(message) = self.messages.get(&class).cloned() {
                self.said.insert(key, message.clone());
                return Some(Decision::Unschedulable {
                    pods: vec![pod],
                    message: message.to_string(),
                });
            }
        }
        None
    }

    /// The best node, or the obstacle of each.
    fn search(&mut self, filter: &Filter<'_>) -> Result<String, Vec<Obstacle>> {
        // Written without `self.nodes` borrowed across `self.start`.
        let nodes: Vec<&NodeInfo> = self.nodes.values().filter(|n| n.node.is_some()).collect();
        let enough = enough(nodes.len());
        let mut fitting = Vec::new();
        let mut obstacles = vec![None; nodes.len()];
        let mut seen = 0;
        let start = if enough >= nodes.len() { 0 } else { self.start };
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
        let best = score::best(filter.pod, &fitting, &self.nodes).map(|n| n.name.clone());
        self.start = (start + seen) % nodes.len().max(1);
        best.ok_or_else(|| obstacles.into_iter().flatten().collect())
    }

    fn no_node(&mut self, pod: Arc<PodInfo>, obstacles: &[Obstacle]) -> Decision {
        let room = preempt::find(&pod, &self.nodes, obstacles, self.minding > 0);
        match room {
            Ok(room) => {
                let message = why::sentence(obstacles, "");
                self.nominate(&pod, &room.node);
                self.queue.block(&pod.key);
                Decision::Preempt {
                    pod,
                    node: room.node,
                    victims: room.victims,
                    message,
                }
            }
            Err(reason) => {
                let reason = if obstacles.is_empty() { "" } else { &reason };
                let message: Arc<str> = Arc::from(why::sentence(obstacles, reason));
                let class = self.class(&pod);
                self.messages.insert(class, message.clone());
                let told = self.queue.block(&pod.key);
                let pods = told
                    .into_iter()
                    .filter(|key| self.said.get(key) != Some(&message))
                    .filter_map(|key| self.waiting.get(&key).cloned())
                    .collect::<Vec<_>>();
                for pod in &pods {
                    self.said.insert(pod.key.clone(), message.clone());
                }
                Decision::Unschedulable {
                    pods,
                    message: message.to_string(),
                }
            }
        }
    }

    /// Keeps the room a preemption makes for the pod.
    fn nominate(&mut self, pod: &Arc<PodInfo>, node: &str) {
        self.withdraw(&pod.key);
        if let Some(info) = self.nodes.get_mut(node) {
            info.nominated.insert(pod.key.clone(), pod.clone());
            self.nominated.insert(pod.key.clone(), node.to_string());
        }
        let class = self.class(pod);
        self.queue
            .put(&pod.key, pod.priority, &class, pod.minds_pods());
    }

    fn withdraw(&mut self, key: &ObjectKey) {
        if let Some(node) = self.nominated.remove(key)
            && let Some(info) = self.nodes.get_mut(&node)
        {
            info.nominated.remove(key);
        }
    }

    fn wait(&mut self, info: Arc<PodInfo>) {
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
            self.forget_waiting(&key);
            return;
        }
        if self
            .waiting
            .get(&key)
            .is_some_and(|known| known.uid() != info.uid())
        {
            self.forget_waiting(&key);
        }
        let class = self.class(&info);
        self.queue
            .put(&key, info.priority, &class, info.minds_pods());
        if self.waiting.insert(key.clone(), info).is_none() {
            self.arrived.push(key);
        }
    }

    fn forget_waiting(&mut self, key: &ObjectKey) {
        if self.waiting.remove(key).is_some() {
            self.queue.remove(key);
        }
        self.said.remove(key);
        if self.nominated.contains_key(key) {
            self.withdraw(key);
            self.freer = true;
        }
        if self.waiting.is_empty() {
            self.messages.clear();
        }
    }

    fn class(&self, pod: &PodInfo) -> String {
        let mut class = pod.class(self.labels_matter);
        if let Some(node) = self.nominated.get(&pod.key) {
            // Whoever waits for victims of its own waits alone.
            class.push_str(&format!("{node} {}", pod.key));
        }
        class
    }

    fn place(&mut self, info: Arc<PodInfo>, node: String) {
        let key = info.key.clone();
        if self.placed.get(&key).is_some_and(|known| *known != node) {
            self.unplace(&key);
        }
        let minds = usize::from(!info.anti_affinity_terms().is_empty());
        let node_info = self
            .nodes
            .entry(node.clone())
            .or_insert_with(|| NodeInfo::named(&node));
        if let Some(before) = node_info.remove(&key) {
            self.minding -= usize::from(!before.anti_affinity_terms().is_empty());
            self.freer |= before.requests != info.requests;
        }
        node_info.add(info);
        self.minding += minds;
        self.placed.insert(key, node);
        if minds > 0 && !self.labels_matter {
            self.labels_matter = true;
            let all: Vec<Arc<PodInfo>> = self.waiting.values().cloned().collect();
            for pod in all {
                let class = self.class(&pod);
                self.queue
                    .put(&pod.key, pod.priority, &class, pod.minds_pods());
            }
        }
    }

    /// Takes a pod from its node. However it comes to that (gone, ended, replaced, its binding
    /// refused), there is room now that others may have been waiting for.
    fn unplace(&mut self, key: &ObjectKey) {
        let Some(node) = self.placed.remove(key) else {
            return;
        };
        self.freer = true;
        let Some(info) = self.nodes.get_mut(&node) else {
            return;
        };
        if let Some(pod) = info.remove(key) {
            self.minding -= usize::from(!pod.anti_affinity_terms().is_empty());
        }
        if info.node.is_none() && info.pods.is_empty() {
            self.nodes.remove(&node);
        }
    }

    fn assumed_uid(&self, key: &ObjectKey) -> Option<&str> {
        let node = self.placed.get(key)?;
        Some(self.nodes.get(node)?.pods.get(key)?.uid())
    }

    /// All nodes, for tests.
    #[cfg(test)]
    pub(super) fn nodes(&self) -> &Nodes {
        &self.nodes
    }
}

/// How many fitting nodes are looked for among `all`: in large clusters not every one.
fn enough(all: usize) -> usize {
    if all < 100 {
        return all.max(1);
    }
    let percent = 50usize.saturating_sub(all / 125).max(5);
    (all * percent / 100).max(100)
}

/// Whether nothing changed that decides which pods fit.
fn same_for_pods(old: Option<&Node>, new: Option<&Node>) -> bool {
    let (Some(old), Some(new)) = (old, new) else {
        return false;
    };
    let allocatable = |n: &Node| n.status.as_ref().and_then(|s| s.allocatable.clone());
    old.labels() == new.labels() && old.spec == new.spec && allocatable(old) == allocatable(new)
}

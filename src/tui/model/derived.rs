//! What follows from the rows and is dear to reckon: the quota forest, places in line, pods by
//! workload and by node, totals. Brought up to date once a frame, and only where rows changed.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;

use super::meta::{Requests, add};
use super::quota::Forest;
use super::workload::{WorkloadRow, WorkloadState};
use super::{Data, Key, Row};
use kueue_lab_api::constants::{EVICTED, PREEMPTED, evicted, preempted};

/// A place in the line of a ClusterQueue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Counted from one.
    pub number: usize,
    /// How many wait in all.
    pub of: usize,
}

/// The pods of a workload, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PodCount {
    /// All there are.
    pub total: usize,
    /// Ready, or done with success.
    pub ready: usize,
    /// Without a node because none fits.
    pub unschedulable: usize,
    /// Being deleted.
    pub leaving: usize,
}

/// A group of pods for which there is no Workload yet, because not all of its pods exist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// How many pods exist.
    pub pods: usize,
    /// How many there should be.
    pub of: usize,
}

/// Totals for the header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Workloads by state.
    pub states: BTreeMap<WorkloadState, usize>,
    /// Nodes that are ready.
    pub nodes_ready: usize,
    /// What pods occupy on nodes.
    pub occupied: Requests,
    /// What nodes have.
    pub allocatable: Requests,
}

impl Totals {
    /// How many workloads are in a state.
    pub fn in_state(&self, state: WorkloadState) -> usize {
        self.states.get(&state).copied().unwrap_or(0)
    }
}

/// What follows from the rows.
#[derive(Clone, Debug, Default)]
pub struct Derived {
    /// ClusterQueues and Cohorts as trees.
    pub forest: Forest,
    /// Totals for the header.
    pub totals: Totals,
    places: HashMap<Key, Place>,
    heads: BTreeMap<String, Key>,
    lines: BTreeMap<String, Vec<Key>>,
    pods: HashMap<Key, PodCount>,
    pod_owner: HashMap<Key, Key>,
    groups: BTreeMap<Key, Group>,
    on_node: BTreeMap<String, Vec<Key>>,
    occupied: BTreeMap<String, Requests>,
    seen: Option<Seen>,
}

/// Revisions of what each part was reckoned from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    queues: (u64, u64, u64),
    workloads: u64,
    pods: u64,
    nodes: u64,
}

impl Derived {
    /// Brings everything up to date.
    pub fn refresh(&mut self, data: &Data) {
        let now = Seen {
            queues: (
                data.cluster_queues.revision(),
                data.cohorts.revision(),
                data.local_queues.revision(),
            ),
            workloads: data.workloads.revision(),
            pods: data.pods.revision(),
            nodes: data.nodes.revision(),
        };
        let before = self.seen.replace(now);
        let changed = |part: fn(&Seen) -> u64| before.as_ref().map(part) != Some(part(&now));
        let queues = before.map(|b| b.queues) != Some(now.queues);
        let (workloads, pods) = (changed(|s| s.workloads), changed(|s| s.pods));
        let nodes = changed(|s| s.nodes);
        if queues {
            self.forest = Forest::plant(data.cluster_queues.iter(), data.cohorts.iter());
        }
        if queues || workloads {
            self.line_up(data);
        }
        if workloads {
            self.totals.states = BTreeMap::new();
            for wl in data.workloads.iter() {
                *self.totals.states.entry(wl.state()).or_default() += 1;
            }
        }
        if workloads || pods {
            self.count_pods(data);
        }
        if pods || nodes {
            self.fill_nodes(data);
        }
    }

    /// The place of a pending workload.
    pub fn position(&self, key: &Key) -> Option<Place> {
        self.places.get(key).copied()
    }

    /// The first in the line of a ClusterQueue.
    pub fn head(&self, cluster_queue: &str) -> Option<&Key> {
        self.heads.get(cluster_queue)
    }

    /// Whether anybody stands in a line.
    pub fn anybody_waits(&self) -> bool {
        !self.places.is_empty()
    }

    /// The line of a ClusterQueue.
    pub fn line(&self, cluster_queue: &str) -> &[Key] {
        self.lines.get(cluster_queue).map_or(&[], Vec::as_slice)
    }

    /// The pods of a workload, counted.
    pub fn pods_of(&self, workload: &Key) -> PodCount {
        self.pods.get(workload).copied().unwrap_or_default()
    }

    /// The workload a pod belongs to.
    pub fn workload_of(&self, pod: &Key) -> Option<&Key> {
        self.pod_owner.get(pod)
    }

    /// Groups of pods that wait for more of their pods.
    pub fn incomplete_groups(&self) -> impl Iterator<Item = (&Key, &Group)> {
        self.groups.iter()
    }

    /// The pods on a node that have not ended.
    pub fn pods_on(&self, node: &str) -> &[Key] {
        self.on_node.get(node).map_or(&[], Vec::as_slice)
    }

    /// What pods occupy on a node.
    pub fn occupied_on(&self, node: &str) -> Requests {
        self.occupied.get(node).cloned().unwrap_or_default()
    }

    fn line_up(&mut self, data: &Data) {
        let mut lines: BTreeMap<&str, Vec<&WorkloadRow>> = BTreeMap::new();
        for wl in data.workloads.iter() {
            let at = wl.state();
            let waits =
                at == WorkloadState::Pending || (at == WorkloadState::Evicted && !wl.holds_quota());
            if !waits {
                continue;
            }
            let lq = data.local_queues.get(&wl.queue_key);
            if let Some(lq) = lq.filter(|lq| lq.stopped().is_none())
                && data.cluster_queues.named(&lq.cluster_queue).is_some()
            {
                lines.entry(&lq.cluster_queue).or_default().push(wl);
            }
        }
        self.places.clear();
        self.heads.clear();
        self.lines.clear();
        for (queue, mut line) in lines {
            line.sort_by_cached_key(|wl| (-wl.priority, order_time(wl), wl.meta.uid.as_str()));
            let of = line.len();
            for (at, wl) in line.iter().enumerate() {
                let place = Place { number: at + 1, of };
                self.places.insert(wl.key().clone(), place);
            }
            if let Some(first) = line.first() {
                self.heads.insert(queue.to_owned(), first.key().clone());
            }
            let keys = line.into_iter().map(|wl| wl.key().clone()).collect();
            self.lines.insert(queue.to_owned(), keys);
        }
    }

    fn count_pods(&mut self, data: &Data) {
        let mut by_owner: HashMap<&str, &Key> = HashMap::new();
        for wl in data.workloads.iter() {
            for owner in &wl.owners {
                by_owner.insert(&owner.uid, wl.key());
            }
        }
        self.pods.clear();
        self.pod_owner.clear();
        self.groups.clear();
        for pod in data.pods.iter() {
            let said = pod
                .workload
                .as_ref()
                .map(|name| Key::new(&pod.key().namespace, name))
                .filter(|key| data.workloads.get(key).is_some());
            let owner = said.or_else(|| {
                std::iter::once(&pod.meta.uid)
                    .chain(&pod.owners)
                    .find_map(|uid| by_owner.get(uid.as_str()).map(|k| (*k).clone()))
            });
            let Some(owner) = owner else {
                if let (Some(name), Some(of), true) = (&pod.workload, pod.group_of, pod.gated) {
                    let key = Key::new(&pod.key().namespace, name);
                    let group = self.groups.entry(key).or_default();
                    group.pods += 1;
                    group.of = group.of.max(of);
                }
                continue;
            };
            let count = self.pods.entry(owner.clone()).or_default();
            count.total += 1;
            if pod.meta.deleting {
                count.leaving += 1;
            } else if pod.ready || pod.phase == "Succeeded" {
                count.ready += 1;
            }
            if pod.unschedulable.is_some() && pod.node.is_empty() {
                count.unschedulable += 1;
            }
            self.pod_owner.insert(pod.key().clone(), owner);
        }
    }

    fn fill_nodes(&mut self, data: &Data) {
        self.on_node.clear();
        self.occupied.clear();
        for pod in data.pods.iter().filter(|p| !p.node.is_empty() && !p.done()) {
            let on = self.on_node.entry(pod.node.clone()).or_default();
            on.push(pod.key().clone());
            let occupied = self.occupied.entry(pod.node.clone()).or_default();
            add(occupied, &pod.requests, 1);
        }
        let totals = &mut self.totals;
        totals.nodes_ready = data.nodes.iter().filter(|n| n.ready).count();
        totals.allocatable = Requests::new();
        totals.occupied = Requests::new();
        for node in data.nodes.iter() {
            add(&mut totals.allocatable, &node.allocatable, 1);
            if let Some(occupied) = self.occupied.get(&node.key().name) {
                add(&mut totals.occupied, occupied, 1);
            }
        }
    }
}

/// The time by which workloads of one priority stand in line: when they were made, unless an
/// eviction sent them to the back.
fn order_time(wl: &WorkloadRow) -> Option<Timestamp> {
    if let Some(left) = wl.conds.when_true(EVICTED)
        && (left.reason == evicted::PODS_READY_TIMEOUT || left.reason == evicted::ADMISSION_CHECK)
    {
        return Some(left.at);
    }
    let preempted = wl.conds.when_true(PREEMPTED);
    if let Some(by) = preempted.filter(|c| c.reason == preempted::IN_COHORT_RECLAIM_WHILE_BORROWING)
    {
        return Some(by.at);
    }
    wl.meta.created
}

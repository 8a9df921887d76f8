//! Data derived from the rows: the cohort tree, positions in ClusterQueues, pods by workload and by
//! node, totals. Refreshed once a frame, only if the rows changed.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;

use super::cohort_tree::CohortTree;
use super::devices::{NodeDevice, devices_by_node};
use super::meta::{Requests, add_requests};
use super::workload::{WorkloadRow, WorkloadState};
use super::{ClusterData, ObjectKey, Row};
use kueue_lab_api::constants::{EVICTED, PREEMPTED, evicted, preempted};
use kueue_lab_preemption_loops::DetectedLoop;

/// The position of a pending workload in its ClusterQueue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QueuePosition {
    /// 1-based.
    pub number: usize,
    /// The number of pending workloads.
    pub of: usize,
}

/// Counts of the pods of a workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PodCount {
    /// All.
    pub total: usize,
    /// Ready or succeeded.
    pub ready: usize,
    /// Unschedulable.
    pub unschedulable: usize,
    /// Being deleted.
    pub terminating: usize,
}

/// A pod group without a Workload, because not all of its pods exist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct IncompletePodGroup {
    /// The number of existing pods.
    pub pods: usize,
    /// The total count of the group.
    pub of: usize,
}

/// Totals for the header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    /// Workloads by state.
    pub states: BTreeMap<WorkloadState, usize>,
    /// Ready nodes.
    pub nodes_ready: usize,
    /// Requests of the pods on all nodes.
    pub allocated: Requests,
    /// Allocatable resources of all nodes.
    pub allocatable: Requests,
}

impl Totals {
    /// The number of workloads in a state.
    pub(crate) fn in_state(&self, state: WorkloadState) -> usize {
        self.states.get(&state).copied().unwrap_or(0)
    }
}

/// Data derived from the rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct DerivedData {
    /// ClusterQueues and Cohorts as trees.
    pub cohort_tree: CohortTree,
    /// Totals for the header.
    pub totals: Totals,
    /// Loops of scheduling attempts.
    pub loops: Vec<DetectedLoop>,
    positions: HashMap<ObjectKey, QueuePosition>,
    head_workloads: BTreeMap<String, ObjectKey>,
    pending_workloads: BTreeMap<String, Vec<ObjectKey>>,
    pods: HashMap<ObjectKey, PodCount>,
    workload_by_pod: HashMap<ObjectKey, ObjectKey>,
    incomplete_pod_groups: BTreeMap<ObjectKey, IncompletePodGroup>,
    pods_by_node: BTreeMap<String, Vec<ObjectKey>>,
    allocated_by_node: BTreeMap<String, Requests>,
    devices_by_node: BTreeMap<String, Vec<NodeDevice>>,
    revisions: Option<Revisions>,
}

/// The revisions of the rows that each part is computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Revisions {
    queues: (u64, u64, u64),
    workloads: u64,
    pods: u64,
    nodes: u64,
    loops: u64,
    devices: (u64, u64),
}

impl DerivedData {
    /// Refreshes all parts whose rows changed.
    pub(crate) fn refresh(&mut self, data: &ClusterData) {
        let now = Revisions {
            queues: (
                data.cluster_queues.revision(),
                data.cohorts.revision(),
                data.local_queues.revision(),
            ),
            workloads: data.workloads.revision(),
            pods: data.pods.revision(),
            nodes: data.nodes.revision(),
            loops: data.loops.revision(),
            devices: (
                data.resource_slices.revision(),
                data.resource_claims.revision(),
            ),
        };
        let before = self.revisions.replace(now);
        let changed = |part: fn(&Revisions) -> u64| before.as_ref().map(part) != Some(part(&now));
        let queues = before.map(|b| b.queues) != Some(now.queues);
        let (workloads, pods) = (changed(|s| s.workloads), changed(|s| s.pods));
        let nodes = changed(|s| s.nodes);
        if queues {
            self.cohort_tree = CohortTree::build(data.cluster_queues.iter(), data.cohorts.iter());
        }
        if queues || workloads {
            self.sort_pending_workloads(data);
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
        // A loop ends with the time.
        if changed(|s| s.loops) || !self.loops.is_empty() {
            self.loops = data.loops.loops(data.now);
        }
        if pods || nodes {
            self.sum_node_allocation(data);
        }
        if before.map(|b| b.devices) != Some(now.devices) {
            self.devices_by_node = devices_by_node(data);
        }
    }

    /// The devices of a node, by driver, pool and name.
    pub(crate) fn devices_of(&self, node: &str) -> &[NodeDevice] {
        self.devices_by_node.get(node).map_or(&[], Vec::as_slice)
    }

    /// The position of a pending workload.
    pub(crate) fn position(&self, key: &ObjectKey) -> Option<QueuePosition> {
        self.positions.get(key).copied()
    }

    /// The loop of scheduling attempts of a Workload, by UID.
    pub(crate) fn loop_of(&self, uid: &str) -> Option<&DetectedLoop> {
        self.loops.iter().find(|found| found.involves(uid))
    }

    /// The loops with workloads of a ClusterQueue.
    pub(crate) fn loops_in<'a>(
        &'a self,
        data: &'a ClusterData,
        cluster_queue: &'a str,
    ) -> impl Iterator<Item = &'a DetectedLoop> {
        let is_queued = move |name: &String| {
            let (namespace, name) = name.split_once('/').unwrap_or_default();
            let wl = data.workloads.get(&ObjectKey::new(namespace, name));
            wl.and_then(|wl| data.cluster_queue_of(wl)) == Some(cluster_queue)
        };
        let all = self.loops.iter();
        all.filter(move |found| found.names.iter().any(is_queued))
    }

    /// The head of a ClusterQueue.
    pub(crate) fn head(&self, cluster_queue: &str) -> Option<&ObjectKey> {
        self.head_workloads.get(cluster_queue)
    }

    /// Whether any workload is pending in a ClusterQueue.
    pub(crate) fn has_pending_workloads(&self) -> bool {
        !self.positions.is_empty()
    }

    /// The pending workloads of a ClusterQueue, in order.
    pub(crate) fn pending_workloads_of(&self, cluster_queue: &str) -> &[ObjectKey] {
        self.pending_workloads
            .get(cluster_queue)
            .map_or(&[], Vec::as_slice)
    }

    /// Counts of the pods of a workload.
    pub(crate) fn pods_of(&self, workload: &ObjectKey) -> PodCount {
        self.pods.get(workload).copied().unwrap_or_default()
    }

    /// The Workload of a pod.
    pub(crate) fn workload_of(&self, pod: &ObjectKey) -> Option<&ObjectKey> {
        self.workload_by_pod.get(pod)
    }

    /// Pod groups that lack pods.
    pub(crate) fn incomplete_pod_groups(
        &self,
    ) -> impl Iterator<Item = (&ObjectKey, &IncompletePodGroup)> {
        self.incomplete_pod_groups.iter()
    }

    /// The running and pending pods of a node.
    pub(crate) fn pods_on(&self, node: &str) -> &[ObjectKey] {
        self.pods_by_node.get(node).map_or(&[], Vec::as_slice)
    }

    /// Requests of the pods of a node.
    pub(crate) fn allocated_on(&self, node: &str) -> Requests {
        self.allocated_by_node
            .get(node)
            .cloned()
            .unwrap_or_default()
    }

    fn sort_pending_workloads(&mut self, data: &ClusterData) {
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
        self.positions.clear();
        self.head_workloads.clear();
        self.pending_workloads.clear();
        for (queue, mut line) in lines {
            line.sort_by_cached_key(|wl| {
                (
                    -wl.priority,
                    queue_order_timestamp(wl),
                    wl.meta.uid.as_str(),
                )
            });
            let of = line.len();
            for (at, wl) in line.iter().enumerate() {
                let position = QueuePosition { number: at + 1, of };
                self.positions.insert(wl.key().clone(), position);
            }
            if let Some(first) = line.first() {
                self.head_workloads
                    .insert(queue.to_owned(), first.key().clone());
            }
            let keys = line.into_iter().map(|wl| wl.key().clone()).collect();
            self.pending_workloads.insert(queue.to_owned(), keys);
        }
    }

    fn count_pods(&mut self, data: &ClusterData) {
        let mut by_owner: HashMap<&str, &ObjectKey> = HashMap::new();
        for wl in data.workloads.iter() {
            for owner in &wl.owners {
                by_owner.insert(&owner.uid, wl.key());
            }
        }
        self.pods.clear();
        self.workload_by_pod.clear();
        self.incomplete_pod_groups.clear();
        for pod in data.pods.iter() {
            let annotated = pod
                .workload
                .as_ref()
                .map(|name| ObjectKey::new(&pod.key().namespace, name))
                .filter(|key| data.workloads.get(key).is_some());
            let owner = annotated.or_else(|| {
                std::iter::once(&pod.meta.uid)
                    .chain(&pod.owners)
                    .find_map(|uid| by_owner.get(uid.as_str()).map(|k| (*k).clone()))
            });
            let Some(owner) = owner else {
                if let (Some(name), Some(of), true) =
                    (&pod.workload, pod.pod_group_total_count, pod.gated)
                {
                    let key = ObjectKey::new(&pod.key().namespace, name);
                    let group = self.incomplete_pod_groups.entry(key).or_default();
                    group.pods += 1;
                    group.of = group.of.max(of);
                }
                continue;
            };
            let count = self.pods.entry(owner.clone()).or_default();
            count.total += 1;
            if pod.meta.deleting {
                count.terminating += 1;
            } else if pod.ready || pod.phase == "Succeeded" {
                count.ready += 1;
            }
            if pod.unschedulable.is_some() && pod.node.is_empty() {
                count.unschedulable += 1;
            }
            self.workload_by_pod.insert(pod.key().clone(), owner);
        }
    }

    fn sum_node_allocation(&mut self, data: &ClusterData) {
        self.pods_by_node.clear();
        self.allocated_by_node.clear();
        for pod in data
            .pods
            .iter()
            .filter(|p| !p.node.is_empty() && !p.is_terminal())
        {
            let on = self.pods_by_node.entry(pod.node.clone()).or_default();
            on.push(pod.key().clone());
            let occupied = self.allocated_by_node.entry(pod.node.clone()).or_default();
            add_requests(occupied, &pod.requests, 1);
        }
        let totals = &mut self.totals;
        totals.nodes_ready = data.nodes.iter().filter(|n| n.ready).count();
        totals.allocatable = Requests::new();
        totals.allocated = Requests::new();
        for node in data.nodes.iter() {
            add_requests(&mut totals.allocatable, &node.allocatable, 1);
            if let Some(occupied) = self.allocated_by_node.get(&node.key().name) {
                add_requests(&mut totals.allocated, occupied, 1);
            }
        }
    }
}

/// The timestamp that orders workloads of equal priority: the creation time, or the eviction time.
fn queue_order_timestamp(wl: &WorkloadRow) -> Option<Timestamp> {
    if let Some(left) = wl.conditions.when_true(EVICTED)
        && (left.reason == evicted::PODS_READY_TIMEOUT || left.reason == evicted::ADMISSION_CHECK)
    {
        return Some(left.at);
    }
    let preempted = wl.conditions.when_true(PREEMPTED);
    if let Some(by) = preempted.filter(|c| c.reason == preempted::IN_COHORT_RECLAIM_WHILE_BORROWING)
    {
        return Some(by.at);
    }
    wl.meta.created
}

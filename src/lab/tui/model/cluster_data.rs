//! The watched objects.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::devices::{ResourceClaimRow, ResourceSliceRow};
use super::event::EventLog;
use super::evictions::EvictionLog;
use super::loops::record_events;
use super::managed_job::ManagedJobRow;
use super::node::NodeRow;
use super::pod::PodRow;
use super::queues::{
    ClusterQueueRow, CohortRow, LocalQueueRow, ResourceFlavorRow, WorkloadPriorityClassRow,
};
use super::watch_status::WatchStatus;
use super::workload::WorkloadRow;
use super::{Delta, Kind, Store, WatchUpdate};
use kueue_lab_preemption_loops::LoopDetector;

/// The watched objects of the cluster.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClusterData {
    /// Workloads.
    pub workloads: Store<WorkloadRow>,
    /// ClusterQueues.
    pub cluster_queues: Store<ClusterQueueRow>,
    /// LocalQueues.
    pub local_queues: Store<LocalQueueRow>,
    /// Cohorts.
    pub cohorts: Store<CohortRow>,
    /// ResourceFlavors.
    pub flavors: Store<ResourceFlavorRow>,
    /// WorkloadPriorityClasses.
    pub priority_classes: Store<WorkloadPriorityClassRow>,
    /// Nodes.
    pub nodes: Store<NodeRow>,
    /// Pods.
    pub pods: Store<PodRow>,
    /// Managed jobs of SkyPilot.
    pub managed_jobs: Store<ManagedJobRow>,
    /// ResourceSlices.
    pub resource_slices: Store<ResourceSliceRow>,
    /// ResourceClaims.
    pub resource_claims: Store<ResourceClaimRow>,
    /// Events.
    pub events: EventLog,
    /// Evictions.
    pub evictions: EvictionLog,
    /// Detects loops of scheduling attempts.
    pub loops: LoopDetector,
    /// The status of each watch.
    pub watch_statuses: BTreeMap<Kind, WatchStatus>,
    /// The current lab time.
    pub now: Timestamp,
}

impl ClusterData {
    /// Applies a watch event.
    pub(crate) fn apply(&mut self, update: WatchUpdate) {
        match update {
            WatchUpdate::Workload(change) => {
                match &change {
                    Delta::Replaced(rows) => {
                        for row in rows {
                            self.evictions.observe_workload(row, &self.cluster_queues);
                        }
                    }
                    Delta::Updated(row) => {
                        self.evictions.observe_workload(row, &self.cluster_queues)
                    }
                    Delta::Deleted(_) => {}
                }
                self.workloads.apply(change);
            }
            WatchUpdate::Event(change) => {
                let rows = match &change {
                    Delta::Replaced(rows) => rows.as_slice(),
                    Delta::Updated(row) => std::slice::from_ref(&**row),
                    Delta::Deleted(_) => &[],
                };
                for row in rows {
                    self.evictions
                        .observe_event(row, &self.workloads, &self.cluster_queues);
                }
                record_events(&mut self.loops, rows);
                self.events.apply(change);
            }
            WatchUpdate::ClusterQueue(change) => self.cluster_queues.apply(change),
            WatchUpdate::LocalQueue(change) => self.local_queues.apply(change),
            WatchUpdate::Cohort(change) => self.cohorts.apply(change),
            WatchUpdate::Flavor(change) => self.flavors.apply(change),
            WatchUpdate::PriorityClass(change) => self.priority_classes.apply(change),
            WatchUpdate::Node(change) => self.nodes.apply(change),
            WatchUpdate::Pod(change) => self.pods.apply(change),
            WatchUpdate::ManagedJob(change) => self.managed_jobs.apply(change),
            WatchUpdate::ResourceSlice(change) => self.resource_slices.apply(change),
            WatchUpdate::ResourceClaim(change) => self.resource_claims.apply(change),
            WatchUpdate::Status(kind, health) => {
                self.watch_statuses.insert(kind, health);
            }
        }
    }

    /// Forgets what the logs have of the time after `now`, when an earlier moment is shown.
    pub(crate) fn forget_after(&mut self, now: Timestamp) {
        self.evictions.forget_after(now);
        self.events.forget_after(now);
        self.loops = LoopDetector::default();
        for row in self.events.oldest_first() {
            record_events(&mut self.loops, std::slice::from_ref(row));
        }
    }

    /// The status of the watch of a kind.
    pub(crate) fn watch_status(&self, kind: Kind) -> &WatchStatus {
        self.watch_statuses
            .get(&kind)
            .unwrap_or(&WatchStatus::Starting)
    }

    /// The ClusterQueue of the admission of a workload, or else of its LocalQueue.
    pub(crate) fn cluster_queue_of<'a>(&'a self, wl: &'a WorkloadRow) -> Option<&'a str> {
        let held = wl.admission.as_ref().map(|a| a.cluster_queue.as_str());
        held.or_else(|| Some(self.local_queues.get(&wl.queue_key)?.cluster_queue.as_str()))
    }

    /// The LocalQueues of a ClusterQueue.
    pub(crate) fn local_queues_of<'a>(
        &'a self,
        cq: &'a str,
    ) -> impl Iterator<Item = &'a LocalQueueRow> {
        self.local_queues
            .iter()
            .filter(move |q| q.cluster_queue == cq)
    }
}

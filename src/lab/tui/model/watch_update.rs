//! Watch events.

use super::devices::{ResourceClaimRow, ResourceSliceRow};
use super::event::EventRow;
use super::managed_job::ManagedJobRow;
use super::node::NodeRow;
use super::pod::PodRow;
use super::queues::{
    ClusterQueueRow, CohortRow, LocalQueueRow, ResourceFlavorRow, WorkloadPriorityClassRow,
};
use super::watch_status::WatchStatus;
use super::workload::WorkloadRow;
use super::{Delta, Kind};

/// A watch event, by kind.
#[derive(Clone, Debug)]
pub enum WatchUpdate {
    /// Workloads.
    Workload(Delta<WorkloadRow>),
    /// ClusterQueues.
    ClusterQueue(Delta<ClusterQueueRow>),
    /// LocalQueues.
    LocalQueue(Delta<LocalQueueRow>),
    /// Cohorts.
    Cohort(Delta<CohortRow>),
    /// ResourceFlavors.
    Flavor(Delta<ResourceFlavorRow>),
    /// WorkloadPriorityClasses.
    PriorityClass(Delta<WorkloadPriorityClassRow>),
    /// Nodes.
    Node(Delta<NodeRow>),
    /// Pods.
    Pod(Delta<PodRow>),
    /// Events.
    Event(Delta<EventRow>),
    /// Managed jobs of SkyPilot.
    ManagedJob(Delta<ManagedJobRow>),
    /// ResourceSlices.
    ResourceSlice(Delta<ResourceSliceRow>),
    /// ResourceClaims.
    ResourceClaim(Delta<ResourceClaimRow>),
    /// Status of a watch.
    Status(Kind, WatchStatus),
}

//! The cache: ClusterQueues and Cohorts with their quota, flavors, admission checks, and the
//! workloads that reserve quota. Upstream's `pkg/cache/scheduler`.
//!
//! Must not depend on pending workloads.

mod admission_cache;
mod cached_workloads;
mod cluster_queue;
mod cluster_queue_active;
mod cluster_queue_queries;
mod cohort_subtree;
mod dominant_resource_share;
mod local_queue;
mod object_updates;
mod pods_ready;
mod preemption_policies;
mod reserving_workloads;
mod usage_stats;

pub use admission_cache::Cache;
pub use cached_workloads::{CachedWorkload, WorkloadIndex, usage_of};
pub use cluster_queue::{
    AdmissionChecks, ClusterQueue, ConcurrentAdmission, FlavorFungibilityConfig, QueueStatus,
    ReservingWorkload, ResourceGroup, admission_checks,
};
pub use cluster_queue_active::{ActiveCondition, AdmissionCheckInfo};
pub use cohort_subtree::CohortSubtree;
pub use dominant_resource_share::{Drs, WeightedShare};
pub use kueue_lab_quota_tree::{
    CohortHasCycle, CohortHierarchy, HierarchyNode, HierarchyNodeId, HierarchyNodeKind, Quota,
    ResourceNode,
};
pub use local_queue::LocalQueueUsage;
pub use object_updates::{CacheError, QueueNames};
pub use preemption_policies::{BorrowWithinCohort, PreemptionPolicies, PreemptionPolicy};
pub use usage_stats::{ClusterQueueUsageStats, LocalQueueUsageStats};

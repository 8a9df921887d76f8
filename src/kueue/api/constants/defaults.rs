//! Default names, default values and limits.

/// Default name of a pod set.
pub const DEFAULT_POD_SET_NAME: &str = "main";
/// Name of the default LocalQueue of a namespace.
pub const DEFAULT_LOCAL_QUEUE_NAME: &str = "default";
/// Name of the default WorkloadPriorityClass.
pub const DEFAULT_WORKLOAD_PRIORITY_CLASS_NAME: &str = "default";
/// Priority without a class.
pub const DEFAULT_PRIORITY: i32 = 0;
/// Maximum number of pod sets of a workload.
pub const MAX_POD_SETS: usize = 18;

/// Default limit of pending workloads in the visibility API.
pub const DEFAULT_PENDING_WORKLOADS_LIMIT: i64 = 1000;
/// Maximum limit of pending workloads in the visibility API.
pub const MAX_PENDING_WORKLOADS_LIMIT: i64 = 100_000;

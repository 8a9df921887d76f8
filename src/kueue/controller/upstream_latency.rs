//! [`UpstreamLatency`]: latencies of upstream on which its decisions depend.

use std::time::Duration;

/// Latencies of upstream on which its decisions depend, as measured in recordings. The writes of a
/// controller of an embedded cluster take no time, so it waits this long instead. On a real cluster
/// the latencies of its API server apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpstreamLatency {
    /// The latency of a write of a Workload, during which the scheduler runs a cycle every 10 ms.
    /// It delays the reconciliation of jobs after a Workload lost its quota, and after pods
    /// terminated together.
    pub workload_write: Duration,
    /// Delay of drained Workloads when a queue is stopped or restarted: upstream reconciles the
    /// Workloads of a queue in random order.
    pub drained_workloads: Duration,
    /// Whether the scheduler resets PodsReady of a skipped Workload, which upstream's job
    /// controller does concurrently.
    pub scheduler_resets_pods_ready: bool,
    /// The shortest time between two status writes of the scheduler to one Workload in a loop, such
    /// as two Workloads that preempt each other; zero for no limit.
    pub repeated_status_write: Duration,
}

impl UpstreamLatency {
    /// As recorded.
    pub(crate) const RECORDED: Self = Self {
        workload_write: Duration::from_millis(25),
        drained_workloads: Duration::from_millis(10),
        scheduler_resets_pods_ready: true,
        repeated_status_write: Duration::from_millis(250),
    };

    /// No added latency.
    pub const NONE: Self = Self {
        workload_write: Duration::ZERO,
        drained_workloads: Duration::ZERO,
        scheduler_resets_pods_ready: false,
        repeated_status_write: Duration::ZERO,
    };
}

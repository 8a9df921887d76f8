//! Scheduling gates of pods and preemption gates of Workloads.

/// Scheduling gate: the pod waits for admission.
pub const ADMISSION_SCHEDULING_GATE: &str = "kueue.x-k8s.io/admission";
/// Scheduling gate: the pod waits for its topology domain.
pub const TOPOLOGY_SCHEDULING_GATE: &str = "kueue.x-k8s.io/topology";
/// Scheduling gate: the pod waits for its workload slice to be admitted.
pub const ELASTIC_JOB_SCHEDULING_GATE: &str = "kueue.x-k8s.io/elastic-job";

/// Preemption gate that MultiKueue adds to workloads in worker clusters.
pub const MULTI_KUEUE_PREEMPTION_GATE: &str = "kueue.x-k8s.io/multikueue";
/// Preemption gate of the variants of a concurrently admitted workload.
pub const CONCURRENT_ADMISSION_PREEMPTION_GATE: &str = "kueue.x-k8s.io/concurrent-admission";

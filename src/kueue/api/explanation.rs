//! `explanation.kueue-lab.dev`: why a Workload is not admitted, and how the quota of a ClusterQueue is used, by the
//! engine that decides. An aggregated API without storage.

/// The API group.
pub const GROUP: &str = "explanation.kueue-lab.dev";
/// Its version.
pub const VERSION: &str = "v1alpha1";
/// The subresource of Workloads and ClusterQueues.
pub const SUBRESOURCE: &str = "explanation";
/// The kind of the subresource.
pub const KIND: &str = "Explanation";

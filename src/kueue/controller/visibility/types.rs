//! The types of `visibility.kueue.x-k8s.io`. They are the same in both versions.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Serialize;

/// The API group.
pub const GROUP: &str = "visibility.kueue.x-k8s.io";
/// The versions, preferred first.
pub const VERSIONS: &[&str] = &["v1beta2", "v1beta1"];

/// A pending workload.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PendingWorkload {
    /// Name, namespace, creation time and owners of the Workload.
    pub metadata: ObjectMeta,
    /// Its priority.
    pub priority: i32,
    /// The LocalQueue it was submitted to.
    pub local_queue_name: String,
    /// Its position in the ClusterQueue, from 0.
    pub position_in_cluster_queue: usize,
    /// Its position in the LocalQueue, from 0.
    pub position_in_local_queue: usize,
}

/// The pending workloads of a queue, in queue order.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PendingWorkloadsSummary {
    /// Empty.
    pub metadata: ObjectMeta,
    /// The workloads.
    pub items: Vec<PendingWorkload>,
}

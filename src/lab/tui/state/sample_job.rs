//! Sample Jobs.

use crate::model::ObjectKey;

/// Sample Jobs to submit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampleJob {
    /// The LocalQueue.
    pub queue: ObjectKey,
    /// Pods of each Job.
    pub pods: u32,
    /// Requests of each pod: resource names and quantities.
    pub requests: Vec<(String, String)>,
    /// The WorkloadPriorityClass.
    pub priority_class: Option<String>,
    /// Run time of each pod, in seconds.
    pub seconds: u32,
    /// The number of Jobs.
    pub copies: u32,
}

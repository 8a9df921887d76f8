//! [`ReplayError`]: why a replay does not start.

use kueue_lab_quota_tree::CohortHasCycle;

/// Why a replay does not start.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// An object does not match its schema.
    #[error("{object}: {error}")]
    Object {
        /// Kind and name.
        object: String,
        /// Where and why.
        #[source]
        error: serde_json::Error,
    },
    /// The engine rejects a Cohort.
    #[error("Cohort {name}: {error}")]
    Cohort {
        /// Its name.
        name: String,
        /// Why.
        #[source]
        error: CohortHasCycle,
    },
    /// The configuration has no LocalQueue.
    #[error("it has no LocalQueue to submit jobs to")]
    NoLocalQueue,
    /// The priority of a job is a name that no WorkloadPriorityClass has.
    #[error(
        "line {line} of the trace has the priority {name:?}, and there is no WorkloadPriorityClass of this name; {existing}"
    )]
    NoPriorityClass {
        /// The line of the job.
        line: usize,
        /// The name.
        name: String,
        /// The names of the classes, in words.
        existing: String,
    },
    /// A queue of the trace cannot be mapped.
    #[error(transparent)]
    Queue(#[from] QueueMappingError),
}

/// Why queues of a trace cannot be mapped to LocalQueues.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueueMappingError {
    /// A text is not a pair.
    #[error("{0:?} is not QUEUE=LOCALQUEUE")]
    NotAPair(String),
    /// A queue is mapped twice.
    #[error("{queue} is mapped to both {first:?} and {second:?}")]
    MappedTwice {
        /// The queue of the trace.
        queue: String,
        /// The LocalQueue of the first pair.
        first: String,
        /// The LocalQueue of the second pair.
        second: String,
    },
    /// A LocalQueue does not exist.
    #[error("there is no LocalQueue {name:?}; the LocalQueues are {existing}")]
    NoLocalQueue {
        /// The name.
        name: String,
        /// The existing ones, separated by commas.
        existing: String,
    },
}

//! [`ReplayOutcome`]: the results of a replay.

use std::collections::BTreeMap;

use serde::Serialize;

use super::metrics::WaitPercentiles;

/// The usage of a resource from a time on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct UsagePoint {
    /// Seconds since the first submission.
    pub seconds: f64,
    /// The usage in units of the resource.
    pub used: f64,
}

/// The results of the jobs of one LocalQueue.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct QueueOutcome {
    /// The LocalQueue, `NAMESPACE/NAME`.
    pub queue: String,
    /// The number of its jobs.
    pub jobs: usize,
    /// The number of jobs that were never admitted.
    pub never_admitted: usize,
    /// The number of jobs that did not finish.
    pub unfinished: usize,
    /// The waits from submission to first admission, in seconds; none without admitted jobs.
    pub wait: Option<WaitPercentiles>,
    /// The mean of (time from submission to completion) / duration of its jobs. A job that did not finish
    /// counts with the time from submission to the end of the replay, a lower bound. None if no job was
    /// submitted.
    pub mean_slowdown: Option<f64>,
    /// The unit-hours of the main resource that its jobs held.
    pub held_hours: f64,
    /// How often its jobs were preempted.
    pub preemptions: usize,
}

/// The job that was preempted most often.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MostPreempted {
    /// The job.
    pub job: String,
    /// Its line in the trace.
    pub line: usize,
    /// How often it was preempted.
    pub preemptions: usize,
}

/// The reasons that jobs were never admitted.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NeverAdmitted {
    /// The number of jobs.
    pub jobs: usize,
    /// The first of them.
    pub first: String,
    /// Its line in the trace.
    pub line: usize,
    /// The verdict of the engine on it at the end of the replay.
    pub reason: String,
}

/// The results of a replay through one configuration.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplayOutcome {
    /// The configuration.
    pub configuration: String,
    /// The number of jobs.
    pub jobs: usize,
    /// The number of jobs that were admitted.
    pub admitted: usize,
    /// The number of jobs that finished.
    pub finished: usize,
    /// The waits from submission to first admission, in seconds; none without admitted jobs.
    pub wait: Option<WaitPercentiles>,
    /// The time from the first submission to the last completion, in seconds.
    pub makespan_seconds: f64,
    /// The share of the nominal quota of each resource that was held, from 0, over the makespan.
    pub utilisation: BTreeMap<String, f64>,
    /// The resource of held and lost hours and of the usage over time: the device in the quota that most
    /// jobs request, or cpu.
    pub main_resource: String,
    /// The nominal quota of the main resource.
    pub main_quota: f64,
    /// The number of preemptions by reason, such as `InClusterQueue`.
    pub preemptions: BTreeMap<String, usize>,
    /// The number of jobs that were preempted.
    pub preempted_jobs: usize,
    /// The job that was preempted most often.
    pub most_preempted: Option<MostPreempted>,
    /// The unit-hours of the main resource of runs whose work was lost.
    pub lost_hours: f64,
    /// Jain's index of the mean slowdowns of the LocalQueues with jobs: 1 is fair. None without admitted jobs.
    pub fairness: Option<f64>,
    /// The results of each LocalQueue with jobs.
    pub queues: Vec<QueueOutcome>,
    /// The LocalQueues that were chosen for queues of the trace which no LocalQueue is named after.
    pub assumed_queues: Vec<String>,
    /// The reasons that jobs were never admitted; empty if the replay ended early.
    pub never: Vec<NeverAdmitted>,
    /// The number of further jobs that were never admitted: of very many different ones, the most frequent
    /// are explained.
    pub not_explained: usize,
    /// The reason that the replay ended early, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
    /// All waits of admitted jobs, sorted, in seconds.
    #[serde(skip)]
    pub waits: Vec<f64>,
    /// The usage of the main resource over time.
    #[serde(skip)]
    pub usage: Vec<UsagePoint>,
    /// The first admission of each job in the order of the trace, in seconds since the first submission.
    #[serde(skip)]
    pub admissions: Vec<Option<f64>>,
}

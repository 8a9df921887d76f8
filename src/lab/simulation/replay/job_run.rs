//! [`JobRun`]: the state of a job in a replay.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};

use crate::trace::TraceJob;
use kueue_lab_engine::workload::WorkloadKey;

/// The state of a job in a replay.
#[derive(Clone, Debug)]
pub(super) struct JobRun {
    /// Its Workload.
    pub(super) workload: WorkloadKey,
    /// The index of its LocalQueue.
    pub(super) queue: usize,
    /// When it was first admitted.
    pub(super) first_admitted: Option<Timestamp>,
    /// When its current run was admitted.
    pub(super) admitted: Option<Timestamp>,
    /// When it finished.
    pub(super) finished: Option<Timestamp>,
    /// How long it still has to run.
    pub(super) remaining: SignedDuration,
    /// The number of its runs that ended.
    pub(super) run: u32,
    /// How often it was preempted.
    pub(super) preemptions: u32,
    /// How often it was preempted by each job. A job that finished preempts no more.
    by_preemptor: HashMap<Option<usize>, u32>,
    /// How often it was preempted since the last progress of the replay, and that progress.
    since_progress: (usize, u32),
    /// The time of runs whose work was lost.
    pub(super) lost: SignedDuration,
    /// The usage of its current run, by index of the resource.
    pub(super) usage: Vec<(usize, f64)>,
}

impl JobRun {
    /// A job that is not submitted.
    pub(super) fn new(job: &TraceJob, workload: WorkloadKey, queue: usize) -> Self {
        JobRun {
            workload,
            queue,
            first_admitted: None,
            admitted: None,
            finished: None,
            remaining: job.duration,
            run: 0,
            preemptions: 0,
            by_preemptor: HashMap::new(),
            since_progress: (0, 0),
            lost: SignedDuration::ZERO,
            usage: Vec::new(),
        }
    }

    /// Ends a run by an eviction. Work up to the last checkpoint is kept.
    pub(super) fn evict(
        &mut self,
        now: Timestamp,
        checkpoint: Option<SignedDuration>,
    ) -> SignedDuration {
        self.run += 1;
        let Some(since) = self.admitted.take() else {
            return SignedDuration::ZERO;
        };
        let ran = now.duration_since(since);
        let kept = checkpoint.map_or(SignedDuration::ZERO, |interval| kept_work(ran, interval));
        self.remaining = self.remaining.saturating_sub(kept);
        let lost = ran.saturating_sub(kept);
        self.lost = self.lost.saturating_add(lost);
        lost
    }

    /// Counts a preemption by a job. Returns how often it was preempted by this job, or by any job since
    /// `progress`, the number of submissions and completions, if that is more often.
    pub(super) fn count_preemption(&mut self, by: Option<usize>, progress: usize) -> u32 {
        self.preemptions += 1;
        let by_this = self.by_preemptor.entry(by).or_default();
        *by_this += 1;
        let (since, count) = &mut self.since_progress;
        if std::mem::replace(since, progress) != progress {
            *count = 0;
        }
        *count += 1;
        (*by_this).max(*count)
    }
}

/// The work of a run at its last checkpoint.
fn kept_work(ran: SignedDuration, interval: SignedDuration) -> SignedDuration {
    match interval.as_millis() {
        interval if interval > 0 => {
            let kept = ran.as_millis() / interval * interval;
            SignedDuration::from_millis(i64::try_from(kept).unwrap_or(i64::MAX))
        }
        _ => ran,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preemptions_are_counted_by_preemptor_and_since_progress() {
        let workload = WorkloadKey::new("ns", "job");
        let text = "submit_time,duration\n0,1\n";
        let trace = crate::trace::read_trace("t", text, &Default::default()).unwrap();
        let mut run = JobRun::new(&trace.jobs[0], workload, 0);
        let counts = [(1, 5), (2, 5), (1, 6), (1, 7)];
        let counts = counts.map(|(by, progress)| run.count_preemption(Some(by), progress));
        assert_eq!((counts, run.preemptions), ([1, 2, 2, 3], 4));
    }

    #[test]
    fn work_up_to_the_last_checkpoint_is_kept() {
        let seconds = SignedDuration::from_secs;
        assert_eq!(kept_work(seconds(125), seconds(60)), seconds(120));
        assert_eq!(kept_work(seconds(59), seconds(60)), seconds(0));
        assert_eq!(kept_work(seconds(59), seconds(0)), seconds(59));
    }
}

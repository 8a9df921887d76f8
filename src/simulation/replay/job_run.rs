//! [`JobRun`]: the state of a job in a replay.

use jiff::{SignedDuration, Timestamp};

use crate::trace::TraceJob;
use kueue_lab_admission::workload::WorkloadKey;

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
    fn work_up_to_the_last_checkpoint_is_kept() {
        let seconds = SignedDuration::from_secs;
        assert_eq!(kept_work(seconds(125), seconds(60)), seconds(120));
        assert_eq!(kept_work(seconds(59), seconds(60)), seconds(0));
        assert_eq!(kept_work(seconds(59), seconds(0)), seconds(59));
    }
}

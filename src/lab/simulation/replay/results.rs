//! The results of a replay that has run.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use jiff::Timestamp;

use super::job_run::JobRun;
use super::metrics::{WaitPercentiles, jain_index, seconds};
use super::outcome::{MostPreempted, QueueOutcome, ReplayOutcome};
use super::replayer::Replayer;

impl Replayer<'_> {
    /// The results, with the name of the configuration and the nominal quotas.
    pub(super) fn outcome(mut self, name: &str, quota: &BTreeMap<String, f64>) -> ReplayOutcome {
        let running: Vec<usize> = (0..self.runs.len()).collect();
        for job in running {
            self.release_usage(job);
        }
        let (never, not_explained) = match self.stopped {
            None => self.never_admitted(),
            Some(_) => (Vec::new(), 0),
        };
        let finished = self.runs.iter().filter_map(|run| run.finished).max();
        let end = match self.stopped {
            None => finished.unwrap_or(self.now),
            Some(_) => self.now,
        };
        let makespan = seconds(end.duration_since(self.start));
        let mut utilisation = BTreeMap::new();
        for (resource, usage) in self.resources.iter().zip(&mut self.usage) {
            usage.advance(self.now);
            let available = quota.get(resource).copied().unwrap_or_default() * makespan;
            if available > 0.0 {
                utilisation.insert(resource.clone(), usage.integral / available);
            }
        }
        let waits = self.waits(|_| true);
        let queues: Vec<QueueOutcome> = (0..self.local_queues.len())
            .map(|queue| self.queue_outcome(queue, end))
            .filter(|queue| queue.jobs > 0)
            .collect();
        let slowdowns = queues.iter().filter_map(|queue| queue.mean_slowdown);
        let slowdowns: Vec<f64> = slowdowns.collect();
        let main = self
            .resources
            .get(self.main_resource)
            .cloned()
            .unwrap_or_default();
        let since_start = |at: Timestamp| seconds(at.duration_since(self.start));
        let usage = self.usage.get(self.main_resource);
        ReplayOutcome {
            configuration: name.to_owned(),
            jobs: self.runs.len(),
            admitted: waits.len(),
            finished: self
                .runs
                .iter()
                .filter(|run| run.finished.is_some())
                .count(),
            wait: WaitPercentiles::of(&waits),
            makespan_seconds: makespan,
            utilisation,
            main_quota: quota.get(&main).copied().unwrap_or_default(),
            main_resource: main,
            preemptions: self.preemptions.clone(),
            preempted_jobs: self.runs.iter().filter(|run| run.preemptions > 0).count(),
            most_preempted: self.most_preempted(),
            lost_hours: self.lost_hours,
            // Queues of which no job was admitted are equal in nothing.
            fairness: (!waits.is_empty()).then(|| jain_index(&slowdowns)),
            queues,
            assumed_queues: Vec::new(),
            never,
            not_explained,
            stopped: self.stopped.clone(),
            waits,
            usage: usage.map(|usage| usage.points.clone()).unwrap_or_default(),
            admissions: self
                .runs
                .iter()
                .map(|run| run.first_admitted.map(since_start))
                .collect(),
        }
    }

    /// The sorted waits of the admitted jobs that `of` selects.
    fn waits(&self, of: impl Fn(&JobRun) -> bool) -> Vec<f64> {
        let runs = self
            .runs
            .iter()
            .zip(&self.trace.jobs)
            .filter(|(run, _)| of(run));
        let waits = runs.filter_map(|(run, job)| {
            Some(seconds(run.first_admitted?.duration_since(job.submitted)))
        });
        let mut waits: Vec<f64> = waits.collect();
        waits.sort_by(f64::total_cmp);
        waits
    }

    fn most_preempted(&self) -> Option<MostPreempted> {
        let runs = self.runs.iter().zip(&self.trace.jobs);
        let (run, job) = runs.max_by_key(|(run, job)| (run.preemptions, Reverse(job.line)))?;
        (run.preemptions > 0).then(|| MostPreempted {
            job: job.name.clone(),
            line: job.line,
            preemptions: run.preemptions as usize,
        })
    }

    fn queue_outcome(&self, queue: usize, end: Timestamp) -> QueueOutcome {
        let runs: Vec<_> = self
            .runs
            .iter()
            .zip(&self.trace.jobs)
            .filter(|(run, _)| run.queue == queue)
            .collect();
        let waits = self.waits(|run| run.queue == queue);
        // A replay that is stopped leaves jobs that are not submitted.
        let submitted = runs.iter().filter(|(_, job)| job.submitted <= self.now);
        let slowdowns = submitted.map(|(run, job)| {
            let until = run.finished.unwrap_or(end);
            let total = seconds(until.duration_since(job.submitted));
            // Slowdowns of very short jobs are bounded, as usual, by a duration of ten seconds.
            (total / seconds(job.duration).max(10.0)).max(1.0)
        });
        let slowdowns: Vec<f64> = slowdowns.collect();
        let unfinished = runs.iter().filter(|(run, _)| run.finished.is_none());
        QueueOutcome {
            queue: self.local_queues[queue].to_string(),
            jobs: runs.len(),
            never_admitted: runs.len() - waits.len(),
            unfinished: unfinished.count(),
            wait: WaitPercentiles::of(&waits),
            mean_slowdown: match slowdowns.is_empty() {
                true => None,
                false => Some(slowdowns.iter().sum::<f64>() / slowdowns.len() as f64),
            },
            held_hours: self.held_hours[queue],
            preemptions: runs.iter().map(|(run, _)| run.preemptions as usize).sum(),
        }
    }
}

//! The results of a replay that has run.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use jiff::Timestamp;

use super::job_run::JobRun;
use super::metrics::{WaitPercentiles, jain_index, seconds};
use super::outcome::{NeverAdmitted, QueueOutcome, ReplayOutcome};
use super::replayer::Replayer;

/// Jobs that were never admitted are explained up to this number of different ones.
const MAX_EXPLAINED: usize = 200;

impl Replayer<'_> {
    /// The results, with the name of the configuration and the nominal quotas.
    pub(super) fn outcome(mut self, name: &str, quota: &BTreeMap<String, f64>) -> ReplayOutcome {
        let running: Vec<usize> = (0..self.runs.len()).collect();
        for job in running {
            self.release_usage(job);
        }
        let never = match self.stopped {
            None => self.never_admitted(),
            Some(_) => Vec::new(),
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
            .map(|queue| self.queue_outcome(queue))
            .filter(|queue| queue.jobs > 0)
            .collect();
        let slowdowns = queues.iter().map(|queue| queue.mean_slowdown);
        let slowdowns: Vec<f64> = slowdowns.filter(|slowdown| *slowdown > 0.0).collect();
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
            lost_hours: self.lost_hours,
            fairness: jain_index(&slowdowns),
            queues,
            assumed_queues: Vec::new(),
            never,
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

    /// Why jobs were never admitted, the most frequent reasons first.
    fn never_admitted(&mut self) -> Vec<NeverAdmitted> {
        // Jobs with the same queue and pods have the same reason; the first is explained.
        let mut alike: BTreeMap<(usize, String), Vec<usize>> = BTreeMap::new();
        for (index, (run, job)) in self.runs.iter().zip(&self.trace.jobs).enumerate() {
            if run.first_admitted.is_none() && alike.len() < MAX_EXPLAINED {
                let pods = format!("{:?}", job.spec.pod_sets);
                alike.entry((run.queue, pods)).or_default().push(index);
            }
        }
        let mut reasons: BTreeMap<String, NeverAdmitted> = BTreeMap::new();
        for jobs in alike.into_values() {
            let Some(&first) = jobs.first() else { continue };
            let key = self.runs[first].workload.clone();
            let explained = self.driver.engine_mut().explain(&key, self.now);
            let verdict = explained.and_then(|explained| explained.verdict);
            let reason = verdict.map_or_else(String::new, |verdict| verdict.to_string());
            let job = &self.trace.jobs[first];
            let never = reasons.entry(reason.clone());
            let never = never.or_insert_with(|| NeverAdmitted {
                jobs: 0,
                first: job.name.clone(),
                line: job.line,
                reason,
            });
            never.jobs += jobs.len();
        }
        let mut reasons: Vec<NeverAdmitted> = reasons.into_values().collect();
        reasons.sort_by_key(|never| (Reverse(never.jobs), never.line));
        reasons
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

    fn queue_outcome(&self, queue: usize) -> QueueOutcome {
        let runs: Vec<_> = self
            .runs
            .iter()
            .zip(&self.trace.jobs)
            .filter(|(run, _)| run.queue == queue)
            .collect();
        let waits = self.waits(|run| run.queue == queue);
        let slowdowns = runs.iter().filter_map(|(run, job)| {
            let total = seconds(run.finished?.duration_since(job.submitted));
            // Slowdowns of very short jobs are bounded, as usual, by a duration of ten seconds.
            Some((total / seconds(job.duration).max(10.0)).max(1.0))
        });
        let slowdowns: Vec<f64> = slowdowns.collect();
        QueueOutcome {
            queue: self.local_queues[queue].to_string(),
            jobs: runs.len(),
            never_admitted: runs.len() - waits.len(),
            wait: WaitPercentiles::of(&waits),
            mean_slowdown: match slowdowns.is_empty() {
                true => 0.0,
                false => slowdowns.iter().sum::<f64>() / slowdowns.len() as f64,
            },
            held_hours: self.held_hours[queue],
            preemptions: runs.iter().map(|(run, _)| run.preemptions as usize).sum(),
        }
    }
}

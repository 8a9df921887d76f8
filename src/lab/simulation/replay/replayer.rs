//! [`replay`]: runs a trace through a configuration.

use std::collections::{BTreeMap, HashMap};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};

use super::configuration::{LoadedConfiguration, ReplayConfiguration};
use super::event_queue::{Event, EventQueue};
use super::job_run::JobRun;
use super::main_resource::main_resource;
use super::metrics::{UsageOverTime, seconds};
use super::outcome::ReplayOutcome;
use super::queue_mapping::QueueMapping;
use super::replay_error::ReplayError;
use crate::trace::Trace;
use crate::{DriverEvent, EngineDriver};
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_engine::engine::{DeletedObject, ObjectChange};
use kueue_lab_engine::resources::Decimal;
use kueue_lab_engine::workload::{LocalQueueKey, WorkloadKey};

/// Preemptions of one job by the same job, or while no job is submitted or completes, after which the
/// replay ends: the configuration is in a loop.
const MAX_PREEMPTIONS: u32 = 1_000;
/// Deadlines of the engine without an effect after the last event of a job: it may retry without end.
const MAX_IDLE_DEADLINES: usize = 100;

/// How a trace is replayed.
#[derive(Clone, Debug)]
pub struct ReplayOptions {
    /// The LocalQueues of the trace's queues.
    pub queues: QueueMapping,
    /// How long evicted pods hold their quota.
    pub termination_grace_period: SignedDuration,
    /// The interval of checkpoints; without them, an evicted job starts from the beginning.
    pub checkpoint_interval: Option<SignedDuration>,
}

impl Default for ReplayOptions {
    /// Evicted pods terminate after 30 s, the default of Kubernetes; no checkpoints.
    fn default() -> Self {
        Self {
            queues: QueueMapping::default(),
            termination_grace_period: SignedDuration::from_secs(30),
            checkpoint_interval: None,
        }
    }
}

/// Replays a trace through a configuration in virtual time.
///
/// # Errors
/// The configuration cannot be loaded, or a LocalQueue of the mapping does not exist.
pub fn replay(
    trace: &Trace,
    configuration: &ReplayConfiguration,
    options: &ReplayOptions,
) -> Result<ReplayOutcome, ReplayError> {
    replay_with(trace, configuration, options, Retries::ThatMayFit)
}

/// The retries of inadmissible workloads that are evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Retries {
    /// All, as Kueue does.
    #[cfg_attr(not(test), expect(dead_code, reason = "the reference of tests"))]
    All,
    /// Those that may have another result than before.
    ThatMayFit,
}

/// Replays a trace. The outcome does not depend on `retries`.
pub(super) fn replay_with(
    trace: &Trace,
    configuration: &ReplayConfiguration,
    options: &ReplayOptions,
    retries: Retries,
) -> Result<ReplayOutcome, ReplayError> {
    let start = trace
        .jobs
        .first()
        .map_or(Timestamp::UNIX_EPOCH, |job| job.submitted);
    let loaded = configuration.load(start)?;
    let priorities = configuration.priorities(trace)?;
    let mapped = options.queues.resolve(trace, &loaded.local_queues)?;
    let LoadedConfiguration {
        engine,
        local_queues,
        nominal_quota,
    } = loaded;
    let runs = trace.jobs.iter().enumerate().map(|(index, job)| {
        let queue = mapped.by_name.get(&job.queue).copied().unwrap_or_default();
        let namespace = local_queues[queue].namespace();
        // Of jobs that are submitted in the same second, those of earlier lines are first.
        let workload = WorkloadKey::new(namespace, &format!("job-{index:07}"));
        JobRun::new(job, workload, queue)
    });
    let runs: Vec<JobRun> = runs.collect();
    let by_workload = runs.iter().enumerate();
    let by_workload = by_workload
        .map(|(index, run)| (run.workload.clone(), index))
        .collect();
    let resources: Vec<String> = nominal_quota.keys().cloned().collect();
    let mut driver = EngineDriver::new(engine, configuration.pods_ready);
    if retries == Retries::ThatMayFit {
        driver.enable_cycle_skipping();
    }
    let mut replayer = Replayer {
        trace,
        options,
        main_resource: main_resource(trace, &resources, driver.engine()),
        driver,
        local_queues: &local_queues,
        priorities,
        usage: vec![UsageOverTime::default(); resources.len()],
        resources,
        runs,
        by_workload,
        events: EventQueue::default(),
        preemptions: BTreeMap::new(),
        held_hours: vec![0.0; local_queues.len()],
        lost_hours: 0.0,
        start,
        now: start,
        progress: 0,
        stopped: None,
    };
    replayer.run();
    let mut outcome = replayer.outcome(&configuration.name, &nominal_quota);
    outcome.assumed_queues = mapped.assumed;
    Ok(outcome)
}

/// A replay that runs.
pub(super) struct Replayer<'a> {
    pub(super) trace: &'a Trace,
    pub(super) options: &'a ReplayOptions,
    pub(super) driver: EngineDriver,
    pub(super) local_queues: &'a [LocalQueueKey],
    /// The values of WorkloadPriorityClasses.
    pub(super) priorities: BTreeMap<String, i32>,
    pub(super) main_resource: usize,
    pub(super) resources: Vec<String>,
    pub(super) usage: Vec<UsageOverTime>,
    pub(super) runs: Vec<JobRun>,
    pub(super) by_workload: HashMap<WorkloadKey, usize>,
    pub(super) events: EventQueue,
    pub(super) preemptions: BTreeMap<String, usize>,
    /// By LocalQueue.
    pub(super) held_hours: Vec<f64>,
    pub(super) lost_hours: f64,
    pub(super) start: Timestamp,
    pub(super) now: Timestamp,
    /// The number of jobs that were submitted or completed.
    pub(super) progress: usize,
    pub(super) stopped: Option<String>,
}

impl Replayer<'_> {
    fn run(&mut self) {
        for (index, job) in self.trace.jobs.iter().enumerate() {
            self.events
                .push(job.submitted, Event::Submit { job: index });
        }
        if self.driver.engine().config().afs().is_some() {
            for queue in 0..self.local_queues.len() {
                self.events.push(self.start, Event::SampleUsage { queue });
            }
        }
        let mut idle_deadlines = 0;
        while self.stopped.is_none() {
            let of_jobs = self.events.next_time();
            let deadline = self.driver.next_deadline();
            let next = match (of_jobs, deadline) {
                (None, Some(_)) if idle_deadlines == MAX_IDLE_DEADLINES => break,
                (None, None) => break,
                (Some(at), None) | (None, Some(at)) => at,
                (Some(event), Some(deadline)) => event.min(deadline),
            };
            self.now = self.now.max(next);
            while let Some(event) = self.events.pop_due(self.now) {
                self.handle(event);
            }
            let decided = self.driver.schedule(self.now);
            idle_deadlines = match of_jobs.is_some() || !decided.is_empty() {
                true => 0,
                false => idle_deadlines + 1,
            };
            for event in decided {
                self.apply(event);
            }
        }
    }

    fn handle(&mut self, event: Event) {
        let now = self.now;
        match event {
            Event::Submit { job } => self.submit(job),
            Event::Complete { job, run } => {
                if self.runs[job].run != run || self.runs[job].admitted.is_none() {
                    return;
                }
                self.progress += 1;
                self.release_usage(job);
                self.runs[job].finished = Some(now);
                self.runs[job].admitted = None;
                let key = self.runs[job].workload.clone();
                self.driver.finish(&key, now);
                self.driver.engine_mut().apply(
                    ObjectChange::Delete(DeletedObject::Workload(key.clone())),
                    now,
                );
            }
            Event::Release { job } => {
                self.release_usage(job);
                self.driver.release(&self.runs[job].workload, now);
            }
            Event::SampleUsage { queue } => {
                let engine = self.driver.engine_mut();
                let sampled = engine.sample_local_queue(&self.local_queues[queue], None, now);
                if let Some(usage) = sampled.filter(|usage| usage.next > now) {
                    self.events.push(usage.next, Event::SampleUsage { queue });
                }
            }
        }
    }

    fn submit(&mut self, job: usize) {
        self.progress += 1;
        let run = &self.runs[job];
        let trace_job = &self.trace.jobs[job];
        let mut spec = trace_job.spec.clone();
        if let Some(class) = trace_job.priority_class() {
            spec.priority = self.priorities.get(class).copied();
        }
        self.local_queues[run.queue]
            .name()
            .clone_into(&mut spec.queue_name);
        let workload = Workload {
            metadata: ObjectMeta {
                namespace: Some(run.workload.namespace().to_owned()),
                name: Some(run.workload.name().to_owned()),
                uid: Some(run.workload.name().to_owned()),
                creation_timestamp: Some(Time(self.now)),
                generation: Some(1),
                ..ObjectMeta::default()
            },
            spec,
            ..Workload::default()
        };
        self.driver
            .engine_mut()
            .apply(ObjectChange::upsert(workload), self.now);
    }

    fn apply(&mut self, event: DriverEvent) {
        let now = self.now;
        match event {
            DriverEvent::Admitted(key) => {
                let Some(&job) = self.by_workload.get(&key) else {
                    return;
                };
                self.hold_usage(job);
                let run = &mut self.runs[job];
                run.first_admitted.get_or_insert(now);
                run.admitted = Some(now);
                let end = now.saturating_add(run.remaining).unwrap_or(Timestamp::MAX);
                let run = run.run;
                self.events.push(end, Event::Complete { job, run });
            }
            DriverEvent::Evicted {
                workload,
                preemptor,
                reason,
            } => {
                let Some(&job) = self.by_workload.get(&workload) else {
                    return;
                };
                let lost = self.runs[job].evict(now, self.options.checkpoint_interval);
                let main = self.runs[job]
                    .usage
                    .iter()
                    .find(|(r, _)| *r == self.main_resource);
                let used = main.map_or(0.0, |(_, used)| *used);
                self.lost_hours += used * seconds(lost) / 3_600.0;
                *self.preemptions.entry(reason.clone()).or_default() += 1;
                let grace = self.options.termination_grace_period;
                let gone = now.saturating_add(grace).unwrap_or(Timestamp::MAX);
                self.events.push(gone, Event::Release { job });
                let by = preemptor.and_then(|key| self.by_workload.get(&key).copied());
                let preempted = self.runs[job].count_preemption(by, self.progress);
                if preempted >= MAX_PREEMPTIONS {
                    self.stopped = Some(self.preemption_loop(job, by, &reason));
                }
            }
        }
    }

    fn preemption_loop(&self, job: usize, by: Option<usize>, reason: &str) -> String {
        let by = by.map_or(String::new(), |by| {
            format!(" by job {}", self.trace.jobs[by].name)
        });
        format!(
            "at {}, job {} of line {} was preempted {} times, last{by} ({reason}): the configuration preempts in a loop",
            self.now,
            self.trace.jobs[job].name,
            self.trace.jobs[job].line,
            self.runs[job].preemptions
        )
    }

    /// Adds the usage of the admission of a job.
    fn hold_usage(&mut self, job: usize) {
        let Some(wl) = self.driver.engine().workload(&self.runs[job].workload) else {
            return;
        };
        let admission = wl.status.admission.iter();
        let assigned = admission.flat_map(|admission| &admission.pod_set_assignments);
        let mut totals: BTreeMap<usize, f64> = BTreeMap::new();
        for (name, quantity) in assigned.flat_map(|pod_set| &pod_set.resource_usage) {
            if let Some(resource) = self.resources.iter().position(|known| known == name) {
                let amount = Decimal::parse_lossy(quantity).as_f64();
                *totals.entry(resource).or_default() += amount;
            }
        }
        for (&resource, &amount) in &totals {
            self.usage[resource].add(amount, self.now, self.start);
        }
        self.runs[job].usage = totals.into_iter().collect();
        // The main resource is held from now on; released usage is added with its duration.
        let since = seconds(self.now.duration_since(self.start)) / 3_600.0;
        self.add_held_hours(job, -since);
    }

    /// Removes the usage of a run.
    pub(super) fn release_usage(&mut self, job: usize) {
        let until = seconds(self.now.duration_since(self.start)) / 3_600.0;
        self.add_held_hours(job, until);
        for (resource, amount) in std::mem::take(&mut self.runs[job].usage) {
            self.usage[resource].add(-amount, self.now, self.start);
        }
    }

    fn add_held_hours(&mut self, job: usize, hours: f64) {
        let run = &self.runs[job];
        let main = run.usage.iter().find(|(r, _)| *r == self.main_resource);
        self.held_hours[run.queue] += main.map_or(0.0, |(_, used)| used * hours);
    }
}

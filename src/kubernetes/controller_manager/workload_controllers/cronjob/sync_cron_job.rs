//! The sync of a CronJob. Pure.

use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::batch::v1::{CronJob, CronJobSpec, CronJobStatus, Job};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;

use crate::workload_controllers::job::conditions;
use kueue_lab_controller_runtime::object_reference;
use kueue_lab_controller_utils::event_recorder::NewEvent;
use kueue_lab_controller_utils::pods;
use kueue_lab_cron::Schedule;

/// Maximum number of missed times that are enumerated; with more, the last one is used.
const MISSED: usize = 100;

/// A Job to create.
#[derive(Debug)]
pub(super) struct ScheduledJob {
    /// Its scheduled time.
    pub(super) at: Timestamp,
    /// Active Jobs that it replaces.
    pub(super) replaces: Vec<Arc<Job>>,
}

/// The changes of one sync.
#[derive(Debug, Default)]
pub(super) struct CronJobPlan {
    pub(super) status: CronJobStatus,
    pub(super) start: Option<ScheduledJob>,
    /// Finished Jobs beyond the history limits.
    pub(super) jobs_to_delete: Vec<Arc<Job>>,
    pub(super) events: Vec<NewEvent>,
    /// When to requeue.
    pub(super) requeue_after: Option<Duration>,
}

/// The plan for the Jobs that the CronJob controls.
pub(super) fn sync_cron_job(
    cron: &CronJob,
    spec: &CronJobSpec,
    jobs: &[Arc<Job>],
    now: Timestamp,
) -> CronJobPlan {
    let mut decision = CronJobPlan {
        status: cron.status.clone().unwrap_or_default(),
        ..CronJobPlan::default()
    };
    decision.update_active_jobs(jobs);
    decision.jobs_to_delete = finished_jobs_to_delete(spec, jobs);
    if cron.metadata.deletion_timestamp.is_none() && spec.suspend != Some(true) {
        decision.schedule(cron, spec, jobs, now);
    }
    decision
}

impl CronJobPlan {
    /// Removes finished and deleted Jobs from `status.active`.
    fn update_active_jobs(&mut self, jobs: &[Arc<Job>]) {
        let active = self.status.active.get_or_insert_default();
        for job in jobs {
            let listed = active.iter().any(|r| r.uid == job.uid());
            let Some(finished) = conditions::finished(job) else {
                if !listed {
                    let text = format!(
                        "Saw a job that the controller did not create or forgot: {}",
                        job.name_any()
                    );
                    self.events.push(NewEvent::warning("UnexpectedJob", text));
                    // Added to `status.active`, so that the Event is recorded once.
                    active.push(object_reference(job.as_ref()));
                }
                continue;
            };
            if listed {
                active.retain(|r| r.uid != job.uid());
                let (name, type_) = (job.name_any(), &finished.type_);
                let text = format!("Saw completed job: {name}, condition: {type_}");
                self.events.push(NewEvent::normal("SawCompletedJob", text));
            }
            if finished.type_ == conditions::COMPLETE {
                let completed = job.status.as_ref().and_then(|s| s.completion_time.clone());
                let last = &mut self.status.last_successful_time;
                if completed.as_ref().map(|t| t.0) > last.as_ref().map(|t| t.0) {
                    *last = completed;
                }
            }
        }
        active.retain(|r| {
            let known = jobs.iter().any(|job| job.uid() == r.uid);
            if !known {
                let name = r.name.as_deref().unwrap_or_default();
                let text = format!("Active job went missing: {name}");
                self.events.push(NewEvent::normal("MissingJob", text));
            }
            known
        });
    }

    fn schedule(&mut self, cron: &CronJob, spec: &CronJobSpec, jobs: &[Arc<Job>], now: Timestamp) {
        let Some(zone) = zone(spec) else {
            let name = spec.time_zone.as_deref().unwrap_or_default();
            let text = format!("invalid timeZone: {name:?}: unknown time zone {name}");
            self.events.push(NewEvent::warning("UnknownTimeZone", text));
            return;
        };
        let schedule = match Schedule::parse(&spec.schedule, &zone) {
            Ok(schedule) => schedule,
            Err(why) => {
                let text = format!("unparseable schedule: {:?} : {why}", spec.schedule);
                self.events
                    .push(NewEvent::warning("UnparseableSchedule", text));
                return;
            }
        };
        let next = schedule.next(now);
        self.requeue_after = next.map(|at| at.duration_since(now).unsigned_abs());
        let Some(at) = self.most_recent_schedule_time(cron, spec, &schedule, now) else {
            return;
        };
        let deadline = spec
            .starting_deadline_seconds
            .map(SignedDuration::from_secs);
        if deadline.is_some_and(|d| now.duration_since(at) > d) {
            let when = at.strftime("%a, %d %b %Y %H:%M:%S +0000");
            let text = format!("Missed scheduled time to start a job: {when}");
            self.events.push(NewEvent::warning("MissSchedule", text));
            return;
        }
        let last = self.status.last_schedule_time.as_ref().map(|t| t.0);
        if last == Some(at) {
            return;
        }
        let running = self.status.active.as_deref().unwrap_or_default();
        let policy = spec.concurrency_policy.as_deref();
        if policy == Some("Forbid") && !running.is_empty() {
            let text = "Not starting job because prior execution is running and concurrency policy is Forbid";
            self.events.push(NewEvent::normal("JobAlreadyActive", text));
            return;
        }
        let replaced = |job: &&Arc<Job>| {
            policy == Some("Replace") && running.iter().any(|r| r.uid == job.uid())
        };
        let replaces = jobs.iter().filter(replaced).cloned().collect();
        self.start = Some(ScheduledJob { at, replaces });
    }

    /// The most recent scheduled time without a Job.
    fn most_recent_schedule_time(
        &mut self,
        cron: &CronJob,
        spec: &CronJobSpec,
        schedule: &Schedule,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let mut earliest = match &self.status.last_schedule_time {
            Some(last) => last.0,
            None => pods::created(cron)?,
        };
        if let Some(seconds) = spec.starting_deadline_seconds {
            let window = now.checked_sub(SignedDuration::from_secs(seconds)).ok()?;
            earliest = earliest.max(window);
        }
        let mut due = None;
        let mut at = schedule.next(earliest);
        let mut missed = 0;
        while let Some(time) = at.filter(|time| *time <= now) {
            due = Some(time);
            missed += 1;
            if missed > MISSED {
                // Too many to enumerate: search the past day only.
                let day = now.checked_sub(SignedDuration::from_hours(24)).ok()?;
                at = schedule.next(day.max(time));
                if missed > MISSED * 20 {
                    break;
                }
                continue;
            }
            at = schedule.next(time);
        }
        if missed > MISSED {
            let text = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew";
            self.events
                .push(NewEvent::warning("TooManyMissedTimes", text));
        }
        due
    }
}

fn zone(spec: &CronJobSpec) -> Option<TimeZone> {
    match spec.time_zone.as_deref() {
        None => Some(TimeZone::UTC),
        Some(name) => TimeZone::get(name).ok(),
    }
}

/// A time in the CronJob's time zone.
pub(super) fn format_scheduled_time(spec: &CronJobSpec, at: Timestamp) -> String {
    match zone(spec).filter(|_| spec.time_zone.is_some()) {
        Some(zone) => at
            .to_zoned(zone)
            .strftime("%Y-%m-%dT%H:%M:%S%:z")
            .to_string(),
        None => at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
    }
}

/// A time for the status.
pub(super) fn time(at: Timestamp) -> Time {
    Time(at)
}

/// The oldest finished Jobs beyond the history limits.
fn finished_jobs_to_delete(spec: &CronJobSpec, jobs: &[Arc<Job>]) -> Vec<Arc<Job>> {
    let of = |type_: &str, limit: Option<i32>| -> Vec<Arc<Job>> {
        let Some(limit) = limit.and_then(|l| usize::try_from(l).ok()) else {
            return Vec::new();
        };
        let ended = |job: &&Arc<Job>| conditions::finished(job).is_some_and(|c| c.type_ == type_);
        let mut ended: Vec<Arc<Job>> = jobs.iter().filter(ended).cloned().collect();
        ended.sort_by_key(|job| {
            let started = job
                .status
                .as_ref()
                .and_then(|s| s.start_time.as_ref().map(|t| t.0));
            (started, job.name_any())
        });
        let surplus = ended.len().saturating_sub(limit);
        ended.truncate(surplus);
        ended
    };
    let mut surplus = of(conditions::COMPLETE, spec.successful_jobs_history_limit);
    surplus.extend(of(conditions::FAILED, spec.failed_jobs_history_limit));
    surplus
}

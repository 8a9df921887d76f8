//! The status of a Job after pods were created and deleted, and the pods whose finalizer can be
//! removed. Pure.
//!
//! A pod is counted in three steps, so that it is counted exactly once even after failures: its UID
//! is added to `status.uncountedTerminatedPods`, its tracking finalizer is removed, and then the
//! UID is moved to a counter.

use std::collections::HashSet;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::batch::v1::JobStatus;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::backoff::Backoff;
use super::conditions::{self, COMPLETE, FAILED, FAILURE_TARGET, SUCCESS_CRITERIA_MET, SUSPENDED};
use super::indexes::Indexes;
use super::sync_context::{SyncJobContext, is_indexed, is_pod_failed, is_suspended, uid};
use super::sync_job::{FinishedCondition, SyncPlan};
use super::{JOB_TRACKING_FINALIZER, pod_failure_policy};
use kueue_lab_clock::whole_seconds;
use kueue_lab_controller_utils::event_recorder::NewEvent;
use kueue_lab_controller_utils::pods;

/// Maximum number of uncounted UIDs in the status.
const MAX_UNCOUNTED_PODS: usize = 500;

/// The results of a plan's creations and deletions.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ManagedPods {
    /// Pods created.
    pub created: usize,
    /// Pods deleted, including those already gone.
    pub deleted: usize,
    /// The deleted pods that were Ready.
    pub deleted_ready: usize,
}

/// The status after the pods were managed, and the pods whose finalizer can be removed.
pub(crate) struct TrackedStatus {
    /// The status to write now, if it changed.
    pub status: Option<JobStatus>,
    /// Pods whose tracking finalizer is removed after that write.
    pub pods_to_remove_finalizer: Vec<Arc<Pod>>,
    /// Events to record.
    pub events: Vec<NewEvent>,
    /// The backoff record to keep once the status is written.
    pub backoff: Backoff,
    status_after: JobStatus,
    with_finalizer: HashSet<String>,
    finished_condition: Option<FinishedCondition>,
    completions: Option<i32>,
    /// Whether more finished pods remain than were added.
    more: bool,
}

impl SyncPlan<'_> {
    /// The result after the plan's creations and deletions, given as `acted`.
    pub(crate) fn track_job_status(mut self, acted: ManagedPods, now: Timestamp) -> TrackedStatus {
        let before = self.sync_context.job.status.clone().unwrap_or_default();
        let mut events = Vec::new();
        let was_active = self.sync_context.active.len();
        let active = (was_active + acted.created).saturating_sub(acted.deleted) as i32;
        let mut changed = false;
        if self.finished_condition.is_some() {
            if acted.deleted != was_active {
                self.finished_condition = None;
            }
        } else if let Some(complete) = self.finished_by_completions(active) {
            self.finished_condition = Some(complete);
        } else if self.managed {
            changed = sync_suspended_condition(&mut self.sync_context, now, &mut events);
        }
        let ctx = &mut self.sync_context;
        let status = &mut ctx.status;
        status.active = Some(active).filter(|n| *n > 0);
        status.ready = Some((ctx.ready - acted.deleted_ready as i32).max(0));
        status.terminating = Some(ctx.terminating + acted.deleted as i32);
        changed |= status.active.unwrap_or(0) != before.active.unwrap_or(0)
            || status.ready != before.ready
            || status.terminating != before.terminating;
        self.track(changed, events, now)
    }

    /// Adds finished pods and the finished condition.
    fn track(self, mut changed: bool, events: Vec<NewEvent>, now: Timestamp) -> TrackedStatus {
        let Self {
            sync_context: mut ctx,
            finished_condition: ending,
            ..
        } = self;
        let with_finalizer: HashSet<String> = ctx
            .pods
            .iter()
            .filter(|p| pods::has_finalizer(p.as_ref(), JOB_TRACKING_FINALIZER))
            .map(|p| uid(p).to_string())
            .collect();
        changed |= count_pods_without_finalizer(&mut ctx.status, &with_finalizer);
        let (releases, indexes, recorded) = track_finished_pods(&mut ctx, ending.as_ref());
        changed |= recorded;
        let uncounted = ctx.status.uncounted_terminated_pods.as_ref();
        let waiting = uncounted.map_or(0, |u| {
            u.succeeded.as_ref().map_or(0, Vec::len) + u.failed.as_ref().map_or(0, Vec::len)
        });
        let more = waiting + indexes.len() >= MAX_UNCOUNTED_PODS;
        if is_indexed(ctx.spec) {
            changed |= update_indexes(&mut ctx, indexes);
        }
        if let Some(ending) = &ending {
            let interim = if ending.success {
                SUCCESS_CRITERIA_MET
            } else {
                FAILURE_TARGET
            };
            if conditions::find_true(&ctx.status, interim).is_none() {
                let condition = conditions::new(interim, &ending.reason, &ending.message, now);
                ctx.status
                    .conditions
                    .get_or_insert_default()
                    .push(condition);
                changed = true;
            }
        }
        TrackedStatus {
            pods_to_remove_finalizer: releases,
            events,
            backoff: ctx.backoff,
            with_finalizer,
            finished_condition: ending,
            completions: ctx.spec.completions,
            more,
            status: changed.then(|| ctx.status.clone()),
            status_after: ctx.status,
        }
    }
}

impl TrackedStatus {
    /// The status to write once the finalizers of `released` pods (by UID) are removed, if it
    /// changed again; and the Events to record after that write.
    pub(crate) fn finish(
        mut self,
        released: &[String],
        now: Timestamp,
    ) -> Option<(JobStatus, Vec<NewEvent>)> {
        for uid in released {
            self.with_finalizer.remove(uid);
        }
        let mut changed =
            count_pods_without_finalizer(&mut self.status_after, &self.with_finalizer);
        let mut events = Vec::new();
        if let Some(ending) = self
            .finished_condition
            .take()
            .filter(|_| !self.more && self.can_finish())
        {
            changed = true;
            events = self.enact_job_finished(&ending, now);
        }
        changed.then_some((self.status_after, events))
    }

    /// Whether every pod is counted and deleted.
    fn can_finish(&self) -> bool {
        let uncounted = self.status_after.uncounted_terminated_pods.as_ref();
        let all_counted = uncounted.is_none_or(|u| {
            let empty = |list: &Option<Vec<String>>| list.as_ref().is_none_or(Vec::is_empty);
            empty(&u.succeeded) && empty(&u.failed)
        });
        all_counted && self.status_after.terminating.unwrap_or(0) == 0
    }

    fn enact_job_finished(&mut self, ending: &FinishedCondition, now: Timestamp) -> Vec<NewEvent> {
        let status = &mut self.status_after;
        let type_ = if ending.success { COMPLETE } else { FAILED };
        let condition = conditions::new(type_, &ending.reason, &ending.message, now);
        conditions::ensure(status, condition);
        if !ending.success {
            return vec![NewEvent::warning(&ending.reason, &ending.message)];
        }
        status.completion_time = Some(Time(whole_seconds(now)));
        let mut events = Vec::new();
        if self
            .completions
            .is_some_and(|most| status.succeeded.unwrap_or(0) > most)
        {
            let text = "Too many succeeded pods running after completion count reached";
            events.push(NewEvent::warning("TooManySucceededPods", text));
        }
        events.push(NewEvent::normal("Completed", "Job completed"));
        events
    }
}

/// Updates the condition Suspended; returns whether it changed.
fn sync_suspended_condition(
    ctx: &mut SyncJobContext<'_>,
    now: Timestamp,
    events: &mut Vec<NewEvent>,
) -> bool {
    let suspended = is_suspended(ctx.spec);
    let (reason, message) = if suspended {
        ("JobSuspended", "Job suspended")
    } else {
        ("JobResumed", "Job resumed")
    };
    let mut condition = conditions::new(SUSPENDED, reason, message, now);
    if !suspended {
        condition.status = "False".to_string();
    }
    let changed = conditions::ensure(&mut ctx.status, condition);
    if changed && suspended {
        events.push(NewEvent::normal("Suspended", message));
        // The API server allows removal of the start time only while the Job is suspended, and
        // rejects other changes.
        ctx.status.start_time = None;
    } else if changed {
        events.push(NewEvent::normal("Resumed", message));
        // The active deadline restarts: time in suspension does not count.
        ctx.status.start_time = Some(Time(whole_seconds(now)));
    }
    changed
}

/// Counts uncounted pods without the finalizer; returns whether there were any.
fn count_pods_without_finalizer(status: &mut JobStatus, with_finalizer: &HashSet<String>) -> bool {
    let uncounted = status.uncounted_terminated_pods.get_or_insert_default();
    let take = |list: &mut Option<Vec<String>>, count: &mut Option<i32>| {
        let Some(uids) = list else { return false };
        let before = uids.len();
        uids.retain(|uid| with_finalizer.contains(uid));
        let released = before - uids.len();
        if uids.is_empty() {
            *list = None;
        }
        *count = Some(count.unwrap_or(0).saturating_add(released as i32)).filter(|n| *n > 0);
        released > 0
    };
    let succeeded = take(&mut uncounted.succeeded, &mut status.succeeded);
    take(&mut uncounted.failed, &mut status.failed) || succeeded
}

/// Adds finished pods to the uncounted ones; returns the pods to release, the succeeded indexes,
/// and whether any was added.
fn track_finished_pods(
    ctx: &mut SyncJobContext<'_>,
    ending: Option<&FinishedCondition>,
) -> (Vec<Arc<Pod>>, Vec<i32>, bool) {
    let uncounted = ctx.status.uncounted_terminated_pods.take();
    let mut uncounted = uncounted.unwrap_or_default();
    let (mut succeeded, mut failed) = (
        uncounted.succeeded.take().unwrap_or_default(),
        uncounted.failed.take().unwrap_or_default(),
    );
    let (mut releases, mut indexes, mut recorded) = (Vec::new(), Vec::new(), false);
    let indexed = is_indexed(ctx.spec);
    for pod in &ctx.pods {
        if !pods::has_finalizer(pod.as_ref(), JOB_TRACKING_FINALIZER) {
            continue;
        }
        let has_failed = is_pod_failed(ctx.spec, pod);
        if !can_remove_finalizer(ctx, pod, has_failed, ending) {
            continue;
        }
        releases.push(pod.clone());
        let index = ctx.valid_index(pod);
        let noted_failed = ctx.uncounted.failed.contains(uid(pod));
        if pods::phase(pod) == "Succeeded" && !noted_failed {
            if indexed {
                let new = index.filter(|i| !ctx.prev_succeeded_indexes.contains(*i));
                recorded |= new.is_some();
                indexes.extend(new);
            } else if !ctx.uncounted.succeeded.contains(uid(pod)) {
                succeeded.push(uid(pod).to_string());
                recorded = true;
            }
        } else if (has_failed || ending.is_some_and(|e| !e.success))
            && !noted_failed
            && (!indexed || index.is_some())
            && !pod_failure_policy::match_pod_failure_policy(ctx.spec, pod).ignored
        {
            // When a Job fails, active pods count as failed.
            failed.push(uid(pod).to_string());
            recorded = true;
        }
        if indexes.len() + succeeded.len() + failed.len() >= MAX_UNCOUNTED_PODS {
            break;
        }
    }
    uncounted.succeeded = Some(succeeded).filter(|l| !l.is_empty());
    uncounted.failed = Some(failed).filter(|l| !l.is_empty());
    ctx.status.uncounted_terminated_pods = Some(uncounted);
    (releases, indexes, recorded)
}

/// Whether the finalizer of the pod can be removed.
fn can_remove_finalizer(
    ctx: &SyncJobContext<'_>,
    pod: &Pod,
    has_failed: bool,
    ending: Option<&FinishedCondition>,
) -> bool {
    if ctx.job.metadata.deletion_timestamp.is_some()
        || ending.is_some()
        || pods::phase(pod) == "Succeeded"
    {
        return true;
    }
    let awaiting = ctx
        .valid_index(pod)
        .and_then(|index| ctx.pods_with_delayed_deletion.get(&index));
    has_failed && awaiting.is_none_or(|kept| uid(kept) != uid(pod))
}

/// Updates the succeeded and failed indexes; returns whether they changed.
fn update_indexes(ctx: &mut SyncJobContext<'_>, new: Vec<i32>) -> bool {
    let new: Indexes = new.into_iter().collect();
    let succeeded = ctx.succeeded_indexes.union(&new);
    let status = &mut ctx.status;
    let text = Some(succeeded.to_string()).filter(|t| !t.is_empty());
    let mut changed = text != status.completed_indexes.clone().filter(|t| !t.is_empty());
    status.succeeded = Some(succeeded.len()).filter(|n| *n > 0);
    status.completed_indexes = text;
    let failed = ctx.failed_indexes.as_ref().map(Indexes::to_string);
    if failed != status.failed_indexes {
        status.failed_indexes = failed;
        changed = true;
    }
    changed
}

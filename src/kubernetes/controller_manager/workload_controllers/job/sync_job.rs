//! The sync of a Job: which pods to create and delete, and whether it finishes. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::backoff::Backoff;
use super::conditions::{self, FAILURE_TARGET, SUCCESS_CRITERIA_MET};
use super::indexes::Indexes;
use super::sync_context::{
    SyncJobContext, completion_index, is_indexed, is_pod_failed, is_suspended,
    only_replace_failed_pods,
};
use super::{job_pod, pod_failure_policy, success_policy};
use kueue_lab_clock::whole_seconds;
use kueue_lab_controller_runtime::BURST_REPLICAS;
use kueue_lab_controller_utils::pods;

/// Maximum number of pods created or deleted per sync, so that a large Job does not starve small ones.
const MAX_POD_CREATE_DELETE_PER_SYNC: usize = BURST_REPLICAS;

/// How a Job finishes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FinishedCondition {
    pub(super) success: bool,
    pub(super) reason: String,
    pub(super) message: String,
}

impl FinishedCondition {
    fn failure(reason: &str, message: &str) -> Self {
        Self {
            success: false,
            reason: reason.to_string(),
            message: message.to_string(),
        }
    }

    /// All completions are reached.
    fn completions_reached() -> Self {
        Self {
            success: true,
            reason: "CompletionsReached".to_string(),
            message: "Reached expected number of succeeded pods".to_string(),
        }
    }
}

/// The changes of one sync before the status update.
pub(crate) struct SyncPlan<'a> {
    /// Pods to delete.
    pub deletions: Vec<Arc<Pod>>,
    /// Whether the tracking finalizer is removed before deletion, so that the pods do not count as
    /// failed.
    pub remove_finalizers_on_delete: bool,
    /// Pods to create, in this order.
    pub creations: Vec<Pod>,
    /// When to requeue.
    pub requeue_after: Option<Duration>,
    /// Whether more pods are missing than are created.
    pub is_partial: bool,
    /// How many pods may be created.
    burst_replicas: usize,
    pub(super) sync_context: SyncJobContext<'a>,
    pub(super) finished_condition: Option<FinishedCondition>,
    /// Whether pods were managed, so that conditions for suspension and completion are updated.
    pub(super) managed: bool,
}

/// The plan for a Job, its pods and its backoff record; it creates at most `burst_replicas` pods. `None` for a
/// Job that is finished or managed by another controller.
pub(crate) fn sync_job<'a>(
    job: &'a Job,
    pods: &[Arc<Pod>],
    backoff: Backoff,
    burst_replicas: usize,
    now: Timestamp,
) -> Option<SyncPlan<'a>> {
    if conditions::is_finished(job) {
        return None;
    }
    let mut ctx = SyncJobContext::new(job, pods, backoff)?;
    if ctx.status.start_time.is_none() && !is_suspended(ctx.spec) {
        ctx.status.start_time = Some(Time(whole_seconds(now)));
    }
    let mut requeue_after = None;
    let finished = finished_condition(&ctx, now, &mut requeue_after);
    let mut decision = SyncPlan {
        deletions: Vec::new(),
        remove_finalizers_on_delete: false,
        creations: Vec::new(),
        requeue_after,
        is_partial: false,
        burst_replicas,
        sync_context: ctx,
        finished_condition: finished,
        managed: false,
    };
    if decision.finished_condition.is_some() {
        decision.deletions = decision.sync_context.active.clone();
    } else if job.metadata.deletion_timestamp.is_none() {
        decision.managed = true;
        decision.manage_job(now);
    }
    Some(decision)
}

/// Whether the Job finishes, and how.
fn finished_condition(
    ctx: &SyncJobContext<'_>,
    now: Timestamp,
    requeue_after: &mut Option<Duration>,
) -> Option<FinishedCondition> {
    let (spec, status) = (ctx.spec, &ctx.status);
    let known = |type_: &str, success: bool| {
        conditions::find_true(status, type_).map(|c| FinishedCondition {
            success,
            reason: c.reason.clone().unwrap_or_default(),
            message: c.message.clone().unwrap_or_default(),
        })
    };
    known(SUCCESS_CRITERIA_MET, true)
        .or_else(|| known(FAILURE_TARGET, false))
        .or_else(|| {
            let mut failed = ctx.pods.iter().filter(|p| is_pod_failed(spec, p));
            let why = failed
                .find_map(|p| pod_failure_policy::match_pod_failure_policy(spec, p).fails_job)?;
            Some(FinishedCondition::failure("PodFailurePolicy", &why))
        })
        .or_else(|| {
            let limit = spec.backoff_limit.unwrap_or(6);
            let message = "Job has reached the specified backoff limit";
            (ctx.failed > limit || past_backoff_limit_on_failure(ctx, limit))
                .then(|| FinishedCondition::failure("BackoffLimitExceeded", message))
        })
        .or_else(|| past_active_deadline(ctx, now, requeue_after))
        .or_else(|| failed_indexes_condition(ctx))
        .or_else(|| {
            let completions = ctx.completions();
            let message =
                success_policy::match_success_policy(spec, &ctx.succeeded_indexes, completions)?;
            Some(FinishedCondition {
                success: true,
                reason: "SuccessPolicy".to_string(),
                message,
            })
        })
}

/// With `restartPolicy: OnFailure`, container restarts count toward the backoff limit.
fn past_backoff_limit_on_failure(ctx: &SyncJobContext<'_>, limit: i32) -> bool {
    let template = ctx.spec.template.spec.as_ref();
    if template.and_then(|s| s.restart_policy.as_deref()) != Some("OnFailure") {
        return false;
    }
    let running = ctx.pods.iter().filter(|p| !pods::is_terminal(p));
    let statuses = running.filter_map(|p| p.status.as_ref()).flat_map(|s| {
        let init = s.init_container_statuses.iter().flatten();
        init.chain(s.container_statuses.iter().flatten())
    });
    let restarts: i64 = statuses.map(|s| i64::from(s.restart_count)).sum();
    restarts > 0 && restarts >= i64::from(limit)
}

/// Whether `activeDeadlineSeconds` is exceeded; otherwise sets the requeue time.
fn past_active_deadline(
    ctx: &SyncJobContext<'_>,
    now: Timestamp,
    requeue_after: &mut Option<Duration>,
) -> Option<FinishedCondition> {
    let seconds = ctx.spec.active_deadline_seconds?;
    let start = ctx.status.start_time.as_ref()?.0;
    if is_suspended(ctx.spec) {
        return None;
    }
    let remaining = SignedDuration::from_secs(seconds).saturating_sub(now.duration_since(start));
    if remaining > SignedDuration::ZERO {
        *requeue_after = Some(remaining.unsigned_abs());
        return None;
    }
    let message = "Job was active longer than specified deadline";
    Some(FinishedCondition::failure("DeadlineExceeded", message))
}

fn failed_indexes_condition(ctx: &SyncJobContext<'_>) -> Option<FinishedCondition> {
    let lost = ctx.failed_indexes.as_ref()?.len();
    if ctx.spec.max_failed_indexes.is_some_and(|most| lost > most) {
        let message = "Job has exceeded the specified maximal number of failed indexes";
        return Some(FinishedCondition::failure(
            "MaxFailedIndexesExceeded",
            message,
        ));
    }
    let settled = lost.saturating_add(ctx.succeeded_indexes.len()) >= ctx.completions();
    (lost > 0 && settled)
        .then(|| FinishedCondition::failure("FailedIndexes", "Job has failed indexes"))
}

impl SyncPlan<'_> {
    /// Creates or deletes pods to reach the desired parallelism.
    fn manage_job(&mut self, now: Timestamp) {
        let ctx = &self.sync_context;
        let spec = ctx.spec;
        let active = ctx.active.len();
        if is_suspended(spec) {
            self.deletions = active_pods_for_removal(ctx, active);
            self.remove_finalizers_on_delete = true;
            return;
        }
        let wanted = wanted_active(ctx, active);
        let mut surplus = active_pods_for_removal(ctx, active.saturating_sub(wanted));
        surplus.truncate(MAX_POD_CREATE_DELETE_PER_SYNC);
        if !surplus.is_empty() {
            self.deletions = surplus;
            self.remove_finalizers_on_delete = true;
            return;
        }
        let terminating = if only_replace_failed_pods(spec) {
            ctx.terminating.max(0) as usize
        } else {
            0
        };
        let missing = wanted.saturating_sub(terminating).saturating_sub(active);
        if missing > 0 {
            self.create(missing, now);
        }
    }

    fn create(&mut self, missing: usize, now: Timestamp) {
        let ctx = &self.sync_context;
        let per_index = ctx.spec.backoff_limit_per_index.is_some();
        let mut wait = if per_index {
            Duration::ZERO
        } else {
            ctx.backoff.remaining(now)
        };
        let count = missing
            .min(self.burst_replicas)
            .min(MAX_POD_CREATE_DELETE_PER_SYNC);
        self.is_partial = wait.is_zero() && count < missing;
        if !is_indexed(ctx.spec) {
            if wait.is_zero() {
                let pod = job_pod::pod(ctx.job, ctx.spec);
                self.creations = vec![pod; count];
            }
        } else if wait.is_zero() {
            let indexes = first_pending_indexes(ctx, count);
            let ready = |index: &i32| ctx.remaining_time_per_index(*index, now).is_zero();
            let waits = indexes
                .iter()
                .map(|i| ctx.remaining_time_per_index(*i, now));
            let shortest = waits.min().unwrap_or_default();
            let creations = indexes.iter().filter(|i| ready(i)).map(|index| {
                let failures = per_index.then(|| ctx.inherited_failures(*index));
                job_pod::indexed_pod(ctx.job, ctx.spec, *index, failures)
            });
            self.creations = creations.collect();
            wait = shortest;
        }
        if self.creations.is_empty() && !wait.is_zero() {
            let sooner = self.requeue_after.map_or(wait, |after| after.min(wait));
            self.requeue_after = Some(sooner);
        }
    }

    /// Whether only the completion has to be reported.
    pub(super) fn finished_by_completions(&self, active: i32) -> Option<FinishedCondition> {
        let succeeded = self.sync_context.succeeded;
        let enough = match self.sync_context.spec.completions {
            None => succeeded > 0,
            Some(completions) => succeeded >= completions,
        };
        (enough && active == 0).then(FinishedCondition::completions_reached)
    }
}

/// The desired number of active pods.
fn wanted_active(ctx: &SyncJobContext<'_>, active: usize) -> usize {
    let parallelism = ctx.spec.parallelism.unwrap_or(1);
    let wanted = match ctx.spec.completions {
        // Without `completions`, no new pods start after the first success, and active ones may
        // finish.
        None if ctx.succeeded > 0 => return active,
        None => parallelism,
        Some(completions) => parallelism.min(completions.saturating_sub(ctx.succeeded)),
    };
    usize::try_from(wanted).unwrap_or(0)
}

/// At least this many active pods to remove: first those with an invalid or duplicate index.
fn active_pods_for_removal(ctx: &SyncJobContext<'_>, at_least: usize) -> Vec<Arc<Pod>> {
    let (mut gone, mut remaining) = (Vec::new(), Vec::new());
    if is_indexed(ctx.spec) {
        let mut by_index: BTreeMap<Option<i32>, Vec<Arc<Pod>>> = BTreeMap::new();
        for pod in &ctx.active {
            let index = ctx.valid_index(pod);
            by_index.entry(index).or_default().push(pod.clone());
        }
        for (index, mut same) in by_index {
            same.sort_by(|a, b| pods::compare_active_pods(a, b));
            remaining.extend(index.and_then(|_| same.pop()));
            gone.extend(same);
        }
    } else {
        remaining = ctx.active.clone();
    }
    if gone.len() < at_least {
        remaining.sort_by(|a, b| pods::compare_active_pods(a, b));
        gone.extend(remaining.into_iter().take(at_least - gone.len()));
    }
    gone
}

/// The first indexes that have neither succeeded nor failed nor an active pod.
fn first_pending_indexes(ctx: &SyncJobContext<'_>, count: usize) -> Vec<i32> {
    let terminating = ctx
        .pods
        .iter()
        .filter(|p| only_replace_failed_pods(ctx.spec) && pods::is_terminating(p));
    let taken = ctx.active.iter().chain(terminating);
    let taken: Indexes = taken.filter_map(|p| completion_index(p)).collect();
    let mut settled = ctx.succeeded_indexes.union(&taken);
    if let Some(lost) = &ctx.failed_indexes {
        settled = settled.union(lost);
    }
    settled.missing(count, ctx.completions())
}

//! One reconciliation of a job: a Workload for it, and the job as its Workload says.

use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;

use super::ancestors::{Ancestor, AncestorError, CHAIN_LIMIT};
use super::ensure::{finalize_workloads, make_workload, one_workload};
use super::env::Env;
use super::error::{JobError, ignore_not_found};
use super::job::{GenericJob, StopReason};
use super::write::{finish_workload, remove_finalizer, update_workload};
use super::{infos, marks, pods_ready};
use crate::patch::{self, Insist};
use kueue_lab_admission::messages::EventType;
use kueue_lab_admission::status::{condition, set_condition, unreserve_quota};
use kueue_lab_admission::workload::predicates;
use kueue_lab_api::config::Feature;
use kueue_lab_api::constants::{self as c, event, evicted, finished, quota_reserved};
use kueue_lab_api::v1beta2::{CheckState, ReclaimablePod, Workload, WorkloadStatus};
use kueue_lab_runtime::Outcome;

/// Brings a job and its Workload in line.
///
/// # Errors
/// What is to be tried again.
pub async fn reconcile(env: &Env, job: &mut dyn GenericJob) -> Result<Outcome, JobError> {
    match steps(env, job).await {
        Err(JobError::Unretryable(reason)) => {
            tracing::debug!(
                job = marks::name(job.meta()),
                reason,
                "waiting for a change"
            );
            Ok(Outcome::Done)
        }
        other => other,
    }
}

async fn steps(env: &Env, job: &mut dyn GenericJob) -> Result<Outcome, JobError> {
    if job.skip(env) {
        return Ok(Outcome::Done);
    }
    if job.is_gone() {
        ignore_not_found(finalize_workloads(env, job).await)?;
        if job.meta().deletion_timestamp.is_some() {
            ignore_not_found(job.finalize(env).await)?;
        }
        return Ok(Outcome::Done);
    }
    match is_managed(env, job).await? {
        Managed::No => return Ok(Outcome::Done),
        Managed::Through(ancestor) => {
            if child_has_to_wait(env, job, &ancestor) {
                job.suspend_child(env).await?;
            }
            return Ok(Outcome::Done);
        }
        Managed::Itself => {}
    }
    let Some(wl) = one_workload(env, job).await? else {
        return without_workload(env, job).await;
    };
    with_workload(env, job, wl).await
}

/// Whether a job has a Workload of its own.
enum Managed {
    /// It is none of Kueue's business.
    No,
    /// It has.
    Itself,
    /// It is part of this one.
    Through(Box<Ancestor>),
}

async fn is_managed(env: &Env, job: &dyn GenericJob) -> Result<Managed, JobError> {
    let here = env.namespace_is_managed(marks::namespace(job.meta()));
    if here != Some(true) {
        return Ok(Managed::No);
    }
    let ancestor = match job.is_top_level() {
        true => None,
        false => ancestor(env, job).await?,
    };
    let named = |meta| env.manages_all() || !marks::queue_name(meta).is_empty();
    Ok(match ancestor {
        None if named(job.meta()) => Managed::Itself,
        Some(found) if named(job.meta()) || named(&found.meta) => Managed::Through(Box::new(found)),
        _ => Managed::No,
    })
}

async fn ancestor(env: &Env, job: &dyn GenericJob) -> Result<Option<Ancestor>, JobError> {
    let found = env
        .owners
        .ancestor(&env.frameworks, job.meta(), env.manages_all())
        .await;
    found.map_err(|error| {
        if matches!(error, AncestorError::TooDeep) {
            let message = format!(
                "Terminated search for Kueue-managed Job because ancestor depth exceeded limit of {CHAIN_LIMIT}"
            );
            let (reason, action) = (event::JOB_NESTING_TOO_DEEP, event::JOB_NESTING_TOO_DEEP);
            env.say(job.reference(), EventType::Warning, reason, action, message);
        }
        JobError::NotYet(error.to_string())
    })
}

fn child_has_to_wait(env: &Env, job: &dyn GenericJob, ancestor: &Ancestor) -> bool {
    if job.is_suspended() || job.finished(env).is_some() {
        return false;
    }
    let open = env.open_workloads_of(&ancestor.gvk, &ancestor.meta);
    let Some(newest) = open.last() else {
        return true;
    };
    let elastic = |meta| marks::is_elastic(meta, &env.gates);
    if elastic(job.meta()) || elastic(&ancestor.meta) {
        // While one slice takes over from another there may be none that is admitted.
        return predicates::is_evicted(newest);
    }
    !predicates::is_admitted(newest)
}

async fn without_workload(env: &Env, job: &mut dyn GenericJob) -> Result<Outcome, JobError> {
    if job.finished(env).is_some() {
        job.finalize(env).await?;
        return Ok(Outcome::Done);
    }
    make_workload(env, job).await?;
    Ok(Outcome::Done)
}

fn tell_finished(env: &Env, job: &dyn GenericJob, wl: &Workload) {
    let message = format!("Workload '{}' is declared finished", predicates::key(wl));
    env.tell(job.reference(), event::FINISHED_WORKLOAD, message);
}

async fn with_workload(
    env: &Env,
    job: &mut dyn GenericJob,
    wl: Arc<Workload>,
) -> Result<Outcome, JobError> {
    let put_off = env.losses.recent_for(&wl, env.shared.now());
    let outcome = in_line(env, job, wl).await?;
    Ok(match (outcome, put_off) {
        (Outcome::Done, Some(left)) => Outcome::After(left),
        (outcome, _) => outcome,
    })
}

async fn in_line(
    env: &Env,
    job: &mut dyn GenericJob,
    wl: Arc<Workload>,
) -> Result<Outcome, JobError> {
    if let Some(conditions) = job.conditions(env, &wl) {
        let mut status = WorkloadStatus::default();
        for condition in conditions {
            set_condition(&mut status.conditions, condition);
        }
        let manager = format!(
            "{}-{}-controller",
            c::KUEUE_NAME,
            job.gvk().kind.to_lowercase()
        );
        write_status(env, &wl, &manager, &status).await?;
        return Ok(Outcome::Done);
    }
    if predicates::is_finished(&wl) {
        job.finalize(env).await?;
        tell_finished(env, job, &wl);
        remove_finalizer(env, &wl).await?;
        return Ok(Outcome::Done);
    }
    if wl.metadata.deletion_timestamp.is_some() {
        let infos = infos::of_spec(Some(&wl));
        job.stop(
            env,
            &infos,
            &StopReason::WorkloadDeleted,
            "Workload is deleted",
        )
        .await?;
        remove_finalizer(env, &wl).await?;
        return Ok(Outcome::Done);
    }
    if let Some(end) = job.finished(env) {
        let reason = if end.success {
            finished::SUCCEEDED
        } else {
            finished::FAILED
        };
        ignore_not_found(finish_workload(env, &wl, reason, &end.message).await)?;
        tell_finished(env, job, &wl);
        job.finalize(env).await?;
        return Ok(Outcome::Done);
    }
    if update_reclaimable(env, job, &wl).await? || update_pods_ready(env, job, &wl).await? {
        return Ok(Outcome::Done);
    }
    if let Some(eviction) = predicates::true_condition(&wl, c::EVICTED) {
        let (reason, message) = (eviction.reason.clone(), eviction.message.clone());
        return evicted(env, job, &wl, reason, &message).await;
    }
    if job.is_suspended() {
        return suspended(env, job, &wl).await;
    }
    if !predicates::is_admitted(&wl) && !marks::is_elastic(job.meta(), &env.gates) {
        let infos = infos::of_spec(Some(&wl));
        job.stop(
            env,
            &infos,
            &StopReason::NotAdmitted,
            "Not admitted by cluster queue",
        )
        .await?;
    }
    Ok(Outcome::Done)
}

async fn write_status(
    env: &Env,
    wl: &Workload,
    manager: &str,
    status: &WorkloadStatus,
) -> Result<Arc<Workload>, JobError> {
    let value = serde_json::to_value(status).unwrap_or_default();
    Ok(patch::apply_status(&env.shared, wl, manager, value, Insist::Strict).await?)
}

async fn update_reclaimable(
    env: &Env,
    job: &dyn GenericJob,
    wl: &Workload,
) -> Result<bool, JobError> {
    if !env.enabled(Feature::ReclaimablePods) {
        return Ok(false);
    }
    let Some(mut pods) = job.reclaimable_pods(env) else {
        return Ok(false);
    };
    for pod in &mut pods {
        let set = wl.spec.pod_sets.iter().find(|ps| ps.name == pod.name);
        pod.count = set.map_or(pod.count, |ps| pod.count.min(ps.count));
    }
    let sorted = |list: &[ReclaimablePod]| {
        let mut list: Vec<_> = list.iter().map(|p| (p.name.clone(), p.count)).collect();
        list.sort();
        list
    };
    if sorted(&pods) == sorted(&wl.status.reclaimable_pods) {
        return Ok(false);
    }
    let status = WorkloadStatus {
        reclaimable_pods: pods,
        ..Default::default()
    };
    write_status(env, wl, c::RECLAIMABLE_PODS_MANAGER, &status).await?;
    let rest = job.rest_after_reclaiming();
    if !rest.is_zero() {
        env.shared.ctx.clock.sleep(rest).await;
    }
    Ok(true)
}

async fn update_pods_ready(
    env: &Env,
    job: &dyn GenericJob,
    wl: &Workload,
) -> Result<bool, JobError> {
    let recently_lost = env.losses.recent_for(wl, env.shared.now()).is_some();
    if env.shared.settings.pods_ready.is_none() || recently_lost {
        return Ok(false);
    }
    // Whatever changed, it counts as a transition: what is applied does not know the condition of old.
    let Some(wanted) = pods_ready::changed(env, job, wl) else {
        return Ok(false);
    };
    let manager = format!("{}-{}", c::JOB_CONTROLLER, c::PODS_READY);
    let status = WorkloadStatus {
        conditions: vec![wanted],
        ..Default::default()
    };
    ignore_not_found(write_status(env, wl, &manager, &status).await.map(drop))?;
    Ok(true)
}

async fn evicted(
    env: &Env,
    job: &mut dyn GenericJob,
    wl: &Workload,
    reason: String,
    message: &str,
) -> Result<Outcome, JobError> {
    let infos = infos::of_spec(Some(wl));
    let stop = StopReason::WorkloadEvicted(reason.clone());
    job.stop(env, &infos, &stop, message).await?;
    if predicates::has_quota_reservation(wl) && !job.is_active(env) {
        let now = env.shared.now();
        let requeued = requeues_at_once(env, wl, &reason);
        let why = match env.enabled(Feature::UnadmittedWorkloadsObservability) {
            true => quota_reserved::PENDING_EVALUATION,
            false => quota_reserved::PENDING,
        };
        let gates = env.engine_gates.clone();
        patch::admission_status(&env.shared, wl, Insist::Strict, |wl| {
            let condition = condition(wl, c::REQUEUED, requeued, &reason, message, now);
            let changed = set_condition(&mut wl.status.conditions, condition);
            unreserve_quota(wl, why, message, now, &gates) || changed
        })
        .await?;
    }
    after_deactivation(env, job, wl).await
}

/// Whether a workload may be queued again as soon as its quota is free: evicted for nothing it did,
/// and with a job that will still be there.
fn requeues_at_once(env: &Env, wl: &Workload, reason: &str) -> bool {
    let innocent = [evicted::PREEMPTED, evicted::NODE_FAILURES].contains(&reason);
    let owners = wl.metadata.owner_references.as_deref().unwrap_or_default();
    let of_one_pod = matches!(owners, [owner] if owner.kind == "Pod" && owner.api_version == "v1")
        && predicates::annotation(wl, c::IS_GROUP_WORKLOAD_ANNOTATION).is_none();
    innocent && !(env.enabled(Feature::SkipReassignmentForPodOwnedWorkloads) && of_one_pod)
}

/// Deletes a job that Kueue deactivated, when it was kept long enough.
async fn after_deactivation(
    env: &Env,
    job: &mut dyn GenericJob,
    wl: &Workload,
) -> Result<Outcome, JobError> {
    let policies = env
        .shared
        .settings
        .configuration
        .object_retention_policies
        .as_ref();
    let retention = policies
        .and_then(|p| p.workloads.as_ref())
        .and_then(|w| w.after_deactivated_by_kueue.as_ref());
    let by_kueue = format!("{}DueTo", evicted::DEACTIVATED);
    let eviction = wl
        .condition(c::EVICTED)
        .filter(|e| e.reason.starts_with(&by_kueue));
    let (Some(retention), Some(eviction)) = (retention, eviction) else {
        return Ok(Outcome::Done);
    };
    if wl.spec.is_active() {
        return Ok(Outcome::Done);
    }
    let kept = env
        .shared
        .now()
        .duration_since(eviction.last_transition_time.0);
    let span = SignedDuration::try_from(retention.to_std()).unwrap_or(SignedDuration::MAX);
    if kept < span {
        let left = Duration::try_from(span - kept).unwrap_or_default();
        return Ok(Outcome::After(left));
    }
    job.delete(env).await?;
    env.tell(
        job.reference(),
        event::DELETED,
        "Deleted job: deactivation retention period expired",
    );
    job.finalize(env).await?;
    Ok(Outcome::Done)
}

async fn suspended(
    env: &Env,
    job: &mut dyn GenericJob,
    wl: &Workload,
) -> Result<Outcome, JobError> {
    if predicates::is_admitted(wl) {
        return start(env, job, wl).await;
    }
    if predicates::has_quota_reservation(wl) {
        tell_pending_checks(env, job, wl);
    }
    let queue = marks::queue_name(job.meta());
    if job.follows_queue_name() && wl.spec.queue_name != queue {
        let mut moved = wl.clone();
        moved.spec.queue_name = queue.to_owned();
        update_workload(env, &moved).await?;
    }
    Ok(Outcome::Done)
}

async fn start(env: &Env, job: &mut dyn GenericJob, wl: &Workload) -> Result<Outcome, JobError> {
    let queue = wl
        .status
        .admission
        .as_ref()
        .map_or("", |a| a.cluster_queue.as_str());
    let message = format!("Admitted by clusterQueue {queue}");
    let started = match infos::of_admission(env, wl) {
        Ok(infos) => job.start(env, &infos, &message).await,
        Err(error) => Err(error),
    };
    match started {
        Err(JobError::PodSetInfo(error)) => {
            finish_workload(env, wl, finished::FAILED_TO_START, &error.to_string()).await?;
            Ok(Outcome::Done)
        }
        other => other.map(|()| Outcome::Done),
    }
}

fn tell_pending_checks(env: &Env, job: &dyn GenericJob, wl: &Workload) {
    let checks = wl.status.admission_checks.iter();
    let pending =
        checks.filter(|check| check.state == CheckState::Pending && !check.message.is_empty());
    let texts: Vec<String> = pending
        .map(|check| format!("{}: {}", check.name, check.message))
        .collect();
    if !texts.is_empty() {
        for member in job.members() {
            env.tell(member, event::UPDATED_ADMISSION_CHECK, texts.join("; "));
        }
    }
}

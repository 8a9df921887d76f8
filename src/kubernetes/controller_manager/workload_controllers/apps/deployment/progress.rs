//! The condition `Progressing` of a Deployment.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::apps::v1::{Deployment, DeploymentCondition, DeploymentStatus, ReplicaSet};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;

use super::sync_deployment::deployment_complete;
use kueue_lab_clock::whole_seconds;

pub(super) const PROGRESSING: &str = "Progressing";
pub(super) const NEW_AVAILABLE: &str = "NewReplicaSetAvailable";
pub(super) const TIMED_OUT: &str = "ProgressDeadlineExceeded";
pub(super) const PAUSED: &str = "DeploymentPaused";

/// Updates the condition `Progressing`.
pub(super) fn sync_rollout_status(
    deployment: &Deployment,
    status: &DeploymentStatus,
    new: Option<&ReplicaSet>,
    rollout: bool,
    created: Option<&str>,
    deadline: i32,
    conditions: &mut Conditions,
) {
    let paused = deployment.spec.as_ref().and_then(|s| s.paused) == Some(true);
    let reason = conditions.find(PROGRESSING).and_then(|c| c.reason.clone());
    let reason = reason.as_deref();
    if reason != Some(TIMED_OUT) {
        if paused && reason != Some(PAUSED) {
            conditions.set(
                PROGRESSING,
                "Unknown",
                PAUSED,
                "Deployment is paused".to_string(),
            );
        } else if !paused && reason == Some(PAUSED) {
            let text = "Deployment is resumed".to_string();
            conditions.set(PROGRESSING, "Unknown", "DeploymentResumed", text);
        }
    }
    if let Some(name) = created {
        let text = format!("Created new replica set \"{name}\"");
        conditions.set(PROGRESSING, "True", "NewReplicaSetCreated", text);
    } else if let Some(set) = new.filter(|_| conditions.find(PROGRESSING).is_none()) {
        let text = format!("Found new replica set \"{}\"", set.name_any());
        conditions.set(PROGRESSING, "True", "FoundNewReplicaSet", text);
    }
    let current = conditions.find(PROGRESSING).cloned();
    let complete = current.as_ref().and_then(|c| c.reason.as_deref()) == Some(NEW_AVAILABLE)
        && status.replicas == status.updated_replicas;
    if !rollout || complete {
        return;
    }
    let subject = match new {
        Some(set) => format!("ReplicaSet \"{}\"", set.name_any()),
        None => format!("Deployment \"{}\"", deployment.name_any()),
    };
    let updated = Deployment {
        status: Some(status.clone()),
        ..deployment.clone()
    };
    if deployment_complete(&updated) {
        let text = format!("{subject} has successfully progressed.");
        conditions.set(PROGRESSING, "True", NEW_AVAILABLE, text);
    } else if deployment_progressing(deployment, status) {
        let text = format!("{subject} is progressing.");
        conditions.advance(PROGRESSING, "ReplicaSetUpdated", text);
    } else if current.is_some_and(|c| deployment_timed_out(&c, deadline, conditions.now)) {
        let text = format!("{subject} has timed out progressing.");
        conditions.set(PROGRESSING, "False", TIMED_OUT, text);
    }
}

/// Whether there are more updated, fewer old, or more ready or available pods.
fn deployment_progressing(deployment: &Deployment, status: &DeploymentStatus) -> bool {
    let before = deployment.status.clone().unwrap_or_default();
    let old = |s: &DeploymentStatus| {
        s.replicas
            .unwrap_or(0)
            .saturating_sub(s.updated_replicas.unwrap_or(0))
    };
    status.updated_replicas > before.updated_replicas
        || old(status) < old(&before)
        || status.ready_replicas > before.ready_replicas
        || status.available_replicas > before.available_replicas
}

fn deployment_timed_out(current: &DeploymentCondition, deadline: i32, now: Timestamp) -> bool {
    match current.reason.as_deref() {
        Some(NEW_AVAILABLE) => false,
        Some(TIMED_OUT) => true,
        _ => current.last_update_time.as_ref().is_some_and(|updated| {
            now.duration_since(updated.0) > SignedDuration::from_secs(deadline.into())
        }),
    }
}

/// The time left until the progress deadline is checked again.
pub(super) fn remaining_progress_deadline(
    deployment: &Deployment,
    status: &DeploymentStatus,
    now: Timestamp,
) -> Option<Duration> {
    let seconds = deployment.spec.as_ref()?.progress_deadline_seconds?;
    let conditions = status.conditions.as_ref()?;
    let current = conditions.iter().find(|c| c.type_ == PROGRESSING)?;
    if matches!(
        current.reason.as_deref(),
        Some(NEW_AVAILABLE | TIMED_OUT | PAUSED)
    ) {
        return None;
    }
    let updated = current.last_update_time.as_ref()?.0;
    let passed = now.duration_since(updated);
    let remaining = SignedDuration::from_secs(i64::from(seconds) + 1).saturating_sub(passed);
    Some(Duration::try_from(remaining).unwrap_or(Duration::from_secs(1)))
}

pub(super) struct Conditions {
    pub(super) list: Vec<DeploymentCondition>,
    pub(super) now: Timestamp,
}

impl Conditions {
    pub(super) fn find(&self, type_: &str) -> Option<&DeploymentCondition> {
        self.list.iter().find(|c| c.type_ == type_)
    }

    pub(super) fn remove(&mut self, type_: &str) {
        self.list.retain(|c| c.type_ != type_);
    }

    /// Sets a condition unless status and reason are unchanged.
    pub(super) fn set(&mut self, type_: &str, status: &str, reason: &str, message: String) {
        let known = self.find(type_);
        if known.is_some_and(|c| c.status == status && c.reason.as_deref() == Some(reason)) {
            return;
        }
        self.put(type_, status, reason, message);
    }

    /// Sets a condition to True, and its update time even if it is unchanged.
    pub(super) fn advance(&mut self, type_: &str, reason: &str, message: String) {
        self.put(type_, "True", reason, message);
    }

    fn put(&mut self, type_: &str, status: &str, reason: &str, message: String) {
        let now = Some(Time(whole_seconds(self.now)));
        let same = self.find(type_).filter(|c| c.status == status);
        let since = same.and_then(|c| c.last_transition_time.clone());
        self.remove(type_);
        self.list.push(DeploymentCondition {
            type_: type_.to_string(),
            status: status.to_string(),
            reason: Some(reason.to_string()),
            message: Some(message),
            last_update_time: now.clone(),
            last_transition_time: since.or(now),
        });
    }
}

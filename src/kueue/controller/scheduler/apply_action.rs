//! Applies one action of a scheduling cycle: patches the status, then records Events.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::ObjectReference;

use crate::event_recorder::EventSpec;
use crate::workload_patching::{self, StatusApplyMode};
use crate::{ControllerContext, MetricEvent};
use kueue_lab_api::constants as c;
use kueue_lab_api::preemption_policy::CANDIDATES_ANNOTATION;
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_controller_runtime::api_errors::is_not_found;
use kueue_lab_controller_runtime::object_reference;
use kueue_lab_engine::cycle::{Action, ActionKind, ActionOutcome};
use kueue_lab_engine::messages::{Event, PODS_NOT_READY};
use kueue_lab_engine::status::{StatusChange, condition, set_condition};
use kueue_lab_engine::workload::predicates;

/// Applies an action to the latest version of its Workload.
pub(super) async fn apply_action(shared: &ControllerContext, action: &Action) -> ActionOutcome {
    let known = shared.engine().workload(&action.workload).cloned();
    let Some(before) = known.filter(|wl| predicates::uid(wl) == action.uid) else {
        return ActionOutcome::NotFound;
    };
    let written = patch_status(shared, action, &before).await;
    let (outcome, after) = match written {
        Ok(after) => (ActionOutcome::Done, after),
        Err(error) if is_not_found(&error) => (ActionOutcome::NotFound, None),
        Err(error) => {
            tracing::debug!(workload = %action.workload, kind = ?action.kind, %error, "cannot patch the status");
            (ActionOutcome::Failed, None)
        }
    };
    if outcome == ActionOutcome::Done || action.kind == ActionKind::Requeue {
        let after = after.as_ref().unwrap_or(&before);
        for event in &action.events {
            record_event(shared, action, event, &before, after);
        }
    }
    if outcome == ActionOutcome::Done {
        notify_metric_event(shared, action, &before);
    }
    outcome
}

/// Notifies the metrics of a preemption or a replaced slice.
fn notify_metric_event(shared: &ControllerContext, action: &Action, before: &Workload) {
    match (&action.kind, &action.change) {
        (
            ActionKind::Preempt,
            Some(StatusChange::Evict {
                preempted: Some(reason),
                ..
            }),
        ) => {
            let queue = action.preemptor.as_ref().map(|p| &*p.cluster_queue);
            shared.notify_metric_event(&MetricEvent::Preempted {
                preempting_cluster_queue: queue.unwrap_or_default(),
                reason,
            });
        }
        (ActionKind::FinishSlice, _) if !predicates::is_finished(before) => {
            let admission = before.status.admission.as_ref();
            let cluster_queue = admission.map_or("", |a| a.cluster_queue.as_str());
            shared.notify_metric_event(&MetricEvent::WorkloadSliceReplaced { cluster_queue });
        }
        _ => {}
    }
}

async fn patch_status(
    shared: &ControllerContext,
    action: &Action,
    before: &Arc<Workload>,
) -> kube::Result<Option<Arc<Workload>>> {
    let Some(change) = &action.change else {
        return Ok(None);
    };
    let now = shared.now();
    let resets_pods_ready = action.kind == ActionKind::Requeue
        && shared.settings.upstream_latency.scheduler_resets_pods_ready;
    let patch = |wl: &mut Workload| {
        let mut changed = change.apply(wl, now, &shared.engine_gates);
        if resets_pods_ready {
            changed |= reset_pods_ready(wl, now);
        }
        changed
    };
    let after =
        workload_patching::patch_admission_status(shared, before, StatusApplyMode::Loose, patch)
            .await?;
    let version = |wl: &Arc<Workload>| wl.metadata.resource_version.clone();
    if after
        .as_ref()
        .is_some_and(|wl| version(wl) != version(before))
    {
        shared.loop_warnings.record_action(action, shared.now());
        pace(shared, before).await;
    }
    Ok(after)
}

/// Waits as long as upstream's write of a status takes in a loop of attempts.
async fn pace(shared: &ControllerContext, wl: &Workload) {
    let interval = shared.settings.upstream_latency.repeated_status_write;
    let (uid, now) = (predicates::uid(wl), shared.now());
    if let Some(delay) = shared.status_write_pacing.record_write(uid, now, interval) {
        shared.ctx.clock.sleep(delay).await;
    }
}

/// Sets the reason WaitForStart in PodsReady of a Workload that lost its quota while recovering and
/// was skipped. Upstream's job controller does so concurrently with the scheduler's write of the
/// skip reason, except for a group of a LeaderWorkerSet, whose pods do not exist yet.
fn reset_pods_ready(wl: &mut Workload, now: jiff::Timestamp) -> bool {
    let recovering = wl
        .condition(c::PODS_READY)
        .is_some_and(|cond| cond.reason == c::pods_ready::WAIT_FOR_RECOVERY);
    let annotations = wl.metadata.annotations.as_ref();
    let group = annotations.is_some_and(|a| a.contains_key(c::COMPONENT_WORKLOAD_INDEX_ANNOTATION));
    if !recovering || group || predicates::has_quota_reservation(wl) {
        return false;
    }
    let reason = c::pods_ready::WAIT_FOR_START;
    let cond = condition(wl, c::PODS_READY, false, reason, PODS_NOT_READY, now);
    set_condition(&mut wl.status.conditions, cond)
}

/// Records an Event of a cycle. Events of an eviction or admission reference the version it wrote;
/// others the version before.
fn record_event(
    shared: &ControllerContext,
    action: &Action,
    event: &Event,
    before: &Arc<Workload>,
    after: &Arc<Workload>,
) {
    let of_outcome = event.reason == c::event::QUOTA_RESERVED
        || event.reason == c::event::ADMITTED
        || event.reason.starts_with(c::event::EVICTED_DUE_TO);
    let regarding = if event.workload == predicates::key(before) {
        object_reference::<Workload>(if of_outcome { after } else { before })
    } else {
        match shared.engine().workload(&event.workload) {
            Some(other) => object_reference::<Workload>(other),
            None => ObjectReference {
                api_version: Some(kueue_lab_api::v1beta2::API_VERSION.to_owned()),
                kind: Some("Workload".to_owned()),
                namespace: Some(event.workload.namespace().to_owned()),
                name: Some(event.workload.name().to_owned()),
                uid: Some(event.uid.clone()),
                ..Default::default()
            },
        }
    };
    let event = EventSpec {
        controller: c::ADMISSION_MANAGER,
        type_: event.type_,
        reason: &event.reason,
        action: &event.action,
        message: event.message.clone(),
        annotations: (event.reason == c::event::PREEMPTED)
            .then(|| candidates(action))
            .flatten(),
    };
    shared.recorder.record_for(regarding, event);
}

/// The annotation of the Event of a preemption: the preemption candidates, which no other object
/// contains.
fn candidates(action: &Action) -> Option<BTreeMap<String, String>> {
    let candidates = &action.preemptor.as_ref()?.candidates;
    let text = serde_json::to_string(&**candidates).ok()?;
    Some(BTreeMap::from([(CANDIDATES_ANNOTATION.to_owned(), text)]))
}

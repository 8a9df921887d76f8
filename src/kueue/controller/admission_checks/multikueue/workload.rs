//! The reconciler of Workloads with a MultiKueue check.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{OwnerReference, Time};
use kueue_lab_controller_runtime::{Change, Informer, ObjectKey, ReconcileResult, controller_of};
use parking_lot::Mutex;
use serde_json::json;

use super::context::{MultiKueueContext, UPDATES_BATCH_PERIOD};
use super::indexer::multikueue_config_name;
use super::reconcile_group::reconcile_group;
use super::workload_group::WorkloadGroup;
use crate::informers::{BY_OWNER_NAME, owner_key};
use crate::jobs::error::JobError;
use crate::jobs::integration_manager::Gvk;
use crate::jobs::multikueue::Adapter;
use crate::workload_patching::{StatusApplyMode, apply_workload_status};
use kueue_lab_api::config::Feature;
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::{AdmissionCheckState, CheckState, Workload};
use kueue_lab_engine::messages::truncate_condition;
use kueue_lab_engine::workload::predicates;

/// Starts the reconciler.
pub(super) fn start(mk: &MultiKueueContext) {
    add_event_handlers(mk);
    let (ctx, reconciled) = (&mk.shared.ctx, mk.clone());
    let watched_jobs = Arc::new(Mutex::new(Vec::new()));
    let workers = mk
        .shared
        .settings
        .group_kind_concurrency("Workload.kueue.x-k8s.io", 1);
    mk.workload_events
        .run(ctx, "multikueue-workload", workers, move |key| {
            let (mk, watched_jobs) = (reconciled.clone(), watched_jobs.clone());
            async move { reconcile(&mk, &key, &watched_jobs).await }
        });
}

fn add_event_handlers(mk: &MultiKueueContext) {
    let handled = mk.clone();
    mk.shared
        .informers
        .workloads
        .add_event_handler(move |change| {
            let wl = change.object();
            let key = ObjectKey::of(wl.as_ref());
            if let Change::Deleted(wl) = change {
                // Only Workloads with a check can have copies.
                if wl.status.admission_checks.is_empty() {
                    return;
                }
                let mut deleted = handled.deleted_workloads.lock();
                deleted.insert(key.clone(), wl.clone());
            }
            handled.workload_events.add(key);
        });
    let handled = mk.clone();
    mk.configs.add_event_handler(move |change| {
        let config = match change {
            Change::Updated { old, new } if old.spec.clusters != new.spec.clusters => old,
            Change::Deleted(config) => config,
            _ => return,
        };
        let name = ObjectKey::of(config.as_ref()).name;
        for check in handled.checks_using_config(&name) {
            handled.queue_workloads_with_check(&check.name);
        }
    });
    let handled = mk.clone();
    let checks = &mk.shared.informers.admission_checks;
    checks.add_event_handler(move |change| {
        let is_same_config = match change {
            Change::Added(_) => false,
            Change::Updated { old, new } => {
                multikueue_config_name(old) == multikueue_config_name(new)
            }
            Change::Deleted(_) => true,
        };
        let check = change.object();
        if check.spec.controller_name == c::MULTI_KUEUE_CONTROLLER && !is_same_config {
            handled.queue_workloads_with_check(&ObjectKey::of(check.as_ref()).name);
        }
    });
}

/// The kinds of local jobs that are watched.
type WatchedJobs = Mutex<Vec<(Gvk, Informer<kube::core::DynamicObject>)>>;

async fn reconcile(
    mk: &MultiKueueContext,
    key: &ObjectKey,
    watched_jobs: &WatchedJobs,
) -> Result<ReconcileResult, JobError> {
    let (wl, is_deleted) = match mk.shared.informers.workloads.get(key) {
        Some(wl) => {
            let is_deleted = wl.metadata.deletion_timestamp.is_some();
            (wl, is_deleted)
        }
        None => match mk.deleted_workloads.lock().get(key) {
            Some(wl) => (wl.clone(), true),
            None => return Ok(ReconcileResult::Done),
        },
    };
    let check = mk.multikueue_check(&wl);
    let Some(check) = check.filter(|check| check.state != CheckState::Rejected) else {
        if is_deleted {
            mk.deleted_workloads.lock().remove(key);
        }
        return Ok(ReconcileResult::Done);
    };
    let (adapter, owner) = adapter_of(mk, &wl);
    let Some((adapter, owner)) = adapter.zip(owner.clone()) else {
        let message = match owner {
            Some(owner) => {
                let kind = Gvk::of(&owner).to_string();
                format!("No multikueue adapter found for owner kind {kind:?}")
            }
            None => "No multikueue adapter found".to_owned(),
        };
        update_check(mk, &wl, &check, CheckState::Rejected, &message).await?;
        return Ok(ReconcileResult::Done);
    };
    let job = ObjectKey::new(key.namespace.clone(), owner.name);
    if !is_deleted {
        let client = &mk.shared.ctx.client;
        if let Some(reason) = adapter.unmanaged_reason(client, &job).await? {
            let message = format!("The owner is not managed by Kueue: {reason}");
            update_check(mk, &wl, &check, CheckState::Rejected, &message).await?;
            return Ok(ReconcileResult::Done);
        }
    }
    watch_local_jobs(mk, adapter, watched_jobs);
    let mut group = WorkloadGroup::read(mk, wl, check, (adapter, job)).await?;
    if is_deleted {
        for cluster in group.clusters() {
            group.remove_remote_objects(&cluster).await?;
        }
        // The garbage collector deletes those in clusters that are not connected.
        mk.deleted_workloads.lock().remove(key);
        return Ok(ReconcileResult::Done);
    }
    reconcile_group(group).await
}

/// The adapter of a Workload, and the job: named by annotations, its controller or its first owner.
fn adapter_of<'a>(
    mk: &'a MultiKueueContext,
    wl: &Workload,
) -> (Option<&'a Adapter>, Option<OwnerReference>) {
    let named = predicates::annotation(wl, c::JOB_OWNER_GVK_ANNOTATION)
        .zip(predicates::annotation(wl, c::JOB_OWNER_NAME_ANNOTATION));
    if let Some((gvk, name)) = named
        && let Some(adapter) = mk.adapters.iter().find(|a| a.gvk.to_string() == gvk)
    {
        let owner = OwnerReference {
            api_version: adapter.gvk.api_version(),
            kind: adapter.gvk.kind.clone().into_owned(),
            name: name.to_owned(),
            ..OwnerReference::default()
        };
        return (Some(adapter), Some(owner));
    }
    let owners = wl.metadata.owner_references.as_deref().unwrap_or_default();
    let Some(owner) = controller_of(&wl.metadata).or(owners.first()) else {
        return (None, None);
    };
    let mut adapters = mk.adapters.iter();
    let adapter = adapters.find(|adapter| adapter.gvk.matches_owner(owner));
    (adapter, Some(owner.clone()))
}

/// Sets the state of the MultiKueue check; returns the Workload with it, and the message.
///
/// # Errors
/// The request fails, for example with a Conflict.
pub(super) async fn update_check(
    mk: &MultiKueueContext,
    wl: &Workload,
    check: &AdmissionCheckState,
    state: CheckState,
    message: &str,
) -> Result<(Arc<Workload>, String), JobError> {
    let message = truncate_condition(format!("{message}, Previously: {:?}", check.state.as_str()));
    let after = AdmissionCheckState {
        state,
        message: message.clone(),
        last_transition_time: Some(Time(mk.shared.now())),
        ..check.clone()
    };
    let (manager, mode) = (c::MULTI_KUEUE_CONTROLLER, StatusApplyMode::Strict);
    let status = json!({ "admissionChecks": [after] });
    let written = apply_workload_status(&mk.shared, wl, manager, status, mode).await?;
    Ok((written, message))
}

/// Watches the local jobs of a kind whose spec is synced to the worker cluster immediately: a
/// change of the spec may leave the Workload unchanged.
fn watch_local_jobs(mk: &MultiKueueContext, adapter: &Adapter, watched_jobs: &WatchedJobs) {
    let enabled = mk
        .shared
        .settings
        .enabled(Feature::MultiKueueRemoteSpecSync);
    if !enabled || !adapter.watches_local_jobs() {
        return;
    }
    let mut watched = watched_jobs.lock();
    if watched.iter().any(|(gvk, _)| *gvk == adapter.gvk) {
        return;
    }
    let ctx = &mk.shared.ctx;
    let jobs = Informer::builder(adapter.api_all(&ctx.client)).start(ctx);
    let (handled, gvk) = (mk.clone(), adapter.gvk.clone());
    jobs.add_event_handler(move |change| {
        let Change::Updated { old, new } = change else {
            return;
        };
        if old.metadata.generation == new.metadata.generation {
            return;
        }
        let (namespace, name) = (&new.metadata.namespace, &new.metadata.name);
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let owner = owner_key(&gvk.api_version(), &gvk.kind, &text(namespace), &text(name));
        let workloads = &handled.shared.informers.workloads;
        for wl in workloads.by_index(BY_OWNER_NAME, &owner) {
            let key = ObjectKey::of(wl.as_ref());
            handled.workload_events.add_after(key, UPDATES_BATCH_PERIOD);
        }
    });
    watched.push((adapter.gvk.clone(), jobs));
}

/// Requeues after a delay; done if it is zero.
pub(super) fn requeue_after(delay: Duration) -> ReconcileResult {
    match delay.is_zero() {
        true => ReconcileResult::Done,
        false => ReconcileResult::RequeueAfter(delay),
    }
}

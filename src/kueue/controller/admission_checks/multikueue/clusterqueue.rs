//! Quota automation: the quota of a ClusterQueue of the manager is the sum of those of its workers.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::api::resource::Quantity as ApiQuantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kueue_lab_controller_runtime::{Api, Change, ObjectKey, ReconcileResult, WorkQueue};
use kueue_lab_quantity::Quantity;

use super::admissioncheck::{active_condition, is_same_state};
use super::context::{MultiKueueContext, UPDATES_BATCH_PERIOD};
use super::remote_client::RemoteQueues;
use crate::informers::BY_CLUSTER_QUEUE;
use crate::jobs::error::JobError;
use crate::update::{update, update_status};
use kueue_lab_api::conditions::find_condition;
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::{
    AdmissionCheck, ClusterQueue, LocalQueue, MultiKueueConfig, QuotaManagementMode, ResourceQuota,
};
use kueue_lab_engine::status::set_condition;
use std::sync::Arc;

const TYPE: &str = c::MULTI_KUEUE_MANAGER_QUOTA_AUTOMATION;
const UNSUPPORTED: (&str, &str) = ("False", "UnsupportedConfiguration");

/// Starts the reconciler.
pub(super) fn start(mk: &MultiKueueContext) {
    let informers = &mk.shared.informers;
    let queue = mk.quota_events.clone();
    informers.cluster_queues.add_event_handler(move |change| {
        if let Change::Updated { old, new } = change
            && old.metadata.generation == new.metadata.generation
        {
            return;
        }
        queue.add(ObjectKey::of(change.object().as_ref()));
    });
    let queue = mk.quota_events.clone();
    informers.local_queues.add_event_handler(move |change| {
        if !matches!(change, Change::Updated { .. }) {
            enqueue(&queue, &change.object().spec.cluster_queue);
        }
    });
    add_admission_check_handlers(mk);
    let (ctx, reconciled) = (&mk.shared.ctx, mk.clone());
    mk.quota_events
        .run(ctx, "multikueue-clusterqueue", 1, move |key| {
            let mk = reconciled.clone();
            async move { reconcile(&mk, &key).await }
        });
}

fn enqueue(queue: &WorkQueue<ObjectKey>, cluster_queue: &str) {
    queue.add_after(ObjectKey::cluster(cluster_queue), UPDATES_BATCH_PERIOD);
}

/// Enqueues ClusterQueues when their checks, and the configs and clusters of these change.
fn add_admission_check_handlers(mk: &MultiKueueContext) {
    let handled = mk.clone();
    let checks = &mk.shared.informers.admission_checks;
    checks.add_event_handler(move |change| {
        if let Change::Updated { old, new } = change
            && old.metadata.generation == new.metadata.generation
        {
            return;
        }
        enqueue_queues_with_check(&handled, &ObjectKey::of(change.object().as_ref()).name);
    });
    let handled = mk.clone();
    mk.configs.add_event_handler(move |change| {
        if let Change::Updated { old, new } = change
            && old.metadata.generation == new.metadata.generation
        {
            return;
        }
        enqueue_queues_with_config(&handled, &ObjectKey::of(change.object().as_ref()).name);
    });
    let handled = mk.clone();
    mk.clusters.add_event_handler(move |change| {
        if let Change::Updated { old, new } = change
            && is_same_state(active_condition(old), active_condition(new))
        {
            return;
        }
        let cluster = ObjectKey::of(change.object().as_ref()).name;
        for config in handled.configs_using_cluster(&cluster) {
            enqueue_queues_with_config(&handled, &config);
        }
    });
}

fn enqueue_queues_with_config(mk: &MultiKueueContext, config: &str) {
    for check in mk.checks_using_config(config) {
        enqueue_queues_with_check(mk, &check.name);
    }
}

fn enqueue_queues_with_check(mk: &MultiKueueContext, check: &str) {
    for queue in mk.shared.informers.cluster_queues.list() {
        if check_names(&queue).any(|name| name == check) {
            enqueue(&mk.quota_events, &ObjectKey::of(queue.as_ref()).name);
        }
    }
}

fn check_names(queue: &ClusterQueue) -> impl Iterator<Item = &str> {
    let strategy = queue.spec.admission_checks_strategy.iter();
    strategy
        .flat_map(|strategy| &strategy.admission_checks)
        .map(|rule| rule.name.as_str())
}

/// Enqueues local ClusterQueues when the queues of a worker cluster change.
pub(super) fn add_remote_event_handlers(mk: &MultiKueueContext, queues: &RemoteQueues) {
    let handled = mk.clone();
    queues.local_queues.add_event_handler(move |change| {
        if !matches!(change, Change::Updated { .. }) {
            enqueue_local_counterpart(&handled, change.object());
        }
    });
    let (handled, remote) = (mk.clone(), queues.local_queues.clone());
    queues.cluster_queues.add_event_handler(move |change| {
        if let Change::Updated { old, new } = change
            && old.spec.resource_groups == new.spec.resource_groups
        {
            return;
        }
        let name = ObjectKey::of(change.object().as_ref()).name;
        for queue in remote.list() {
            if queue.spec.cluster_queue == name {
                enqueue_local_counterpart(&handled, &queue);
            }
        }
    });
}

fn enqueue_local_counterpart(mk: &MultiKueueContext, remote: &LocalQueue) {
    let local_queues = &mk.shared.informers.local_queues;
    if let Some(local) = local_queues.get(&ObjectKey::of(remote)) {
        enqueue(&mk.quota_events, &local.spec.cluster_queue);
    }
}

async fn reconcile(mk: &MultiKueueContext, key: &ObjectKey) -> Result<ReconcileResult, JobError> {
    let Some(queue) = mk.shared.informers.cluster_queues.get(key) else {
        return Ok(ReconcileResult::Done);
    };
    let Some(check) = multikueue_check(mk, &queue) else {
        remove_condition(mk, &queue).await?;
        return Ok(ReconcileResult::Done);
    };
    let (queue, state, message) = match mk.config_from_reference(&check) {
        Ok(config) => automate(mk, queue, &config).await?,
        Err(_) => {
            let message = "The referenced MultiKueueConfig was not found.";
            (queue, UNSUPPORTED, message.to_owned())
        }
    };
    set_automation_condition(mk, &queue, state, message).await?;
    Ok(ReconcileResult::Done)
}

fn multikueue_check(mk: &MultiKueueContext, queue: &ClusterQueue) -> Option<Arc<AdmissionCheck>> {
    let checks = &mk.shared.informers.admission_checks;
    let names: BTreeSet<&str> = check_names(queue).collect();
    let found = names
        .into_iter()
        .filter_map(|name| checks.get(&ObjectKey::cluster(name)));
    let mut found = found.filter(|check| check.spec.controller_name == c::MULTI_KUEUE_CONTROLLER);
    found.next()
}

/// Writes the sum of the worker quotas; returns the queue, and the state of the condition.
async fn automate(
    mk: &MultiKueueContext,
    queue: Arc<ClusterQueue>,
    config: &MultiKueueConfig,
) -> Result<(Arc<ClusterQueue>, (&'static str, &'static str), String), JobError> {
    if config.spec.quota_management != Some(QuotaManagementMode::Automated) {
        let message = "MultiKueue manager quota automation has not been requested.";
        return Ok((queue, ("False", "NotRequested"), message.to_owned()));
    }
    let mut after = queue.as_ref().clone();
    let single = match after.spec.resource_groups.as_mut_slice() {
        [group] => match group.flavors.as_mut_slice() {
            [flavor] => Some((group.covered_resources.clone(), flavor)),
            _ => None,
        },
        _ => None,
    };
    let Some((covered, flavor)) = single else {
        let message = "Quota automation requires that the manager-side ClusterQueue has exactly one ResourceFlavor";
        return Ok((queue, UNSUPPORTED, message.to_owned()));
    };
    let quotas = aggregate_worker_quotas(mk, &ObjectKey::of(queue.as_ref()).name, config).await;
    let missing = quotas.keys().filter(|name| !covered.contains(name));
    let missing: Vec<&str> = missing.map(String::as_str).collect();
    if !missing.is_empty() {
        let message = format!(
            "manager-side coveredResources is missing resources configured on workers: [{}]",
            missing.join(" ")
        );
        return Ok((queue, UNSUPPORTED, message));
    }
    let resources = covered.iter().map(|name| ResourceQuota {
        name: name.clone(),
        nominal_quota: ApiQuantity(quotas.get(name).copied().unwrap_or_default().to_string()),
        ..ResourceQuota::default()
    });
    let resources: Vec<ResourceQuota> = resources.collect();
    let is_same = flavor.resources == resources;
    flavor.resources = resources;
    let queue = match is_same {
        true => queue,
        false => update(&Api::all(mk.shared.ctx.client.clone()), &after).await?,
    };
    let message = "ClusterQueue quota is automatically managed based on MultiKueue workers.";
    Ok((queue, ("True", "QuotaAutomated"), message.to_owned()))
}

/// The sum of the nominal quotas of the worker ClusterQueues behind LocalQueues with the names of
/// local ones.
async fn aggregate_worker_quotas(
    mk: &MultiKueueContext,
    cluster_queue: &str,
    config: &MultiKueueConfig,
) -> BTreeMap<String, Quantity> {
    let informers = &mk.shared.informers;
    let local = informers
        .local_queues
        .by_index(BY_CLUSTER_QUEUE, cluster_queue);
    let local: BTreeSet<ObjectKey> = local.iter().map(|q| ObjectKey::of(q.as_ref())).collect();
    let mut total: BTreeMap<String, Quantity> = BTreeMap::new();
    for worker in &config.spec.clusters {
        let client = mk.remote_client(worker);
        let Some(queues) = client.and_then(|client| client.connected_queues()) else {
            continue;
        };
        queues.local_queues.wait_for_cache_sync().await;
        queues.cluster_queues.wait_for_cache_sync().await;
        let remote = queues.local_queues.list().into_iter();
        let remote = remote.filter(|queue| local.contains(&ObjectKey::of(queue.as_ref())));
        let names: BTreeSet<String> = remote.map(|q| q.spec.cluster_queue.clone()).collect();
        let found = names.iter().map(ObjectKey::cluster);
        for queue in found.filter_map(|key| queues.cluster_queues.get(&key)) {
            let flavors = queue.spec.resource_groups.iter().flat_map(|g| &g.flavors);
            for quota in flavors.flat_map(|flavor| &flavor.resources) {
                let amount: Quantity = quota.nominal_quota.0.parse().unwrap_or_default();
                let sum = total.entry(quota.name.clone()).or_default();
                *sum = match sum.is_zero() {
                    true => amount,
                    false => *sum + amount,
                };
            }
        }
    }
    total
}

async fn remove_condition(mk: &MultiKueueContext, queue: &ClusterQueue) -> kube::Result<()> {
    if queue.status.conditions.iter().all(|c| c.type_ != TYPE) {
        return Ok(());
    }
    let mut after = queue.clone();
    after.status.conditions.retain(|c| c.type_ != TYPE);
    update_status(&Api::all(mk.shared.ctx.client.clone()), &after).await?;
    Ok(())
}

async fn set_automation_condition(
    mk: &MultiKueueContext,
    queue: &ClusterQueue,
    (status, reason): (&str, &str),
    message: String,
) -> kube::Result<()> {
    let condition = Condition {
        type_: TYPE.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message,
        last_transition_time: Time(mk.shared.now()),
        observed_generation: queue.metadata.generation,
    };
    let current = find_condition(&queue.status.conditions, TYPE);
    if is_same_state(current, Some(&condition)) {
        return Ok(());
    }
    let mut after = queue.clone();
    set_condition(&mut after.status.conditions, condition);
    update_status(&Api::all(mk.shared.ctx.client.clone()), &after).await?;
    Ok(())
}

//! Loads the objects of a cluster into an engine.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{LimitRange, Namespace, Node, Pod};
use k8s_openapi::api::node::v1::RuntimeClass;
use k8s_openapi::api::resource::v1::{DeviceClass, ResourceClaimTemplate, ResourceSlice};
use kube::Client;
use kueue_lab_api::v1beta2::{
    AdmissionCheck, ClusterQueue, Cohort, LocalQueue, ResourceFlavor, Topology, Workload,
};
use kueue_lab_engine::dra::has_dra;
use kueue_lab_engine::engine::ObjectChange;
use kueue_lab_engine::workload::LocalQueueKey;
use kueue_lab_engine::{Engine, EngineConfig};

use super::cluster_lists::{Access, ClusterLists};
use super::explain_error::ExplainError;

/// Lists every kind that scheduling decisions depend on and loads the objects into a new engine.
///
/// # Errors
/// Objects cannot be listed; all missing rights are named at once.
pub(crate) async fn load_engine(
    client: &Client,
    config: EngineConfig,
    now: Timestamp,
) -> Result<Engine, ExplainError> {
    let mut lists = ClusterLists::new(client);
    let engine = load_engine_from(&mut lists, config, false, now).await?;
    lists.check_rights()?;
    Ok(engine)
}

/// As [`load_engine`], with missing rights in `lists`. The rights to list what defines devices are needed if
/// `uses_devices`, or if Workloads of the cluster request them.
///
/// # Errors
/// Objects cannot be listed for another reason than a missing right.
pub async fn load_engine_from(
    lists: &mut ClusterLists<'_>,
    config: EngineConfig,
    uses_devices: bool,
    now: Timestamp,
) -> Result<Engine, ExplainError> {
    let mut engine = Engine::new(config);
    for namespace in lists.all::<Namespace>().await? {
        engine.apply(ObjectChange::upsert(namespace), now);
    }
    for range in lists.all::<LimitRange>().await? {
        engine.apply(ObjectChange::upsert(range), now);
    }
    for class in lists.if_served::<RuntimeClass>().await? {
        engine.apply(ObjectChange::upsert(class), now);
    }
    for topology in lists.if_served::<Topology>().await? {
        engine.apply(ObjectChange::upsert(topology), now);
    }
    for flavor in lists.all::<ResourceFlavor>().await? {
        engine.apply(ObjectChange::upsert(flavor), now);
    }
    for check in lists.all::<AdmissionCheck>().await? {
        engine.apply(ObjectChange::upsert(check), now);
    }
    for cohort in lists.if_served::<Cohort>().await? {
        engine.apply(ObjectChange::upsert(cohort), now);
    }
    for queue in lists.all::<ClusterQueue>().await? {
        engine.apply(ObjectChange::upsert(queue), now);
    }
    for queue in lists.all::<LocalQueue>().await? {
        load_local_queue(&mut engine, queue, now);
    }
    let mut denied = Vec::new();
    load_devices(&mut engine, lists, &mut denied, now).await?;
    for node in lists.all::<Node>().await? {
        engine.apply(ObjectChange::upsert(node), now);
    }
    for pod in lists.all::<Pod>().await? {
        engine.apply(ObjectChange::upsert(pod), now);
    }
    for workload in lists.all::<Workload>().await? {
        let workload = Arc::new(workload);
        engine.apply(ObjectChange::upsert(workload.clone()), now);
        engine.queue_if_devices_are_counted(&workload, now);
    }
    if uses_devices || engine.workloads().any(|wl| has_dra(wl)) {
        denied.into_iter().for_each(|right| lists.deny(right));
    }
    engine.advance(now);
    Ok(engine)
}

/// Adds a LocalQueue with its consumed usage, by which admission fair sharing orders Workloads.
fn load_local_queue(engine: &mut Engine, queue: LocalQueue, now: Timestamp) {
    let name = queue.metadata.name.as_deref().unwrap_or_default();
    let namespace = queue.metadata.namespace.as_deref().unwrap_or_default();
    let key = LocalQueueKey::new(namespace, name);
    let status = queue.status.fair_sharing.as_ref();
    let usage = status.and_then(|status| status.admission_fair_sharing_status.clone());
    engine.apply(ObjectChange::upsert(queue), now);
    if let Some(usage) = usage.filter(|_| engine.config().afs().is_some()) {
        let updated = usage.last_update.map_or(now, |at| at.0);
        engine.set_consumed_usage(key, &usage.consumed_resources, updated);
    }
}

/// Adds what defines the devices that Workloads request. Missing rights are added to `denied`.
async fn load_devices(
    engine: &mut Engine,
    lists: &ClusterLists<'_>,
    denied: &mut Vec<String>,
    now: Timestamp,
) -> Result<(), ExplainError> {
    match lists.if_served_and_granted::<DeviceClass>().await? {
        Access::Granted(classes) => classes
            .into_iter()
            .for_each(|class| engine.apply(ObjectChange::upsert(class), now)),
        Access::MissingRight(right) => denied.push(right),
    }
    match lists
        .if_served_and_granted::<ResourceClaimTemplate>()
        .await?
    {
        Access::Granted(templates) => templates
            .into_iter()
            .for_each(|template| engine.apply(ObjectChange::upsert(template), now)),
        Access::MissingRight(right) => denied.push(right),
    }
    match lists.if_served_and_granted::<ResourceSlice>().await? {
        Access::Granted(slices) => slices
            .into_iter()
            .for_each(|slice| engine.apply(ObjectChange::upsert(slice), now)),
        Access::MissingRight(right) => denied.push(right),
    }
    Ok(())
}

//! The LeaderWorkerSet integration (`leaderworkerset.x-k8s.io/v1`): each group has a Workload,
//! created before its pods, and its pods join it as a serving pod group.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::join_all;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::PodTemplateSpec;
use kube::api::PostParams;

use super::construct_workload;
use super::ensure_one_workload::delete_workload;
use super::error::JobError;
use super::generic_reconciler::object_key;
use super::go_pod_template;
use super::integration_context::IntegrationContext;
use super::integration_manager::Gvk;
use super::leader_worker_set_pods;
use super::leader_worker_set_spec::LeaderWorkerSet;
use super::patching::update_workload;
use super::pod_set_topology_request::{
    TopologyIndexLabels, TopologyRequestError, pod_set_topology_request,
};
use super::pod_sets::sanitize_pod_sets;
use super::pod_sets_error::PodSetsError;
use super::workload_names::workload_name;
use super::workload_priority;
use crate::constants::{LEADER_WORKER_SET_NAME_LABEL, UPDATES_BATCH_PERIOD};
use crate::job_annotations;
use crate::jobs::webhooks::defaults;
use crate::object_meta;
use crate::workload_patching;
use kueue_lab_api::config::{Feature, FeatureGates};
use kueue_lab_api::constants::{self as c, event};
use kueue_lab_api::v1beta2::{PodSet, Workload};
use kueue_lab_controller_runtime::{
    Api, BucketRateLimiter, Change, Informer, ObjectKey, ReconcileResult, WorkQueue,
    object_reference,
};
use kueue_lab_engine::workload::predicates;

/// The framework name in the configuration.
pub(crate) const FRAMEWORK: &str = "leaderworkerset.x-k8s.io/leaderworkerset";

/// Group, version and kind.
pub(crate) const GVK: Gvk = Gvk::new("leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet");

/// The pod set of the leader.
pub(crate) const LEADER_POD_SET_NAME: &str = "leader";
/// The pod set of the workers of a group with a leader template.
pub(crate) const WORKER_POD_SET_NAME: &str = "worker";

/// Prefix of the labels and annotations of the operator.
const DOMAIN_PREFIX: &str = "leaderworkerset.sigs.k8s.io";
/// The label with the index of a pod in its group.
const WORKER_INDEX_LABEL: &str = "leaderworkerset.sigs.k8s.io/worker-index";

/// The maximum number of groups, which bounds the number of Workloads.
const MAX_REPLICAS: i32 = 1_000_000;

/// A number of groups that is out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ReplicaCountError {
    /// It is negative.
    #[error("invalid LeaderWorkerSet replicas: must be >= 0, got {0}")]
    Negative(i32),
    /// It is above the maximum.
    #[error("invalid LeaderWorkerSet replicas: must be <= {max}, got {0}", max = MAX_REPLICAS)]
    AboveMaximum(i32),
}

/// Validates a number of groups.
///
/// # Errors
/// It is out of range.
pub(crate) fn validate_replica_count(replicas: i32) -> Result<(), ReplicaCountError> {
    match replicas {
        ..0 => Err(ReplicaCountError::Negative(replicas)),
        0..=MAX_REPLICAS => Ok(()),
        _ => Err(ReplicaCountError::AboveMaximum(replicas)),
    }
}

/// The name of the Workload of a group.
pub(crate) fn group_workload_name(
    env: &IntegrationContext,
    lws: &LeaderWorkerSet,
    group_index: &str,
) -> String {
    let meta = &lws.metadata;
    let remote = object_meta::label(meta, c::MULTI_KUEUE_ORIGIN_LABEL).is_some();
    let origin =
        object_meta::annotation(meta, c::MULTI_KUEUE_ORIGIN_UID_ANNOTATION).filter(|_| remote);
    let uid = origin.unwrap_or(object_meta::uid(meta));
    let short = env.enabled(Feature::ShortWorkloadNames);
    workload_name_of_group(object_meta::name(meta), uid, group_index, short)
}

/// The name of the Workload of a group of the LeaderWorkerSet with this name and UID.
pub(crate) fn workload_name_of_group(
    name: &str,
    uid: &str,
    group_index: &str,
    short: bool,
) -> String {
    workload_name(&format!("{name}-{group_index}"), uid, &GVK, "", short)
}

/// The pod sets of a group.
///
/// # Errors
/// An annotation cannot be parsed.
pub(crate) fn pod_sets(
    lws: &LeaderWorkerSet,
    gates: &FeatureGates,
) -> Result<Vec<PodSet>, PodSetsError> {
    let templates = &lws.spec.leader_worker_template;
    let mut sets = Vec::with_capacity(2);
    let (mut name, mut count) = (c::DEFAULT_POD_SET_NAME, lws.size());
    if let Some(leader) = &templates.leader_template {
        let unindexed = TopologyIndexLabels::default();
        sets.push(pod_set(LEADER_POD_SET_NAME, 1, leader, unindexed, gates)?);
        (name, count) = (WORKER_POD_SET_NAME, count - 1);
    }
    let indexed = TopologyIndexLabels {
        pod_index_label: Some(WORKER_INDEX_LABEL),
        ..TopologyIndexLabels::default()
    };
    let workers = &templates.worker_template;
    sets.push(pod_set(name, count, workers, indexed, gates)?);
    sanitize_pod_sets(&mut sets);
    Ok(sets)
}

fn pod_set(
    name: &str,
    count: i32,
    template: &PodTemplateSpec,
    indexes: TopologyIndexLabels<'_>,
    gates: &FeatureGates,
) -> Result<PodSet, TopologyRequestError> {
    let request = pod_set_topology_request(template.metadata.as_ref(), indexes, gates)?;
    let mut template = template.clone();
    go_pod_template::encode_as_go(&mut template);
    if let Some(meta) = &mut template.metadata {
        remove_operator_keys(&mut meta.labels);
        remove_operator_keys(&mut meta.annotations);
    }
    Ok(PodSet {
        name: name.to_owned(),
        count,
        template: Arc::new(template),
        min_count: None,
        topology_request: request,
    })
}

/// Removes what the operator adds to a template, except the name of the set.
fn remove_operator_keys(map: &mut Option<BTreeMap<String, String>>) {
    if let Some(map) = map {
        map.retain(|key, _| !key.starts_with(DOMAIN_PREFIX) || key == LEADER_WORKER_SET_NAME_LABEL);
    }
}

/// Starts the reconciler.
pub(crate) fn start(env: &IntegrationContext, stateful_sets: &Informer<StatefulSet>) {
    let api = Api::<LeaderWorkerSet>::all(env.shared.ctx.client.clone());
    let sets = Informer::builder(api).start(&env.shared.ctx);
    let queue: WorkQueue<ObjectKey> = WorkQueue::new(&env.shared.ctx);
    let changed = queue.clone();
    sets.add_event_handler(move |change| {
        if !matches!(change, Change::Deleted(_)) {
            changed.add(object_key(&change.object().metadata));
        }
    });
    let owners = queue.clone();
    let workloads = &env.shared.informers.workloads;
    workloads.add_event_handler(move |change| {
        if let Some(set) = owner_of_workload(change.object()) {
            owners.add_after(set, UPDATES_BATCH_PERIOD);
        }
    });
    leader_worker_set_pods::add_event_handlers(env, stateful_sets, &queue);
    let (env_, stateful_sets) = (env.clone(), stateful_sets.clone());
    let limiter = Arc::new(BucketRateLimiter::default());
    queue.run(&env.shared.ctx, FRAMEWORK, 1, move |key| {
        let (env, sets, stateful_sets) = (env_.clone(), sets.clone(), stateful_sets.clone());
        let limiter = limiter.clone();
        async move {
            // Before the first lists complete, pods would be ungated as those of deleted sets.
            sets.wait_for_cache_sync().await;
            stateful_sets.wait_for_cache_sync().await;
            let lws = sets.get(&key);
            let lws = lws.as_deref();
            let mut is_partial = false;
            if let Some(lws) = lws {
                if !is_managed(&env, lws).await {
                    return Ok::<_, JobError>(ReconcileResult::Done);
                }
                let now = || env.shared.ctx.clock.now();
                let burst = limiter.available(&key, now());
                let created;
                (created, is_partial) = reconcile_workloads(&env, lws, burst).await?;
                limiter.take(&key, created, now());
            }
            // After the Workloads, so that they exist.
            leader_worker_set_pods::reconcile_pods(&env, &key, lws, &stateful_sets).await?;
            Ok(match is_partial {
                true => {
                    let now = env.shared.ctx.clock.now();
                    ReconcileResult::RequeueAfter(limiter.retry_after(&key, now))
                }
                false => ReconcileResult::Done,
            })
        }
    });
}

fn owner_of_workload(wl: &Workload) -> Option<ObjectKey> {
    let mut owners = wl.metadata.owner_references.iter().flatten();
    let owner = owners.find(|owner| GVK.matches_owner(owner))?;
    Some(ObjectKey {
        namespace: object_meta::namespace(&wl.metadata).to_owned(),
        name: owner.name.clone(),
    })
}

async fn is_managed(env: &IntegrationContext, lws: &LeaderWorkerSet) -> bool {
    let (meta, namespace) = (&lws.metadata, object_meta::namespace(&lws.metadata));
    let managed = defaults::workload_should_be_suspended(env, namespace, meta).await;
    managed.unwrap_or_else(|error| {
        let name = object_meta::name(meta);
        tracing::warn!(namespace, name, "LeaderWorkerSet not reconciled: {error}");
        false
    })
}

/// Creates, updates and deletes Workloads, so that each group has one. Creates at most `burst_replicas`; returns
/// the number of created ones, and whether more are missing.
async fn reconcile_workloads(
    env: &IntegrationContext,
    lws: &LeaderWorkerSet,
    burst_replicas: usize,
) -> Result<(usize, bool), JobError> {
    let mut known = env.workloads_owned_by(&GVK, &lws.metadata);
    let uid = object_meta::uid(&lws.metadata);
    known.retain(|wl| {
        let mut owners = wl.metadata.owner_references.iter().flatten();
        owners.any(|owner| owner.uid == uid)
    });
    let mut others: BTreeMap<String, Arc<Workload>> = known
        .into_iter()
        .map(|wl| (predicates::name(&wl).to_owned(), wl))
        .collect();
    let remote = object_meta::label(&lws.metadata, c::MULTI_KUEUE_ORIGIN_LABEL).is_some();
    let (mut to_create, mut to_update) = (Vec::new(), Vec::new());
    let mut absent = 0;
    let mut is_partial = false;
    for index in 0..lws.workload_count() {
        if absent == burst_replicas {
            is_partial = true;
            break;
        }
        let name = group_workload_name(env, lws, &index.to_string());
        match others.remove(&name) {
            Some(wl) => to_update.push(wl),
            None => {
                absent += 1;
                if !remote {
                    to_create.push((name, index));
                }
            }
        }
    }
    if is_partial {
        // Those of later groups stay. In a worker cluster others create the missing ones.
        others.retain(|_, wl| {
            let index = predicates::annotation(wl, c::COMPONENT_WORKLOAD_INDEX_ANNOTATION);
            let index = index.and_then(|index| index.parse::<i32>().ok());
            index.is_none_or(|index| index >= lws.workload_count())
        });
        is_partial = !remote;
    }
    let created = join_all(
        to_create
            .into_iter()
            .map(|(name, index)| create_workload(env, lws, name, index)),
    );
    let updated = join_all(to_update.into_iter().map(|wl| sync_workload(env, lws, wl)));
    let deleted = join_all(others.values().map(|wl| delete_workload(env, wl)));
    let (created, updated, deleted) = futures::join!(created, updated, deleted);
    // Events of one object with the same reason are aggregated, with the message of the first one.
    // Upstream creates the Workloads concurrently, and starts with the last one.
    for wl in created
        .iter()
        .rev()
        .filter_map(|wl| wl.as_ref().ok()?.as_ref())
    {
        let message = format!("Created Workload: {}", predicates::key(wl));
        env.record_normal_event(object_reference(lws), event::CREATED_WORKLOAD, message);
    }
    let number = created
        .iter()
        .filter(|wl| matches!(wl, Ok(Some(_))))
        .count();
    let created = created.into_iter().map(|created| created.map(drop));
    let deleted = deleted.into_iter().map(|deleted| deleted.map(drop));
    created
        .chain(updated)
        .chain(deleted)
        .collect::<Result<(), _>>()?;
    Ok((number, is_partial))
}

/// Creates the Workload of a group. None if it exists.
async fn create_workload(
    env: &IntegrationContext,
    lws: &LeaderWorkerSet,
    name: String,
    index: i32,
) -> Result<Option<Arc<Workload>>, JobError> {
    let meta = &lws.metadata;
    let pod_sets = pod_sets(lws, &env.gates)?;
    let mut wl = construct_workload::new_workload(env, name, meta, pod_sets, &env.metadata_to_copy);
    construct_workload::set_job_uid_label(&mut wl, meta);
    let annotations = wl.metadata.annotations.get_or_insert_default();
    let mut annotate = |key: &str, value: String| annotations.insert(key.to_owned(), value);
    annotate(
        c::IS_GROUP_WORKLOAD_ANNOTATION,
        c::IS_GROUP_WORKLOAD_VALUE.to_owned(),
    );
    annotate(c::JOB_OWNER_GVK_ANNOTATION, GVK.to_string());
    let owner = object_meta::name(meta).to_owned();
    annotate(c::JOB_OWNER_NAME_ANNOTATION, owner);
    annotate(c::COMPONENT_WORKLOAD_INDEX_ANNOTATION, index.to_string());
    let owner = construct_workload::owner_reference(&GVK, meta, false);
    wl.metadata.owner_references = Some(vec![owner]);
    let (class, value) = workload_priority::extract_priority(
        env,
        &object_reference(lws),
        meta,
        None,
        &wl.spec.pod_sets,
    )?;
    wl.spec.priority_class_ref = class;
    wl.spec.priority = Some(value);
    let api = workload_patching::workload_api(&env.shared, object_meta::namespace(meta));
    let created = api.create(&PostParams::default(), &wl).await;
    match created.map_err(JobError::from) {
        Err(error) if error.is_already_exists() => Ok(None),
        Err(error) => Err(error),
        Ok(written) => {
            let written = Arc::new(written);
            let workloads = &env.shared.informers.workloads;
            workloads.observe_write(written.clone());
            Ok(Some(written))
        }
    }
}

/// Syncs queue, admission gates and priority of a Workload.
async fn sync_workload(
    env: &IntegrationContext,
    lws: &LeaderWorkerSet,
    mut wl: Arc<Workload>,
) -> Result<(), JobError> {
    let meta = &lws.metadata;
    let mut changed = wl.as_ref().clone();
    let queue = job_annotations::queue_name(meta);
    let gated = construct_workload::propagate_admission_gated_by(env, meta, &mut changed);
    if gated || changed.spec.queue_name != queue {
        changed.spec.queue_name = queue.to_owned();
        wl = update_workload(env, &changed).await?;
    }
    if gated {
        let gates = object_meta::annotation(meta, c::ADMISSION_GATED_BY_ANNOTATION);
        let message = format!(
            "Updated workload AdmissionGatedBy to {:?}",
            gates.unwrap_or_default()
        );
        env.record_normal_event(object_reference(lws), event::UPDATED_WORKLOAD, message);
    }
    let reference = object_reference(lws);
    workload_priority::update_workload_priority(env, &reference, meta, None, vec![wl]).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn set(leader: bool) -> LeaderWorkerSet {
        let labels = json!({"leaderworkerset.sigs.k8s.io/name": "s", "leaderworkerset.sigs.k8s.io/x": "y", "a": "b"});
        let template = json!({"metadata": {"labels": labels}, "spec": {"containers": []}});
        let mut lws = json!({"metadata": {"name": "s"}, "spec": {"replicas": 2,
            "leaderWorkerTemplate": {"size": 3, "workerTemplate": template},
            "rolloutStrategy": {"type": "RollingUpdate", "rollingUpdateConfiguration": {"maxSurge": 1}}},
            "status": {"replicas": 3, "updatedReplicas": 1}});
        if leader {
            lws["spec"]["leaderWorkerTemplate"]["leaderTemplate"] = template;
        }
        serde_json::from_value(lws).unwrap()
    }

    #[test]
    fn a_group_has_a_leader_and_workers_or_one_pod_set() {
        let gates = FeatureGates::default();
        let shown = |leader| {
            let sets = pod_sets(&set(leader), &gates).unwrap();
            let shown = sets.iter().map(|s| (s.name.clone(), s.count));
            shown.collect::<Vec<_>>()
        };
        assert_eq!(shown(false), [("main".to_owned(), 3)]);
        let expected = [("leader".to_owned(), 1), ("worker".to_owned(), 2)];
        assert_eq!(shown(true), expected);
        let sets = pod_sets(&set(true), &gates).unwrap();
        let labels = sets[1].template.metadata.clone().unwrap().labels.unwrap();
        let kept: Vec<_> = labels.keys().map(String::as_str).collect();
        assert_eq!(kept, ["a", LEADER_WORKER_SET_NAME_LABEL]);
        assert!(sets[0].topology_request.is_none());
        let request = sets[1].topology_request.clone().unwrap();
        assert_eq!(request.pod_index_label.as_deref(), Some(WORKER_INDEX_LABEL));
    }

    #[test]
    fn surge_groups_have_workloads_during_a_rolling_update() {
        let mut lws = set(false);
        assert_eq!(lws.workload_count(), 3);
        lws.status.updated_replicas = 2;
        assert_eq!(lws.workload_count(), 2);
    }

    #[test]
    fn replica_counts_are_bounded() {
        assert_eq!(validate_replica_count(0), Ok(()));
        assert_eq!(
            validate_replica_count(-1).unwrap_err().to_string(),
            "invalid LeaderWorkerSet replicas: must be >= 0, got -1"
        );
        assert!(validate_replica_count(MAX_REPLICAS + 1).is_err());
    }
}

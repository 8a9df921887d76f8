//! The StatefulSet integration: the Workload is constructed from the StatefulSet, and its pods join
//! it as a serving pod group with fast admission.

use std::sync::Arc;

use futures::future::join_all;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{Pod, PodTemplateSpec};
use kube::api::PostParams;

use super::construct_workload;
use super::error::{JobError, ignore_not_found};
use super::generic_reconciler::object_key;
use super::integration_context::IntegrationContext;
use super::integration_manager::Gvk;
use super::metadata_to_copy::MetadataToCopy;
use super::patching::{PatchTarget, patch_object, update_workload};
use super::pod_set_topology_request::{TopologyIndexLabels, pod_set_topology_request};
use super::pod_sets::sanitize_pod_sets;
use super::stateful_set_pod_reconciler::{self, owner_stateful_set};
use super::workload_names::workload_name;
use super::workload_priority;
use crate::MetricEvent;
use crate::constants::UPDATES_BATCH_PERIOD;
use crate::informers::BY_POD_GROUP;
use crate::job_annotations;
use crate::object_meta;
use crate::pod_util::ungate;
use crate::workload_patching::{self, StatusApplyMode};
use kueue_lab_api::config::Feature;
use kueue_lab_api::constants::{self as c, event, quota_reserved};
use kueue_lab_api::v1beta2::{PodSet, Workload};
use kueue_lab_controller_runtime::{
    Api, Change, Informer, ObjectKey, ReconcileResult, WorkQueue, object_reference,
};
use kueue_lab_engine::status::unset_quota_reservation;
use kueue_lab_engine::workload::predicates;

/// The framework name in the configuration.
pub(crate) const FRAMEWORK: &str = "statefulset";

/// Group, version and kind.
pub(crate) const GVK: Gvk = Gvk::new("apps", "v1", "StatefulSet");

/// The pod index label.
pub(super) const POD_INDEX: &str = "apps.kubernetes.io/pod-index";

/// The revision label of a pod.
pub(super) const REVISION: &str = "controller-revision-hash";

/// Whether the pod template is marked as suspended by another framework.
pub(crate) fn is_managed_by_other_framework(set: &StatefulSet) -> bool {
    let template = set.spec.as_ref().and_then(|s| s.template.metadata.as_ref());
    let parent =
        template.and_then(|meta| object_meta::annotation(meta, c::SUSPENDED_BY_PARENT_ANNOTATION));
    parent.is_some_and(|parent| parent != FRAMEWORK)
}

pub(super) fn replicas(set: &StatefulSet) -> i32 {
    set.spec.as_ref().and_then(|s| s.replicas).unwrap_or(1)
}

/// The Workload name of a StatefulSet, and the Workload if it exists.
pub(crate) fn find_workload(
    env: &IntegrationContext,
    set: &StatefulSet,
) -> (String, Option<Arc<Workload>>) {
    let meta = &set.metadata;
    let remote = object_meta::label(meta, c::MULTI_KUEUE_ORIGIN_LABEL).is_some();
    let origin =
        object_meta::annotation(meta, c::MULTI_KUEUE_ORIGIN_UID_ANNOTATION).filter(|_| remote);
    let short = env.enabled(Feature::ShortWorkloadNames);
    let uid = origin.unwrap_or(object_meta::uid(meta));
    let name = workload_name(object_meta::name(meta), uid, &GVK, "", short);
    let found = env.workload(object_meta::namespace(meta), &name);
    (name, found)
}

/// Starts the reconcilers of StatefulSets and of their pods.
pub(crate) fn start(env: &IntegrationContext, sets: &Informer<StatefulSet>) {
    let queue: WorkQueue<ObjectKey> = WorkQueue::new(&env.shared.ctx);
    let changed = queue.clone();
    sets.add_event_handler(move |change| changed.add(object_key(&change.object().metadata)));
    let joined = queue.clone();
    env.shared.informers.pods.add_event_handler(move |change| {
        if let Change::Added(pod) = change
            && let Some(set) = owner_stateful_set(pod)
        {
            joined.add_after(set, UPDATES_BATCH_PERIOD);
        }
    });
    let (env_, sets_) = (env.clone(), sets.clone());
    let workers = env
        .shared
        .settings
        .group_kind_concurrency("StatefulSet.apps", 5);
    queue.run(&env.shared.ctx, FRAMEWORK, workers, move |key| {
        let (env, sets) = (env_.clone(), sets_.clone());
        async move {
            match sets.get(&key) {
                Some(set) => reconcile(&env, &set).await,
                None => Ok(ReconcileResult::Done),
            }
        }
    });
    stateful_set_pod_reconciler::start(env, sets);
}

pub(super) async fn patch_pod(
    env: &IntegrationContext,
    before: &Pod,
    after: &Pod,
) -> Result<(), JobError> {
    let namespace = object_meta::namespace(&before.metadata);
    let api = Api::<Pod>::namespaced(env.shared.ctx.client.clone(), namespace);
    let written = patch_object(&api, before, after, PatchTarget::Object).await?;
    env.shared.informers.pods.observe_write(Arc::new(written));
    Ok(())
}

async fn reconcile(
    env: &IntegrationContext,
    set: &StatefulSet,
) -> Result<ReconcileResult, JobError> {
    if is_managed_by_other_framework(set) || !is_managed(env, set).await? {
        return Ok(ReconcileResult::Done);
    }
    let (name, wl) = find_workload(env, set);
    let group = format!("{}/{name}", object_meta::namespace(&set.metadata));
    let pods = env.shared.informers.pods.by_index(BY_POD_GROUP, &group);
    sync_queue_label(env, set, &pods).await?;
    let opened = ungate_pods(env, set, &pods).await;
    let kept = reconcile_workload(env, set, wl).await;
    opened.and(kept).map(|()| ReconcileResult::Done)
}

/// Whether the StatefulSet is managed and has no managed ancestor.
async fn is_managed(env: &IntegrationContext, set: &StatefulSet) -> Result<bool, JobError> {
    let found = env
        .ancestor_finder
        .find_ancestor_job_managed_by_kueue(
            &env.integrations,
            &set.metadata,
            env.manage_jobs_without_queue_name(),
        )
        .await;
    if found
        .map_err(|error| JobError::Retryable(error.to_string()))?
        .is_some()
    {
        return Ok(false);
    }
    let namespace_managed =
        || env.namespace_is_managed(object_meta::namespace(&set.metadata)) == Some(true);
    Ok(!job_annotations::queue_name(&set.metadata).is_empty()
        || (env.manage_jobs_without_queue_name() && namespace_managed()))
}

async fn sync_queue_label(
    env: &IntegrationContext,
    set: &StatefulSet,
    pods: &[Arc<Pod>],
) -> Result<(), JobError> {
    let queue = job_annotations::queue_name(&set.metadata);
    if replicas(set) == 0 || queue.is_empty() {
        return Ok(());
    }
    let others = pods
        .iter()
        .filter(|pod| job_annotations::queue_name(&pod.metadata) != queue);
    let all = others.map(async |pod| {
        let mut changed = pod.as_ref().clone();
        let labels = changed.metadata.labels.get_or_insert_default();
        labels.insert(c::QUEUE_LABEL.to_owned(), queue.to_owned());
        ignore_not_found(patch_pod(env, pod, &changed).await)
    });
    join_all(all).await.into_iter().collect()
}

/// Ungates pods of an outdated revision: they are about to be deleted and need no admission.
async fn ungate_pods(
    env: &IntegrationContext,
    set: &StatefulSet,
    pods: &[Arc<Pod>],
) -> Result<(), JobError> {
    let status = set.status.clone().unwrap_or_default();
    let current = status.current_revision;
    if current == status.update_revision {
        return Ok(());
    }
    let of_old =
        |pod: &&Arc<Pod>| object_meta::label(&pod.metadata, REVISION) == current.as_deref();
    let all = pods.iter().filter(of_old).map(async |pod| {
        let mut changed = pod.as_ref().clone();
        if let Some(spec) = &mut changed.spec {
            ungate(spec, c::ADMISSION_SCHEDULING_GATE);
            ungate(spec, c::TOPOLOGY_SCHEDULING_GATE);
        }
        ignore_not_found(patch_pod(env, pod, &changed).await)
    });
    join_all(all).await.into_iter().collect()
}

async fn reconcile_workload(
    env: &IntegrationContext,
    set: &StatefulSet,
    wl: Option<Arc<Workload>>,
) -> Result<(), JobError> {
    let replicas = replicas(set);
    let queue = job_annotations::queue_name(&set.metadata);
    let Some(mut wl) = wl else {
        let remote = object_meta::label(&set.metadata, c::MULTI_KUEUE_ORIGIN_LABEL).is_some();
        if replicas > 0 && (!queue.is_empty() || env.manage_jobs_without_queue_name()) && !remote {
            return create_prebuilt_workload(env, set).await;
        }
        return Ok(());
    };
    let releases = replicas == 0
        && predicates::has_active_quota_reservation(&wl)
        && !predicates::is_finished(&wl)
        && wl.spec.is_active();
    let resumes = replicas > 0 && predicates::is_on_hold(&wl);
    let mut changed = wl.as_ref().clone();
    let owners = changed.metadata.owner_references.get_or_insert_default();
    let owned = owners
        .iter()
        .any(|owner| owner.uid == object_meta::uid(&set.metadata));
    let mut update = false;
    if !owned && replicas > 0 {
        owners.push(construct_workload::owner_reference(
            &GVK,
            &set.metadata,
            false,
        ));
        set_job_owner_annotations(&mut changed, set);
        update = true;
    }
    if replicas > 0 && changed.spec.queue_name != queue {
        changed.spec.queue_name = queue.to_owned();
        update = true;
    }
    let gated = construct_workload::propagate_admission_gated_by(env, &set.metadata, &mut changed);
    if update || gated {
        wl = update_workload(env, &changed).await?;
    }
    if gated {
        let gates = object_meta::annotation(&set.metadata, c::ADMISSION_GATED_BY_ANNOTATION);
        let message = format!(
            "Updated workload AdmissionGatedBy to {:?}",
            gates.unwrap_or_default()
        );
        env.record_normal_event(object_reference(set), event::UPDATED_WORKLOAD, message);
    }
    let granular = env.enabled(Feature::UnadmittedWorkloadsObservability);
    let pending = if granular {
        quota_reserved::PENDING_EVALUATION
    } else {
        quota_reserved::PENDING
    };
    let (reason, message) = match (releases, resumes) {
        (true, _) => (
            quota_reserved::ON_HOLD,
            "StatefulSet scaled to zero; workload on hold",
        ),
        (_, true) => (
            pending,
            "Workload no longer on hold; waiting for quota reservation",
        ),
        _ => return Ok(()),
    };
    let (now, gates) = (env.shared.now(), env.shared.engine_gates.clone());
    workload_patching::patch_admission_status(&env.shared, &wl, StatusApplyMode::Strict, |wl| {
        unset_quota_reservation(wl, reason, message, now, &gates)
    })
    .await?;
    Ok(())
}

fn set_job_owner_annotations(wl: &mut Workload, set: &StatefulSet) {
    let annotations = wl.metadata.annotations.get_or_insert_default();
    annotations.insert(c::JOB_OWNER_GVK_ANNOTATION.to_owned(), GVK.to_string());
    let name = object_meta::name(&set.metadata).to_owned();
    annotations.insert(c::JOB_OWNER_NAME_ANNOTATION.to_owned(), name);
}

async fn create_prebuilt_workload(
    env: &IntegrationContext,
    set: &StatefulSet,
) -> Result<(), JobError> {
    let template = set
        .spec
        .as_ref()
        .map(|s| s.template.clone())
        .unwrap_or_default();
    let indexes = TopologyIndexLabels {
        pod_index_label: Some(POD_INDEX),
        ..Default::default()
    };
    let request = pod_set_topology_request(template.metadata.as_ref(), indexes, &env.gates);
    let mut pod_sets = vec![PodSet {
        name: c::DEFAULT_POD_SET_NAME.to_owned(),
        count: replicas(set),
        template: Arc::new(PodTemplateSpec {
            metadata: None,
            spec: template.spec,
        }),
        min_count: None,
        topology_request: request?,
    }];
    sanitize_pod_sets(&mut pod_sets);
    let (name, _) = find_workload(env, set);
    // Upstream copies no labels of a StatefulSet.
    let nothing_copied = MetadataToCopy::default();
    let mut wl =
        construct_workload::new_workload(env, name, &set.metadata, pod_sets, &nothing_copied);
    let annotations = wl.metadata.annotations.get_or_insert_default();
    let (key, value) = (c::IS_GROUP_WORKLOAD_ANNOTATION, c::IS_GROUP_WORKLOAD_VALUE);
    annotations.insert(key.to_owned(), value.to_owned());
    set_job_owner_annotations(&mut wl, set);
    construct_workload::set_job_uid_label(&mut wl, &set.metadata);
    wl.metadata.owner_references = Some(vec![construct_workload::owner_reference(
        &GVK,
        &set.metadata,
        false,
    )]);
    // Other labels of the StatefulSet apply to its pods.
    let (class, value) = workload_priority::extract_priority(
        env,
        &object_reference(set),
        &set.metadata,
        None,
        &wl.spec.pod_sets,
    )?;
    wl.spec.priority_class_ref = class;
    wl.spec.priority = Some(value);
    let api = workload_patching::workload_api(&env.shared, object_meta::namespace(&set.metadata));
    match api
        .create(&PostParams::default(), &wl)
        .await
        .map_err(JobError::from)
    {
        Err(error) if error.is_already_exists() => return Ok(()),
        Err(error) => return Err(error),
        Ok(written) => {
            let written = Arc::new(written);
            env.shared
                .informers
                .workloads
                .observe_write(written.clone());
            let message = format!("Created Workload: {}", predicates::key(&written));
            env.record_normal_event(object_reference(set), event::CREATED_WORKLOAD, message);
            env.shared
                .notify_metric_event(&MetricEvent::WorkloadCreated {
                    job_kind: "StatefulSet",
                    job: &set.metadata,
                    workload: &written,
                });
        }
    }
    Ok(())
}

//! StatefulSets: the Workload is made of the set, its pods join as a group that is admitted as soon as
//! the first is there and that never finishes.

use std::sync::Arc;

use futures::future::join_all;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{Pod, PodTemplateSpec};
use kube::Api;
use kube::api::PostParams;

use super::compose;
use super::env::Env;
use super::error::{JobError, ignore_not_found};
use super::frameworks::{Gvk, controller_of};
use super::marks;
use super::names::workload_name;
use super::pod_sets::{Indexes, sanitize, topology_request};
use super::pods::{has_ended, ungate};
use super::priority;
use super::run::{key_of, subject};
use super::write::{Part, patch_object, update_workload};
use crate::events::reference;
use crate::informers::BY_POD_GROUP;
use crate::patch::{self, Insist};
use kueue_lab_admission::status::unreserve_quota;
use kueue_lab_admission::workload::predicates;
use kueue_lab_api::config::Feature;
use kueue_lab_api::constants::{self as c, event, quota_reserved};
use kueue_lab_api::v1beta2::{PodSet, Workload};
use kueue_lab_runtime::{Change, Informer, ObjectKey, Outcome, WorkQueue};

/// Name in the configuration.
pub const FRAMEWORK: &str = "statefulset";
/// Group, version and kind.
pub const GVK: Gvk = Gvk::new("apps", "v1", "StatefulSet");
/// The label with the number of a pod.
const POD_INDEX: &str = "apps.kubernetes.io/pod-index";
/// The label with the revision of a pod.
const REVISION: &str = "controller-revision-hash";
/// New pods of a set are waited for this long, to look at them together.
const BATCH: std::time::Duration = std::time::Duration::from_secs(1);

/// Whether the template of a set says that another kind of job has it for its own.
pub fn is_anothers(set: &StatefulSet) -> bool {
    let template = set.spec.as_ref().and_then(|s| s.template.metadata.as_ref());
    let parent =
        template.and_then(|meta| marks::annotation(meta, c::SUSPENDED_BY_PARENT_ANNOTATION));
    parent.is_some_and(|parent| parent != FRAMEWORK)
}

fn replicas(set: &StatefulSet) -> i32 {
    set.spec.as_ref().and_then(|s| s.replicas).unwrap_or(1)
}

/// Name of the Workload of a set, and the Workload where it is there.
pub fn find_workload(env: &Env, set: &StatefulSet) -> (String, Option<Arc<Workload>>) {
    let meta = &set.metadata;
    let remote = marks::label(meta, c::MULTI_KUEUE_ORIGIN_LABEL).is_some();
    let origin = marks::annotation(meta, c::MULTI_KUEUE_ORIGIN_UID_ANNOTATION).filter(|_| remote);
    let short = env.enabled(Feature::ShortWorkloadNames);
    let uid = origin.unwrap_or(marks::uid(meta));
    let name = workload_name(marks::name(meta), uid, &GVK, "", short);
    let found = env.workload(marks::namespace(meta), &name);
    (name, found)
}

/// Starts the controllers of sets and of their pods.
pub fn start(env: &Env, sets: &Informer<StatefulSet>) {
    let queue: WorkQueue<ObjectKey> = WorkQueue::new(&env.shared.ctx);
    let changed = queue.clone();
    sets.subscribe(move |change| changed.add(key_of(&subject(change).metadata)));
    let joined = queue.clone();
    env.shared.informers.pods.subscribe(move |change| {
        if let Change::Added(pod) = change
            && let Some(set) = set_of(pod)
        {
            joined.add_after(set, BATCH);
        }
    });
    let (env_, sets_) = (env.clone(), sets.clone());
    queue.run(&env.shared.ctx, FRAMEWORK, 5, move |key| {
        let (env, sets) = (env_.clone(), sets_.clone());
        async move {
            match sets.get(&key) {
                Some(set) => reconcile(&env, &set).await,
                None => Ok(Outcome::Done),
            }
        }
    });
    let pods: WorkQueue<ObjectKey> = WorkQueue::new(&env.shared.ctx);
    let seen = pods.clone();
    env.shared.informers.pods.subscribe(move |change| {
        if !matches!(change, Change::Deleted(_)) && set_of(subject(change)).is_some() {
            seen.add(key_of(&subject(change).metadata));
        }
    });
    let (env_, sets_) = (env.clone(), sets.clone());
    pods.run(&env.shared.ctx, "statefulset_pod", 5, move |key| {
        let (env, sets) = (env_.clone(), sets_.clone());
        async move {
            // A set that was not seen yet looks like one that is gone.
            sets.synced().await;
            let joined = match env.shared.informers.pods.get(&key) {
                Some(pod) => join(&env, &sets, &pod).await,
                None => Ok(()),
            };
            ignore_not_found(joined).map(|()| Outcome::Done)
        }
    });
}

/// The set that a pod is held back for.
fn set_of(pod: &Pod) -> Option<ObjectKey> {
    let parent = marks::annotation(&pod.metadata, c::SUSPENDED_BY_PARENT_ANNOTATION);
    let owner = controller_of(&pod.metadata).filter(|owner| GVK.is_of(owner))?;
    (parent == Some(FRAMEWORK)).then(|| ObjectKey {
        namespace: marks::namespace(&pod.metadata).to_owned(),
        name: owner.name.clone(),
    })
}

async fn write(env: &Env, before: &Pod, after: &Pod) -> Result<(), JobError> {
    let namespace = marks::namespace(&before.metadata);
    let api = Api::<Pod>::namespaced(env.shared.ctx.client.clone(), namespace);
    let written = patch_object(&api, before, after, Part::Main).await?;
    env.shared.informers.pods.observe(Arc::new(written));
    Ok(())
}

/// Makes a pod part of the group of its set.
async fn join(env: &Env, sets: &Informer<StatefulSet>, pod: &Pod) -> Result<(), JobError> {
    let Some(set) = set_of(pod).and_then(|key| sets.get(&key)) else {
        return Ok(());
    };
    if has_ended(pod) || pod.metadata.deletion_timestamp.is_some() {
        return Ok(());
    }
    let queue = marks::queue_name(&set.metadata);
    let (group, _) = find_workload(env, &set);
    let mut changed = pod.clone();
    let labels = changed.metadata.labels.get_or_insert_default();
    let mut label = |key: &str, value: &str| labels.insert(key.to_owned(), value.to_owned());
    if !queue.is_empty() {
        label(c::QUEUE_LABEL, queue);
    }
    if marks::pod_group(&pod.metadata, &env.gates) == Some(group.as_str()) {
        return write(env, pod, &changed).await;
    }
    if queue.is_empty() && !env.manages_all() {
        return Ok(());
    }
    label(c::MANAGED_LABEL, c::MANAGED_LABEL_VALUE);
    let class = marks::priority_class(&set.metadata);
    if !class.is_empty() {
        label(c::PRIORITY_CLASS_LABEL, class);
    }
    let by_annotation = env.enabled(Feature::WorkloadIdentifierAnnotations);
    if !by_annotation {
        label(c::PREBUILT_WORKLOAD_LABEL, &group);
        label(c::POD_GROUP_NAME_LABEL, &group);
    }
    let annotations = changed.metadata.annotations.get_or_insert_default();
    let mut annotate =
        |key: &str, value: &str| annotations.insert(key.to_owned(), value.to_owned());
    if by_annotation {
        annotate(c::PREBUILT_WORKLOAD_ANNOTATION, &group);
        annotate(c::POD_GROUP_NAME_ANNOTATION, &group);
    }
    annotate(
        c::POD_GROUP_TOTAL_COUNT_ANNOTATION,
        &replicas(&set).to_string(),
    );
    annotate(
        c::POD_GROUP_FAST_ADMISSION_ANNOTATION,
        c::POD_GROUP_FAST_ADMISSION_VALUE,
    );
    annotate(c::POD_GROUP_SERVING_ANNOTATION, c::POD_GROUP_SERVING_VALUE);
    annotate(c::POD_GROUP_POD_INDEX_LABEL_ANNOTATION, POD_INDEX);
    annotate(c::ROLE_HASH_ANNOTATION, c::DEFAULT_POD_SET_NAME);
    write(env, pod, &changed).await
}

async fn reconcile(env: &Env, set: &StatefulSet) -> Result<Outcome, JobError> {
    if is_anothers(set) || !has_workload(env, set).await? {
        return Ok(Outcome::Done);
    }
    let (name, wl) = find_workload(env, set);
    let group = format!("{}/{name}", marks::namespace(&set.metadata));
    let pods = env.shared.informers.pods.by(BY_POD_GROUP, &group);
    label_pods(env, set, &pods).await?;
    let opened = open_pods(env, set, &pods).await;
    let kept = keep_workload(env, set, wl).await;
    opened.and(kept).map(|()| Outcome::Done)
}

/// Whether the set is managed by itself.
async fn has_workload(env: &Env, set: &StatefulSet) -> Result<bool, JobError> {
    let found = env
        .owners
        .ancestor(&env.frameworks, &set.metadata, env.manages_all())
        .await;
    if found
        .map_err(|error| JobError::NotYet(error.to_string()))?
        .is_some()
    {
        return Ok(false);
    }
    let here = || env.namespace_is_managed(marks::namespace(&set.metadata)) == Some(true);
    Ok(!marks::queue_name(&set.metadata).is_empty() || (env.manages_all() && here()))
}

async fn label_pods(env: &Env, set: &StatefulSet, pods: &[Arc<Pod>]) -> Result<(), JobError> {
    let queue = marks::queue_name(&set.metadata);
    if replicas(set) == 0 || queue.is_empty() {
        return Ok(());
    }
    let others = pods
        .iter()
        .filter(|pod| marks::queue_name(&pod.metadata) != queue);
    let all = others.map(async |pod| {
        let mut changed = pod.as_ref().clone();
        let labels = changed.metadata.labels.get_or_insert_default();
        labels.insert(c::QUEUE_LABEL.to_owned(), queue.to_owned());
        ignore_not_found(write(env, pod, &changed).await)
    });
    join_all(all).await.into_iter().collect()
}

/// Pods of a revision that is being replaced need no admission any more: they only have to go.
async fn open_pods(env: &Env, set: &StatefulSet, pods: &[Arc<Pod>]) -> Result<(), JobError> {
    let status = set.status.clone().unwrap_or_default();
    let current = status.current_revision;
    if current == status.update_revision {
        return Ok(());
    }
    let of_old = |pod: &&Arc<Pod>| marks::label(&pod.metadata, REVISION) == current.as_deref();
    let all = pods.iter().filter(of_old).map(async |pod| {
        let mut changed = pod.as_ref().clone();
        if let Some(spec) = &mut changed.spec {
            ungate(spec, c::ADMISSION_SCHEDULING_GATE);
            ungate(spec, c::TOPOLOGY_SCHEDULING_GATE);
        }
        ignore_not_found(write(env, pod, &changed).await)
    });
    join_all(all).await.into_iter().collect()
}

async fn keep_workload(
    env: &Env,
    set: &StatefulSet,
    wl: Option<Arc<Workload>>,
) -> Result<(), JobError> {
    let replicas = replicas(set);
    let queue = marks::queue_name(&set.metadata);
    let Some(mut wl) = wl else {
        let remote = marks::label(&set.metadata, c::MULTI_KUEUE_ORIGIN_LABEL).is_some();
        if replicas > 0 && (!queue.is_empty() || env.manages_all()) && !remote {
            return make_workload(env, set).await;
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
        .any(|owner| owner.uid == marks::uid(&set.metadata));
    let mut update = false;
    if !owned && replicas > 0 {
        owners.push(compose::owner(&GVK, &set.metadata, false));
        name_owner(&mut changed, set);
        update = true;
    }
    if replicas > 0 && changed.spec.queue_name != queue {
        changed.spec.queue_name = queue.to_owned();
        update = true;
    }
    let gated = compose::propagate_gated_by(env, &set.metadata, &mut changed);
    if update || gated {
        wl = update_workload(env, &changed).await?;
    }
    if gated {
        let gates = marks::annotation(&set.metadata, c::ADMISSION_GATED_BY_ANNOTATION);
        let message = format!(
            "Updated workload AdmissionGatedBy to {:?}",
            gates.unwrap_or_default()
        );
        env.tell(reference(set), event::UPDATED_WORKLOAD, message);
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
    let (now, gates) = (env.shared.now(), env.engine_gates.clone());
    patch::admission_status(&env.shared, &wl, Insist::Strict, |wl| {
        unreserve_quota(wl, reason, message, now, &gates)
    })
    .await?;
    Ok(())
}

fn name_owner(wl: &mut Workload, set: &StatefulSet) {
    let annotations = wl.metadata.annotations.get_or_insert_default();
    annotations.insert(c::JOB_OWNER_GVK_ANNOTATION.to_owned(), GVK.to_string());
    let name = marks::name(&set.metadata).to_owned();
    annotations.insert(c::JOB_OWNER_NAME_ANNOTATION.to_owned(), name);
}

async fn make_workload(env: &Env, set: &StatefulSet) -> Result<(), JobError> {
    let template = set
        .spec
        .as_ref()
        .map(|s| s.template.clone())
        .unwrap_or_default();
    let indexes = Indexes {
        pod: Some(POD_INDEX),
        ..Default::default()
    };
    let request = topology_request(template.metadata.as_ref(), indexes, &env.gates);
    let mut pod_sets = vec![PodSet {
        name: c::DEFAULT_POD_SET_NAME.to_owned(),
        count: replicas(set),
        template: Arc::new(PodTemplateSpec {
            metadata: None,
            spec: template.spec,
        }),
        min_count: None,
        topology_request: request.map_err(JobError::NotYet)?,
    }];
    sanitize(&mut pod_sets);
    let (name, _) = find_workload(env, set);
    let mut wl = compose::workload(env, name, &set.metadata, pod_sets);
    let annotations = wl.metadata.annotations.get_or_insert_default();
    let (key, value) = (c::IS_GROUP_WORKLOAD_ANNOTATION, c::IS_GROUP_WORKLOAD_VALUE);
    annotations.insert(key.to_owned(), value.to_owned());
    name_owner(&mut wl, set);
    compose::set_job_uid(&mut wl, &set.metadata);
    wl.metadata.owner_references = Some(vec![compose::owner(&GVK, &set.metadata, false)]);
    // What else the labels of the set may say is for its pods.
    let (class, value) =
        priority::resolve(env, &reference(set), &set.metadata, None, &wl.spec.pod_sets)?;
    wl.spec.priority_class_ref = class;
    wl.spec.priority = Some(value);
    let api = patch::workloads(&env.shared, marks::namespace(&set.metadata));
    match api
        .create(&PostParams::default(), &wl)
        .await
        .map_err(JobError::from)
    {
        Err(error) if error.is_already_exists() => return Ok(()),
        Err(error) => return Err(error),
        Ok(written) => {
            let written = Arc::new(written);
            env.shared.informers.workloads.observe(written.clone());
            let message = format!("Created Workload: {}", predicates::key(&written));
            env.tell(reference(set), event::CREATED_WORKLOAD, message);
        }
    }
    Ok(())
}

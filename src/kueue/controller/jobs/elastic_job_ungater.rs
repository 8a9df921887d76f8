//! The elastic job ungater: removes the scheduling gate from as many pods as the current slice
//! admits.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::join_all;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use super::error::{JobError, ignore_not_found};
use super::integration_context::IntegrationContext;
use super::integration_manager::Gvk;
use super::patching::{PatchTarget, patch_object};
use crate::MetricEvent;
use crate::informers::{BY_WORKLOAD_SLICE, workload_slice_name};
use crate::object_meta;
use crate::pod_util::{has_gate, is_terminated, ungate};
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_controller_runtime::{
    Api, Change, ObjectKey, ReconcileResult, WorkQueue, controller_of,
};
use kueue_lab_engine::workload::predicates;

/// Pod annotations that belong to one admission.
const PROVISIONING_ANNOTATIONS: [&str; 2] = [
    "autoscaling.x-k8s.io/consume-provisioning-request",
    "autoscaling.x-k8s.io/provisioning-class-name",
];

/// An elastic job: the owner of a chain of slices.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct ElasticJob {
    gvk: Gvk,
    namespace: String,
    name: String,
}

fn job(meta: &ObjectMeta) -> Option<ElasticJob> {
    let owner: &OwnerReference = controller_of(meta)?;
    Some(ElasticJob {
        gvk: Gvk::of(owner),
        namespace: object_meta::namespace(meta).to_owned(),
        name: owner.name.clone(),
    })
}

/// The job of a gated pod: the owner of the slice that the pod names, or of the pod itself if that
/// slice does not exist. Pods of a RayJob are owned by its RayCluster.
fn job_of_pod(
    pod: &Pod,
    slice: impl Fn(&ObjectKey) -> Option<Arc<Workload>>,
) -> Option<ElasticJob> {
    let key = ObjectKey {
        namespace: object_meta::namespace(&pod.metadata).to_owned(),
        name: workload_slice_name(pod)?.to_owned(),
    };
    let owner = slice(&key).and_then(|slice| job(&slice.metadata));
    owner.or_else(|| job(&pod.metadata))
}

fn is_gated(pod: &Pod) -> bool {
    has_gate(pod, c::ELASTIC_JOB_SCHEDULING_GATE)
}

/// Starts the controller.
pub(super) fn start(env: &IntegrationContext) {
    let queue: WorkQueue<ElasticJob> = WorkQueue::new(&env.shared.ctx);
    let (slices, gates) = (queue.clone(), env.shared.engine_gates.clone());
    env.shared
        .informers
        .workloads
        .add_event_handler(move |change| {
            let wl = change.object();
            let deleted = matches!(change, Change::Deleted(_));
            if !deleted
                && predicates::is_elastic(wl, &gates)
                && predicates::is_admitted(wl)
                && let Some(job) = job(&wl.metadata)
            {
                slices.add(job);
            }
        });
    let (pods, workloads) = (queue.clone(), env.shared.informers.workloads.clone());
    env.shared.informers.pods.add_event_handler(move |change| {
        let pod = change.object();
        if is_gated(pod)
            && let Some(job) = job_of_pod(pod, |key| workloads.get(key))
        {
            pods.add(job);
        }
    });
    let env_ = env.clone();
    let workers = env
        .shared
        .settings
        .group_kind_concurrency("Workload.kueue.x-k8s.io", 5);
    queue.run(
        &env.shared.ctx,
        "elastic_job_ungater",
        workers,
        move |job| {
            let env = env_.clone();
            async move { reconcile(&env, &job).await }
        },
    );
}

async fn reconcile(
    env: &IntegrationContext,
    job: &ElasticJob,
) -> Result<ReconcileResult, JobError> {
    let owner = ObjectMeta {
        name: Some(job.name.clone()),
        namespace: Some(job.namespace.clone()),
        ..Default::default()
    };
    let unfinished = env.not_finished_workloads(&job.gvk, &owner);
    let holds =
        |wl: &&Arc<Workload>| predicates::has_quota_reservation(wl) && !predicates::is_evicted(wl);
    let Some(slice) = unfinished
        .iter()
        .rev()
        .find(holds)
        .filter(|wl| predicates::is_admitted(wl))
    else {
        return Ok(ReconcileResult::Done);
    };
    let key = format!("{}/{}", job.namespace, slice_name(slice));
    let all = env.shared.informers.pods.by_index(BY_WORKLOAD_SLICE, &key);
    let opened = pods_to_ungate(slice, &all)
        .into_iter()
        .map(|pod| ungate_pod(env, slice, pod));
    let opened: Result<Vec<()>, JobError> = join_all(opened).await.into_iter().collect();
    opened.map(|_| ReconcileResult::Done)
}

/// Pod changes requested by the admission checks of a slice.
struct PodAdmissionUpdate<'a> {
    annotations: Vec<(&'a str, &'a str)>,
    node_selector: Vec<(&'a str, &'a str)>,
}

fn admission_update_for_pod<'a>(slice: &'a Workload, pod: &Pod) -> PodAdmissionUpdate<'a> {
    let set = object_meta::label(&pod.metadata, c::POD_SET_LABEL).unwrap_or_default();
    let updates = slice
        .status
        .admission_checks
        .iter()
        .flat_map(|check| &check.pod_set_updates);
    let mut found = PodAdmissionUpdate {
        annotations: Vec::new(),
        node_selector: Vec::new(),
    };
    for update in updates.filter(|update| update.name == set) {
        let annotations = update.annotations.iter();
        let provisioned =
            annotations.filter(|(key, _)| PROVISIONING_ANNOTATIONS.contains(&key.as_str()));
        found
            .annotations
            .extend(provisioned.map(|(k, v)| (k.as_str(), v.as_str())));
        let selector = update.node_selector.iter();
        found
            .node_selector
            .extend(selector.map(|(k, v)| (k.as_str(), v.as_str())));
    }
    found
}

/// Whether a pod carries no annotations of another admission.
fn is_pod_admission_compatible(slice: &Workload, pod: &Pod) -> bool {
    let add = admission_update_for_pod(slice, pod);
    let selector = pod.spec.as_ref().and_then(|s| s.node_selector.as_ref());
    let free = |known: Option<&str>, value: &str| known.is_none_or(|known| known == value);
    add.annotations
        .iter()
        .all(|(key, value)| free(object_meta::annotation(&pod.metadata, key), value))
        && add.node_selector.iter().all(|(key, value)| {
            free(
                selector.and_then(|map| map.get(*key)).map(String::as_str),
                value,
            )
        })
}

/// The name of the first slice of a chain.
fn slice_name(slice: &Workload) -> &str {
    let chain = predicates::annotation(slice, c::WORKLOAD_SLICE_NAME_ANNOTATION);
    chain.unwrap_or(predicates::name(slice))
}

/// The pods of a chain to ungate: ordered by name, up to the admitted count of each pod set.
fn pods_to_ungate<'p>(slice: &Workload, pods: &'p [Arc<Pod>]) -> Vec<&'p Pod> {
    let mut capacity: BTreeMap<&str, i32> = slice
        .spec
        .pod_sets
        .iter()
        .map(|set| (set.name.as_str(), set.count))
        .collect();
    let set = |pod: &Pod| {
        object_meta::label(&pod.metadata, c::POD_SET_LABEL)
            .unwrap_or_default()
            .to_owned()
    };
    let live = pods
        .iter()
        .map(AsRef::as_ref)
        .filter(|pod| !is_terminated(pod));
    let (gated, running): (Vec<&Pod>, Vec<&Pod>) = live.partition(|pod| is_gated(pod));
    for pod in running {
        if let Some(left) = capacity.get_mut(set(pod).as_str()) {
            *left -= 1;
        }
    }
    let mut gated: Vec<&Pod> = gated
        .into_iter()
        .filter(|pod| is_pod_admission_compatible(slice, pod))
        .collect();
    gated.sort_by_key(|pod| object_meta::name(&pod.metadata));
    gated.retain(|pod| match capacity.get_mut(set(pod).as_str()) {
        Some(left) if *left > 0 => {
            *left -= 1;
            true
        }
        _ => false,
    });
    gated
}

async fn ungate_pod(env: &IntegrationContext, slice: &Workload, pod: &Pod) -> Result<(), JobError> {
    let mut opened = pod.clone();
    let add = admission_update_for_pod(slice, pod);
    let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    if !add.annotations.is_empty() {
        let annotations = opened.metadata.annotations.get_or_insert_default();
        annotations.extend(add.annotations.iter().map(owned));
    }
    let spec = opened.spec.get_or_insert_default();
    if !add.node_selector.is_empty() {
        let selector = spec.node_selector.get_or_insert_default();
        selector.extend(add.node_selector.iter().map(owned));
    }
    ungate(spec, c::ELASTIC_JOB_SCHEDULING_GATE);
    let namespace = object_meta::namespace(&pod.metadata);
    let api = Api::<Pod>::namespaced(env.shared.ctx.client.clone(), namespace);
    let written = patch_object(&api, pod, &opened, PatchTarget::Object).await;
    ignore_not_found(written.map(|written| {
        env.shared.informers.pods.observe_write(Arc::new(written));
        env.shared
            .notify_metric_event(&MetricEvent::SchedulingGateRemoved {
                gate: c::ELASTIC_JOB_SCHEDULING_GATE,
                workload: slice,
                is_group: false,
            });
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_job_of_a_pod_is_the_owner_of_its_slice() {
        let owner = |kind: &str| json!([{"apiVersion": "ray.io/v1", "kind": kind, "name": "x", "uid": "u", "controller": true}]);
        let pod: Pod = serde_json::from_value(json!({"metadata": {"name": "p", "namespace": "n",
            "annotations": {c::WORKLOAD_ANNOTATION: "first"}, "ownerReferences": owner("RayCluster")}}))
        .unwrap();
        let slice: Workload = serde_json::from_value(json!({"metadata": {"name": "first",
            "namespace": "n", "ownerReferences": owner("RayJob")}, "spec": {"podSets": []}}))
        .unwrap();
        let slice = Arc::new(slice);
        let kind = |found: Option<ElasticJob>| found.unwrap().gvk.kind;
        let known = job_of_pod(&pod, |key| (key.name == "first").then(|| slice.clone()));
        assert_eq!(kind(known), "RayJob");
        assert_eq!(kind(job_of_pod(&pod, |_| None)), "RayCluster");
    }

    #[test]
    fn ungates_at_most_the_admitted_count() {
        let pod = |name: &str, gated: bool| -> Arc<Pod> {
            let gates = if gated {
                json!([{"name": c::ELASTIC_JOB_SCHEDULING_GATE}])
            } else {
                json!([])
            };
            let pod = json!({
                "metadata": {"name": name, "labels": {c::POD_SET_LABEL: "main"},
                    "annotations": {c::WORKLOAD_SLICE_NAME_ANNOTATION: "first"}},
                "spec": {"containers": [], "schedulingGates": gates},
            });
            Arc::new(serde_json::from_value(pod).unwrap())
        };
        let slice: Workload = serde_json::from_value(json!({
            "metadata": {"name": "second", "annotations": {c::WORKLOAD_SLICE_NAME_ANNOTATION: "first"}},
            "spec": {"podSets": [{"name": "main", "count": 3, "template": {}}]},
        }))
        .unwrap();
        let pods = [
            pod("d", true),
            pod("a", false),
            pod("c", true),
            pod("b", true),
        ];
        let names: Vec<_> = pods_to_ungate(&slice, &pods)
            .iter()
            .map(|p| object_meta::name(&p.metadata))
            .collect();
        assert_eq!(names, ["b", "c"]);
    }
}

//! Opens the gates of an elastic job's pods, as many as its present slice was granted.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::join_all;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::Api;

use super::env::Env;
use super::error::{JobError, ignore_not_found};
use super::frameworks::{Gvk, controller_of};
use super::marks;
use super::pods::{has_ended, ungate};
use super::run::subject;
use super::write::{Part, patch_object};
use crate::informers::BY_OWNER;
use kueue_lab_admission::workload::predicates;
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_runtime::{Change, Outcome, WorkQueue};

/// What a pod of a provisioned job may carry from one admission only.
const PROVISIONED: [&str; 2] = [
    "autoscaling.x-k8s.io/consume-provisioning-request",
    "autoscaling.x-k8s.io/provisioning-class-name",
];

/// An elastic job.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Job {
    gvk: Gvk,
    namespace: String,
    name: String,
    uid: String,
}

fn job(meta: &ObjectMeta) -> Option<Job> {
    let owner: &OwnerReference = controller_of(meta)?;
    Some(Job {
        gvk: Gvk::of(owner),
        namespace: marks::namespace(meta).to_owned(),
        name: owner.name.clone(),
        uid: owner.uid.clone(),
    })
}

fn is_gated(pod: &Pod) -> bool {
    let mut gates = pod
        .spec
        .iter()
        .flat_map(|s| s.scheduling_gates.iter().flatten());
    gates.any(|gate| gate.name == c::ELASTIC_JOB_SCHEDULING_GATE)
}

/// Starts the controller.
pub fn start(env: &Env) {
    let queue: WorkQueue<Job> = WorkQueue::new(&env.shared.ctx);
    let (slices, gates) = (queue.clone(), env.engine_gates.clone());
    env.shared.informers.workloads.subscribe(move |change| {
        let wl = subject(change);
        let gone = matches!(change, Change::Deleted(_));
        if !gone
            && predicates::is_elastic(wl, &gates)
            && predicates::is_admitted(wl)
            && let Some(job) = job(&wl.metadata)
        {
            slices.add(job);
        }
    });
    let pods = queue.clone();
    env.shared.informers.pods.subscribe(move |change| {
        let pod = subject(change);
        if is_gated(pod)
            && let Some(job) = job(&pod.metadata)
        {
            pods.add(job);
        }
    });
    let env_ = env.clone();
    queue.run(&env.shared.ctx, "elastic_job_ungater", 5, move |job| {
        let env = env_.clone();
        async move { reconcile(&env, &job).await }
    });
}

async fn reconcile(env: &Env, job: &Job) -> Result<Outcome, JobError> {
    let owner = ObjectMeta {
        name: Some(job.name.clone()),
        namespace: Some(job.namespace.clone()),
        ..Default::default()
    };
    let open = env.open_workloads_of(&job.gvk, &owner);
    let holds =
        |wl: &&Arc<Workload>| predicates::has_quota_reservation(wl) && !predicates::is_evicted(wl);
    let Some(slice) = open
        .iter()
        .rev()
        .find(holds)
        .filter(|wl| predicates::is_admitted(wl))
    else {
        return Ok(Outcome::Done);
    };
    let all = env.shared.informers.pods.by(BY_OWNER, &job.uid);
    let opened = to_open(slice, &all)
        .into_iter()
        .map(|pod| open_gate(env, slice, pod));
    let opened: Result<Vec<()>, JobError> = join_all(opened).await.into_iter().collect();
    opened.map(|_| Outcome::Done)
}

/// Additions to pods that the checks of a slice ask for.
struct Additions<'a> {
    annotations: Vec<(&'a str, &'a str)>,
    node_selector: Vec<(&'a str, &'a str)>,
}

fn additions<'a>(slice: &'a Workload, pod: &Pod) -> Additions<'a> {
    let set = marks::label(&pod.metadata, c::POD_SET_LABEL).unwrap_or_default();
    let updates = slice
        .status
        .admission_checks
        .iter()
        .flat_map(|check| &check.pod_set_updates);
    let mut found = Additions {
        annotations: Vec::new(),
        node_selector: Vec::new(),
    };
    for update in updates.filter(|update| update.name == set) {
        let annotations = update.annotations.iter();
        let provisioned = annotations.filter(|(key, _)| PROVISIONED.contains(&key.as_str()));
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

/// Whether a pod was not marked for another admission already.
fn fits(slice: &Workload, pod: &Pod) -> bool {
    let add = additions(slice, pod);
    let selector = pod.spec.as_ref().and_then(|s| s.node_selector.as_ref());
    let free = |known: Option<&str>, value: &str| known.is_none_or(|known| known == value);
    add.annotations
        .iter()
        .all(|(key, value)| free(marks::annotation(&pod.metadata, key), value))
        && add.node_selector.iter().all(|(key, value)| {
            free(
                selector.and_then(|map| map.get(*key)).map(String::as_str),
                value,
            )
        })
}

/// The pods whose gates are to be opened: by name, up to what each pod set was granted.
fn to_open<'p>(slice: &Workload, pods: &'p [Arc<Pod>]) -> Vec<&'p Pod> {
    let chain = predicates::annotation(slice, c::WORKLOAD_SLICE_NAME_ANNOTATION);
    let chain = chain.unwrap_or(predicates::name(slice));
    let mut room: BTreeMap<&str, i32> = slice
        .spec
        .pod_sets
        .iter()
        .map(|set| (set.name.as_str(), set.count))
        .collect();
    let set = |pod: &Pod| {
        marks::label(&pod.metadata, c::POD_SET_LABEL)
            .unwrap_or_default()
            .to_owned()
    };
    let of_chain = |pod: &Pod| {
        marks::annotation(&pod.metadata, c::WORKLOAD_SLICE_NAME_ANNOTATION) == Some(chain)
    };
    let live = pods
        .iter()
        .map(AsRef::as_ref)
        .filter(|pod| of_chain(pod) && !has_ended(pod));
    let (gated, running): (Vec<&Pod>, Vec<&Pod>) = live.partition(|pod| is_gated(pod));
    for pod in running {
        if let Some(left) = room.get_mut(set(pod).as_str()) {
            *left -= 1;
        }
    }
    let mut gated: Vec<&Pod> = gated.into_iter().filter(|pod| fits(slice, pod)).collect();
    gated.sort_by_key(|pod| marks::name(&pod.metadata));
    gated.retain(|pod| match room.get_mut(set(pod).as_str()) {
        Some(left) if *left > 0 => {
            *left -= 1;
            true
        }
        _ => false,
    });
    gated
}

async fn open_gate(env: &Env, slice: &Workload, pod: &Pod) -> Result<(), JobError> {
    let mut opened = pod.clone();
    let add = additions(slice, pod);
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
    let namespace = marks::namespace(&pod.metadata);
    let api = Api::<Pod>::namespaced(env.shared.ctx.client.clone(), namespace);
    let written = patch_object(&api, pod, &opened, Part::Main).await;
    ignore_not_found(written.map(|written| env.shared.informers.pods.observe(Arc::new(written))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn no_more_pods_are_let_go_than_were_granted() {
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
        let names: Vec<_> = to_open(&slice, &pods)
            .iter()
            .map(|p| marks::name(&p.metadata))
            .collect();
        assert_eq!(names, ["b", "c"]);
    }
}

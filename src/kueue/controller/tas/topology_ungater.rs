//! The topology ungater: sets the node selector of gated pods of admitted Workloads to the domain
//! they are assigned to, and removes their scheduling gate.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::join_all;
use k8s_openapi::api::core::v1::Pod;
use kube::api::Patch;
use serde_json::json;

use super::assign_pods_to_domains::{RankRange, assign_gated_pods_to_domains};
use super::pods::{annotation, has_topology_gate, is_tas_pod};
use crate::constants::UPDATES_BATCH_PERIOD;
use crate::expectations::UidExpectations;
use crate::informers::BY_WORKLOAD_SLICE;
use crate::object_meta;
use crate::object_meta::uid;
use crate::pod_util::is_terminated;
use crate::update::patch_params;
use crate::{ControllerContext, MetricEvent, job_annotations};
use kueue_lab_api::config::Feature;
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::{HOSTNAME_LABEL, PodSetAssignment, PodSetTopologyRequest, Workload};
use kueue_lab_controller_runtime::api_errors::is_not_found;
use kueue_lab_controller_runtime::{Api, Change, ObjectKey, ReconcileResult, WorkQueue};
use kueue_lab_engine::concurrent_admission::is_variant;
use kueue_lab_engine::topology_assignment::decode;
use kueue_lab_engine::workload::predicates;

const WORKERS: usize = 5;

pub(super) fn start(shared: &ControllerContext) {
    let queue = WorkQueue::new(&shared.ctx);
    let queue_handle = queue.clone();
    let concurrent_admission = shared.settings.enabled(Feature::ConcurrentAdmission);
    shared.informers.workloads.add_event_handler(move |change| {
        let wl = change.object();
        if should_reconcile_workload(wl, concurrent_admission) {
            queue_handle.add(ObjectKey::of(wl.as_ref()));
        }
    });
    let expectations = UidExpectations::default();
    let (queue_handle, seen) = (queue.clone(), expectations.clone());
    shared.informers.pods.add_event_handler(move |change| {
        let (pod, deleted) = match change {
            Change::Added(pod) | Change::Updated { new: pod, .. } => (pod, false),
            Change::Deleted(pod) => (pod, true),
        };
        let Some(wl) = is_tas_pod(pod)
            .then(|| annotation(pod, c::WORKLOAD_ANNOTATION))
            .flatten()
        else {
            return;
        };
        let namespace = pod.metadata.namespace.clone().unwrap_or_default();
        let key = ObjectKey::new(namespace, wl);
        if deleted || !has_topology_gate(pod) {
            seen.observed_uid(&key, uid(&pod.metadata));
        }
        queue_handle.add_after(key, UPDATES_BATCH_PERIOD);
    });
    let kind = ("Workload.kueue.x-k8s.io", WORKERS);
    shared.start_workers(&queue, "topology-ungater", kind, move |shared, key| {
        let expectations = expectations.clone();
        async move { reconcile(&shared, &expectations, &key).await }
    });
}

/// Whether a Workload is admitted with a topology assignment. The pods of variants belong to their
/// parent.
fn should_reconcile_workload(wl: &Workload, concurrent_admission: bool) -> bool {
    if concurrent_admission && is_variant(wl) {
        return false;
    }
    let mut assignments = wl
        .status
        .admission
        .iter()
        .flat_map(|a| &a.pod_set_assignments);
    predicates::is_admitted(wl) && assignments.any(|psa| psa.topology_assignment.is_some())
}

async fn reconcile(
    shared: &ControllerContext,
    expectations: &UidExpectations,
    key: &ObjectKey,
) -> Result<ReconcileResult, UngaterError> {
    let Some(wl) = shared.informers.workloads.get(key) else {
        return Ok(ReconcileResult::Done);
    };
    if !expectations.satisfied(key) {
        return Ok(ReconcileResult::Requeue);
    }
    if !should_reconcile_workload(&wl, false) {
        return Ok(ReconcileResult::Done);
    }
    let to_ungate = pods_to_ungate(shared, &wl)?;
    if !to_ungate.is_empty() {
        expectations.expect_uids(key, to_ungate.iter().map(|(pod, _)| uid(&pod.metadata)));
    }
    let ungated = to_ungate.iter().map(async |(pod, labels)| {
        let written = ungate_pod(shared, pod, labels).await;
        match written {
            Ok(()) => {
                let is_group =
                    job_annotations::pod_group_name(&pod.metadata, &shared.settings.gates);
                shared.notify_metric_event(&MetricEvent::SchedulingGateRemoved {
                    gate: c::TOPOLOGY_SCHEDULING_GATE,
                    workload: &wl,
                    is_group: is_group.is_some(),
                });
                Ok(())
            }
            Err(error) => {
                expectations.observed_uid(key, uid(&pod.metadata));
                match is_not_found(&error) {
                    true => Ok(()),
                    false => Err(error),
                }
            }
        }
    });
    let ungated: kube::Result<Vec<()>> = join_all(ungated).await.into_iter().collect();
    ungated?;
    Ok(ReconcileResult::Done)
}

/// The reason that pods of a Workload are not ungated.
#[derive(Debug, thiserror::Error)]
enum UngaterError {
    /// A pod index offset is not an integer.
    #[error(
        "failed to parse annotation {}: {value:?} of pod {pod}",
        c::POD_INDEX_OFFSET_ANNOTATION
    )]
    PodIndexOffset {
        /// The pod, as `namespace/name`.
        pod: String,
        /// The value of the annotation.
        value: String,
    },
    /// A request failed.
    #[error(transparent)]
    Api(#[from] kube::Error),
}

/// A gated pod with a domain, and the node labels of the domain.
type PodToUngate = (Arc<Pod>, BTreeMap<String, String>);

/// The gated pods with a domain.
fn pods_to_ungate(
    shared: &ControllerContext,
    wl: &Workload,
) -> Result<Vec<PodToUngate>, UngaterError> {
    let slice = predicates::annotation(wl, c::WORKLOAD_SLICE_NAME_ANNOTATION);
    let slice = slice.unwrap_or(predicates::name(wl));
    let index = format!("{}/{slice}", predicates::namespace(wl));
    let pods: Vec<Arc<Pod>> = shared.informers.pods.by_index(BY_WORKLOAD_SLICE, &index);
    let assignments = wl
        .status
        .admission
        .iter()
        .flat_map(|a| &a.pod_set_assignments);
    let ranks = pod_set_ranks(wl);
    let mut to_ungate = Vec::new();
    for psa in assignments {
        let Some(topology) = &psa.topology_assignment else {
            continue;
        };
        let of_set = |pod: &&Arc<Pod>| {
            let labels = pod.metadata.labels.as_ref();
            let set = labels.and_then(|labels| labels.get(c::POD_SET_LABEL));
            set.is_some_and(|set| *set == psa.name) && !is_terminated(pod)
        };
        let pods: Vec<Arc<Pod>> = pods.iter().filter(of_set).cloned().collect();
        let mut ranks = ranks.get(psa.name.as_str()).copied().unwrap_or_default();
        if let Some(offset) = pod_index_offset(&pods)? {
            ranks.offset += offset;
            ranks.end += offset;
        }
        let decoded = decode(topology);
        let by_host = decoded
            .levels
            .last()
            .is_some_and(|level| level == HOSTNAME_LABEL);
        for (pod, domain) in assign_gated_pods_to_domains(
            &decoded,
            &pods,
            pod_set_topology_request(wl, psa),
            count(psa),
            ranks,
        ) {
            let values = &decoded.domains[domain].values;
            let host = values.last().filter(|_| by_host);
            // A failed node is replaced first.
            if host.is_some_and(|host| predicates::has_unhealthy_node(wl, host)) {
                continue;
            }
            let labels = decoded.levels.iter().cloned().zip(values.iter().cloned());
            to_ungate.push((pod, labels.collect()));
        }
    }
    Ok(to_ungate)
}

/// The pod index offset of a pod set, which is that of its first pod.
///
/// # Errors
/// The annotation is not an integer.
fn pod_index_offset(pods: &[Arc<Pod>]) -> Result<Option<i64>, UngaterError> {
    let Some((pod, value)) = pods
        .first()
        .and_then(|pod| Some((pod, annotation(pod, c::POD_INDEX_OFFSET_ANNOTATION)?)))
    else {
        return Ok(None);
    };
    match value.parse::<i32>() {
        Ok(offset) => Ok(Some(offset.into())),
        Err(_) => Err(UngaterError::PodIndexOffset {
            pod: ObjectKey::of(pod.as_ref()).to_string(),
            value: value.to_owned(),
        }),
    }
}

fn pod_set_topology_request<'a>(
    wl: &'a Workload,
    psa: &PodSetAssignment,
) -> Option<&'a PodSetTopologyRequest> {
    let mut sets = wl.spec.pod_sets.iter();
    sets.find(|ps| ps.name == psa.name)?
        .topology_request
        .as_ref()
}

fn count(psa: &PodSetAssignment) -> i64 {
    psa.count.unwrap_or(0).into()
}

/// The rank range of each pod set. The pod sets of a group, a leader and its workers, share one
/// range, the smaller pod set first.
fn pod_set_ranks(wl: &Workload) -> BTreeMap<&str, RankRange> {
    let assignments = wl
        .status
        .admission
        .iter()
        .flat_map(|a| &a.pod_set_assignments);
    let mut groups: BTreeMap<String, Vec<&PodSetAssignment>> = BTreeMap::new();
    for (i, psa) in assignments.enumerate() {
        let group = pod_set_topology_request(wl, psa).and_then(|r| r.pod_set_group_name.clone());
        groups
            .entry(group.unwrap_or_else(|| i.to_string()))
            .or_default()
            .push(psa);
    }
    let mut ranks = BTreeMap::new();
    for group in groups.values_mut() {
        group.sort_by_key(|psa| count(psa));
        let mut offset = 0;
        for psa in group.iter() {
            let end = offset + count(psa);
            ranks.insert(psa.name.as_str(), RankRange { offset, end });
            offset = end;
        }
    }
    ranks
}

/// Sets the node selector of a pod and removes its gate.
async fn ungate_pod(
    shared: &ControllerContext,
    pod: &Pod,
    labels: &BTreeMap<String, String>,
) -> kube::Result<()> {
    let spec = pod.spec.clone().unwrap_or_default();
    let mut gates = spec.scheduling_gates.unwrap_or_default();
    gates.retain(|gate| gate.name != c::TOPOLOGY_SCHEDULING_GATE);
    let mut selector = spec.node_selector.unwrap_or_default();
    selector.extend(labels.clone());
    let body = json!({
        "metadata": { "resourceVersion": pod.metadata.resource_version },
        "spec": { "schedulingGates": gates, "nodeSelector": selector },
    });
    let namespace = object_meta::namespace(&pod.metadata);
    let api = Api::<Pod>::namespaced(shared.ctx.client.clone(), namespace);
    let name = object_meta::name(&pod.metadata);
    let written = api
        .patch(name, &patch_params(), &Patch::Merge(&body))
        .await?;
    shared.informers.pods.observe_write(Arc::new(written));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(offset: Option<&str>) -> Arc<Pod> {
        let annotations = offset.map(|o| json!({c::POD_INDEX_OFFSET_ANNOTATION: o}));
        let pod = json!({"metadata": {"name": "p", "namespace": "n", "annotations": annotations}});
        Arc::new(serde_json::from_value(pod).unwrap())
    }

    #[test]
    fn an_invalid_pod_index_offset_is_an_error() {
        assert_eq!(pod_index_offset(&[]).unwrap(), None);
        assert_eq!(pod_index_offset(&[pod(None)]).unwrap(), None);
        assert_eq!(
            pod_index_offset(&[pod(Some("2")), pod(Some("x"))]).unwrap(),
            Some(2)
        );
        let error = pod_index_offset(&[pod(Some("1.5"))])
            .unwrap_err()
            .to_string();
        assert!(error.contains("\"1.5\" of pod n/p"), "{error}");
    }
}

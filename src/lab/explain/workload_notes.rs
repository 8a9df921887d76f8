//! [`WorkloadNote`]: what the decision on a Workload does not show: requests that are defaults of a LimitRange, and pods
//! that run without quota.

use k8s_openapi::api::core::v1::{Container, LimitRange, Pod};
use kube::api::ListParams;
use kube::{Client, ResourceExt};
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_controller_runtime::{Api, controller_of};
use kueue_lab_engine::workload::predicates;

/// Something about a Workload that its decision does not show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkloadNote {
    /// A container requests nothing of a resource; the default of a LimitRange counts.
    LimitRangeDefault {
        /// The pod set.
        pod_set: String,
        /// The container.
        container: String,
        /// The limit of the container, which would be its request without the LimitRange.
        limit: Option<String>,
        /// The resource.
        resource: String,
        /// The default request.
        amount: String,
        /// The LimitRange.
        limit_range: String,
    },
    /// More pods of its job run than it reserves quota for, such as those of an elastic job that was scaled up.
    PodsWithoutQuota {
        /// The number of pods on nodes.
        running: usize,
        /// The number of pods with quota.
        reserved: usize,
        /// The job.
        job: String,
    },
}

impl std::fmt::Display for WorkloadNote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            WorkloadNote::LimitRangeDefault {
                pod_set,
                container,
                limit,
                resource,
                amount,
                limit_range,
            } => {
                write!(
                    f,
                    "container {container} of pod set {pod_set} requests no {resource}; {amount} counts, the default of LimitRange {limit_range}"
                )?;
                match limit {
                    Some(limit) => write!(f, ", and not its limit {limit}"),
                    None => Ok(()),
                }
            }
            WorkloadNote::PodsWithoutQuota {
                running,
                reserved,
                job,
            } => write!(
                f,
                "{running} pods of {job} run, and it reserves quota for {reserved}"
            ),
        }
    }
}

/// The notes about a Workload; none about objects that cannot be listed.
pub(super) async fn workload_notes(client: &Client, workload: &Workload) -> Vec<WorkloadNote> {
    if predicates::is_finished(workload) {
        return Vec::new();
    }
    let namespace = predicates::namespace(workload);
    let params = ListParams::default();
    let ranges: Api<LimitRange> = Api::namespaced(client.clone(), namespace);
    let ranges = ranges.list(&params).await.map(|listed| listed.items);
    let mut notes = limit_range_defaults(workload, &ranges.unwrap_or_default());
    if predicates::has_quota_reservation(workload) {
        let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
        let pods = pods.list(&params).await.map(|listed| listed.items);
        notes.extend(pods_without_quota(workload, &pods.unwrap_or_default()));
    }
    notes
}

fn limit_range_defaults(workload: &Workload, ranges: &[LimitRange]) -> Vec<WorkloadNote> {
    let mut notes = Vec::new();
    for pod_set in &workload.spec.pod_sets {
        let spec = pod_set.template.spec.as_ref();
        let init = spec.and_then(|spec| spec.init_containers.as_ref());
        let containers = spec.into_iter().flat_map(|spec| &spec.containers);
        for container in containers.chain(init.into_iter().flatten()) {
            for range in ranges {
                notes.extend(defaults_of(&pod_set.name, container, range));
            }
        }
    }
    notes
}

/// The requests of a container that a LimitRange sets.
fn defaults_of(pod_set: &str, container: &Container, range: &LimitRange) -> Vec<WorkloadNote> {
    let resources = container.resources.as_ref();
    let requests = resources.and_then(|resources| resources.requests.as_ref());
    let limits = resources.and_then(|resources| resources.limits.as_ref());
    let items = range.spec.iter().flat_map(|spec| &spec.limits);
    let items = items.filter(|item| item.type_ == "Container");
    let defaults = items.flat_map(|item| item.default_request.iter().flatten());
    let missing =
        defaults.filter(|(name, _)| requests.is_none_or(|requests| !requests.contains_key(*name)));
    let notes = missing.map(|(resource, amount)| WorkloadNote::LimitRangeDefault {
        pod_set: pod_set.to_owned(),
        container: container.name.clone(),
        limit: limits
            .and_then(|limits| limits.get(resource))
            .map(|limit| limit.0.clone()),
        resource: resource.clone(),
        amount: amount.0.clone(),
        limit_range: range.name_any(),
    });
    notes.collect()
}

fn pods_without_quota(workload: &Workload, pods: &[Pod]) -> Option<WorkloadNote> {
    let owner = controller_of(&workload.metadata)?;
    let admission = workload.status.admission.as_ref()?;
    let counts = admission.pod_set_assignments.iter();
    let reserved: i32 = counts.filter_map(|pod_set| pod_set.count).sum();
    let reserved = usize::try_from(reserved).unwrap_or_default();
    let runs = |pod: &&Pod| {
        let phase = pod
            .status
            .as_ref()
            .and_then(|status| status.phase.as_deref());
        let on_node = pod
            .spec
            .as_ref()
            .is_some_and(|spec| spec.node_name.is_some());
        let is_of_job = controller_of(&pod.metadata).is_some_and(|of| of.uid == owner.uid);
        is_of_job && on_node && !matches!(phase, Some("Succeeded" | "Failed"))
    };
    let running = pods.iter().filter(runs).count();
    (running > reserved).then(|| WorkloadNote::PodsWithoutQuota {
        running,
        reserved,
        job: format!("{} {}", owner.kind, owner.name),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn workload() -> Workload {
        let container = json!({"name": "c", "resources": {"requests": {"memory": "1Gi"}, "limits": {"cpu": "8"}}});
        serde_json::from_value(json!({
            "metadata": {"name": "w", "namespace": "ns", "ownerReferences": [
                {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "job", "controller": true}]},
            "spec": {"podSets": [{"name": "main", "count": 3, "template": {"spec": {"containers": [container]}}}]},
            "status": {"admission": {"clusterQueue": "q", "podSetAssignments": [{"name": "main", "count": 1}]}},
        }))
        .unwrap()
    }

    #[test]
    fn the_default_of_a_limit_range_counts_in_place_of_the_limit() {
        let limits = json!([
            {"type": "Container", "defaultRequest": {"cpu": "1", "memory": "2Gi"}},
            {"type": "Pod", "defaultRequest": {"nvidia.com/gpu": "1"}},
        ]);
        let range = json!({"metadata": {"name": "lr"}, "spec": {"limits": limits}});
        let range: LimitRange = serde_json::from_value(range).unwrap();
        let notes = limit_range_defaults(&workload(), &[range]);
        let texts: Vec<String> = notes.iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            [
                "container c of pod set main requests no cpu; 1 counts, the default of LimitRange lr, and not its limit 8"
            ]
        );
    }

    #[test]
    fn pods_above_the_reservation_run_without_quota() {
        let pod = |uid: &str, phase: &str| -> Pod {
            serde_json::from_value(json!({
                "metadata": {"ownerReferences": [
                    {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": uid, "controller": true}]},
                "spec": {"nodeName": "n", "containers": []}, "status": {"phase": phase},
            }))
            .unwrap()
        };
        let pods = [
            pod("job", "Running"),
            pod("other", "Running"),
            pod("job", "Succeeded"),
        ];
        assert_eq!(pods_without_quota(&workload(), &pods), None);
        let pods = [pod("job", "Running"), pod("job", "Pending")];
        let note = pods_without_quota(&workload(), &pods).unwrap();
        assert_eq!(
            note.to_string(),
            "2 pods of Job j run, and it reserves quota for 1"
        );
    }
}

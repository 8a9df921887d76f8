//! Resumes suspended jobs and ungates pods.

use std::collections::BTreeMap;

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use kube::api::{ApiResource, DynamicObject};
use kube::core::GroupVersionKind;
use serde_json::{Value, json};

use super::UninstallReport;
use super::pod_templates::ungate_pod_templates;
use crate::InstallError;
use crate::dynamic_objects::{self, MAX_CONCURRENT_WRITES};
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::Workload;

/// The scheduling gates that only Kueue removes.
const SCHEDULING_GATES: [&str; 3] = [
    c::ADMISSION_SCHEDULING_GATE,
    c::TOPOLOGY_SCHEDULING_GATE,
    c::ELASTIC_JOB_SCHEDULING_GATE,
];

/// Whether only Kueue removes this scheduling gate.
pub(super) fn is_scheduling_gate(gate: &Value) -> bool {
    SCHEDULING_GATES.iter().any(|ours| gate["name"] == **ours)
}

/// A kind of suspended jobs.
struct SuspendedKind {
    kind: ApiResource,
    /// The object with the field `suspend`.
    parent: &'static [&'static str],
}

/// The kinds of jobs that Kueue suspends.
fn suspended_kinds() -> Vec<SuspendedKind> {
    const SPEC: &[&str] = &["spec"];
    const RUN_POLICY: &[&str] = &["spec", "runPolicy"];
    let kind = |group: &str, version: &str, kind: &str, parent| SuspendedKind {
        kind: ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind)),
        parent,
    };
    vec![
        kind("batch", "v1", "Job", SPEC),
        kind("jobset.x-k8s.io", "v1alpha2", "JobSet", SPEC),
        kind("trainer.kubeflow.org", "v1alpha1", "TrainJob", SPEC),
        kind("kubeflow.org", "v2beta1", "MPIJob", RUN_POLICY),
        kind("kubeflow.org", "v1", "JAXJob", RUN_POLICY),
        kind("kubeflow.org", "v1", "PaddleJob", RUN_POLICY),
        kind("kubeflow.org", "v1", "PyTorchJob", RUN_POLICY),
        kind("kubeflow.org", "v1", "TFJob", RUN_POLICY),
        kind("kubeflow.org", "v1", "XGBoostJob", RUN_POLICY),
        kind("ray.io", "v1", "RayCluster", SPEC),
        kind("ray.io", "v1", "RayJob", SPEC),
        kind("ray.io", "v1", "RayService", &["spec", "rayClusterConfig"]),
        kind("sparkoperator.k8s.io", "v1beta2", "SparkApplication", SPEC),
        kind("workload.codeflare.dev", "v1beta2", "AppWrapper", SPEC),
    ]
}

impl SuspendedKind {
    fn is_suspended(&self, job: &DynamicObject) -> bool {
        let parent = self.parent.iter().fold(&job.data, |at, name| &at[*name]);
        parent["suspend"] == true
    }

    /// The patch that resumes a job.
    fn resume_patch(&self) -> Value {
        let suspend = json!({"suspend": false});
        let parents = self.parent.iter().rev();
        parents.fold(suspend, |patch, name| json!({*name: patch}))
    }
}

/// The Workloads by their owners.
struct WorkloadsByOwner {
    /// By owner UID: the Workload's name, and whether a user stopped it.
    by_owner: BTreeMap<String, (String, bool)>,
}

impl WorkloadsByOwner {
    async fn read(client: &Client) -> Result<Self, InstallError> {
        let all = dynamic_objects::list(
            client,
            &dynamic_objects::api_resource::<Workload>(),
            None,
            "",
        )
        .await?;
        let mut by_owner = BTreeMap::new();
        for wl in all {
            let name = wl.metadata.name.clone().unwrap_or_default();
            let stopped = wl.data["spec"]["active"] == false;
            for owner in wl.metadata.owner_references.into_iter().flatten() {
                // Of several slices the active one counts.
                let entry = by_owner.entry(owner.uid).or_insert((name.clone(), stopped));
                entry.1 &= stopped;
            }
        }
        Ok(Self { by_owner })
    }

    fn workload_of(&self, object: &DynamicObject) -> Option<&(String, bool)> {
        self.by_owner.get(object.metadata.uid.as_deref()?)
    }

    /// The Workload by which a user stopped an object.
    fn stopped(&self, object: &DynamicObject) -> Option<&str> {
        let (name, stopped) = self.workload_of(object)?;
        stopped.then_some(name)
    }
}

pub(super) async fn resume_jobs_and_pods(
    client: &Client,
    report: &mut UninstallReport,
) -> Result<(), InstallError> {
    let workloads = WorkloadsByOwner::read(client).await?;
    for kind in suspended_kinds() {
        unsuspend_jobs(client, &kind, &workloads, report).await?;
    }
    ungate_pods(client, &workloads, report).await
}

pub(super) fn shown(object: &DynamicObject) -> String {
    let meta = &object.metadata;
    let (namespace, name) = (meta.namespace.as_deref(), meta.name.as_deref());
    format!(
        "{}/{}",
        namespace.unwrap_or_default(),
        name.unwrap_or_default()
    )
}

/// Resumes the jobs of a kind that Kueue suspended.
async fn unsuspend_jobs(
    client: &Client,
    suspended: &SuspendedKind,
    workloads: &WorkloadsByOwner,
    report: &mut UninstallReport,
) -> Result<(), InstallError> {
    let (kind, change) = (&suspended.kind, suspended.resume_patch());
    let mut held = dynamic_objects::list(client, kind, None, "").await?;
    // Before the resumption: the template of a running Job is immutable.
    ungate_pod_templates(client, kind, &held, report).await?;
    held.retain(|job| suspended.is_suspended(job) && job.metadata.deletion_timestamp.is_none());
    held.retain(|job| {
        let labels = job.metadata.labels.as_ref();
        let queued = labels.is_some_and(|l| l.contains_key(c::QUEUE_LABEL));
        queued || workloads.workload_of(job).is_some()
    });
    let (stopped, held): (Vec<_>, Vec<_>) = held
        .into_iter()
        .partition(|job| workloads.stopped(job).is_some());
    for job in &stopped {
        let workload = workloads.stopped(job).unwrap_or_default();
        report.kept.push(format!(
            "{} {} is suspended: its Workload {workload} was deactivated; `kubectl patch {} {} -n {} --type=merge -p '{change}'` lets it run",
            kind.kind,
            shown(job),
            kind.plural,
            job.metadata.name.as_deref().unwrap_or_default(),
            job.metadata.namespace.as_deref().unwrap_or_default(),
        ));
    }
    let all = futures::stream::iter(held).map(|job| {
        let change = &change;
        async move {
            let exists = dynamic_objects::merge_patch(client, kind, &job, change).await?;
            Ok::<_, InstallError>(exists.then(|| format!("{} {}", kind.kind, shown(&job))))
        }
    });
    let done: Vec<_> = all.buffered(MAX_CONCURRENT_WRITES).try_collect().await?;
    report.jobs.extend(done.into_iter().flatten());
    Ok(())
}

/// The patch that removes Kueue's gates and finalizer from a pod, if it has any; with `stopped` the
/// gates stay. Also whether gates are removed.
fn ungate_patch(pod: &DynamicObject, stopped: bool) -> Option<(Value, bool)> {
    let mut change = json!({});
    let gates = pod.data["spec"]["schedulingGates"].as_array();
    let all: Vec<_> = gates.into_iter().flatten().collect();
    let others = all.iter().filter(|g| !is_scheduling_gate(g));
    let others: Vec<_> = others.collect();
    let gated = others.len() < all.len() && !stopped;
    if gated {
        change["spec"]["schedulingGates"] = json!(others);
    }
    let finalizers: Vec<_> = pod.metadata.finalizers.iter().flatten().collect();
    let rest = finalizers.iter().filter(|f| **f != c::POD_FINALIZER);
    let rest: Vec<_> = rest.collect();
    if rest.len() < finalizers.len() {
        change["metadata"]["finalizers"] = json!(rest);
    }
    let has_changes = change.as_object().is_some_and(|c| !c.is_empty());
    has_changes.then_some((change, gated))
}

async fn ungate_pods(
    client: &Client,
    workloads: &WorkloadsByOwner,
    report: &mut UninstallReport,
) -> Result<(), InstallError> {
    let kind = dynamic_objects::api_resource::<Pod>();
    let mut releases = Vec::new();
    for pod in dynamic_objects::list(client, &kind, None, "").await? {
        let stopped = workloads.stopped(&pod);
        if let Some(workload) =
            stopped.filter(|_| ungate_patch(&pod, false).is_some_and(|(_, g)| g))
        {
            report.kept.push(format!(
                "pod {} keeps its scheduling gates: its Workload {workload} was deactivated; recreate the pod to run it",
                shown(&pod)
            ));
        }
        if let Some((change, gated)) = ungate_patch(&pod, stopped.is_some()) {
            releases.push((pod, change, gated));
        }
    }
    let all = futures::stream::iter(releases).map(|(pod, change, gated)| {
        let kind = &kind;
        async move {
            let exists = dynamic_objects::merge_patch(client, kind, &pod, &change).await?;
            let finalizer = change["metadata"]["finalizers"].is_array();
            Ok::<_, InstallError>(exists.then(|| (gated.then(|| shown(&pod)), finalizer)))
        }
    });
    let done: Vec<_> = all.buffered(MAX_CONCURRENT_WRITES).try_collect().await?;
    for (gated, finalizer) in done.into_iter().flatten() {
        report.pods.extend(gated);
        report.finalizers += usize::from(finalizer);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(gates: &[&str], finalizers: &[&str]) -> DynamicObject {
        let gates: Vec<_> = gates.iter().map(|g| json!({"name": g})).collect();
        serde_json::from_value(json!({
            "metadata": {"name": "p", "namespace": "n", "finalizers": finalizers},
            "spec": {"schedulingGates": gates},
        }))
        .unwrap()
    }

    #[test]
    fn the_patch_resumes_a_job() {
        for kind in suspended_kinds() {
            let mut job = pod(&[], &[]);
            job.data = match kind.parent {
                ["spec"] => json!({"spec": {"suspend": true}}),
                ["spec", "rayClusterConfig"] => {
                    json!({"spec": {"rayClusterConfig": {"suspend": true}}})
                }
                _ => json!({"spec": {"runPolicy": {"suspend": true, "backoffLimit": 1}}}),
            };
            assert!(kind.is_suspended(&job), "{}", kind.kind.kind);
            json_patch::merge(&mut job.data, &kind.resume_patch());
            assert!(!kind.is_suspended(&job), "{}", kind.kind.kind);
        }
    }

    #[test]
    fn only_kueues_gates_and_finalizer_are_removed() {
        let held = pod(
            &[
                "example.com/other",
                c::ADMISSION_SCHEDULING_GATE,
                c::TOPOLOGY_SCHEDULING_GATE,
            ],
            &["example.com/keep", c::POD_FINALIZER],
        );
        let (change, gated) = ungate_patch(&held, false).unwrap();
        assert!(gated);
        assert_eq!(
            change["spec"]["schedulingGates"],
            json!([{"name": "example.com/other"}])
        );
        assert_eq!(
            change["metadata"]["finalizers"],
            json!(["example.com/keep"])
        );
        let (change, gated) = ungate_patch(&held, true).unwrap();
        assert!(!gated && change.get("spec").is_none());
        assert_eq!(ungate_patch(&pod(&["example.com/other"], &[]), false), None);
    }
}

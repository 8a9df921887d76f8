//! Topology-aware scheduling: the worker decides.

use serde_json::{Value, json};

use crate::fixture::{NODES, On, QUEUES, with_queues};
use crate::objects::{assignment, finished, job};
use crate::other_checks::PROVISIONING;

const TOPOLOGY: &str = "---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata: {name: hosts}
spec: {levels: [{nodeLabel: kubernetes.io/hostname}]}
";

#[test]
fn the_worker_assigns_the_topology() {
    with_queues(
        2,
        (&topology_queues(), NODES),
        |_| {},
        |f| async move {
            // Without an annotation, the flavor places the pods all the same.
            for (name, template) in [("explicit", REQUIRED), ("implicit", "metadata: {}")] {
                let yaml = job(name, 1, 30).replace(
                    "  template:\n",
                    &format!("  parallelism: 2\n  completions: 2\n  template:\n    {template}\n"),
                );
                f.apply(On::Manager, &yaml).await;
                let workload = f.workload(On::Manager, &format!("job-{name}-")).await;
                let worker = f.until_dispatched(&workload).await;
                let remote = f.find(On::Worker(worker), "Workload", &workload).await;
                let remote = remote.unwrap();
                assert!(
                    assignment(&remote)["topologyAssignment"].is_object(),
                    "{remote}"
                );
                f.until(On::Manager, "Workload", &workload, |wl| {
                    assignment(wl)["delayedTopologyRequest"] == "Ready"
                        && assignment(wl)["topologyAssignment"].is_null()
                })
                .await;
                f.until(On::Manager, "Job", name, |job| job["status"]["active"] == 2)
                    .await;
                f.until(On::Manager, "Workload", &workload, finished).await;
            }
            f
        },
    );
}

/// The queues with a flavor whose nodes have a topology.
fn topology_queues() -> String {
    let flavor = "metadata: {name: default-flavor}";
    let with_topology =
        format!("{flavor}\nspec: {{topologyName: hosts, nodeLabels: {{kubernetes.io/os: linux}}}}");
    QUEUES.replace(flavor, &with_topology) + TOPOLOGY
}

const REQUIRED: &str =
    "metadata: {annotations: {kueue.x-k8s.io/podset-required-topology: kubernetes.io/hostname}}";

fn with_template_metadata(job: &str, metadata: &str) -> String {
    job.replace("  template:\n", &format!("  template:\n    {metadata}\n"))
}

#[test]
fn a_job_with_a_topology_runs_in_the_worker_with_enough_quota() {
    with_queues(
        2,
        (&topology_queues(), NODES),
        |_| {},
        |f| async move {
            f.set_quota(On::Worker(1), 1).await;
            f.set_quota(On::Worker(2), 3).await;
            let preferred = REQUIRED.replace("required", "preferred");
            for (name, metadata) in [("required", REQUIRED), ("preferred", &preferred)] {
                let yaml = with_template_metadata(&job(name, 2, 30), metadata);
                f.apply(On::Manager, &yaml).await;
                let workload = f.workload(On::Manager, &format!("job-{name}-")).await;
                assert_eq!(f.until_dispatched(&workload).await, 2);
                let remote = f.find(On::Worker(2), "Workload", &workload).await.unwrap();
                let topology = &assignment(&remote)["topologyAssignment"];
                assert!(topology.is_object(), "{remote}");
                f.until(On::Manager, "Workload", &workload, |wl| {
                    finished(wl) && assignment(wl)["delayedTopologyRequest"] == "Ready"
                })
                .await;
                f.until_gone(On::Worker(2), "Job", name).await;
            }
            f
        },
    );
}

#[test]
fn the_topology_is_assigned_when_the_worker_has_provisioned() {
    with_queues(
        1,
        (&topology_queues(), NODES),
        |_| {},
        |f| async move {
            f.apply(On::Worker(1), PROVISIONING).await;
            let checks = json!({"admissionChecks": [{"name": "provision"}]});
            let spec = json!({"spec": {"admissionChecksStrategy": checks}});
            f.patch(On::Worker(1), "ClusterQueue", "cq", spec).await;
            let yaml = with_template_metadata(&job("a", 1, 30), REQUIRED);
            f.apply(On::Manager, &yaml).await;
            let name = f.workload(On::Manager, "job-a-").await;
            let request = format!("{name}-provision-1");
            f.until(On::Worker(1), "ProvisioningRequest", &request, |_| true)
                .await;
            let remote = f.find(On::Worker(1), "Workload", &name).await.unwrap();
            assert_eq!(assignment(&remote)["delayedTopologyRequest"], "Pending");
            assert_eq!(assignment(&remote)["topologyAssignment"], Value::Null);
            let local = f.find(On::Manager, "Workload", &name).await.unwrap();
            assert_eq!(assignment(&local)["delayedTopologyRequest"], "Pending");
            f.provision(On::Worker(1), &request).await;
            f.until_dispatched(&name).await;
            let remote = f.find(On::Worker(1), "Workload", &name).await.unwrap();
            assert_eq!(assignment(&remote)["delayedTopologyRequest"], "Ready");
            assert!(assignment(&remote)["topologyAssignment"].is_object());
            f.until(On::Manager, "Workload", &name, |wl| {
                finished(wl) && assignment(wl)["delayedTopologyRequest"] == "Ready"
            })
            .await;
            f
        },
    );
}

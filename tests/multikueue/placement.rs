//! Topology-aware scheduling and dynamic resource allocation: the worker decides.

use kueue_lab_api::config::{DeviceClassMapping, Resources};
use serde_json::{Value, json};

use crate::fixture::{On, QUEUES, condition, configuration, job, with_queues};

const NODES: &str = "pools:
- name: cpu
  count: 2
  resources: {cpu: 8, memory: 32Gi, pods: 110}
  devices:
  - {driver: gpu.example.com, count: 2}
";
const TOPOLOGY: &str = "---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata: {name: hosts}
spec: {levels: [{nodeLabel: kubernetes.io/hostname}]}
";

fn assignment(workload: &Value) -> &Value {
    &workload["status"]["admission"]["podSetAssignments"][0]
}

fn finished(workload: &Value) -> bool {
    condition(workload, "Finished").is_some_and(|c| c.starts_with("True/Succeeded"))
}

#[test]
fn the_worker_assigns_the_topology() {
    let queues = QUEUES.replace(
        "metadata: {name: default-flavor}",
        "metadata: {name: default-flavor}\nspec: {topologyName: hosts, nodeLabels: {kubernetes.io/os: linux}}",
    ) + TOPOLOGY;
    with_queues(
        2,
        (&queues, NODES),
        |_| {},
        |f| async move {
            let required = "metadata: {annotations: {kueue.x-k8s.io/podset-required-topology: kubernetes.io/hostname}}";
            // Without an annotation, the flavor places the pods all the same.
            for (name, template) in [("explicit", required), ("implicit", "metadata: {}")] {
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

#[test]
fn a_job_with_devices_runs_in_the_worker_that_has_its_template() {
    let queues = QUEUES
        .replace("coveredResources: [cpu]", "coveredResources: [cpu, gpus]")
        .replace(
            "{name: cpu, nominalQuota: 4}",
            "{name: cpu, nominalQuota: 4}, {name: gpus, nominalQuota: 2}",
        );
    let mapped = |config: &mut _| {
        configuration(config).resources = Some(Resources {
            device_class_mappings: vec![DeviceClassMapping {
                name: "gpus".into(),
                device_class_names: vec!["gpu.example.com".into()],
                sources: Vec::new(),
            }],
            ..Default::default()
        });
    };
    with_queues(2, (&queues, NODES), mapped, |f| async move {
        let class = "apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.example.com}
spec: {selectors: [{cel: {expression: device.driver == 'gpu.example.com'}}]}";
        let template = "apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: gpu, namespace: default}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.example.com, count: 2}}]}}}";
        for on in [On::Manager, On::Worker(1), On::Worker(2)] {
            f.apply(on, class).await;
        }
        for on in [On::Manager, On::Worker(2)] {
            f.apply(on, template).await;
        }
        let yaml = job("a", 1, 30).replace(
            "      restartPolicy: Never",
            "      restartPolicy: Never\n      resourceClaims: [{name: gpu, resourceClaimTemplateName: gpu}]",
        ).replace("resources: {requests: {cpu: 1}}", "resources: {requests: {cpu: 1}, claims: [{name: gpu}]}");
        f.apply(On::Manager, &yaml).await;
        let name = f.workload(On::Manager, "job-a-").await;
        assert_eq!(f.until_dispatched(&name).await, 2);
        let workload = f.find(On::Worker(2), "Workload", &name).await.unwrap();
        let usage = json!({"cpu": "1", "gpus": "2"});
        assert_eq!(assignment(&workload)["resourceUsage"], usage);
        f.until(On::Manager, "Workload", &name, finished).await;
        f
    });
}

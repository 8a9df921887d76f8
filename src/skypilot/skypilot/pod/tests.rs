use std::collections::BTreeMap;

use serde_json::Value;

use crate::gpu_labels::{NodeCapacity, NodeInfo};
use crate::{ClusterPlan, LaunchError, PodResourcesError, SkyConfig, SkyEnv, Task, plan};
use kueue_lab_testing::shared;
use kueue_lab_yaml::{Limits, parse};

/// The surroundings of the recorded launches.
fn env() -> SkyEnv {
    SkyEnv {
        user: "root".into(),
        user_hash: "fcd1e5cf".into(),
        ..SkyEnv::new("lab")
    }
}

fn nodes() -> Vec<NodeInfo> {
    let cpu = NodeInfo {
        name: "cpu-0".into(),
        ready: true,
        cpus: NodeCapacity {
            capacity: 96.0,
            allocatable: 96.0,
        },
        memory: NodeCapacity {
            capacity: 1024.0,
            allocatable: 1024.0,
        },
        ..NodeInfo::default()
    };
    let gpu = NodeInfo {
        name: "h100-0".into(),
        labels: BTreeMap::from([("skypilot.co/accelerator".into(), "h100".into())]),
        gpus: BTreeMap::from([("nvidia.com/gpu".into(), 8)]),
        ..cpu.clone()
    };
    vec![cpu, gpu]
}

fn launch(task: &str) -> Result<ClusterPlan, LaunchError> {
    plan(&Task::parse(task).unwrap(), "t", &env(), &nodes())
}

fn without_script(mut pod: Value) -> Value {
    pod["spec"]["containers"][0]["args"] = Value::Null;
    pod
}

#[test]
fn pods_equal_what_skypilot_posted() {
    let Some(folder) = shared("skypilot-pods") else {
        return;
    };
    for (file, name) in [
        ("kueue-cpu6-low", "job1"),
        ("kueue-h100x8", "train"),
        ("kueue-2node-h100x4", "multi"),
        ("plain-default", "plain"),
    ] {
        let read = |kind: &str| {
            std::fs::read_to_string(folder.join(format!("{file}.{kind}.yaml"))).unwrap()
        };
        let task = Task::parse(&read("task")).unwrap();
        let cluster = plan(&task, name, &env(), &nodes()).unwrap();
        let expected: Vec<Value> = parse(&read("pod"), Limits::default())
            .unwrap()
            .iter()
            .map(|d| without_script(d.to_json()))
            .collect();
        // A number is posted as Python writes it, 6.0, and is read as 6.
        let read = |pod: Value| kueue_lab_yaml::from_str(&pod.to_string()).unwrap();
        let pods = cluster.pods.into_iter().map(without_script);
        let pods: Vec<Value> = pods.map(read).collect();
        assert_eq!(pods.len(), expected.len(), "{file}");
        for (pod, expected) in pods.iter().zip(&expected) {
            let text = |v: &Value| serde_json::to_string_pretty(v).unwrap();
            assert!(
                pod == expected,
                "{file}\n{}\n---\n{}",
                text(pod),
                text(expected)
            );
        }
    }
}

#[test]
fn resource_arithmetic() {
    for (resources, cpu, memory) in [
        ("{}", 2.0, "2.0G"),
        ("{cpus: 6}", 6.0, "6.0G"),
        ("{cpus: 6+}", 6.0, "6.0G"),
        ("{memory: 16+}", 2.0, "16.0G"),
        ("{cpus: 3, memory: 4x}", 3.0, "12.0G"),
        ("{cpus: 0.5}", 0.5, "0.5G"),
        ("{accelerators: H100:8}", 32.0, "128.0G"),
        ("{accelerators: H100, cpus: 6}", 6.0, "24.0G"),
    ] {
        let cluster = launch(&format!("resources: {resources}")).unwrap();
        let requests = &cluster.pods[0]["spec"]["containers"][0]["resources"]["requests"];
        assert_eq!(
            (requests["cpu"].as_f64(), requests["memory"].as_str()),
            (Some(cpu), Some(memory)),
            "{resources}"
        );
    }
}

#[test]
fn whole_node_requests_are_clamped_to_allocatable() {
    let mut nodes = nodes();
    nodes.truncate(1);
    nodes[0].cpus.allocatable = 95.0;
    let task = Task::parse("resources: {cpus: 96, memory: 512}").unwrap();
    let request = plan(&task, "t", &env(), &nodes).unwrap().request;
    assert!(
        (request.cpus - (95.0 - 9.6)).abs() < 1e-9,
        "{}",
        request.cpus
    );
    assert_eq!(request.memory, 512.0);
}

#[test]
fn requests_larger_than_every_node_are_rejected() {
    let reason = |resources: &str| {
        launch(&format!("resources: {resources}"))
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        reason("{accelerators: L4}"),
        "no node has L4 GPUs; the cluster has H100"
    );
    assert_eq!(
        reason("{accelerators: H100:16}"),
        "no node is large enough for 64 CPUs, 256 GB and 16 x H100; the largest has 96 CPUs, 1024 GB and 8 GPUs"
    );
    assert!(reason("{use_spot: true}").starts_with("no node is a spot node"));
    assert!(reason("{infra: k8s/prod}").contains("\"prod\""));
    let without_nodes = plan(
        &Task::parse("resources: {accelerators: H100}").unwrap(),
        "t",
        &env(),
        &[],
    );
    assert_eq!(
        without_nodes,
        Err(LaunchError::PodResources(PodResourcesError::NoGpus))
    );
    let invalid_name = plan(&Task::parse("{}").unwrap(), "9 lives", &env(), &nodes());
    assert!(matches!(invalid_name, Err(LaunchError::Name(_))));
}

#[test]
fn the_first_alternative_that_fits_is_taken() {
    let cluster = launch("resources: {accelerators: [L4:1, H100:2]}").unwrap();
    assert_eq!(cluster.request.requested(2), "2x[H100:2]");
}

#[test]
fn configuration_is_merged_over_the_pod() {
    let mut env = env();
    env.config = SkyConfig::parse(
        "kubernetes:\n  pod_config:\n    metadata: {labels: {kueue.x-k8s.io/queue-name: everyone}}\n    spec: {containers: [{env: [{name: X, value: y}]}]}\n  custom_metadata: {annotations: {team: a}}\n  set_pod_resource_limits: true\n  remote_identity: SERVICE_ACCOUNT\n",
    )
    .unwrap();
    let task = Task::parse("resources: {cpus: 6}").unwrap();
    let cluster = plan(&task, "t", &env, &nodes()).unwrap();
    let pod = &cluster.pods[0];
    assert_eq!(
        pod["metadata"]["labels"]["kueue.x-k8s.io/queue-name"],
        "everyone"
    );
    assert_eq!(pod["metadata"]["annotations"]["team"], "a");
    let container = &pod["spec"]["containers"][0];
    assert_eq!(container["resources"]["limits"]["memory"], "6.0G");
    assert_eq!(
        container["env"].as_array().unwrap().last().unwrap()["name"],
        "X"
    );
    assert_eq!(
        pod["spec"]["serviceAccountName"],
        "skypilot-service-account"
    );
}

#[test]
fn labels_of_the_task_override_those_of_the_user() {
    let mut env = env();
    env.config = SkyConfig::parse(
        "kubernetes:\n  pod_config:\n    metadata: {labels: {a: user, b: user, c: user}}\n",
    )
    .unwrap();
    let task = "resources: {labels: {a: task, b: task}}\nconfig:\n  kubernetes:\n    pod_config: {metadata: {labels: {b: override}}}\n";
    let cluster = plan(&Task::parse(task).unwrap(), "t", &env, &nodes()).unwrap();
    let labels = &cluster.pods[0]["metadata"]["labels"];
    let values = ["a", "b", "c"].map(|key| labels[key].as_str().unwrap());
    assert_eq!(values, ["task", "override", "user"]);
}

#[test]
fn a_launch_includes_services_and_roles() {
    let cluster = launch("num_nodes: 2").unwrap();
    let names: Vec<_> = cluster
        .services
        .iter()
        .map(|s| s["metadata"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "t-fcd1e5cf-head-ssh",
            "t-fcd1e5cf-head",
            "t-fcd1e5cf-worker1"
        ]
    );
    assert_eq!(cluster.shared_objects[0]["kind"], "ServiceAccount");
    assert!(
        cluster.shared_objects.iter().any(
            |o| o["metadata"]["name"] == "skypilot-system-service-account-role-binding-default"
        )
    );
}

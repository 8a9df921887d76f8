//! The loads of upstream's performance tests (`test/performance/scheduler`) in their shape: a generator
//! creates cohorts, queues and Workloads, all at the same time, and a controller finishes the Workloads
//! that are admitted. No request fails.

use std::net::SocketAddr;
use std::sync::Arc;

use futures::future::join_all;
use kube::config::Kubeconfig;
use kueue_lab_clock::Clock;
use kueue_lab_clock::Entropy;
use kueue_lab_lab::{Lab, LabConfig};
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::connection::{Attacker, answer, data};

const KUEUE: &str = "/apis/kueue.x-k8s.io/v1beta2";
/// HTTP/2 connections of the generator.
const CONNECTIONS: usize = 200;
/// Requests at the same time.
const PARALLEL: usize = 2000;

/// A set of Workloads of each queue.
struct WorkloadsSet {
    class: &'static str,
    count: usize,
    priority: i32,
    request: &'static str,
    pods: u32,
    /// The field of the topology request, for topology-aware scheduling.
    topology: Option<&'static str>,
}

const fn set(
    class: &'static str,
    count: usize,
    priority: i32,
    request: &'static str,
) -> WorkloadsSet {
    WorkloadsSet {
        class,
        count,
        priority,
        request,
        pods: 1,
        topology: None,
    }
}

/// A load: cohorts of queues with the same Workloads.
struct Load {
    cohorts: usize,
    queues: usize,
    sets: &'static [WorkloadsSet],
    topology: bool,
}

/// A client with several connections, used in turn.
struct Generator {
    connections: Vec<Mutex<Attacker>>,
    token: String,
}

impl Generator {
    async fn connect(address: SocketAddr, token: String) -> Arc<Self> {
        // All at once, as Go's client before it knows that the server speaks HTTP/2. Each connection is for a request.
        let connect = |token: String| async move {
            let mut connection = Attacker::connect(address).await;
            let (body, response) =
                connection.request_of("GET", "/version", Some(&token), "application/json");
            drop(body);
            let (status, answer) = answer(response).await;
            assert_eq!(status, 200, "{answer}");
            Mutex::new(connection)
        };
        let connections = (0..CONNECTIONS).map(|_| tokio::spawn(connect(token.clone())));
        let connections = join_all(connections.collect::<Vec<_>>()).await;
        let connections = connections.into_iter().map(Result::unwrap).collect();
        Arc::new(Self { connections, token })
    }

    async fn send(&self, turn: usize, method: &str, path: &str, object: Option<Value>) -> Value {
        let media_type = match method {
            "PATCH" => "application/merge-patch+json",
            _ => "application/json",
        };
        let response = {
            let mut connection = self.connections[turn % CONNECTIONS].lock().await;
            let (body, response) =
                connection.request_of(method, path, Some(&self.token), media_type);
            if let Some(object) = object {
                body.unbounded_send(data(object.to_string())).unwrap();
            }
            response
        };
        let (status, answer) = answer(response).await;
        assert!([200, 201].contains(&status), "{method} {path}: {answer}");
        answer
    }

    async fn create(&self, turn: usize, path: &str, object: Value) {
        self.send(turn, "POST", path, Some(object)).await;
    }
}

/// The parts of a queue, one for each request.
fn queue(name: &str, cohort: &str) -> [(String, Value); 3] {
    let resources = json!([{"name": "cpu", "nominalQuota": "20", "borrowingLimit": "100"}]);
    [
        (
            format!("{KUEUE}/clusterqueues"),
            json!({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": name}, "spec": {
                "cohortName": cohort, "namespaceSelector": {},
                "preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"},
                "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [{"name": "rf", "resources": resources}]}],
            }}),
        ),
        (
            "/api/v1/namespaces".into(),
            json!({"metadata": {"name": name}}),
        ),
        (
            format!("{KUEUE}/namespaces/{name}/localqueues"),
            json!({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue", "metadata": {"name": name}, "spec": {"clusterQueue": name}}),
        ),
    ]
}

fn workload(queue: &str, set: &WorkloadsSet, index: usize) -> Value {
    let mut pods = json!({"name": "main", "count": set.pods, "template": {"spec": {
        "restartPolicy": "Never",
        "containers": [{"name": "c", "image": "pause", "resources": {"requests": {"cpu": set.request}}}],
    }}});
    if let Some(field) = set.topology {
        pods["topologyRequest"] = json!({field: "cloud.provider.com/topology-rack"});
    }
    json!({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
        "metadata": {"name": format!("{}-{index}", set.class), "labels": {"class": set.class}},
        "spec": {"queueName": queue, "priority": set.priority, "podSets": [pods]}})
}

/// Nodes of two racks, the topology and the flavor.
async fn flavor(generator: &Generator, with_topology: bool) {
    let mut spec = json!({});
    if with_topology {
        let levels: Vec<Value> = ["topology-block", "topology-rack"]
            .map(|level| json!({"nodeLabel": format!("cloud.provider.com/{level}")}))
            .into_iter()
            .chain([json!({"nodeLabel": "kubernetes.io/hostname"})])
            .collect();
        let topology = json!({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Topology", "metadata": {"name": "default-topology"}, "spec": {"levels": levels}});
        let path = format!("{KUEUE}/topologies");
        generator.create(0, &path, topology).await;
        for index in 0..8 {
            let name = format!("node-{index}");
            let resources = json!({"cpu": "96", "memory": "256Gi", "pods": "110"});
            let node = json!({"metadata": {"name": name, "labels": {
                "cloud.provider.com/topology-block": "block", "cloud.provider.com/topology-rack": format!("rack-{}", index % 2),
                "kubernetes.io/hostname": name, "tas-node-group": "tas",
            }}, "status": {"capacity": resources, "allocatable": resources, "conditions": [{"type": "Ready", "status": "True"}]}});
            generator.create(index, "/api/v1/nodes", node).await;
        }
        spec = json!({"nodeLabels": {"tas-node-group": "tas"}, "topologyName": "default-topology"});
    }
    let path = format!("{KUEUE}/resourceflavors");
    let flavor = json!({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "rf"}, "spec": spec});
    generator.create(0, &path, flavor).await;
}

fn has_condition(workload: &Value, name: &str) -> bool {
    let conditions = workload["status"]["conditions"].as_array();
    conditions.is_some_and(|all| {
        all.iter()
            .any(|c| c["type"] == name && c["status"] == "True")
    })
}

/// Finishes admitted Workloads until as many are finished.
async fn finish(generator: &Generator, wanted: usize) {
    let all = format!("{KUEUE}/workloads");
    loop {
        let list = generator.send(0, "GET", &all, None).await;
        let workloads = list["items"].as_array().unwrap();
        let finished = workloads.iter().filter(|w| has_condition(w, "Finished"));
        if finished.count() >= wanted {
            return;
        }
        let admitted = workloads
            .iter()
            .filter(|w| has_condition(w, "Admitted") && !has_condition(w, "Finished"));
        let patches = admitted.enumerate().map(|(turn, workload)| {
            let metadata = &workload["metadata"];
            let (namespace, name) = (metadata["namespace"].as_str(), metadata["name"].as_str());
            let path = format!(
                "{KUEUE}/namespaces/{}/workloads/{}/status",
                namespace.unwrap(),
                name.unwrap()
            );
            let mut conditions = workload["status"]["conditions"].as_array().unwrap().clone();
            conditions.push(json!({"type": "Finished", "status": "True", "reason": "ByTest", "message": "By test runner", "lastTransitionTime": "2026-01-01T00:00:00Z"}));
            let status = json!({"status": {"conditions": conditions}});
            async move { generator.send(turn, "PATCH", &path, Some(status)).await }
        });
        join_all(patches).await;
        tokio::task::yield_now().await;
    }
}

async fn run(load: Load) {
    kueue_lab_http::raise_descriptor_limit();
    let folder = tempfile::tempdir().unwrap();
    let mut config = LabConfig::embedded(Clock::real(), Entropy::seeded(1), folder.path());
    config.cluster.port = Some(0);

    let lab = Lab::start(config).await.unwrap();
    let path = folder.path().join("kubeconfig");
    lab.cluster().write_kubeconfig(&path).unwrap();
    let kubeconfig: Value = serde_json::to_value(Kubeconfig::read_from(&path).unwrap()).unwrap();
    let server = kubeconfig["clusters"][0]["cluster"]["server"].as_str();
    let address = server.unwrap().strip_prefix("https://").unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let token = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("token: "));
    let token = token.unwrap().trim_matches('"').to_owned();
    let generator = Generator::connect(address.parse().unwrap(), token).await;
    flavor(&generator, load.topology).await;

    let names: Vec<(String, String)> = (0..load.cohorts)
        .flat_map(|cohort| (0..load.queues).map(move |queue| (cohort, queue)))
        .map(|(cohort, queue)| {
            (
                format!("cq-0-{queue}-cohort-{cohort}"),
                format!("cohort-{cohort}"),
            )
        })
        .collect();
    join_all(names.iter().enumerate().map(|(turn, (name, cohort))| {
        let generator = &generator;
        async move {
            for (path, object) in queue(name, cohort) {
                generator.create(turn, &path, object).await;
            }
        }
    }))
    .await;
    let mut requests = Vec::new();
    for (name, _) in &names {
        for set in load.sets {
            for index in 0..set.count {
                let path = format!("{KUEUE}/namespaces/{name}/workloads");
                requests.push(("POST", path, Some(workload(name, set, index))));
            }
        }
    }
    let workloads = requests.len();
    // The reads of its controller.
    for (name, _) in names
        .iter()
        .cycle()
        .take(PARALLEL.saturating_sub(workloads))
    {
        requests.push(("GET", format!("{KUEUE}/clusterqueues/{name}"), None));
    }
    let sent = requests
        .into_iter()
        .enumerate()
        .map(|(turn, (method, path, object))| {
            let generator = generator.clone();
            tokio::spawn(async move { generator.send(turn, method, &path, object).await })
        });
    for response in join_all(sent.collect::<Vec<_>>()).await {
        response.unwrap();
    }
    finish(&generator, workloads / 8).await;
    lab.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_baseline_load_is_served() {
    const SETS: &[WorkloadsSet] = &[
        set("small", 3, 50, "1"),
        set("medium", 1, 100, "5"),
        set("large", 1, 200, "20"),
    ];
    run(Load {
        cohorts: 5,
        queues: 6,
        sets: SETS,
        topology: false,
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_large_scale_load_is_served() {
    const SETS: &[WorkloadsSet] = &[
        set("small", 7, 50, "1"),
        set("medium", 2, 100, "5"),
        set("large", 1, 200, "20"),
    ];
    run(Load {
        cohorts: 4,
        queues: 10,
        sets: SETS,
        topology: false,
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes"]
async fn the_large_scale_load_is_served_in_its_size() {
    const SETS: &[WorkloadsSet] = &[
        set("small", 35, 50, "1"),
        set("medium", 11, 100, "5"),
        set("large", 4, 200, "20"),
    ];
    run(Load {
        cohorts: 10,
        queues: 100,
        sets: SETS,
        topology: false,
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_load_with_a_topology_is_served() {
    const fn with_topology(
        class: &'static str,
        request: &'static str,
        pods: u32,
        field: &'static str,
    ) -> WorkloadsSet {
        WorkloadsSet {
            pods,
            topology: Some(field),
            ..set(class, 2, 50, request)
        }
    }
    const SETS: &[WorkloadsSet] = &[
        with_topology("small-required-rack", "500m", 2, "required"),
        with_topology("medium-preferred-rack", "1250m", 4, "preferred"),
    ];
    run(Load {
        cohorts: 2,
        queues: 6,
        sets: SETS,
        topology: true,
    })
    .await;
}

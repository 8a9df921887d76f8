//! `export`, and `up --from`.

use serde_json::{Value, json};

use crate::lab_process::{WorkDir, wait_for};
use crate::requests::{client, create, get, has_condition, job};

const UP: [&str; 4] = ["up", "--headless", "--preset", "skypilot-priority"];
const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";
const WORKLOADS: &str = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads";
const CLUSTER_QUEUES: &str = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues";
const NODES: &str = "/api/v1/nodes";

/// The uids of the objects in a list, and whether they are admitted.
fn identities(list: &Value) -> Vec<(Value, Value, bool)> {
    let items = list["items"].as_array().unwrap().iter();
    items
        .map(|o| {
            let metadata = &o["metadata"];
            let created = metadata["creationTimestamp"].clone();
            (
                metadata["uid"].clone(),
                created,
                has_condition(o, "Admitted"),
            )
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lab_starts_from_an_export() {
    let dir = WorkDir::new();
    let lab = dir.start(&UP).await;
    let first = client(&lab).await;
    for name in ["one", "two", "three"] {
        create(&first, JOBS, &job(name, 600)).await;
    }
    let maps = "/api/v1/namespaces/default/configmaps";
    let data = json!({"a": "yes", "b": "1e3", "c": "12:30:45", "d": "x\n  y: z\n", "e": "", "f": "2026-01-01"});
    let tricky = json!({"metadata": {"name": "tricky"}, "data": data});
    create(&first, maps, &tricky).await;
    let secret = json!({"metadata": {"name": "hidden"}, "stringData": {"a": "b"}});
    create(&first, "/api/v1/namespaces/default/secrets", &secret).await;
    let workloads = wait_for("two of three workloads are admitted", || async {
        let list = get(&first, WORKLOADS).await;
        let admitted = identities(&list).iter().filter(|(.., a)| *a).count();
        (admitted == 2 && identities(&list).len() == 3).then_some(list)
    })
    .await;
    let jobs = get(&first, JOBS).await;
    let export = dir
        .run(&[
            "export",
            "--kubeconfig",
            lab.kubeconfig_path(),
            "-o",
            "lab.yaml",
        ])
        .await;
    assert!(export.status.success(), "{export:?}");
    lab.kill();

    let text = std::fs::read_to_string(dir.path().join("lab.yaml")).unwrap();
    assert!(!text.contains("hidden") && !text.contains("managedFields"));
    let documents: Vec<&str> = text.split("\n---\n").collect();
    let is_first = |kind: &str| {
        let kind = format!("\nkind: {kind}\n");
        documents.iter().position(|d| d.contains(&kind)).unwrap()
    };
    assert!(is_first("Namespace") < is_first("ConfigMap"));
    assert!(is_first("ClusterQueue") < is_first("LocalQueue"));

    let from = [&UP[..], &["--from", "lab.yaml", "--data-dir", "data"]].concat();
    let lab = dir.start(&from).await;
    let second = client(&lab).await;
    let restored = get(&second, WORKLOADS).await;
    assert_eq!(identities(&restored), identities(&workloads));
    assert_eq!(identities(&get(&second, JOBS).await), identities(&jobs));
    assert_eq!(get(&second, &format!("{maps}/tricky")).await["data"], data);
    // A new job waits behind those that were admitted before.
    create(&second, JOBS, &job("four", 1)).await;
    wait_for(
        "the new job has a workload that is not admitted",
        || async {
            let list = get(&second, WORKLOADS).await;
            let admitted = identities(&list).iter().filter(|(.., a)| *a).count();
            (admitted == 2 && identities(&list).len() == 4).then_some(())
        },
    )
    .await;
    lab.kill();
    let refused = dir.run_rejected(&from).await;
    assert!(
        refused.contains("the data directory data has one"),
        "{refused}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_imported_cluster_keeps_its_queues_and_nodes_after_a_restart() {
    let dir = WorkDir::new();
    let source = dir.start(&UP).await;
    let kubeconfig = source.kubeconfig_path().to_owned();
    let import = ["import", "--kubeconfig", &kubeconfig, "-o", "bundle.yaml"];
    let imported = dir.run(&import).await;
    assert!(imported.status.success(), "{imported:?}");
    let before = client(&source).await;
    // An imported lab does not apply the default preset, whose ClusterQueue is renamed here.
    let names = async |client: &kube::Client, path: &str| -> Vec<Value> {
        let list = get(client, path).await;
        let items = list["items"].as_array().unwrap().iter();
        items.map(|item| item["metadata"]["name"].clone()).collect()
    };
    let nodes = names(&before, NODES).await;
    source.kill();
    let text = std::fs::read_to_string(dir.path().join("bundle.yaml")).unwrap();
    let renamed = text.replace("cluster-queue", "imported-queue");
    dir.write("bundle.yaml", &renamed);
    let from = [
        "up",
        "--headless",
        "--data-dir",
        "data",
        "--from",
        "bundle.yaml",
    ];
    let lab = dir.start(&from).await;
    let queues = names(&client(&lab).await, CLUSTER_QUEUES).await;
    lab.kill();
    let lab = dir.start(&from[..4]).await;
    let restarted = client(&lab).await;
    assert_eq!(names(&restarted, CLUSTER_QUEUES).await, queues);
    assert_eq!(names(&restarted, NODES).await, nodes);
}

/// Bad input names file, line, object and remedy, and leaves nothing behind.
#[tokio::test(flavor = "multi_thread")]
async fn invalid_files_are_refused_as_a_whole() {
    let dir = WorkDir::new();
    let good = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default}\n---\n";
    for (bad, expected) in [
        ("a: [", "bad.yaml:5:4: unclosed bracket"),
        ("kind: X", "bad.yaml:5:1: X: apiVersion is missing; set it"),
        (
            "apiVersion: x.io/v1\nkind: Gizmo\nmetadata: {name: g}",
            "bad.yaml:5:1: Gizmo g: the kind Gizmo of x.io/v1 is not served; add its CustomResourceDefinition",
        ),
        (
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}",
            "bad.yaml:5:1: ConfigMap b: metadata.namespace is missing",
        ),
        (
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, namespace: nowhere}",
            "ConfigMap nowhere/b: the namespace nowhere does not exist; add it",
        ),
        (
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default}",
            "bad.yaml:5:1: ConfigMap default/a: the object occurs twice",
        ),
        (
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: B!, namespace: default}",
            "ConfigMap default/B!: it is not valid: metadata.name",
        ),
        (
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, namespace: default}\ndatta: {}",
            "unknown field \"datta\"; correct or remove it",
        ),
    ] {
        dir.write("bad.yaml", &format!("{good}{bad}\n"));
        let up = ["up", "--headless", "--preset", "none", "--from", "bad.yaml"];
        let args = [&up[..], &["--data-dir", "data"]].concat();
        let refused = dir.run_rejected(&args).await;
        assert!(refused.contains(expected), "{bad}: {refused}");
        let left = std::fs::read_dir(dir.path().join("data"));
        assert_eq!(left.map_or(0, Iterator::count), 0, "{bad}");
    }
}

//! Signals to labs that are blocked.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::process::Command;
use std::time::{Duration, Instant};

use kube::Client;
use serde_json::{Value, json};

use crate::work_dir::{RunningLab, WorkDir};

/// O_NONBLOCK of Linux.
const NONBLOCK: i32 = 0o4000;
/// The longest wait.
const TIMEOUT: Duration = Duration::from_secs(60);
const CLUSTERS: &str = "/apis/kueue.x-k8s.io/v1beta2/multikueueclusters";

async fn send(client: &Client, method: &str, path: &str, body: &Value) -> Value {
    let request = http::Request::builder().method(method).uri(path);
    let request = request.header("content-type", "application/json");
    let body = match body {
        Value::Null => Vec::new(),
        body => body.to_string().into_bytes(),
    };
    client.request(request.body(body).unwrap()).await.unwrap()
}

/// The kubeconfig of a worker cluster names a file that blocks its reader. A lab that does not read the file is
/// stopped as well.
#[tokio::test(flavor = "multi_thread")]
async fn a_blocked_read_does_not_keep_a_lab_from_stopping() {
    let dir = WorkDir::new();
    let fifo = dir.path("fifo");
    let created = Command::new("mkfifo").arg(&fifo).status().unwrap();
    assert!(created.success());
    let mut lab = RunningLab::start(dir.command(&["up", "--headless", "--preset", "none"]));
    let client = lab.client().await;
    let kubeconfig = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:9"}}],
        "users": [{"name": "u", "user": {"client-certificate": fifo, "client-key": fifo}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    });
    let secret = json!({
        "metadata": {"name": "worker"},
        "stringData": {"kubeconfig": kubeconfig.to_string()},
    });
    let secrets = "/api/v1/namespaces/kueue-system/secrets";
    send(&client, "POST", secrets, &secret).await;
    let source = json!({"kubeConfig": {"locationType": "Secret", "location": "worker"}});
    let cluster = json!({
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "MultiKueueCluster",
        "metadata": {"name": "worker"},
        "spec": {"clusterSource": source},
    });
    send(&client, "POST", CLUSTERS, &cluster).await;
    let started = Instant::now();
    // The reader is blocked until the other end is dropped, after the process has ended.
    let blocked = loop {
        // Fails without a reader.
        let mut options = OpenOptions::new();
        if let Ok(file) = options.write(true).custom_flags(NONBLOCK).open(&fifo) {
            break Some(file);
        }
        let path = format!("{CLUSTERS}/worker");
        let cluster = send(&client, "GET", &path, &Value::Null).await;
        if cluster["status"]["conditions"][0]["status"] == "False" {
            break None;
        }
        assert!(started.elapsed() < TIMEOUT, "{cluster}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    lab.signal("-INT");
    let started = Instant::now();
    while !lab.has_ended() {
        assert!(started.elapsed() < TIMEOUT, "the lab does not stop");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    drop(blocked);
}

/// A request for each of many resources that are not served would keep the controller busy. The status with so many is
/// too large to be stored.
#[tokio::test(flavor = "multi_thread")]
async fn a_resource_quota_with_many_resources_does_not_keep_a_lab_from_stopping() {
    let dir = WorkDir::new();
    let mut lab = RunningLab::start(dir.command(&["up", "--headless", "--preset", "none"]));
    let client = lab.client().await;
    let quotas = "/api/v1/namespaces/default/resourcequotas";
    let create = async |name: &str, entries: usize| {
        let hard = (0..entries).map(|i| (format!("count/x{i}.y"), json!("1")));
        let hard: serde_json::Map<String, Value> = hard.collect();
        let quota = json!({"metadata": {"name": name}, "spec": {"hard": hard}});
        send(&client, "POST", quotas, &quota).await;
    };
    create("many", 30_000).await;
    // As many as the controller has workers, and one more.
    for name in ["a", "b", "c"] {
        create(name, 1).await;
        let started = Instant::now();
        loop {
            let quota = send(&client, "GET", &format!("{quotas}/{name}"), &Value::Null).await;
            if quota["status"]["hard"]["count/x0.y"] == "1" {
                break;
            }
            assert!(started.elapsed() < TIMEOUT, "{name} is not counted");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    lab.signal("-INT");
    let started = Instant::now();
    while !lab.has_ended() {
        assert!(started.elapsed() < TIMEOUT, "the lab does not stop");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // 130 if it did not stop by itself.
    assert_eq!(lab.wait().0, Some(0));
}

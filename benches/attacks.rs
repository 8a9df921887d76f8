//! Attacks on a lab by clients on loopback: the peak of the resident memory during each of them, and
//! the latency of another client.
//!
//! The attackers run in the process of the lab, so their memory is included.

#![allow(
    clippy::unwrap_used,
    reason = "a measurement that fails reports its position"
)]

#[path = "../tests/attacks/connection.rs"]
#[allow(dead_code, reason = "shared with tests/attacks")]
mod connection;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use connection::{Attacker, answer, data};
use futures::future::{BoxFuture, join_all};
use http::Request;
use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kueue_lab_clock::Clock;
use kueue_lab_clock::Entropy;
use kueue_lab_lab::{Lab, LabConfig};
use serde_json::{Value, json};

/// As in the binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The time between two requests of the other client.
const PERIOD: Duration = Duration::from_millis(5);
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const PODS: &str = "/api/v1/namespaces/default/pods";
const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

/// The context of an attack.
#[derive(Clone)]
struct Target {
    address: SocketAddr,
    /// The token of a service account that may write ConfigMaps, Pods and definitions.
    token: Arc<str>,
}

/// Runs an attack until it ends.
type Attack = fn(Target) -> BoxFuture<'static, ()>;

impl Target {
    /// Sends requests with complete bodies on connections with 200 streams each.
    async fn send(
        self,
        count: usize,
        authenticated: bool,
        request: impl Fn(usize) -> (&'static str, String, Bytes),
    ) {
        let mut connection = Attacker::connect(self.address).await;
        let mut open = Vec::new();
        for index in 0..count {
            if index % 200 == 199 {
                join_all(open.drain(..)).await;
                connection = Attacker::connect(self.address).await;
            }
            let (method, path, bytes) = request(index);
            let token = authenticated.then_some(&*self.token);
            let (body, response) = connection.request(method, &path, token);
            let _ = body.unbounded_send(data(bytes));
            open.push(tokio::spawn(async move {
                if let Ok(response) = response.await {
                    drop(response);
                }
            }));
        }
        join_all(open).await;
    }
}

/// The attacks by name.
const ATTACKS: [(&str, Attack); 9] = [
    ("none", |_| {
        Box::pin(tokio::time::sleep(Duration::from_secs(3)))
    }),
    ("240 anonymous bodies of 3 MiB", |target| {
        let body = Bytes::from(vec![b' '; 3 << 20]);
        Box::pin(target.send(240, false, move |_| ("POST", MAPS.into(), body.clone())))
    }),
    ("240 bodies of 3 MiB of a service account", |target| {
        let body = format!("{{\"data\": [{}0]}}", "0,".repeat(1_500_000));
        let body = Bytes::from(body);
        Box::pin(target.send(240, true, move |_| ("POST", MAPS.into(), body.clone())))
    }),
    ("15000 anonymous junk paths", |target| {
        Box::pin(target.send(15_000, false, |i| {
            ("GET", format!("/junk{i}"), Bytes::new())
        }))
    }),
    ("1100 idle connections", |target| {
        Box::pin(async move {
            let mut held = Vec::new();
            for _ in 0..1100 {
                held.push(Attacker::connect(target.address).await);
            }
            tokio::time::sleep(Duration::from_secs(2)).await;
        })
    }),
    ("20 YAML bodies of 400 KiB of flow collections", |target| {
        Box::pin(async move {
            let mut connection = Attacker::connect(target.address).await;
            for _ in 0..20 {
                let path = format!("{MAPS}/m?fieldManager=x");
                let (body, response) = connection.request_of(
                    "PATCH",
                    &path,
                    Some(&target.token),
                    "application/apply-patch+yaml",
                );
                let _ = body.unbounded_send(data("{a: ".repeat(100_000)));
                drop(body);
                answer(response).await;
            }
        })
    }),
    ("50 pods that double a string 60 times", |target| {
        Box::pin(async move {
            target
                .send(50, true, |index| {
                    let script = "x=a; for i in $(seq 1 60); do x=$x$x; done; echo $x";
                    let pod = json!({"metadata": {"name": format!("p{index}")}, "spec": {"containers": [
                        {"name": "c", "image": "busybox", "command": ["sh", "-c", script]},
                    ]}});
                    ("POST", PODS.into(), pod.to_string().into())
                })
                .await;
            tokio::time::sleep(Duration::from_secs(5)).await;
        })
    }),
    ("20 rules with nested all() over 400 items", |target| {
        Box::pin(target.send(20, true, |index| {
            let rule = "self.all(a, self.all(b, self.all(c, a != b || b != c)))";
            let schema = json!({"type": "object", "properties": {"list": {
                "type": "array", "items": {"type": "string"},
                "x-kubernetes-validations": [{"rule": rule}],
            }}});
            let definition = json!({
                "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                "metadata": {"name": format!("n{index}s.example.com")},
                "spec": {"group": "example.com", "scope": "Namespaced",
                    "names": {"plural": format!("n{index}s"), "kind": format!("N{index}")},
                    "versions": [{"name": "v1", "served": true, "storage": true,
                        "schema": {"openAPIV3Schema": schema}}]},
            });
            let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
            ("POST", path.into(), definition.to_string().into())
        }))
    }),
    ("3000 lists of a service account", |target| {
        Box::pin(target.send(3000, true, |_| ("GET", PODS.into(), Bytes::new())))
    }),
];

async fn create(client: &Client, path: &str, object: Value) -> Value {
    let request = Request::post(path).header("content-type", "application/json");
    let request = request.body(object.to_string().into_bytes()).unwrap();
    client.request(request).await.unwrap()
}

/// The token of a new service account.
async fn account_token(client: &Client) -> Arc<str> {
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    create(client, accounts, json!({"metadata": {"name": "attacker"}})).await;
    let rules =
        json!([{"apiGroups": ["", "apiextensions.k8s.io"], "resources": ["*"], "verbs": ["*"]}]);
    let role = json!({"metadata": {"name": "attacker"}, "rules": rules});
    create(client, &format!("{RBAC}/clusterroles"), role).await;
    let binding = json!({
        "metadata": {"name": "attacker"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "attacker"},
        "subjects": [{"kind": "ServiceAccount", "name": "attacker", "namespace": "default"}],
    });
    create(client, &format!("{RBAC}/clusterrolebindings"), binding).await;
    let path = format!("{accounts}/attacker/token");
    let token = create(client, &path, json!({})).await;
    token["status"]["token"].as_str().unwrap().into()
}

/// A line of `/proc/self/status`, in MiB.
fn memory(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(field));
    let digits = line.and_then(|line| line.split_whitespace().nth(1));
    digits.and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) / 1024
}

/// Measures the requests of a client until `stop`. The latencies, sorted.
async fn latencies(client: Client, stop: Arc<AtomicBool>) -> Vec<Duration> {
    let mut all = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let began = Instant::now();
        let request = Request::get("/api/v1/namespaces/default").body(Vec::new());
        client.request::<Value>(request.unwrap()).await.unwrap();
        all.push(began.elapsed());
        tokio::time::sleep(PERIOD).await;
    }
    all.sort();
    all
}

#[tokio::main]
async fn main() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = LabConfig::embedded(Clock::real(), Entropy::seeded(1), folder.path());
    config.cluster.port = Some(0);

    let lab = Lab::start(config).await.unwrap();
    let path = folder.path().join("kubeconfig");
    lab.cluster().write_kubeconfig(&path).unwrap();
    let kubeconfig = Kubeconfig::read_from(&path).unwrap();
    let options = KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options)
        .await
        .unwrap();
    let authority = config.cluster_url.authority().unwrap().to_string();
    let client = Client::try_from(config).unwrap();
    let target = Target {
        address: authority.parse().unwrap(),
        token: account_token(&client).await,
    };
    println!(
        "{:50} {:>9} {:>9} {:>9} {:>9}",
        "attack", "before", "peak", "p50", "p99"
    );
    for (name, attack) in ATTACKS {
        // Resets the peak.
        let _ = std::fs::write("/proc/self/clear_refs", "5");
        let before = memory("VmRSS");
        let stop = Arc::new(AtomicBool::new(false));
        let measuring = tokio::spawn(latencies(client.clone(), stop.clone()));
        attack(target.clone()).await;
        stop.store(true, Ordering::Relaxed);
        let latencies = measuring.await.unwrap();
        let at = |part: usize| {
            let index = (latencies.len() * part / 100).min(latencies.len().saturating_sub(1));
            latencies
                .get(index)
                .map_or(0.0, |l| l.as_secs_f64() * 1000.0)
        };
        let peak = memory("VmHWM");
        println!(
            "{name:50} {before:>6} MB {peak:>6} MB {:>6.1} ms {:>6.1} ms",
            at(50),
            at(99)
        );
    }
    lab.stop().await;
}

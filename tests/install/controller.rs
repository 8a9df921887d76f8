//! `kueue-lab controller`: beside other controllers, without webhooks, with short-lived certificates,
//! with health and metrics endpoints.

use std::net::SocketAddr;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::batch::v1::Job;
use kube::api::PostParams;
use kueue_lab_apiserver::ServeOptions;
use kueue_lab_apiserver::ServingHandle;
use kueue_lab_clock::Clock;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::cluster_fixture::{TestCluster, job, wait_for};
use crate::instances::fetch;

/// A cluster on the network, and a folder with its kubeconfig.
struct ControllerFixture {
    cluster: TestCluster,
    _serving: ServingHandle,
    folder: tempfile::TempDir,
}

impl ControllerFixture {
    async fn new() -> Self {
        let cluster = TestCluster::start().await;
        let serving = cluster.server.serve(ServeOptions::default()).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        serving
            .write_kubeconfig(&folder.path().join("kubeconfig"))
            .unwrap();
        Self {
            cluster,
            _serving: serving,
            folder,
        }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kueue-lab"));
        command
            .arg("controller")
            .args(args)
            .arg("--kubeconfig")
            .arg(self.folder.path().join("kubeconfig"))
            .env_remove("KUBECONFIG")
            .env("RUST_LOG", "info")
            .stdin(Stdio::null())
            .kill_on_drop(true);
        command
    }

    /// Starts a controller and waits until it leads.
    async fn start_leader(&self, args: &[&str]) -> LeadingController {
        let mut command = self.command(args);
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let log = Arc::new(Mutex::new(String::new()));
        let (stderr, kept) = (child.stderr.take().unwrap(), log.clone());
        tokio::spawn(async move {
            let mut lines = BufReader::new(stderr).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                kept.lock().push_str(&(line + "\n"));
            }
        });
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = tokio::time::timeout(Duration::from_secs(180), lines.next_line()).await;
        let line = line.ok().and_then(Result::ok).flatten();
        assert_eq!(line.as_deref(), Some("leading"), "{}", log.lock());
        LeadingController { _child: child, log }
    }

    async fn webhook_configuration(&self, kind: &str, name: &str) -> Option<Value> {
        let version = "admissionregistration.k8s.io/v1";
        self.cluster.get(version, kind, "", name).await
    }

    /// The CA certificates (PEM, base64) in the webhook configurations.
    async fn ca_bundle(&self) -> Value {
        let webhooks = self
            .webhook_configuration("MutatingWebhookConfiguration", "kueue-lab-mutating")
            .await
            .unwrap();
        webhooks["webhooks"][0]["clientConfig"]["caBundle"].clone()
    }
}

struct LeadingController {
    _child: Child,
    log: Arc<Mutex<String>>,
}

impl LeadingController {
    fn log(&self) -> String {
        self.log.lock().clone()
    }

    /// The address in the log line of an endpoint.
    fn address(&self, what: &str) -> SocketAddr {
        let log = self.log();
        let line = log.lines().find(|line| line.contains(what));
        let line = line.unwrap_or_else(|| panic!("{log}"));
        let (_, address) = line.split_once("http://").unwrap();
        address.trim_end_matches("/metrics").parse().unwrap()
    }
}

async fn runs(site: &ControllerFixture, name: &str) {
    wait_for(&format!("{name} runs"), || async {
        let job = site.cluster.jobs().get(name).await.unwrap();
        (job.spec.unwrap().suspend == Some(false) && job.status?.ready == Some(1)).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn certificates_are_rotated_before_they_expire() {
    let site = ControllerFixture::new().await;
    let args = [
        "--health",
        "127.0.0.1:0",
        "--webhook-certificate-lifetime",
        "8",
    ];
    let controller = site.start_leader(&args).await;
    site.cluster.create_queues(8).await;
    let first = site.ca_bundle().await;
    // The CA certificate is valid three times as long as a serving certificate, so that some of those have
    // expired.
    wait_for("another CA certificate is trusted", || async {
        (site.ca_bundle().await != first).then_some(())
    })
    .await;
    let renewals = controller
        .log()
        .matches("renewed the certificate of webhooks")
        .count();
    assert!(renewals >= 2, "{}", controller.log());
    let made: Job = serde_json::from_value(job("tried", 1)).unwrap();
    let params = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    wait_for("jobs are suspended on creation", || async {
        let made = site.cluster.jobs().create(&params, &made).await.unwrap();
        (made.spec.unwrap().suspend == Some(true)).then_some(())
    })
    .await;
    wait_for("queues are reconciled", || async {
        let broken = json!({
            "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor",
            "metadata": {"name": "broken"}, "spec": {"nodeLabels": {"a": "not a label value"}},
        });
        let rejected = site.cluster.create(broken).await.unwrap_err().to_string();
        rejected.contains("denied the request").then_some(())
    })
    .await;
    site.cluster.job("runs", 1).await;
    runs(&site, "runs").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_webhooks_jobs_are_suspended_and_admitted() {
    let site = ControllerFixture::new().await;
    let args = [
        "--no-webhooks",
        "--health",
        "127.0.0.1:0",
        "--metrics",
        "127.0.0.1:0",
    ];
    let controller = site.start_leader(&args).await;
    assert!(
        controller.log().contains("no webhooks: "),
        "{}",
        controller.log()
    );
    site.cluster.create_queues(8).await;
    let made = site.cluster.job("first", 8).await;
    assert_ne!(made["spec"]["suspend"], true, "no webhook suspended it");
    runs(&site, "first").await;
    site.cluster.job("second", 8).await;
    wait_for("the second is suspended", || async {
        let job = site.cluster.jobs().get("second").await.unwrap();
        let held = job.spec.unwrap().suspend == Some(true);
        let version = "kueue.x-k8s.io/v1beta2";
        let queue = site
            .cluster
            .get(version, "ClusterQueue", "", "cq")
            .await
            .unwrap();
        (held && queue["status"]["pendingWorkloads"] == 1).then_some(())
    })
    .await;
    // The reconcilers add what upstream's webhooks add to new queues.
    for (kind, name) in [("ClusterQueue", "cq"), ("ResourceFlavor", "h100")] {
        wait_for(&format!("{kind} has the finalizer"), || async {
            let version = "kueue.x-k8s.io/v1beta2";
            let object = site.cluster.get(version, kind, "", name).await.unwrap();
            let finalizer = "kueue.x-k8s.io/resource-in-use";
            (object["metadata"]["finalizers"] == json!([finalizer])).then_some(())
        })
        .await;
    }
    for (kind, name) in [
        ("MutatingWebhookConfiguration", "kueue-lab-mutating"),
        ("ValidatingWebhookConfiguration", "kueue-lab-validating"),
    ] {
        assert_eq!(site.webhook_configuration(kind, name).await, None);
    }
    let (health, metrics) = (
        controller.address("health of the controller"),
        controller.address("metrics of the controller"),
    );
    assert!(fetch(health, "/readyz").await.ends_with("ok"));
    assert!(fetch(health, "/metrics").await.starts_with("HTTP/1.1 404"));
    assert!(fetch(metrics, "/healthz").await.starts_with("HTTP/1.1 404"));
    let line = "kueue_admitted_active_workloads{cluster_queue=\"cq\",replica_role=\"leader\"} 1";
    assert!(fetch(metrics, "/metrics").await.contains(line));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_controller_starts_beside_one_outside_the_election() {
    let site = ControllerFixture::new().await;
    let namespace =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kueue-system"}});
    site.cluster.create(namespace).await.unwrap();
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"namespace": "kueue-system", "name": "c1f6bfd2.kueue.x-k8s.io"},
        "spec": {
            "holderIdentity": "manager-0_1", "leaseDurationSeconds": 3600,
            "renewTime": Clock::real().micro_time(),
        },
    });
    site.cluster.create(lease).await.unwrap();
    let ended = site
        .command(&["--health", "127.0.0.1:0"])
        .output()
        .await
        .unwrap();
    let printed = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(2), "{printed}");
    assert!(printed.contains("error: Kueue (manager-0_1, holding the Lease kueue-system/c1f6bfd2.kueue.x-k8s.io) already admits workloads on this cluster"), "{printed}");
    let crd = "workloads.kueue.x-k8s.io";
    let version = "apiextensions.k8s.io/v1";
    let crd = site
        .cluster
        .get(version, "CustomResourceDefinition", "", crd)
        .await;
    assert_eq!(crd, None);
    // A Lease in that namespace would have been waited for.
    let mut waits = site.command(&["--health", "127.0.0.1:0", "--namespace", "kueue-system"]);
    let mut waits = waits.stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(waits.stderr.take().unwrap()).lines();
    let waiting = async {
        while let Ok(Some(line)) = lines.next_line().await {
            if line.contains("manager-0_1 is the leader; waiting") {
                return true;
            }
        }
        false
    };
    let waiting = tokio::time::timeout(Duration::from_secs(180), waiting).await;
    assert_eq!(waiting, Ok(true));
}

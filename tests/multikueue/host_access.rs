//! What comes through the API of a manager names no file, program or address of its machine.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use k8s_openapi::api::core::v1::Secret;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, PostParams};
use kueue_lab_clock::Clock;
use kueue_lab_controller_runtime::Api;
use kueue_lab_host::HostAddresses;
use kueue_lab_lab::Lab;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::fixture::{Fixture, On, lab_config, with_workers};
use crate::network::until;
use crate::objects::{CLUSTER_PROFILE, condition};

fn secret(name: &str, kubeconfig: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": name, "namespace": "kueue-system"},
        "stringData": {"kubeconfig": kubeconfig.to_string()},
    })
}

fn cluster(name: &str, source: Value) -> Value {
    json!({
        "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "MultiKueueCluster",
        "metadata": {"name": name}, "spec": {"clusterSource": source},
    })
}

fn of_secret(name: &str) -> Value {
    json!({"kubeConfig": {"location": name, "locationType": "Secret"}})
}

fn of_path(path: &str) -> Value {
    json!({"kubeConfig": {"location": path, "locationType": "Path"}})
}

fn kubeconfig(server: &str, user: Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "x",
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
    })
}

/// Waits until the condition Active of a cluster starts with a text.
async fn until_active(f: &Fixture, name: &str, expected: &str) {
    f.until(On::Manager, "MultiKueueCluster", name, |cluster| {
        condition(cluster, "Active").is_some_and(|active| active.starts_with(expected))
    })
    .await;
}

#[test]
fn a_kubeconfig_secret_names_no_file_and_no_address_of_the_machine() {
    with_workers(1, |f| async move {
        let file = |field: &str| {
            format!(
                "False/InsecureKubeConfig: load client config failed: {field} file paths are not allowed, use {field}-data for user u"
            )
        };
        let other = "https://192.0.2.1:6443";
        let untrusted = "False/ClientConnectionFailed: untrusted server endpoint: ";
        for (name, server, user, expected) in [
            (
                "certificate",
                other,
                json!({"client-certificate": "/dev/zero", "client-key": "/dev/zero"}),
                file("client-certificate"),
            ),
            (
                "key",
                other,
                json!({"client-key": "/dev/zero"}),
                file("client-key"),
            ),
            (
                "loopback",
                "https://127.0.0.1:9",
                json!({}),
                format!("{untrusted}127.0.0.1:9 is"),
            ),
            (
                "unspecified",
                "http://0.0.0.0:9",
                json!({}),
                format!("{untrusted}0.0.0.0:9 is"),
            ),
            (
                "link",
                "http://169.254.169.254",
                json!({}),
                format!("{untrusted}169.254.169.254:80 is"),
            ),
            (
                "name",
                "http://localhost:9",
                json!({}),
                "False/ClientConnectionFailed: client error (Connect): dns error: untrusted server endpoint: localhost is a name".to_owned(),
            ),
        ] {
            f.apply(
                On::Manager,
                &secret(name, &kubeconfig(server, user)).to_string(),
            )
            .await;
            f.apply(On::Manager, &cluster(name, of_secret(name)).to_string())
                .await;
            until_active(&f, name, &expected).await;
        }
        // The text of a Secret does not show in a condition.
        let invalid = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "text", "namespace": "kueue-system"},
            "stringData": {"kubeconfig": "clusters: private-text"},
        });
        f.apply(On::Manager, &invalid.to_string()).await;
        f.apply(On::Manager, &cluster("text", of_secret("text")).to_string())
            .await;
        until_active(
            &f,
            "text",
            "False/InsecureKubeConfig: load client config failed: failed to parse kubeconfig(apiconfig): the text is not a kubeconfig",
        )
        .await;
        f
    });
}

#[test]
fn a_configuration_in_the_config_map_runs_no_program_and_reads_no_file() {
    with_workers(1, |f| async move {
        let folder = tempfile::tempdir().unwrap();
        let (made, private) = (folder.path().join("made"), folder.path().join("private"));
        std::fs::write(&private, "private-text\n").unwrap();
        let configuration = json!({
            "apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration",
            "featureGates": {"MultiKueueClusterProfile": true, "MultiKueueKubeConfigPathValidation": false},
            "multiKueue": {"clusterProfile": {"accessProviders": [{"name": "p", "execConfig": {
                "apiVersion": "client.authentication.k8s.io/v1", "command": "touch", "args": [made],
                "interactiveMode": "Never",
            }}]}},
        });
        let data = json!({"data": {"controller_manager_config.yaml": configuration.to_string()}});
        f.patch(On::Manager, "ConfigMap", "kueue-manager-config", data)
            .await;
        f.restart_controller(On::Manager).await;
        f.define(On::Manager, &CLUSTER_PROFILE).await;
        let profile = json!({
            "apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ClusterProfile",
            "metadata": {"name": "profile", "namespace": "kueue-system"}, "spec": {},
        });
        f.apply(On::Manager, &profile.to_string()).await;
        let provider = json!({"name": "p", "cluster": {"server": "https://127.0.0.1:9"}});
        let status = json!({"accessProviders": [provider]});
        f.patch_status(On::Manager, "ClusterProfile", "profile", status)
            .await;
        let of_profile = json!({"clusterProfileRef": {"name": "profile"}});
        f.apply(On::Manager, &cluster("program", of_profile).to_string())
            .await;
        until_active(
            &f,
            "program",
            "False/BadClusterProfile: load client config failed: the exec plugin of access provider \"p\" is not run",
        )
        .await;
        assert!(!made.exists());
        let private = private.display().to_string();
        for (name, path) in [("file", &*private), ("endless", "/dev/zero")] {
            f.apply(On::Manager, &cluster(name, of_path(path)).to_string())
                .await;
            let refused = format!(
                "False/BadKubeConfig: load client config failed: kubeconfig path is not under the allowed prefix: {path:?} is not under"
            );
            until_active(&f, name, &refused).await;
        }
        let below = "/etc/multikueue/kubeconfigs/../kubeconfigs/a";
        f.apply(On::Manager, &cluster("below", of_path(below)).to_string())
            .await;
        until_active(
            &f,
            "below",
            "False/BadKubeConfig: load client config failed: kubeconfig path \"/etc/multikueue/kubeconfigs/a\" is not read: on an embedded cluster",
        )
        .await;
        f
    });
}

/// An HTTP server that answers each request with 200 and a line that is no JSON; counts the requests.
async fn garbage_server() -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let requests = Arc::new(AtomicUsize::new(0));
    let counted = requests.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let counted = counted.clone();
            tokio::spawn(async move {
                let mut request = [0; 4096];
                if stream.read(&mut request).await.is_ok_and(|read| read > 0) {
                    counted.fetch_add(1, Ordering::SeqCst);
                    let response = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: 8\r\n\r\ngarbage\n";
                    let _ = stream.write_all(response.as_bytes()).await;
                }
            });
        }
    });
    (port, requests)
}

#[tokio::test]
async fn a_worker_that_answers_with_garbage_is_asked_again_with_a_backoff() {
    let presets = tempfile::tempdir().unwrap();
    std::fs::create_dir(presets.path().join("one")).unwrap();
    let flavor = "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: f}}";
    std::fs::write(presets.path().join("one/a.yaml"), flavor).unwrap();
    let (port, requests) = garbage_server().await;
    let mut config = lab_config(
        Clock::adjustable_after(20.0, None),
        presets.path(),
        "one",
        0,
    );
    config.cluster.host_addresses = HostAddresses::with_ports([port]);

    let lab = Lab::start(config).await.unwrap();
    let server = format!("http://127.0.0.1:{port}");
    let secrets: Api<Secret> = Api::namespaced(lab.client(), "kueue-system");
    let object = secret("garbage", &kubeconfig(&server, json!({})));
    let params = PostParams::default();
    let object: Secret = serde_json::from_value(object).unwrap();
    secrets.create(&params, &object).await.unwrap();
    let gvk = GroupVersionKind::gvk("kueue.x-k8s.io", "v1beta2", "MultiKueueCluster");
    let resource = ApiResource::from_gvk_with_plural(&gvk, "multikueueclusters");
    let clusters: Api<DynamicObject> = Api::all_with(lab.client(), &resource);
    let object = cluster("garbage", of_secret("garbage"));
    let object: DynamicObject = serde_json::from_value(object).unwrap();
    clusters.create(&params, &object).await.unwrap();
    // After 5, 10 and 20 seconds of lab time.
    until(async || {
        let found = json!(clusters.get("garbage").await.ok()?);
        let active = condition(&found, "Active")?;
        let failed = active.starts_with("False/ClientConnectionFailed: watch failed: ");
        (failed && active.contains("connection attempts: 4")).then_some(())
    })
    .await;
    // Each attempt opens at most one watch for each kind.
    let attempts = 4;
    let kinds = kueue_lab_api::config::FRAMEWORKS.len() + 1;
    let requests = requests.load(Ordering::SeqCst);
    assert!(requests <= attempts * kinds, "{requests} requests");
    lab.stop().await;
}

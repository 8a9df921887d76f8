//! An import over a real port, with the rights of a ServiceAccount.

use std::time::Duration;

use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kueue_lab_clock::Clock;
use kueue_lab_clock::Entropy;
use kueue_lab_import::{ImportError, import_cluster};
use kueue_lab_lab::{Lab, LabConfig, NodePools};
use kueue_lab_plan::check_import;
use serde_json::{Value, json};

use crate::random_cluster::{RandomCluster, cluster, job_object, preset};

async fn create(client: &Client, path: &str, body: &Value) -> Value {
    let request = http::Request::post(path).header("content-type", "application/json");
    let request = request.body(body.to_string().into_bytes()).unwrap();
    client.request(request).await.unwrap()
}

/// The counts of requests for Secrets that the API server has answered.
async fn secret_requests(client: &Client) -> Vec<String> {
    let request = http::Request::get("/metrics").body(Vec::new()).unwrap();
    let metrics = client.request_text(request).await.unwrap();
    let lines = metrics.lines().filter(|line| {
        line.starts_with("apiserver_request_total") && line.contains("resource=\"secrets\"")
    });
    lines.map(str::to_owned).collect()
}

/// The rights of docs/import.md.
fn role() -> Value {
    let documentation = include_str!("../../docs/import.md");
    let yaml = documentation
        .split("```yaml\n")
        .find(|block| block.contains("kind: ClusterRole\n"))
        .and_then(|block| block.split("```").next());
    serde_yaml::from_str(yaml.unwrap()).unwrap()
}

/// A cluster that proptest's generator makes from a fixed seed.
fn some_cluster() -> RandomCluster {
    use proptest::strategy::{Strategy, ValueTree};
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    cluster().new_tree(&mut runner).unwrap().current()
}

#[tokio::test(flavor = "multi_thread")]
async fn read_only_rights_suffice_and_secrets_are_not_requested() {
    let cluster = some_cluster();
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("first")).unwrap();
    std::fs::write(
        folder.path().join("first/q.yaml"),
        preset(&cluster.configuration),
    )
    .unwrap();
    let mut config = LabConfig::embedded(Clock::real(), Entropy::seeded(3), folder.path());
    config.cluster.port = Some(0);
    config.presets.active = Some("first".to_owned());
    config.components.nodes = NodePools::parse(
        "pools:\n- {name: pool, count: 3, resources: {cpu: 64, memory: 64Gi, pods: 100}}\n",
    )
    .unwrap();
    config.components.operators = false;
    let lab = Lab::start(config);
    let lab = lab.await.unwrap();
    let admin = lab.client();
    for (index, job) in cluster.jobs.iter().enumerate() {
        let object = serde_json::to_value(job_object(&format!("job-{index}"), job)).unwrap();
        create(&admin, "/apis/batch/v1/namespaces/default/jobs", &object).await;
    }
    let account = json!({"metadata": {"name": "reader"}});
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    create(&admin, accounts, &account).await;
    let token = create(
        &admin,
        &format!("{accounts}/reader/token"),
        &json!({"spec": {}}),
    )
    .await;
    let token = token["status"]["token"].as_str().unwrap().to_owned();
    let mut kubeconfig = Kubeconfig::from_yaml(lab.cluster().kubeconfig().unwrap()).unwrap();
    for user in &mut kubeconfig.auth_infos {
        let user = user.auth_info.as_mut().unwrap();
        *user = Default::default();
        user.token = Some(token.clone().into());
    }
    let options = KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await;
    let reader = Client::try_from(config.unwrap()).unwrap();

    let now = lab.clock().now();
    let denied = import_cluster(&reader, "source", now).await.unwrap_err();
    let message = denied.to_string();
    assert!(matches!(denied, ImportError::MissingRights(_)), "{message}");
    for right in [
        "list clusterqueues.kueue.x-k8s.io",
        "list nodes",
        "get configmaps/kueue-manager-config in namespace kueue-system",
    ] {
        assert!(message.contains(right), "{message}");
    }

    let role = role();
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    create(&admin, &format!("{rbac}/clusterroles"), &role).await;
    let binding = json!({
        "metadata": {"name": "reader"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
            "name": role["metadata"]["name"]},
        "subjects": [{"kind": "ServiceAccount", "name": "reader", "namespace": "default"}],
    });
    create(&admin, &format!("{rbac}/clusterrolebindings"), &binding).await;
    // Until the Workloads of all Jobs are decided on.
    let mut settled = None;
    for _ in 0..240 {
        let bundle = import_cluster(&reader, "source", now).await.unwrap();
        let count = bundle
            .objects
            .iter()
            .filter(|o| o["kind"] == "Workload")
            .count();
        let differences = tokio::task::block_in_place(|| check_import(&bundle)).unwrap();
        if count == cluster.jobs.len() && differences.is_empty() {
            settled = Some(bundle);
            break;
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    let before = secret_requests(&admin).await;
    let bundle = import_cluster(&reader, "source", now).await.unwrap();
    assert_eq!(secret_requests(&admin).await, before);
    let settled = settled.expect("the imported lab decides as the cluster did");
    assert_eq!(settled.objects.len(), bundle.objects.len());
    assert!(bundle.objects.iter().all(|o| o["kind"] != "Secret"));
    // The time is that of the API server, in seconds.
    let late = bundle.time.duration_since(now).as_secs();
    assert!((-1..600).contains(&late), "{late}");
    lab.stop().await;
}

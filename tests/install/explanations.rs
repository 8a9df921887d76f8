//! Explanations of the engine that decides, on an existing cluster.

use std::sync::Arc;

use http::Request;
use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kueue_lab_api::explanation::{GROUP, VERSION};
use kueue_lab_apiserver::{ServeOptions, ServingHandle};
use kueue_lab_clock::Clock;
use kueue_lab_engine::workload::WorkloadKey;
use kueue_lab_explain::ClusterExplainer;
use kueue_lab_lab::ControllerExplainer;
use kueue_lab_manager::{ExplanationConfig, Operator, OperatorConfig};
use serde_json::{Value, json};

use crate::cluster_fixture::{TestCluster, wait_for};
use crate::instances::operator_config;

/// The configuration of an instance that serves explanations.
pub(crate) fn with_explanations(config: OperatorConfig) -> OperatorConfig {
    OperatorConfig {
        explanations: Some(ExplanationConfig {
            explainer: Arc::new(ControllerExplainer),
            port: 0,
            pod: None,
        }),
        ..config
    }
}

fn explainer(client: &Client) -> ClusterExplainer {
    ClusterExplainer {
        client: client.clone(),
        kueue: None,
        now: Clock::real().now(),
        asks_lab: true,
    }
}

/// Waits until the API of explanations is served.
pub(crate) async fn wait_until_served(cluster: &TestCluster) {
    let name = format!("{VERSION}.{GROUP}");
    wait_for("the API of explanations is available", || async {
        let service = cluster
            .get("apiregistration.k8s.io/v1", "APIService", "", &name)
            .await?;
        let conditions = service["status"]["conditions"].as_array()?.clone();
        let mut conditions = conditions.iter();
        conditions
            .any(|c| c["type"] == "Available" && c["status"] == "True")
            .then_some(())
    })
    .await;
}

/// The explanation of an object for a client, or the status code and message of the error.
async fn get(client: &Client, object: &str) -> Result<Value, (u16, String)> {
    let path = format!("/apis/{GROUP}/{VERSION}/{object}/explanation");
    let request = Request::get(path).body(Vec::new()).unwrap();
    match client.request::<Value>(request).await {
        Ok(explained) => Ok(explained),
        Err(kube::Error::Api(status)) => Err((status.code, status.message.clone())),
        Err(error) => panic!("{error}"),
    }
}

/// A client of a user without rights, over the network.
async fn client_of(serving: &ServingHandle, user: &str) -> Client {
    let mut kubeconfig = Kubeconfig::from_yaml(serving.kubeconfig()).unwrap();
    let info = kubeconfig.auth_infos[0].auth_info.as_mut();
    info.unwrap().impersonate = Some(user.to_owned());
    let options = KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await;
    Client::try_from(config.unwrap()).unwrap()
}

/// The name of the Workload of a Job, once it is pending.
async fn pending(cluster: &TestCluster, job: &str) -> String {
    let api: kube::Api<kueue_lab_api::v1beta2::Workload> =
        kube::Api::namespaced(cluster.client.clone(), "team");
    wait_for("the Workload is pending", || async {
        let all = api.list(&Default::default()).await.unwrap();
        all.items.into_iter().find_map(|wl| {
            let owner = wl.metadata.owner_references.as_ref()?.first()?;
            let is_pending = wl.condition("QuotaReserved")?.status == "False";
            (owner.name == job && is_pending).then(|| wl.metadata.name.clone())?
        })
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_engine_of_an_existing_clusters_controller_explains() {
    let cluster = TestCluster::start().await;
    // Writes how the API server authenticates to extension API servers.
    let serving = cluster.server.serve(ServeOptions::default()).await.unwrap();
    let config = operator_config(cluster.client.clone(), "only", Clock::real());
    let operator = Operator::start(with_explanations(config)).await.unwrap();
    let controller = operator.wait_until_leader(|_| ()).await.unwrap();
    wait_until_served(&cluster).await;
    cluster.create_queues(8).await;
    cluster.job("first", 8).await;
    wait_for("the first runs", || async {
        let job = cluster.jobs().get("first").await.unwrap();
        (job.spec.unwrap().suspend == Some(false)).then_some(())
    })
    .await;
    cluster.job("second", 8).await;
    let second = pending(&cluster, "second").await;

    let report = explainer(&cluster.client).workload("team", "second").await;
    let report = report.unwrap();
    assert!(report.is_live);
    let text = report.text(None);
    assert!(
        text.contains("waits: 8 more nvidia.com/gpu in h100"),
        "{text}"
    );
    assert!(!text.contains("copy of the cluster's objects"), "{text}");
    let key = WorkloadKey::new("team", &second);
    let known = kueue_lab_lab::explain_live_workload(&controller, &key).unwrap();
    // An engine with a copy of the objects has no decision of a cycle.
    let last = known.explanation.last.unwrap();
    assert_eq!(report.explained.explanation.last.unwrap().at, last.at);
    let queue = explainer(&cluster.client).cluster_queue("cq").await;
    assert!(queue.unwrap().text().contains("8 of nominal 8 used"));

    // The user of the request needs the right.
    let ann = client_of(&serving, "ann").await;
    let object = format!("namespaces/team/workloads/{second}");
    let (code, message) = get(&ann, &object).await.unwrap_err();
    assert_eq!(code, 403);
    assert!(
        message.contains("User \"ann\" cannot get resource \"workloads/explanation\""),
        "{message}"
    );
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": "ann"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
            "name": "kueue-lab-explanation-viewer"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "ann"}],
    });
    cluster.create(binding).await.unwrap();
    let explained = get(&ann, &object).await.unwrap();
    assert_eq!(
        explained["workload"],
        format!("team/{second}"),
        "{explained}"
    );
    let (code, message) = get(&ann, "clusterqueues/none").await.unwrap_err();
    assert_eq!(
        (code, message.as_str()),
        (
            404,
            "clusterqueues.explanation.kueue-lab.dev \"none\" not found"
        )
    );

    operator.stop().await;
    let name = format!("{VERSION}.{GROUP}");
    let service = cluster
        .get("apiregistration.k8s.io/v1", "APIService", "", &name)
        .await;
    assert_eq!(service, None, "no API without a server remains");
    let report = explainer(&cluster.client)
        .workload("team", "second")
        .await
        .unwrap();
    assert!(!report.is_live && report.text(None).contains("copy of the cluster's objects"));
}

/// Who does not come from the API server is not served, whatever user it names.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_the_front_proxy_names_users() {
    let cluster = TestCluster::start().await;
    // Writes how the API server authenticates to extension API servers.
    let _serving = cluster.server.serve(ServeOptions::default()).await.unwrap();
    let config = operator_config(cluster.client.clone(), "only", Clock::real());
    let operator = Operator::start(with_explanations(config)).await.unwrap();
    operator.wait_until_leader(|_| ()).await.unwrap();
    wait_until_served(&cluster).await;
    let name = format!("{VERSION}.{GROUP}");
    let service = cluster
        .get("apiregistration.k8s.io/v1", "APIService", "", &name)
        .await
        .unwrap();
    let port = service["spec"]["service"]["port"].as_u64().unwrap();
    let url = format!("https://127.0.0.1:{port}");
    let mut config = kube::Config::new(url.parse().unwrap());
    config.accept_invalid_certs = true;
    let client = Client::try_from(config).unwrap();
    let request = Request::get(format!("/apis/{GROUP}/{VERSION}"))
        .header("X-Remote-User", "root")
        .header("X-Remote-Group", "system:masters")
        .body(Vec::new())
        .unwrap();
    let error = client.request_text(request).await.unwrap_err();
    assert!(
        !matches!(error, kube::Error::Api(_)),
        "the handshake fails: {error}"
    );

    // Killed, its API remains until it is uninstalled or the next leader takes it over.
    operator.abort().await;
    let installer = kueue_lab_install::Installer::new(
        cluster.client.clone(),
        Clock::real(),
        kueue_lab_install::NAMESPACE,
    );
    installer.uninstall().await.unwrap();
    let service = cluster
        .get("apiregistration.k8s.io/v1", "APIService", "", &name)
        .await;
    assert_eq!(service, None);
}

//! Checks of `up` before it starts; a cluster that fails them is not changed.

use std::path::Path;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, ListParams};
use serde_json::json;

use crate::external_cluster::{CONTEXT_NAME, ExternalCluster, create};
use crate::lab_process::WorkDir;

/// Whether the cluster has no objects of Kueue.
async fn has_no_kueue_objects(cluster: &ExternalCluster) -> bool {
    let kinds: Api<CustomResourceDefinition> = Api::all(cluster.client());
    let kinds = kinds.list(&ListParams::default()).await.unwrap();
    let ours = |d: &CustomResourceDefinition| {
        let labels = d.metadata.labels.iter().flatten();
        labels.filter(|(_, v)| *v == "kueue-lab").count() > 0
    };
    !kinds.items.iter().any(ours)
}

/// The error of `up` with one more option.
async fn rejected(kubeconfig: &Path, option: &str) -> String {
    let file = kubeconfig.display().to_string();
    let context = format!("context:{CONTEXT_NAME}");
    let args = ["up", option, "--cluster", &context, "--kubeconfig", &file];
    WorkDir::new().run_rejected(&args).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_context_is_required() {
    let cluster = ExternalCluster::start().await;
    let dir = WorkDir::new();
    let file = cluster.kubeconfig().display().to_string();
    let printed = dir
        .run_rejected(&["up", "--cluster", "context:othre", "--kubeconfig", &file])
        .await;
    assert_eq!(
        printed,
        format!("there is no context \"othre\" in {file}; there are: other")
    );
    let printed = dir
        .run_rejected(&["up", "--cluster", "context:other"])
        .await;
    assert!(printed.contains("~/.kube/config"), "{printed}");
    let printed = dir
        .run_rejected(&["up", "--cluster", "minikube", "--kubeconfig", &file])
        .await;
    assert!(printed.contains("context:NAME"), "{printed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_written_without_confirmation() {
    let cluster = ExternalCluster::start().await;
    let printed = rejected(&cluster.kubeconfig(), "--headless").await;
    assert!(printed.contains("confirm with --yes"), "{printed}");
    assert!(has_no_kueue_objects(&cluster).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreachable_cluster_is_reported() {
    let cluster = ExternalCluster::start().await;
    cluster.proxy.drop_connections();
    let printed = rejected(&cluster.kubeconfig(), "--yes").await;
    let server = format!("https://{}", cluster.proxy.address());
    assert!(
        printed.contains(&server) && printed.contains("is it running?"),
        "{printed}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn crds_of_another_version_are_kept() {
    let cluster = ExternalCluster::start().await;
    create(&cluster.client(), json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "workloads.kueue.x-k8s.io"},
        "spec": {
            "group": "kueue.x-k8s.io", "scope": "Namespaced",
            "names": {"kind": "Workload", "plural": "workloads", "singular": "workload", "listKind": "WorkloadList"},
            "versions": [{"name": "v9", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}],
        },
    }))
    .await;
    let printed = rejected(&cluster.kubeconfig(), "--yes").await;
    assert!(
        printed.contains("the CustomResourceDefinition workloads.kueue.x-k8s.io of this cluster stores objects as v9"),
        "{printed}"
    );
    assert!(has_no_kueue_objects(&cluster).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_starts_beside_an_upstream_manager() {
    let cluster = ExternalCluster::start().await;
    let client = cluster.client();
    let labels = json!({"app.kubernetes.io/name": "kueue", "control-plane": "controller-manager"});
    create(
        &client,
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kueue-system"}}),
    )
    .await;
    create(&client, json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"namespace": "kueue-system", "name": "kueue-controller-manager", "labels": labels},
        "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": {
            "metadata": {"labels": labels},
            "spec": {"containers": [{"name": "manager", "image": "registry.k8s.io/kueue/kueue:v0.14.1"}]},
        }},
    }))
    .await;
    assert_eq!(
        rejected(&cluster.kubeconfig(), "--yes").await,
        "Kueue (Deployment kueue-system/kueue-controller-manager, registry.k8s.io/kueue/kueue:v0.14.1) already admits workloads on this cluster, and two admission controllers would undo each other's decisions; add --observe to watch it, or uninstall it first"
    );
    assert!(has_no_kueue_objects(&cluster).await);
    let printed = rejected(&cluster.kubeconfig(), "--observe").await;
    assert!(
        printed.starts_with("--observe needs a terminal"),
        "{printed}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn leftovers_of_another_kueue_are_reported() {
    let cluster = ExternalCluster::start().await;
    create(
        &cluster.client(),
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "kueue-validating-webhook-configuration"},
            "webhooks": [{
                "name": "vworkload.kb.io", "admissionReviewVersions": ["v1"],
                "sideEffects": "None", "clientConfig": {"url": "https://127.0.0.1:1/"},
                "rules": [{
                    "apiGroups": ["kueue.x-k8s.io"], "apiVersions": ["v1beta2"],
                    "operations": ["CREATE"], "resources": ["workloads"],
                }],
            }],
        }),
    )
    .await;
    assert_eq!(
        rejected(&cluster.kubeconfig(), "--yes").await,
        "webhooks of another Kueue are registered on this cluster and would be called for every write of this lab; uninstall that Kueue first, or delete them: kubectl delete validatingwebhookconfiguration/kueue-validating-webhook-configuration"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_permissions_are_reported() {
    let cluster = ExternalCluster::start().await;
    let rules = json!([
        {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": ["apiextensions.k8s.io"], "resources": ["*"], "verbs": ["*"]},
    ]);
    let file = cluster.kubeconfig_of("reader", rules).await;
    let printed = rejected(&file, "--yes").await;
    assert!(
        printed.starts_with("the user of this context may not create mutatingwebhookconfigurations.admissionregistration.k8s.io, "),
        "{printed}"
    );
    assert!(has_no_kueue_objects(&cluster).await);
}

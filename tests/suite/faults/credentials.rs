//! Credentials that the cluster does not take any more.

use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::{Api, DeleteParams, PostParams};
use serde_json::json;

use super::FaultContext;
use crate::objects::JOB;

/// The account of a running lab is made anew, so that its token is worthless; later somebody writes a
/// new one into the kubeconfig.
pub async fn a_token_is_revoked_and_replaced(trouble: &FaultContext) {
    let (cluster, stage) = (&trouble.cluster, &trouble.stage);
    let everything = json!([
        {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
        {"nonResourceURLs": ["*"], "verbs": ["*"]},
    ]);
    let lab_kubeconfig = cluster.kubeconfig_of("robot", everything).await;
    let lab = trouble.up_with_kubeconfig(&lab_kubeconfig).ready().await;
    stage.create_queues("lq", 4, json!({})).await;
    for name in ["one", "two"] {
        stage.job(name, "lq", 4, 100_000).await;
    }
    trouble.wait_for_admitted(1).await;
    let accounts: Api<ServiceAccount> = Api::namespaced(cluster.client(), "default");
    let params = DeleteParams::default();
    accounts.delete("robot", &params).await.unwrap();
    let account = json!({"metadata": {"name": "robot"}});
    let account = serde_json::from_value(account).unwrap();
    let params = PostParams::default();
    accounts.create(&params, &account).await.unwrap();
    // Watches live on; whoever is cut off has to say again who they are.
    cluster.proxy.drop_connections();
    cluster.proxy.resume();
    stage.job("three", "lq", 4, 100_000).await;
    let request = serde_json::from_value(json!({"spec": {"audiences": []}, "metadata": {}}));
    let token = accounts
        .create_token_request("robot", &params, &request.unwrap())
        .await
        .unwrap();
    let text = std::fs::read_to_string(&lab_kubeconfig).unwrap();
    let mut config: serde_json::Value = serde_yaml::from_str(&text).unwrap();
    let old = config["users"][0]["user"]["token"].take();
    let new = serde_json::Value::from(token.status.unwrap().token);
    assert_ne!(old, new);
    config["users"][0]["user"]["token"] = new;
    std::fs::write(&lab_kubeconfig, serde_yaml::to_string(&config).unwrap()).unwrap();
    for _ in 0..2 {
        trouble.wait_for_admitted(1).await;
        let jobs = stage.list(JOB).await;
        let running = jobs.iter().find(|job| job["spec"]["suspend"] == false);
        stage
            .delete(JOB, crate::objects::name(running.unwrap()))
            .await;
    }
    trouble.wait_for_admitted(1).await;
    stage.assert_consistent().await;
    let told = "the cluster rejected the credentials; refreshed";
    assert!(lab.log().contains(told));
    assert_eq!(lab.stop().await, Some(0));
}

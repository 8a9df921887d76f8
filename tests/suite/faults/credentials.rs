//! Credentials that the cluster rejects.

use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::{Api, DeleteParams, PostParams};
use serde_json::json;

use super::FaultContext;
use crate::objects::JOB;

/// The ServiceAccount of a running lab is recreated, which invalidates its token. Later a new token is
/// written to the kubeconfig.
pub(super) async fn a_token_is_revoked_and_replaced(context: &FaultContext) {
    let (cluster, ns) = (&context.cluster, &context.ns);
    let everything = json!([
        {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
        {"nonResourceURLs": ["*"], "verbs": ["*"]},
    ]);
    let lab_kubeconfig = cluster.kubeconfig_of("robot", everything).await;
    let lab = context.up_with_kubeconfig(&lab_kubeconfig).ready().await;
    ns.create_queues("lq", 4, json!({})).await;
    for name in ["one", "two"] {
        ns.job(name, "lq", 4, 100_000).await;
    }
    context.wait_for_admitted(1).await;
    let accounts: Api<ServiceAccount> = Api::namespaced(cluster.client(), "default");
    let params = DeleteParams::default();
    accounts.delete("robot", &params).await.unwrap();
    let account = json!({"metadata": {"name": "robot"}});
    let account = serde_json::from_value(account).unwrap();
    let params = PostParams::default();
    accounts.create(&params, &account).await.unwrap();
    // Open watches continue; a new connection has to authenticate.
    cluster.proxy.drop_connections();
    cluster.proxy.resume();
    ns.job("three", "lq", 4, 100_000).await;
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
        context.wait_for_admitted(1).await;
        let jobs = ns.list(JOB).await;
        let running = jobs.iter().find(|job| job["spec"]["suspend"] == false);
        ns.delete(JOB, crate::objects::name(running.unwrap())).await;
    }
    context.wait_for_admitted(1).await;
    ns.assert_consistent().await;
    let expected = "the cluster rejected the credentials; refreshed";
    assert!(lab.log().contains(expected));
    assert_eq!(lab.stop().await, Some(0));
}

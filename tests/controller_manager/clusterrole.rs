//! Aggregated ClusterRoles.

use serde_json::{Value, json};

use super::cluster_fixture::*;

const ROLES: &str = "/apis/rbac.authorization.k8s.io/v1/clusterroles";

fn role(name: &str, labels: Value, resource: &str) -> Value {
    json!({
        "metadata": {"name": name, "labels": labels},
        "rules": [{"apiGroups": [""], "resources": [resource], "verbs": ["get"]}],
    })
}

/// The resources of all rules.
fn resources(role: &Value) -> Vec<String> {
    let rules = role["rules"].as_array().into_iter().flatten();
    let all = rules.flat_map(|rule| rule["resources"].as_array().into_iter().flatten());
    all.map(|r| r.as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_role_has_the_rules_of_the_roles_it_selects() {
    with_cluster(|cluster| async move {
        let read = |name: &'static str| cluster.send("GET", name, Value::Null);
        let wait = async |resource: &[&str]| {
            cluster
                .wait_for(&format!("rules of {resource:?}"), || async {
                    let found = read("/apis/rbac.authorization.k8s.io/v1/clusterroles/all");
                    (resources(&found.await.unwrap()) == resource).then_some(())
                })
                .await;
        };
        cluster
            .create(ROLES, role("b", json!({"to": "all"}), "pods"))
            .await;
        let selectors = json!([{"matchLabels": {"to": "all"}}, {"matchLabels": {"to": "more"}}]);
        let all = json!({
            "metadata": {"name": "all", "labels": {"to": "all"}},
            "aggregationRule": {"clusterRoleSelectors": selectors},
            "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}],
        });
        cluster.create(ROLES, all).await;
        wait(&["pods"]).await;
        cluster
            .create(ROLES, role("a", json!({"to": "all"}), "nodes"))
            .await;
        cluster
            .create(ROLES, role("c", json!({"to": "more"}), "pods"))
            .await;
        cluster
            .create(ROLES, role("d", json!({"to": "other"}), "events"))
            .await;
        wait(&["nodes", "pods"]).await;
        let b = format!("{ROLES}/b");
        cluster
            .patch(&b, json!({"metadata": {"labels": {"to": "none"}}}))
            .await;
        wait(&["nodes", "pods"]).await;
        let c = format!("{ROLES}/c");
        cluster.send("DELETE", &c, Value::Null).await.unwrap();
        wait(&["nodes"]).await;
    });
}

//! RBAC decisions and their reasons, escalation, impersonation, and tokens of service accounts.

use kube::Client;
use serde_json::{Value, json};

use super::server_fixture::*;

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
const TOKEN: &str = "/api/v1/namespaces/test/serviceaccounts/default/token";

impl Served {
    /// A client with a token of the service account `test/default`.
    async fn account(&self, request: Value) -> Client {
        let token = send(&self.admin, "POST", TOKEN, request).await.unwrap();
        let config = self.config(token["status"]["token"].as_str()).await;
        Client::try_from(config).unwrap()
    }

    /// Creates a ClusterRole and binds it to the service account `test/default`.
    async fn grant_account(&self, name: &str, rules: Value) {
        let subject = json!({"kind": "ServiceAccount", "name": "default", "namespace": "test"});
        self.grant(name, rules, subject).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn roles_and_bindings_grant_only_rules_that_the_author_holds() {
    let served = serve().await;
    let rules = json!([{
        "apiGroups": ["rbac.authorization.k8s.io"],
        "resources": ["clusterroles", "clusterrolebindings"],
        "verbs": ["create"],
    }, {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]);
    served.grant_account("author", rules).await;
    let account = served.account(json!({})).await;
    let roles = format!("{RBAC}/clusterroles");
    let role = |name: &str, verbs: Value| {
        json!({
            "metadata": {"name": name},
            "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": verbs}],
        })
    };
    let held = role("held", json!(["get"]));
    send(&account, "POST", &roles, held).await.unwrap();
    let more = role("more", json!(["get", "delete"]));
    let status = error_status(send(&account, "POST", &roles, more).await);
    assert_eq!(
        (status.code, status.message.as_str()),
        (
            403,
            "clusterroles.rbac.authorization.k8s.io \"more\" is forbidden: user \"system:serviceaccount:test:default\" (groups=[\"system:serviceaccounts\" \"system:serviceaccounts:test\" \"system:authenticated\"]) is attempting to grant RBAC permissions not currently held:\n{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"delete\"]}"
        )
    );
    let binding = |role: &str| {
        json!({
            "metadata": {"name": "b"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": "test"}],
        })
    };
    let bindings = format!("{RBAC}/clusterrolebindings");
    let refused = send(&account, "POST", &bindings, binding("cluster-admin")).await;
    assert_eq!(error_status(refused).code, 403);
    // `bind` allows a binding, `escalate` a role.
    let rules = json!([{
        "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["clusterroles"],
        "resourceNames": ["cluster-admin"], "verbs": ["bind"],
    }]);
    served.grant_account("binder", rules).await;
    send(&account, "POST", &bindings, binding("cluster-admin"))
        .await
        .unwrap();
}

#[test]
fn access_reviews_name_the_binding() {
    with_server(|_, client| async move {
        let binding = json!({
            "metadata": {"name": "viewers"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
            "subjects": [{"kind": "User", "name": "bob"}],
        });
        let path = format!("{RBAC}/namespaces/test/rolebindings");
        send(&client, "POST", &path, binding).await.unwrap();
        let review = |namespace: &str| {
            json!({"spec": {"user": "bob", "resourceAttributes": {
                "verb": "list", "resource": "pods", "namespace": namespace,
            }}})
        };
        let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
        let answer = send(&client, "POST", path, review("test")).await.unwrap();
        assert_eq!(
            answer["status"],
            json!({
                "allowed": true,
                "reason": "RBAC: allowed by RoleBinding \"viewers/test\" of ClusterRole \"view\" to User \"bob\"",
            })
        );
        let answer = send(&client, "POST", path, review("other")).await.unwrap();
        assert_eq!(answer["status"], json!({"allowed": false}));
        let empty = send(&client, "POST", path, json!({"spec": {}})).await;
        let status = error_status(empty);
        assert_eq!(status.code, 422);
        let message =
            "exactly one of nonResourceAttributes or resourceAttributes must be specified";
        assert!(status.message.contains(message), "{status:?}");
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn impersonation_is_authorized_by_its_verb() {
    let served = serve().await;
    let rules = json!([
        {"apiGroups": [""], "resources": ["users"], "resourceNames": ["bob"], "verbs": ["impersonate"]},
    ]);
    served.grant_account("impersonator", rules).await;
    let token = send(&served.admin, "POST", TOKEN, json!({})).await.unwrap();
    let mut config = served.config(token["status"]["token"].as_str()).await;
    config.auth_info.impersonate = Some("bob".into());
    let bob = Client::try_from(config.clone()).unwrap();
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    // Without a role of its own `bob` may review itself only.
    let rules = json!([
        {"apiGroups": ["authentication.k8s.io"], "resources": ["selfsubjectreviews"], "verbs": ["create"]},
    ]);
    let everyone = json!({
        "kind": "Group", "name": "system:authenticated", "apiGroup": "rbac.authorization.k8s.io",
    });
    served.grant("reviewers", rules, everyone).await;
    let review = send(&bob, "POST", path, json!({})).await.unwrap();
    assert_eq!(review["status"]["userInfo"]["username"], "bob");
    config.auth_info.impersonate_groups = Some(vec!["admins".into()]);
    let admins = Client::try_from(config).unwrap();
    let status = error_status(send(&admins, "POST", path, json!({})).await);
    let message = "cannot impersonate resource \"groups\" in API group \"\" at the cluster scope";
    assert!(status.message.contains(message), "{status:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_ends_with_its_pod_and_is_for_its_audience() {
    let served = serve().await;
    let review = "/apis/authentication.k8s.io/v1/tokenreviews";
    let whoami = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let bound = |name: &str| json!({"spec": {"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": name}}});
    let missing = send(&served.admin, "POST", TOKEN, bound("gone")).await;
    let status = error_status(missing);
    assert_eq!(
        (status.code, status.message.as_str()),
        (404, "pods \"gone\" not found")
    );
    let pods = "/api/v1/namespaces/test/pods";
    send(&served.admin, "POST", pods, pod("p")).await.unwrap();
    let account = served.account(bound("p")).await;
    let user = send(&account, "POST", whoami, json!({})).await.unwrap();
    let extra = &user["status"]["userInfo"]["extra"];
    assert_eq!(extra["authentication.kubernetes.io/pod-name"], json!(["p"]));
    let id = &extra["authentication.kubernetes.io/credential-id"][0];
    assert!(id.as_str().unwrap().starts_with("JTI="));
    let delete = json!({"gracePeriodSeconds": 0});
    let path = format!("{pods}/p");
    send(&served.admin, "DELETE", &path, delete).await.unwrap();
    let refused = send(&account, "POST", whoami, json!({})).await;
    assert_eq!(error_status(refused).code, 401);

    let other = json!({"spec": {"audiences": ["vault"]}});
    let token = send(&served.admin, "POST", TOKEN, other.clone())
        .await
        .unwrap();
    let account = served.account(other).await;
    let refused = send(&account, "POST", whoami, json!({})).await;
    assert_eq!(error_status(refused).code, 401);
    let token = token["status"]["token"].clone();
    let asked = json!({"spec": {"token": token, "audiences": ["vault", "other"]}});
    let answer = send(&served.admin, "POST", review, asked).await.unwrap();
    assert_eq!(answer["status"]["authenticated"], true);
    assert_eq!(answer["status"]["audiences"], json!(["vault"]));
    let asked = json!({"spec": {"token": token}});
    let answer = send(&served.admin, "POST", review, asked).await.unwrap();
    assert_eq!(answer["status"].get("authenticated"), Some(&json!(false)));
}

#[tokio::test]
async fn a_field_selector_of_a_name_is_authorized_as_that_name() {
    let served = serve().await;
    let account = served.account(json!({})).await;
    for name in ["mine", "other"] {
        let map = json!({"metadata": {"name": name}});
        let path = "/api/v1/namespaces/test/configmaps";
        send(&served.admin, "POST", path, map).await.unwrap();
    }
    let rules = json!([{
        "apiGroups": [""],
        "resources": ["configmaps"],
        "resourceNames": ["mine"],
        "verbs": ["get", "list", "watch", "deletecollection"],
    }]);
    served.grant_account("mine", rules).await;
    let maps = "/api/v1/namespaces/test/configmaps";
    let selected = format!("{maps}?fieldSelector=metadata.name%3Dmine");
    let list = get(&account, &selected).await.unwrap();
    assert_eq!(list["items"][0]["metadata"]["name"], "mine");
    for selector in [
        "",
        "?fieldSelector=metadata.name%3Dother",
        "?fieldSelector=metadata.name!%3Dmine",
    ] {
        let refused = error_status(get(&account, &format!("{maps}{selector}")).await);
        assert_eq!(refused.code, 403, "{selector}");
    }
    send(&account, "DELETE", &selected, Value::Null)
        .await
        .unwrap();
    let left = get(&served.admin, maps).await.unwrap();
    let names = left["items"].as_array().unwrap().iter();
    let names: Vec<_> = names
        .map(|item| item["metadata"]["name"].as_str())
        .collect();
    assert_eq!(names, [Some("other")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn policies_check_the_permissions_of_the_user() {
    const ADMISSION: &str = "/apis/admissionregistration.k8s.io/v1";
    const MAPS: &str = "/api/v1/namespaces/test/configmaps";
    let served = serve().await;
    let rules = json!([
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create", "delete"]},
        {"apiGroups": ["queues.dev"], "resources": ["queues"], "verbs": ["use"],
         "resourceNames": ["fast"]},
    ]);
    served.grant_account("writer", rules).await;
    let policy = json!({"metadata": {"name": "queues"}, "spec": {
        "matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"],
            "operations": ["CREATE"], "resources": ["configmaps"]}]},
        "matchConditions": [{"name": "people", "expression":
            "!authorizer.group('admin.dev').resource('everything').check('use').allowed()"}],
        "variables": [{"name": "queue", "expression":
            "authorizer.group('queues.dev').resource('queues').name(object.data.queue).check('use')"}],
        "validations": [
            {"expression": "authorizer.requestResource.check('delete').allowed()"},
            {"expression": "variables.queue.allowed()", "message": "the queue is not yours"},
            {"expression": "variables.queue.reason().contains('writer')"},
            {"expression":
                "!authorizer.serviceAccount('test', 'other').path('/metrics').check('get').allowed()"},
        ],
    }});
    let path = format!("{ADMISSION}/validatingadmissionpolicies");
    send(&served.admin, "POST", &path, policy).await.unwrap();
    let binding = json!({"metadata": {"name": "queues"},
        "spec": {"policyName": "queues", "validationActions": ["Deny"]}});
    let path = format!("{ADMISSION}/validatingadmissionpolicybindings");
    send(&served.admin, "POST", &path, binding).await.unwrap();
    let account = served.account(json!({})).await;
    let map =
        |name: &str, queue: &str| json!({"metadata": {"name": name}, "data": {"queue": queue}});
    send(&account, "POST", MAPS, map("a", "fast"))
        .await
        .unwrap();
    let refused = error_status(send(&account, "POST", MAPS, map("b", "slow")).await);
    let message = &refused.message;
    assert!(
        message.ends_with("denied request: the queue is not yours"),
        "{message}"
    );
    // The administrator does not meet the match condition.
    send(&served.admin, "POST", MAPS, map("c", "slow"))
        .await
        .unwrap();
}

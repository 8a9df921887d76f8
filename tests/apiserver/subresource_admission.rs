//! Admission of the subresources binding, eviction, scale and exec: policies see the object of the
//! subresource.

use kube::Client;
use serde_json::{Value, json};

use super::server_fixture::*;

const ADMISSION: &str = "/apis/admissionregistration.k8s.io/v1";
const PODS: &str = "/api/v1/namespaces/test/pods";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/test/deployments";

/// Denies requests to a subresource for which the expression is false.
async fn deny_unless(client: &Client, group: &str, operation: &str, resource: &str, cel: &str) {
    let policy = json!({"metadata": {"name": "p"}, "spec": {
        "matchConstraints": {"resourceRules": [{
            "apiGroups": [group], "apiVersions": ["v1"], "operations": [operation],
            "resources": [resource],
        }]},
        "validations": [{"expression": cel, "message": "no"}],
    }});
    let path = format!("{ADMISSION}/validatingadmissionpolicies");
    send(client, "POST", &path, policy).await.unwrap();
    let binding = json!({"metadata": {"name": "b"},
        "spec": {"policyName": "p", "validationActions": ["Deny"]}});
    let path = format!("{ADMISSION}/validatingadmissionpolicybindings");
    send(client, "POST", &path, binding).await.unwrap();
}

const DENIED: &str = "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no";

#[test]
fn a_binding_is_admitted_as_a_binding() {
    with_server(|_, client| async move {
        let cel = "request.kind.kind == 'Binding' && request.subResource == 'binding' && \
                   request.name == 'p' && object.target.name != 'reserved'";
        deny_unless(&client, "", "CREATE", "pods/binding", cel).await;
        send(&client, "POST", PODS, pod("p")).await.unwrap();
        let bind = |node: &str| {
            let body = json!({"metadata": {"name": "p"}, "target": {"kind": "Node", "name": node}});
            let client = client.clone();
            async move { send(&client, "POST", &format!("{PODS}/p/binding"), body).await }
        };
        let denied = error_status(bind("reserved").await);
        assert_eq!(denied.message, format!("pods \"p\" is forbidden: {DENIED}"));
        let free = get(&client, &format!("{PODS}/p")).await.unwrap();
        assert!(free["spec"].get("nodeName").is_none());
        bind("n").await.unwrap();
    });
}

#[test]
fn an_eviction_is_admitted_as_an_eviction_and_not_as_a_deletion() {
    with_server(|_, client| async move {
        // `pods/*` also matches pods themselves, so a DELETE would be denied.
        let cel = "request.operation == 'CREATE' && (!has(request.subResource) || \
                   (request.kind.group == 'policy' && object.metadata.name != 'keep'))";
        deny_unless(&client, "", "*", "pods/*", cel).await;
        for name in ["keep", "go"] {
            send(&client, "POST", PODS, pod(name)).await.unwrap();
        }
        let evict = |name: &str| {
            let (client, path) = (client.clone(), format!("{PODS}/{name}/eviction"));
            let body = json!({"metadata": {"name": name}});
            async move { send(&client, "POST", &path, body).await }
        };
        let denied = error_status(evict("keep").await);
        assert!(denied.message.ends_with(DENIED), "{}", denied.message);
        get(&client, &format!("{PODS}/keep")).await.unwrap();
        evict("go").await.unwrap();
        assert_eq!(
            error_status(get(&client, &format!("{PODS}/go")).await).code,
            404
        );
    });
}

#[test]
fn a_scale_is_admitted_as_a_scale() {
    with_server(|_, client| async move {
        let cel = "request.kind.kind == 'Scale' && request.kind.group == 'autoscaling' && \
                   request.resource.group == 'apps' && \
                   object.spec.replicas <= oldObject.spec.replicas + 2";
        deny_unless(&client, "apps", "UPDATE", "deployments/scale", cel).await;
        let deployment = json!({"metadata": {"name": "d"}, "spec": {
            "replicas": 1, "selector": {"matchLabels": {"app": "d"}},
            "template": {"metadata": {"labels": {"app": "d"}},
                "spec": {"containers": [{"name": "c", "image": "i"}]}},
        }});
        send(&client, "POST", DEPLOYMENTS, deployment)
            .await
            .unwrap();
        let path = format!("{DEPLOYMENTS}/d/scale");
        let scaled = |replicas: i64| json!({"spec": {"replicas": replicas}});
        let denied: Value =
            serde_json::to_value(error_status(merge_patch(&client, &path, scaled(9)).await))
                .unwrap();
        assert_eq!(
            denied["message"],
            format!("deployments.apps \"d\" is forbidden: {DENIED}")
        );
        let scale = merge_patch(&client, &path, scaled(3)).await.unwrap();
        assert_eq!(scale["spec"]["replicas"], 3);
        // The main resource does not match.
        let path = format!("{DEPLOYMENTS}/d");
        merge_patch(&client, &path, scaled(9)).await.unwrap();
    });
}

#[test]
fn a_connection_is_admitted_with_its_options() {
    with_server(|_, client| async move {
        let cel = "request.kind.kind == 'PodExecOptions' && request.subResource == 'exec' && \
                   object.stdout && object.command != ['rm', '-r']";
        deny_unless(&client, "", "CONNECT", "pods/exec", cel).await;
        send(&client, "POST", PODS, pod("p")).await.unwrap();
        let exec = |command: &str| {
            let path = format!("{PODS}/p/exec?{command}");
            let client = client.clone();
            async move { error_status(get(&client, &path).await).message }
        };
        let denied = exec("command=rm&command=-r").await;
        assert_eq!(denied, format!("pods \"p\" is forbidden: {DENIED}"));
        let admitted = exec("command=ls").await;
        assert_eq!(admitted, "pod p does not have a host assigned");
    });
}

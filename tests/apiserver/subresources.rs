//! Subresources: status, scale, binding, eviction, logs, tokens.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::StreamExt;
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_apiserver::plugins::{KubeletClient, LogStream, PodLogRequest};
use serde_json::{Value, json};

use super::server_fixture::*;

const PODS: &str = "/api/v1/namespaces/test/pods";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/test/deployments";

fn deployment(replicas: i64) -> Value {
    json!({
        "metadata": {"name": "d"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "d"}},
            "template": {
                "metadata": {"labels": {"app": "d"}},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            },
        },
    })
}

#[test]
fn status_and_spec_are_updated_separately() {
    with_server(|_, client| async move {
        let mut body = deployment(1);
        body["status"] = json!({"replicas": 9});
        let made = send(&client, "POST", DEPLOYMENTS, body).await.unwrap();
        assert!(made["status"].get("replicas").is_none());
        assert_eq!(made["metadata"]["generation"], 1);
        let path = format!("{DEPLOYMENTS}/d");
        let both = json!({"spec": {"replicas": 2}, "status": {"replicas": 5}});
        let main = merge_patch(&client, &path, both.clone()).await.unwrap();
        assert_eq!(
            (&main["spec"]["replicas"], main["status"].get("replicas")),
            (&json!(2), None)
        );
        assert_eq!(main["metadata"]["generation"], 2);
        let status = merge_patch(&client, &format!("{path}/status"), both)
            .await
            .unwrap();
        assert_eq!(
            (&status["spec"]["replicas"], &status["status"]["replicas"]),
            (&json!(2), &json!(5))
        );
        assert_eq!(status["metadata"]["generation"], 2);
        let missing = error_status(
            merge_patch(
                &client,
                "/api/v1/namespaces/test/configmaps/x/status",
                json!({}),
            )
            .await,
        );
        assert_eq!(missing.code, 404);
    });
}

#[test]
fn a_scale_to_the_present_replicas_separates_their_managed_field() {
    with_server(|_, client| async move {
        let created = send(&client, "POST", DEPLOYMENTS, deployment(2))
            .await
            .unwrap();
        let path = format!("{DEPLOYMENTS}/d/scale");
        let same = json!({"spec": {"replicas": 2}});
        let scale = merge_patch(&client, &path, same).await.unwrap();
        // The object is written, although the replicas are the same.
        let version = &scale["metadata"]["resourceVersion"];
        assert_ne!(version, &created["metadata"]["resourceVersion"]);
        let object = get(&client, &format!("{DEPLOYMENTS}/d")).await.unwrap();
        let entries = object["metadata"]["managedFields"].as_array().unwrap();
        let replicas = json!({"f:spec": {"f:replicas": {}}});
        assert_eq!(entries[0]["fieldsV1"], replicas);
        assert_eq!(entries[0].get("time"), None);
        assert_eq!(entries[1]["manager"], entries[0]["manager"]);
        assert_eq!(entries[1]["fieldsV1"]["f:spec"].get("f:replicas"), None);
    });
}

#[test]
fn scale_gets_and_updates_replicas() {
    with_server(|_, client| async move {
        send(&client, "POST", DEPLOYMENTS, deployment(2))
            .await
            .unwrap();
        let path = format!("{DEPLOYMENTS}/d/scale");
        let scale = get(&client, &path).await.unwrap();
        assert_eq!(
            (&scale["kind"], &scale["apiVersion"]),
            (&json!("Scale"), &json!("autoscaling/v1"))
        );
        assert_eq!(scale["status"]["selector"], "app=d");
        let scale = merge_patch(&client, &path, json!({"spec": {"replicas": 4}}))
            .await
            .unwrap();
        assert_eq!(scale["spec"]["replicas"], 4);
        let whole = get(&client, &format!("{DEPLOYMENTS}/d")).await.unwrap();
        assert_eq!(whole["spec"]["replicas"], 4);
        let owner = whole["metadata"]["managedFields"].as_array().unwrap();
        assert!(
            owner.iter().any(|o| o["subresource"] == "scale"),
            "{owner:?}"
        );
        let body =
            json!({"metadata": {"name": "d", "resourceVersion": "1"}, "spec": {"replicas": 1}});
        assert_eq!(
            error_status(send(&client, "PUT", &path, body).await).code,
            409
        );
        let negative =
            error_status(merge_patch(&client, &path, json!({"spec": {"replicas": -1}})).await);
        assert_eq!(
            negative.message,
            "Scale.autoscaling \"d\" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0"
        );
    });
}

fn binding(node: &str) -> Value {
    json!({"metadata": {"name": "p"}, "target": {"kind": "Node", "name": node}})
}

#[test]
fn a_pod_is_bound_once() {
    with_server(|_, client| async move {
        let zone = "topology.kubernetes.io/zone";
        let node = json!({"metadata": {"name": "n", "labels": {zone: "z1"}}});
        send(&client, "POST", "/api/v1/nodes", node).await.unwrap();
        send(&client, "POST", PODS, pod("p")).await.unwrap();
        let path = format!("{PODS}/p/binding");
        send(&client, "POST", &path, binding("n")).await.unwrap();
        let bound = get(&client, &format!("{PODS}/p")).await.unwrap();
        assert_eq!(bound["spec"]["nodeName"], "n");
        assert_eq!(bound["metadata"]["labels"][zone], "z1");
        let conditions = bound["status"]["conditions"].as_array().unwrap();
        assert!(
            conditions
                .iter()
                .any(|c| c["type"] == "PodScheduled" && c["status"] == "True")
        );
        let again = error_status(send(&client, "POST", &path, binding("m")).await);
        assert_eq!(
            again.message,
            "Operation cannot be fulfilled on pods/binding \"p\": pod p is already assigned to node \"n\""
        );
    });
}

#[test]
fn a_gated_pod_is_not_bound() {
    with_server(|_, client| async move {
        let mut body = pod("p");
        body["spec"]["schedulingGates"] = json!([{"name": "x.io/gate"}]);
        send(&client, "POST", PODS, body).await.unwrap();
        let rejected =
            error_status(send(&client, "POST", &format!("{PODS}/p/binding"), binding("n")).await);
        assert!(
            rejected.message.contains("non-empty .spec.schedulingGates"),
            "{rejected:?}"
        );
    });
}

#[test]
fn eviction_respects_the_disruption_budget() {
    with_server(|_, client| async move {
        send(&client, "POST", PODS, pod("p")).await.unwrap();
        let running = json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}});
        merge_patch(&client, &format!("{PODS}/p/status"), running)
            .await
            .unwrap();
        let budgets = "/apis/policy/v1/namespaces/test/poddisruptionbudgets";
        let budget = json!({
            "metadata": {"name": "b"},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "p"}}},
        });
        send(&client, "POST", budgets, budget).await.unwrap();
        let status = |allowed: i64| {
            json!({"status": {
                "observedGeneration": 1, "disruptionsAllowed": allowed, "currentHealthy": 1,
                "desiredHealthy": 1, "expectedPods": 1,
            }})
        };
        merge_patch(&client, &format!("{budgets}/b/status"), status(0))
            .await
            .unwrap();
        let path = format!("{PODS}/p/eviction");
        let eviction = json!({"metadata": {"name": "p"}});
        let blocked = error_status(send(&client, "POST", &path, eviction.clone()).await);
        assert_eq!(
            (blocked.code, blocked.reason.as_str()),
            (429, "TooManyRequests")
        );
        let cause = &blocked.details.unwrap().causes[0];
        assert_eq!(
            cause.message,
            "The disruption budget b needs 1 healthy pods and has 1 currently"
        );
        merge_patch(&client, &format!("{budgets}/b/status"), status(1))
            .await
            .unwrap();
        let dry = format!("{path}?dryRun=All");
        send(&client, "POST", &dry, eviction.clone()).await.unwrap();
        send(&client, "POST", &path, eviction).await.unwrap();
        assert_eq!(
            error_status(get(&client, &format!("{PODS}/p")).await).code,
            404
        );
        let budget = get(&client, &format!("{budgets}/b")).await.unwrap();
        assert_eq!(budget["status"]["disruptionsAllowed"], 0);
        assert!(budget["status"]["disruptedPods"]["p"].is_string());
    });
}

struct FakeKubelet;

#[async_trait]
impl KubeletClient for FakeKubelet {
    async fn logs(&self, request: PodLogRequest) -> Result<LogStream, ApiError> {
        let line = format!(
            "{} {} {:?}\n",
            request.pod, request.container, request.options.tail_lines
        );
        Ok(futures::stream::iter([Bytes::from(line)]).boxed())
    }
}

#[test]
fn logs_come_from_the_kubelet_of_a_bound_pod() {
    with_server(|server, client| async move {
        send(&client, "POST", PODS, pod("p")).await.unwrap();
        let logs = |query: &str| {
            let path = format!("{PODS}/p/log?{query}");
            let client = client.clone();
            async move {
                client
                    .request_text(http::Request::get(path).body(Vec::new()).unwrap())
                    .await
            }
        };
        assert_eq!(logs("").await.unwrap(), "", "the pod is not bound");
        server.set_kubelet(Arc::new(FakeKubelet));
        send(&client, "POST", &format!("{PODS}/p/binding"), binding("n"))
            .await
            .unwrap();
        assert_eq!(logs("tailLines=3").await.unwrap(), "p c Some(3)\n");
        assert_eq!(error_status(logs("tailLines=-1").await).code, 422);
        let other = error_status(logs("container=x").await);
        assert_eq!(other.message, "container x is not valid for pod p");
    });
}

#[test]
fn logs_of_several_containers_require_a_name() {
    with_server(|_, client| async move {
        let mut body = pod("p");
        body["spec"]["containers"] =
            json!([{"name": "a", "image": "i"}, {"name": "b", "image": "i"}]);
        body["spec"]["initContainers"] = json!([{"name": "i", "image": "i"}]);
        send(&client, "POST", PODS, body).await.unwrap();
        let rejected = error_status(get(&client, &format!("{PODS}/p/log")).await);
        assert_eq!(
            rejected.message,
            "a container name must be specified for pod p, choose one of: [a b] or one of the init containers: [i]"
        );
        let exec =
            error_status(get(&client, &format!("{PODS}/p/exec?command=ls&container=a")).await);
        assert_eq!(exec.message, "pod p does not have a host assigned");
    });
}

#[test]
fn tokens_require_an_existing_account_and_ten_minutes() {
    with_server(|_, client| async move {
        let path = "/api/v1/namespaces/test/serviceaccounts/default/token";
        let made = send(&client, "POST", path, json!({"spec": {"audiences": []}}))
            .await
            .unwrap();
        assert_eq!(
            made["status"]["token"].as_str().unwrap().split('.').count(),
            3
        );
        assert_eq!(
            made["status"]["expirationTimestamp"],
            "2026-03-02T13:00:00Z"
        );
        let short = json!({"spec": {"expirationSeconds": 60}});
        assert_eq!(
            error_status(send(&client, "POST", path, short).await).code,
            422
        );
        let unknown = path.replace("default", "unknown");
        assert_eq!(
            error_status(send(&client, "POST", &unknown, json!({})).await).code,
            404
        );

        let review = json!({"spec": {"token": made["status"]["token"]}});
        let path = "/apis/authentication.k8s.io/v1/tokenreviews";
        let review = send(&client, "POST", path, review).await.unwrap();
        assert_eq!(review["status"]["authenticated"], true);
        assert_eq!(
            review["status"]["user"]["username"],
            "system:serviceaccount:test:default"
        );
    });
}

//! PodSecurity: namespaces with its labels, their pods, and objects with pod templates.

use http::Request;
use kube::Client;
use serde_json::{Value, json};

use super::server_fixture::*;

const PODS: &str = "/api/v1/namespaces/test/pods";

/// Sends JSON; returns the code of the response, its message, and its warnings.
async fn send_for_warnings(
    client: &Client,
    method: &str,
    path: &str,
    body: &Value,
) -> (u16, String, Vec<String>) {
    let media_type = match method {
        "PATCH" => "application/merge-patch+json",
        _ => "application/json",
    };
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", media_type)
        .body(body.to_string().into_bytes().into())
        .unwrap();
    let response = client.send(request).await.unwrap();
    let warnings = response.headers().get_all("warning").iter();
    let warnings = warnings.map(|warning| {
        let text = warning.to_str().unwrap();
        let text = text.strip_prefix("299 - ").unwrap();
        serde_json::from_str(text).unwrap()
    });
    let warnings = warnings.collect();
    let code = response.status().as_u16();
    let body = response.into_body().collect_bytes().await.unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap();
    let message = body["message"].as_str().unwrap_or_default().to_owned();
    (code, message, warnings)
}

fn privileged_pod(name: &str) -> Value {
    let mut pod = pod(name);
    pod["spec"]["containers"][0]["securityContext"] = json!({"privileged": true});
    pod
}

const PRIVILEGED: &str =
    "privileged (container \"c\" must not set securityContext.privileged=true)";

#[test]
fn labels_of_a_namespace_are_enforced() {
    with_server(|_, client| async move {
        let none: [String; 0] = [];
        let create = async |pod: Value| send_for_warnings(&client, "POST", PODS, &pod).await;
        // Without labels everything is allowed.
        let (code, _, warnings) = create(privileged_pod("first")).await;
        assert_eq!((code, warnings.as_slice()), (201, none.as_slice()));

        let namespace = "/api/v1/namespaces/test";
        let label = async |labels: Value| {
            let labels: serde_json::Map<String, Value> = labels
                .as_object()
                .unwrap()
                .iter()
                .map(|(name, value)| (format!("pod-security.kubernetes.io/{name}"), value.clone()))
                .collect();
            let patch = json!({"metadata": {"labels": labels}});
            send_for_warnings(&client, "PATCH", namespace, &patch).await
        };
        let (code, message, _) = label(json!({"enforce": "strict"})).await;
        assert_eq!(code, 422);
        assert_eq!(
            message,
            "Namespace \"test\" is invalid: metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: \"strict\": must be one of privileged, baseline, restricted"
        );
        let (code, _, warnings) = label(json!({"enforce": "baseline"})).await;
        assert_eq!(code, 200);
        assert_eq!(
            warnings,
            [
                "existing pods in namespace \"test\" violate the new PodSecurity enforce level \"baseline:latest\"",
                "first: privileged",
            ]
        );
        let (code, message, _) = create(privileged_pod("second")).await;
        assert_eq!(code, 403);
        assert_eq!(
            message,
            format!(
                "pods \"second\" is forbidden: violates PodSecurity \"baseline:latest\": {PRIVILEGED}"
            )
        );
        let (code, _, warnings) = create(pod("plain")).await;
        assert_eq!((code, warnings.as_slice()), (201, none.as_slice()));
        // A pod that is there may be labeled, and get a status.
        let patch = json!({"metadata": {"labels": {"a": "b"}}});
        let first = format!("{PODS}/first");
        let (code, ..) = send_for_warnings(&client, "PATCH", &first, &patch).await;
        assert_eq!(code, 200);

        // Pod templates are warned of, and not rejected.
        let job = json!({
            "metadata": {"name": "job"},
            "spec": {"template": {"spec": {
                "restartPolicy": "Never",
                "containers": [{"name": "c", "image": "i", "securityContext": {"privileged": true}}],
            }}},
        });
        let jobs = "/apis/batch/v1/namespaces/test/jobs";
        let (code, _, warnings) = send_for_warnings(&client, "POST", jobs, &job).await;
        assert_eq!(code, 201);
        let warning = format!("would violate PodSecurity \"baseline:latest\": {PRIVILEGED}");
        assert_eq!(warnings, [warning]);

        let (code, _, warnings) =
            label(json!({"enforce": "privileged", "warn": "restricted", "warn-version": "v1.7"}))
                .await;
        assert_eq!((code, warnings.as_slice()), (200, none.as_slice()));
        let (code, _, warnings) = create(pod("warned")).await;
        assert_eq!(code, 201);
        assert_eq!(
            warnings,
            [
                "would violate PodSecurity \"restricted:v1.7\": runAsNonRoot != true (pod or container \"c\" must set securityContext.runAsNonRoot=true)"
            ]
        );
    });
}

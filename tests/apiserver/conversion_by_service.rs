//! Conversion webhooks of CustomResourceDefinitions, behind a Service.

use kueue_lab_apiserver::ApiServer;
use kueue_lab_clock::Clock;
use kueue_lab_clock::Entropy;
use serde_json::{Value, json};

use super::server_fixture::*;
use super::tls_server;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// Converts every object: `spec.size` in v1 is `spec.amount` in v2.
fn convert(review: &Value) -> Value {
    let request = &review["request"];
    let version = &request["desiredAPIVersion"];
    let objects = request["objects"].as_array().unwrap().iter();
    let converted: Vec<Value> = objects
        .map(|object| {
            let mut object = object.clone();
            object["apiVersion"] = version.clone();
            let (from, to) = match version.as_str().unwrap() {
                "example.com/v1" => ("amount", "size"),
                _ => ("size", "amount"),
            };
            let value = object["spec"].as_object_mut().unwrap().remove(from);
            object["spec"][to] = value.unwrap();
            object
        })
        .collect();
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "ConversionReview",
        "response": {
            "uid": request["uid"],
            "result": {"status": "Success"},
            "convertedObjects": converted,
        },
    })
}

fn definition(bundle: &str) -> Value {
    let version = |name: &str, field: &str, storage: bool| {
        let spec = json!({"type": "object", "properties": {field: {"type": "integer"}}});
        json!({
            "name": name,
            "served": true,
            "storage": storage,
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
        })
    };
    json!({
        "metadata": {"name": "boxes.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"plural": "boxes", "singular": "box", "kind": "Box", "listKind": "BoxList"},
            "scope": "Cluster",
            "versions": [version("v1", "size", false), version("v2", "amount", true)],
            "conversion": {"strategy": "Webhook", "webhook": {
                "conversionReviewVersions": ["v1"],
                "clientConfig": {
                    "service": {"namespace": "test", "name": "boxes", "path": "/convert"},
                    "caBundle": bundle,
                },
            }},
        },
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn versions_are_converted_at_the_endpoint_of_the_service() {
    let client = ApiServer::builder(Clock::real(), Entropy::seeded(1))
        .build()
        .client();
    namespace(&client, "test").await;
    let webhook = tls_server::start("boxes.test.svc", None, |request| {
        let review = serde_json::from_slice(&request.body).unwrap();
        tls_server::json_response(&convert(&review))
    });
    let webhook = webhook.await;
    let crd = definition(&webhook.bundle);
    send(&client, "POST", DEFINITIONS, crd).await.unwrap();
    let service = json!({"metadata": {"name": "boxes"}, "spec": {"ports": [{"port": 443}]}});
    let services = "/api/v1/namespaces/test/services";
    send(&client, "POST", services, service).await.unwrap();
    let object = |version: &str, field: &str| {
        json!({
            "apiVersion": format!("example.com/{version}"),
            "kind": "Box",
            "metadata": {"name": "a"},
            "spec": {field: 3},
        })
    };
    let boxes = "/apis/example.com/v1/boxes";
    let failed = send(&client, "POST", boxes, object("v1", "size")).await;
    assert_eq!(
        error_status(failed).message,
        "conversion webhook for example.com/v1, Kind=Box failed: Post \"https://boxes.test.svc:443/convert?timeout=30s\": no endpoints available for service \"boxes\""
    );
    let slice = json!({
        "metadata": {"name": "boxes", "labels": {"kubernetes.io/service-name": "boxes"}},
        "addressType": "IPv4",
        "ports": [{"name": "", "port": webhook.port}],
        "endpoints": [{"addresses": ["127.0.0.1"]}],
    });
    let slices = "/apis/discovery.k8s.io/v1/namespaces/test/endpointslices";
    send(&client, "POST", slices, slice).await.unwrap();
    let created = send(&client, "POST", boxes, object("v1", "size")).await;
    assert_eq!(created.unwrap()["spec"], json!({"size": 3}));
    let stored = get(&client, "/apis/example.com/v2/boxes/a").await.unwrap();
    assert_eq!(stored["spec"], json!({"amount": 3}));
    let received = webhook.received.lock().unwrap();
    assert_eq!(received[0].path, "/convert?timeout=30s");
}

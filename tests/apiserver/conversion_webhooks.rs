//! Conversion webhooks of CustomResourceDefinitions.

use kube::Client;
use kueue_lab_apiserver::ApiServer;
use kueue_lab_clock::Clock;
use kueue_lab_clock::Entropy;
use serde_json::{Value, json};

use super::server_fixture::*;
use super::tls_server::{self, TlsServer};

const NOTES: &str = "/apis/example.com/v2/namespaces/test/notes";

/// Renames the field `text` of v1 to `body` of v2; an object named `lost` is not returned.
fn reply(review: &Value) -> Value {
    let request = &review["request"];
    let to = &request["desiredAPIVersion"];
    let objects = request["objects"].as_array().unwrap().iter();
    let converted = objects
        .filter(|o| o["metadata"]["name"] != "lost")
        .map(|o| {
            let (from, into) = match to == "example.com/v2" {
                true => ("text", "body"),
                false => ("body", "text"),
            };
            json!({"apiVersion": to, "kind": o["kind"], "metadata": o["metadata"], into: o[from]})
        });
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "response": {
        "uid": request["uid"], "result": {"status": "Success"},
        "convertedObjects": converted.collect::<Vec<_>>(),
    }})
}

async fn start_webhook() -> TlsServer {
    tls_server::start("localhost", None, |request| {
        let review = serde_json::from_slice(&request.body).unwrap();
        tls_server::json_response(&reply(&review))
    })
    .await
}

/// The numbers of objects in the reviews that a webhook received.
fn objects_of_reviews(webhook: &TlsServer) -> Vec<usize> {
    let received = webhook.received.lock().unwrap();
    let count = |body: &[u8]| {
        let review: Value = serde_json::from_slice(body).unwrap();
        review["request"]["objects"].as_array().unwrap().len()
    };
    received.iter().map(|r| count(&r.body)).collect()
}

fn definition(url: &str, bundle: &str) -> Value {
    let version = |name: &str, field: &str| {
        json!({"name": name, "served": true, "storage": name == "v1", "schema": {
            "openAPIV3Schema": {"type": "object", "properties": {field: {"type": "string"}}},
        }})
    };
    json!({
        "metadata": {"name": "notes.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "notes", "kind": "Note"},
            "versions": [version("v1", "text"), version("v2", "body")],
            "conversion": {"strategy": "Webhook", "webhook": {
                "conversionReviewVersions": ["v1"],
                "clientConfig": {"url": url, "caBundle": bundle},
            }},
        },
    })
}

async fn create(client: &Client, name: &str) {
    let note = json!({"apiVersion": "example.com/v1", "kind": "Note",
        "metadata": {"name": name}, "text": format!("text of {name}")});
    let path = "/apis/example.com/v1/namespaces/test/notes";
    send(client, "POST", path, note).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_is_converted_in_one_review() {
    let server = ApiServer::builder(Clock::real(), Entropy::seeded(1)).build();
    let client = server.client();
    namespace(&client, "test").await;
    let hook = start_webhook().await;
    let url = format!("https://localhost:{}", hook.port);
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let definition = definition(&url, &hook.bundle);
    send(&client, "POST", definitions, definition)
        .await
        .unwrap();
    for name in ["a", "b", "c"] {
        create(&client, name).await;
    }
    let list = get(&client, NOTES).await.unwrap();
    let bodies: Vec<_> = list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|o| &o["body"])
        .collect();
    assert_eq!(bodies, ["text of a", "text of b", "text of c"]);
    assert_eq!(objects_of_reviews(&hook), [3]);
    // Converted objects are kept.
    let one = get(&client, &format!("{NOTES}/b")).await.unwrap();
    assert_eq!(one["body"], "text of b");
    get(&client, NOTES).await.unwrap();
    assert_eq!(objects_of_reviews(&hook), [3]);
    create(&client, "lost").await;
    let failed = error_status(get(&client, NOTES).await);
    assert_eq!(failed.code, 500);
    assert_eq!(
        failed.message,
        "conversion webhook for example.com/v1, Kind=NoteList returned 0 objects, expected 1"
    );
}

//! Paths without resource, methods without route, resourceVersions of reads, and request headers.

use http::Request;
use kube::Client;
use serde_json::{Value, json};

use super::server_fixture::*;

/// The code and the media type of a response.
async fn code_and_type(client: &Client, method: &str, path: &str) -> (u16, String) {
    let request = Request::builder().method(method).uri(path);
    let body = kube::client::Body::empty();
    let response = client.send(request.body(body).unwrap()).await.unwrap();
    let media_type = response.headers()["content-type"].to_str().unwrap();
    (response.status().as_u16(), media_type.into())
}

#[test]
fn unknown_resources_of_builtin_groups_are_not_found_as_a_status() {
    with_server(|_, client| async move {
        let json = |code: u16| (code, "application/json".to_owned());
        for path in [
            "/apis/apps/v1/gadgets",
            "/apis/apps/v9/deployments",
            "/apis/apps/v9",
            "/api/v2",
            "/api/v1/gadgets",
        ] {
            assert_eq!(
                code_and_type(&client, "GET", path).await,
                json(404),
                "{path}"
            );
        }
        let text = (404, "text/plain; charset=utf-8".to_owned());
        for path in ["/apis/example.com/v1/gadgets", "/apis/example.com", "/nope"] {
            assert_eq!(code_and_type(&client, "GET", path).await, text, "{path}");
        }
        for (method, path) in [
            ("POST", "/api/v1/namespaces/test/configmaps/a"),
            ("PUT", "/api/v1/namespaces/test/configmaps"),
            ("POST", "/api/v1/configmaps"),
        ] {
            assert_eq!(
                code_and_type(&client, method, path).await,
                json(405),
                "{path}"
            );
        }
    });
}

#[test]
fn resource_versions_of_reads_are_checked() {
    with_server(|_, client| async move {
        let path = "/api/v1/namespaces/test/configmaps";
        let map = json!({"metadata": {"name": "a"}});
        send(&client, "POST", path, map).await.unwrap();
        let read = async |query: &str| -> (u16, String) {
            let outcome = get(&client, &format!("{path}{query}")).await;
            let status = error_status::<Value>(outcome);
            (status.code, status.message)
        };
        let invalid = "resourceVersion: Invalid value: \"x\": strconv.ParseUint: parsing \"x\": invalid syntax";
        assert_eq!(
            read("?resourceVersion=x").await,
            (400, format!("invalid resource version: {invalid}"))
        );
        assert_eq!(
            read("?watch=1&resourceVersion=x").await,
            (500, invalid.into())
        );
        let (code, message) = read("/a?resourceVersion=999999").await;
        assert_eq!(code, 504);
        assert!(message.starts_with("Too large resource version: 999999, current: "));
        assert!(
            get(&client, &format!("{path}/a?resourceVersion=0"))
                .await
                .is_ok()
        );
    });
}

#[test]
fn an_unchanged_discovery_document_is_not_sent_again() {
    with_server(|_, client| async move {
        let request = |etag: &str| {
            let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
            let request = http::Request::get("/apis").header("accept", accept);
            let request = request.header("if-none-match", etag);
            let (client, request) = (client.clone(), request.body(Vec::new().into()).unwrap());
            async move { client.send(request).await.unwrap() }
        };
        let first = request("").await;
        assert_eq!(first.status(), 200);
        let etag = first.headers()["etag"].to_str().unwrap().to_owned();
        assert_eq!(first.headers()["vary"], "Accept");
        let second = request(&etag).await;
        assert_eq!(
            (second.status().as_u16(), &second.headers()["etag"]),
            (304, &first.headers()["etag"])
        );
        let definition = json!({
            "metadata": {"name": "notes.example.com"},
            "spec": {
                "group": "example.com", "scope": "Namespaced",
                "names": {"plural": "notes", "kind": "Note"},
                "versions": [{"name": "v1", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": {"type": "object"}}}],
            },
        });
        let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        send(&client, "POST", definitions, definition)
            .await
            .unwrap();
        assert_eq!(request(&etag).await.status(), 200);
    });
}

/// Kubernetes decodes YAML without regard to the types of the fields.
#[test]
fn scalars_of_yaml_bodies_are_those_of_yaml_1_1() {
    with_server(|_, client| async move {
        let path = "/api/v1/namespaces/test/configmaps";
        let write = async |method: &str, path: &str, media_type: &str, body: &str| {
            let request = Request::builder().method(method).uri(path);
            let request = request.header("content-type", media_type);
            let request = request.body(body.as_bytes().to_vec()).unwrap();
            client.request_text(request).await
        };
        let named = |name: &str| format!("metadata: {{name: {name}}}\ndata: {{a: 'y', true: x}}\n");
        let refused = write("POST", path, "application/yaml", &named("n")).await;
        let refused = error_status(refused);
        assert_eq!(refused.code, 400);
        assert!(
            refused.message.contains(
                "json: cannot unmarshal bool into Go struct field ObjectMeta.metadata.name of type string"
            ),
            "{}",
            refused.message
        );
        write("POST", path, "application/yaml", &named("'n'"))
            .await
            .unwrap();
        let stored = get(&client, &format!("{path}/n")).await.unwrap();
        assert_eq!(stored["data"], json!({"a": "y", "true": "x"}));

        let apply = format!("{path}/n?fieldManager=test");
        let config = "apiVersion: v1\nkind: ConfigMap\ndata: {mode: 0644}\n";
        let refused = write("PATCH", &apply, "application/apply-patch+yaml", config).await;
        let refused = error_status(refused);
        assert!(
            refused.message.contains(".data.mode: expected string"),
            "{}",
            refused.message
        );
    });
}

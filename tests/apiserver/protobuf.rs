//! Protobuf both ways, read with messages declared here: `application/vnd.kubernetes.protobuf`.

use std::collections::HashMap;

use futures::AsyncReadExt;
use http::{Request, Response};
use http_body_util::BodyExt;
use kube::Client;
use prost::Message;
use serde_json::json;

use super::server_fixture::*;

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const MAGIC: &[u8] = b"k8s\0";

#[derive(Clone, PartialEq, Message)]
struct Unknown {
    #[prost(message, optional, tag = "1")]
    type_meta: Option<TypeMeta>,
    #[prost(bytes = "vec", tag = "2")]
    raw: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
struct TypeMeta {
    #[prost(string, tag = "1")]
    api_version: String,
    #[prost(string, tag = "2")]
    kind: String,
}

#[derive(Clone, PartialEq, Message)]
struct ObjectMeta {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "3")]
    namespace: String,
    #[prost(string, tag = "6")]
    resource_version: String,
    #[prost(map = "string, string", tag = "11")]
    labels: HashMap<String, String>,
}

#[derive(Clone, PartialEq, Message)]
struct ConfigMap {
    #[prost(message, optional, tag = "1")]
    metadata: Option<ObjectMeta>,
    #[prost(map = "string, string", tag = "2")]
    data: HashMap<String, String>,
}

#[derive(Clone, PartialEq, Message)]
struct ListMeta {
    #[prost(string, tag = "2")]
    resource_version: String,
}

#[derive(Clone, PartialEq, Message)]
struct ConfigMapList {
    #[prost(message, optional, tag = "1")]
    metadata: Option<ListMeta>,
    #[prost(message, repeated, tag = "2")]
    items: Vec<ConfigMap>,
}

#[derive(Clone, PartialEq, Message)]
struct DeleteOptions {
    #[prost(message, optional, tag = "2")]
    preconditions: Option<Preconditions>,
    #[prost(string, optional, tag = "4")]
    propagation_policy: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
struct Preconditions {
    #[prost(string, optional, tag = "1")]
    uid: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
struct Status {
    #[prost(string, tag = "2")]
    status: String,
    #[prost(string, tag = "3")]
    message: String,
    #[prost(string, tag = "4")]
    reason: String,
    #[prost(int32, tag = "6")]
    code: i32,
}

#[derive(Clone, PartialEq, Message)]
struct WatchEvent {
    #[prost(string, tag = "1")]
    event_type: String,
    #[prost(message, optional, tag = "2")]
    object: Option<RawExtension>,
}

#[derive(Clone, PartialEq, Message)]
struct RawExtension {
    #[prost(bytes = "vec", tag = "1")]
    raw: Vec<u8>,
}

fn encode(api_version: &str, kind: &str, object: &impl Message) -> Vec<u8> {
    let unknown = Unknown {
        type_meta: Some(TypeMeta {
            api_version: api_version.into(),
            kind: kind.into(),
        }),
        raw: object.encode_to_vec(),
    };
    [MAGIC, &unknown.encode_to_vec()].concat()
}

/// The kind and the message of an encoded object.
fn decode<M: Message + Default>(bytes: &[u8]) -> (String, M) {
    let unknown = Unknown::decode(bytes.strip_prefix(MAGIC).unwrap()).unwrap();
    let object = M::decode(unknown.raw.as_slice()).unwrap();
    (unknown.type_meta.unwrap().kind, object)
}

fn request(method: &str, path: &str, accept: &str, body: Vec<u8>) -> Request<Vec<u8>> {
    Request::builder()
        .method(method)
        .uri(path)
        .header("accept", accept)
        .header("content-type", PROTOBUF)
        .body(body)
        .unwrap()
}

/// The code, the media type and the body of a response.
async fn exchange(
    client: &Client,
    method: &str,
    path: &str,
    accept: &str,
    body: Vec<u8>,
) -> (u16, String, Vec<u8>) {
    let request = request(method, path, accept, body).map(kube::client::Body::from);
    let response: Response<_> = client.send(request).await.unwrap();
    let media_type = response.headers()["content-type"].to_str().unwrap().into();
    let code = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (code, media_type, body.to_vec())
}

fn config_map_message(name: &str) -> ConfigMap {
    ConfigMap {
        metadata: Some(ObjectMeta {
            name: name.into(),
            labels: [("team".to_owned(), "a".to_owned())].into(),
            ..ObjectMeta::default()
        }),
        data: [("k".to_owned(), "v".to_owned())].into(),
    }
}

const CONFIG_MAPS: &str = "/api/v1/namespaces/test/configmaps";

async fn create(client: &Client, name: &str) -> ConfigMap {
    let body = encode("v1", "ConfigMap", &config_map_message(name));
    let (code, media_type, body) = exchange(client, "POST", CONFIG_MAPS, PROTOBUF, body).await;
    assert_eq!((code, media_type.as_str()), (201, PROTOBUF));
    let (kind, created) = decode(&body);
    assert_eq!(kind, "ConfigMap");
    created
}

#[test]
fn objects_and_lists_are_protobuf() {
    with_server(|_, client| async move {
        let created = create(&client, "a").await;
        assert_eq!(created.data, config_map_message("a").data);
        let path = format!("{CONFIG_MAPS}/a");
        let accept = format!("{PROTOBUF},application/json");
        let (code, _, body) = exchange(&client, "GET", &path, &accept, Vec::new()).await;
        assert_eq!((code, decode(&body)), (200, ("ConfigMap".into(), created)));
        create(&client, "b").await;
        let (_, media_type, body) = exchange(&client, "GET", CONFIG_MAPS, PROTOBUF, vec![]).await;
        let (kind, list) = decode::<ConfigMapList>(&body);
        assert_eq!(
            (media_type.as_str(), kind.as_str()),
            (PROTOBUF, "ConfigMapList")
        );
        let names: Vec<String> = list
            .items
            .into_iter()
            .map(|c| c.metadata.unwrap().name)
            .collect();
        assert_eq!(names, ["a", "b"]);
        assert!(!list.metadata.unwrap().resource_version.is_empty());
        let json = get(&client, &path).await.unwrap();
        assert_eq!(json["data"], json!({"k": "v"}));
    });
}

#[test]
fn delete_options_and_errors_are_protobuf() {
    with_server(|_, client| async move {
        create(&client, "a").await;
        let path = format!("{CONFIG_MAPS}/a");
        let options = |uid: &str| DeleteOptions {
            preconditions: Some(Preconditions {
                uid: Some(uid.into()),
            }),
            propagation_policy: Some("Background".into()),
        };
        let body = encode("v1", "DeleteOptions", &options("other"));
        let (code, media_type, body) = exchange(&client, "DELETE", &path, PROTOBUF, body).await;
        assert_eq!((code, media_type.as_str()), (409, PROTOBUF));
        let (kind, status) = decode::<Status>(&body);
        assert_eq!(
            (kind.as_str(), status.reason.as_str(), status.code),
            ("Status", "Conflict", 409)
        );
        let json = get(&client, &path).await.unwrap();
        let uid = json["metadata"]["uid"].as_str().unwrap();
        let body = encode("v1", "DeleteOptions", &options(uid));
        let (code, _, body) = exchange(&client, "DELETE", &path, PROTOBUF, body).await;
        assert_eq!(
            (code, decode::<Status>(&body).1.status),
            (200, "Success".into())
        );
        let (code, _, body) = exchange(&client, "GET", &path, PROTOBUF, vec![]).await;
        assert_eq!(
            (code, decode::<Status>(&body).1.reason),
            (404, "NotFound".into())
        );
    });
}

#[test]
fn a_watch_has_frames_with_their_length() {
    with_server(|_, client| async move {
        create(&client, "a").await;
        let path = format!("{CONFIG_MAPS}?watch=1");
        let watch = request("GET", &path, PROTOBUF, Vec::new());
        let mut stream = Box::pin(client.request_stream(watch).await.unwrap());
        create(&client, "b").await;
        for name in ["a", "b"] {
            let mut length = [0; 4];
            stream.read_exact(&mut length).await.unwrap();
            let mut frame = vec![0; u32::from_be_bytes(length) as usize];
            stream.read_exact(&mut frame).await.unwrap();
            let event = WatchEvent::decode(frame.as_slice()).unwrap();
            let (kind, object) = decode::<ConfigMap>(&event.object.unwrap().raw);
            assert_eq!(
                (event.event_type.as_str(), kind.as_str()),
                ("ADDED", "ConfigMap")
            );
            assert_eq!(object.metadata.unwrap().name, name);
        }
    });
}

#[test]
fn metadata_is_protobuf_and_a_table_is_not() {
    with_server(|_, client| async move {
        create(&client, "a").await;
        let path = format!("{CONFIG_MAPS}/a");
        let accept = format!("{PROTOBUF};as=PartialObjectMetadata;g=meta.k8s.io;v=v1");
        let (code, _, body) = exchange(&client, "GET", &path, &accept, Vec::new()).await;
        let (kind, object) = decode::<ConfigMap>(&body);
        assert_eq!((code, kind.as_str()), (200, "PartialObjectMetadata"));
        assert_eq!(object.metadata.unwrap().name, "a");
        assert!(object.data.is_empty());
        let accept = format!("{PROTOBUF};as=Table;g=meta.k8s.io;v=v1");
        let (code, _, body) = exchange(&client, "GET", &path, &accept, Vec::new()).await;
        let reason = decode::<Status>(&body).1.reason;
        assert_eq!((code, reason.as_str()), (406, "NotAcceptable"));
    });
}

#[test]
fn custom_resources_have_no_protobuf_but_their_metadata_has() {
    with_server(|_, client| async move {
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "jobs.batch.example.com"},
            "spec": {
                "group": "batch.example.com",
                "names": {"plural": "jobs", "kind": "Job"},
                "scope": "Namespaced",
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {
                    "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                }}],
            },
        });
        let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        send(&client, "POST", definitions, definition)
            .await
            .unwrap();
        let path = "/apis/batch.example.com/v1/namespaces/test/jobs";
        let job = json!({
            "apiVersion": "batch.example.com/v1", "kind": "Job", "metadata": {"name": "a"},
        });
        while send(&client, "POST", path, job.clone()).await.is_err() {
            tokio::task::yield_now().await;
        }
        let path = format!("{path}/a");
        let accept = format!("{PROTOBUF},application/json");
        let (code, _, body) = exchange(&client, "GET", &path, &accept, Vec::new()).await;
        assert_eq!(code, 406);
        assert_eq!(
            decode::<Status>(&body).1.message,
            "object *unstructured.Unstructured does not implement the protobuf marshalling interface and cannot be encoded to a protobuf message"
        );
        let accept = format!("{PROTOBUF};as=PartialObjectMetadata;g=meta.k8s.io;v=v1");
        let (code, _, body) = exchange(&client, "GET", &path, &accept, Vec::new()).await;
        assert_eq!(
            (code, decode::<ConfigMap>(&body).0.as_str()),
            (200, "PartialObjectMetadata")
        );
    });
}

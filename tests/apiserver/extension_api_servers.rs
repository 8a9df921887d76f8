//! Extension API servers in other processes, behind a Service: proxy, discovery, availability.

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use futures::{StreamExt, stream};
use http::Response;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use kube::Client;
use kueue_lab_apiserver::{ApiServer, ServeOptions};
use kueue_lab_clock::Clock;
use kueue_lab_clock::Entropy;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::remote_commands::{admin_token, upgrade};
use super::server_fixture::*;
use super::tls_server::{self, Received, TestBody, TlsServer};

const API_SERVICES: &str = "/apis/apiregistration.k8s.io/v1/apiservices";
const NAME: &str = "v1.wardle.example.com";

/// The extension API server: one resource, and a watch that sends one event and stays open.
fn answer(request: &Received) -> Response<TestBody> {
    let path = request.path.split('?').next().unwrap();
    match path {
        "/apis/wardle.example.com/v1" => tls_server::json_response(&json!({
            "kind": "APIResourceList",
            "apiVersion": "v1",
            "groupVersion": "wardle.example.com/v1",
            "resources": [{"name": "flunders", "singularName": "flunder", "namespaced": true,
                "kind": "Flunder", "verbs": ["get", "list", "watch"]}],
        })),
        "/openapi/v3" => tls_server::json_response(&json!({"paths": {
            "apis/wardle.example.com/v1": {
                "serverRelativeURL": "/openapi/v3/apis/wardle.example.com/v1?hash=1",
            },
        }})),
        "/openapi/v2" => tls_server::json_response(&json!({
            "paths": {"/apis/wardle.example.com/v1/flunders": {"get": {}}, "/version": {}},
        })),
        "/openapi/v3/apis/wardle.example.com/v1" => {
            tls_server::json_response(&json!({"openapi": "3.0.0"}))
        }
        _ if request.path.contains("watch=true") => {
            let event = json!({"type": "ADDED", "object": {"kind": "Flunder"}}).to_string();
            let first = stream::once(async move { Ok(Frame::data(Bytes::from(event + "\n"))) });
            let body = StreamBody::new(first.chain(stream::pending()));
            Response::new(body.boxed_unsync())
        }
        "/apis/wardle.example.com/v1/namespaces/test/flunders/a/exec"
            if request.header("upgrade") == ["shout"] =>
        {
            let body = http_body_util::Empty::new();
            let response = Response::builder().status(101);
            let response = response.header("connection", "Upgrade");
            let response = response.header("upgrade", "shout");
            response.body(body.boxed_unsync()).unwrap()
        }
        "/apis/wardle.example.com/v1/namespaces/test/flunders/a" => {
            tls_server::json_response(&json!({"kind": "Flunder", "metadata": {"name": "a"}}))
        }
        _ => {
            let body = http_body_util::Full::new(Bytes::from("no such path"));
            let body = body.map_err(|never: Infallible| match never {});
            let response = Response::builder().status(404);
            response.body(body.boxed_unsync()).unwrap()
        }
    }
}

/// A server whose front-proxy authority is published, and a client of it.
async fn serving() -> (Client, kueue_lab_apiserver::ServingHandle, String) {
    let server = ApiServer::builder(Clock::real(), Entropy::seeded(1)).build();
    let client = server.client();
    namespace(&client, "test").await;
    let handle = server.serve(ServeOptions::default()).await.unwrap();
    let path = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";
    let data = until("the ConfigMap exists", async || {
        Some(get(&client, path).await.ok()?["data"].clone())
    });
    let data = data.await;
    assert_eq!(
        data["client-ca-file"],
        handle.certificate_authority_pem(),
        "the authority of client certificates"
    );
    assert_eq!(
        data["requestheader-allowed-names"],
        r#"["front-proxy-client"]"#
    );
    assert_eq!(
        data["requestheader-username-headers"],
        r#"["X-Remote-User"]"#
    );
    let authority = data["requestheader-client-ca-file"].as_str().unwrap();
    (client, handle, authority.to_owned())
}

async fn until<T>(what: &str, check: impl AsyncFn() -> Option<T>) -> T {
    for _ in 0..600 {
        if let Some(found) = check().await {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("timed out waiting until {what}");
}

/// Waits for the reason and message of the condition Available.
async fn until_condition(client: &Client, reason: &str) -> (String, String) {
    until(reason, async || {
        let path = format!("{API_SERVICES}/{NAME}");
        let object = get(client, &path).await.ok()?;
        let condition = &object["status"]["conditions"][0];
        let text = |field: &str| condition[field].as_str().unwrap().to_owned();
        (condition["reason"] == reason).then(|| (text("status"), text("message")))
    })
    .await
}

async fn register(client: &Client, bundle: &str) {
    let object = json!({
        "metadata": {"name": NAME},
        "spec": {
            "group": "wardle.example.com",
            "version": "v1",
            "groupPriorityMinimum": 2000,
            "versionPriority": 10,
            "caBundle": bundle,
            "service": {"namespace": "test", "name": "wardle"},
        },
    });
    send(client, "POST", API_SERVICES, object).await.unwrap();
}

async fn create_service(client: &Client) {
    let service = json!({
        "metadata": {"name": "wardle"},
        "spec": {"ports": [{"name": "https", "port": 443}]},
    });
    let services = "/api/v1/namespaces/test/services";
    send(client, "POST", services, service).await.unwrap();
}

async fn create_slice(client: &Client, port: u16, ready: bool) {
    let slice = json!({
        "metadata": {"name": "wardle", "labels": {"kubernetes.io/service-name": "wardle"}},
        "addressType": "IPv4",
        "ports": [{"name": "https", "port": port}],
        "endpoints": [{"addresses": ["127.0.0.1"], "conditions": {"ready": ready}}],
    });
    let slices = "/apis/discovery.k8s.io/v1/namespaces/test/endpointslices";
    send(client, "POST", slices, slice).await.unwrap();
}

async fn start(authority: &str) -> TlsServer {
    tls_server::start("wardle.test.svc", Some(authority), answer).await
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_proxied_with_the_headers_of_the_user() {
    let (client, handle, authority) = serving().await;
    let extension = start(&authority).await;
    create_service(&client).await;
    create_slice(&client, extension.port, true).await;
    register(&client, &extension.bundle).await;
    let passed = ("True".to_owned(), "all checks passed".to_owned());
    assert_eq!(until_condition(&client, "Passed").await, passed);
    // The check names the aggregator, and the client certificate is required by the server.
    {
        let received = extension.received.lock().unwrap();
        assert_eq!(received[0].path, "/apis/wardle.example.com/v1");
        let user = received[0].header("x-remote-user");
        assert_eq!(user, ["system:kube-aggregator"]);
    }

    let path = "/apis/wardle.example.com/v1/namespaces/test/flunders/a?x=1";
    let found = get(&client, path).await.unwrap();
    assert_eq!(found["metadata"]["name"], "a");
    let request = extension.received.lock().unwrap().pop().unwrap();
    assert_eq!(request.path, path);
    assert_eq!(request.header("x-remote-user"), ["kubernetes-admin"]);
    assert_eq!(
        request.header("x-remote-group"),
        ["system:masters", "system:authenticated"]
    );
    let list = get(&client, "/apis/wardle.example.com/v1").await.unwrap();
    assert_eq!(list["resources"][0]["name"], "flunders");
    let missing = get(&client, "/apis/wardle.example.com/v1/namespaces/test/x/y").await;
    assert_eq!(error_status(missing).code, 404);

    // A watch streams.
    let watch = http::Request::get("/apis/wardle.example.com/v1/flunders?watch=true");
    let response = client
        .send(watch.body(kube::client::Body::empty()).unwrap())
        .await
        .unwrap();
    let mut body = response.into_body();
    let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
    let event: Value = serde_json::from_slice(&first).unwrap();
    assert_eq!(event["type"], "ADDED");

    // A user without permissions is not proxied.
    let mut kubeconfig = kube::config::Kubeconfig::from_yaml(handle.kubeconfig()).unwrap();
    kubeconfig.auth_infos[0]
        .auth_info
        .as_mut()
        .unwrap()
        .impersonate = Some("ann".into());
    let options = kube::config::KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await;
    let ann = Client::try_from(config.unwrap()).unwrap();
    let before = extension.received.lock().unwrap().len();
    assert_eq!(error_status(get(&ann, path).await).code, 403);
    assert_eq!(extension.received.lock().unwrap().len(), before);
    handle.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn discovery_has_the_groups_of_extension_api_servers() {
    let (client, handle, authority) = serving().await;
    let extension = start(&authority).await;
    create_service(&client).await;
    create_slice(&client, extension.port, true).await;
    register(&client, &extension.bundle).await;
    until_condition(&client, "Passed").await;
    let groups = get(&client, "/apis").await.unwrap();
    let version = json!({"groupVersion": "wardle.example.com/v1", "version": "v1"});
    let group = json!({"name": "wardle.example.com", "versions": [version],
        "preferredVersion": version});
    assert!(groups["groups"].as_array().unwrap().contains(&group));
    let single = get(&client, "/apis/wardle.example.com").await.unwrap();
    assert_eq!(single["versions"], json!([version]));
    let request = http::Request::get("/apis")
        .header(
            "accept",
            "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
        )
        .body(Vec::new())
        .unwrap();
    let document: Value = client.request(request).await.unwrap();
    let items = document["items"].as_array().unwrap();
    let mut items = items.iter();
    let item = items.find(|i| i["metadata"]["name"] == "wardle.example.com");
    let version = &item.unwrap()["versions"][0];
    assert_eq!(version["freshness"], "Current");
    assert_eq!(version["resources"][0]["resource"], "flunders");
    assert_eq!(version["resources"][0]["scope"], "Namespaced");

    // kubectl explain reads the document through the index.
    let request = http::Request::get("/openapi/v3").body(Vec::new()).unwrap();
    let index: Value = client.request(request).await.unwrap();
    let document = &index["paths"]["apis/wardle.example.com/v1"]["serverRelativeURL"];
    let document = get(&client, document.as_str().unwrap()).await.unwrap();
    assert_eq!(document["openapi"], "3.0.0");
    let whole = get(&client, "/openapi/v2").await.unwrap();
    assert!(
        whole["paths"]
            .get("/apis/wardle.example.com/v1/flunders")
            .is_some()
    );
    assert!(
        whole["paths"].get("/version").is_none(),
        "only the paths of the group"
    );
    assert!(whole["paths"].get("/api/v1/pods").is_some());

    let path = format!("{API_SERVICES}/{NAME}");
    send(&client, "DELETE", &path, Value::Null).await.unwrap();
    let gone = get(&client, "/apis/wardle.example.com").await;
    assert_eq!(error_status(gone).code, 404);
    handle.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_condition_names_what_is_missing() {
    let (client, handle, authority) = serving().await;
    let extension = start(&authority).await;
    register(&client, &extension.bundle).await;
    let unavailable = |message: &str| ("False".to_owned(), message.to_owned());
    assert_eq!(
        until_condition(&client, "ServiceNotFound").await,
        unavailable("service/wardle in \"test\" is not present")
    );
    let path = "/apis/wardle.example.com/v1/namespaces/test/flunders/a";
    let refused = get(&client, path).await;
    assert_eq!(error_status(refused).code, 503);
    create_service(&client).await;
    assert_eq!(
        until_condition(&client, "EndpointsNotFound").await,
        unavailable("cannot find endpointslices for service/wardle in \"test\"")
    );
    create_slice(&client, extension.port, false).await;
    assert_eq!(
        until_condition(&client, "MissingEndpoints").await,
        unavailable(
            "endpointslices for service/wardle in \"test\" have no addresses with port name \"https\""
        )
    );
    let slice = "/apis/discovery.k8s.io/v1/namespaces/test/endpointslices/wardle";
    let closed = {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        listener.local_addr().unwrap().port()
    };
    let patch = |port: u16| {
        json!({
            "ports": [{"name": "https", "port": port, "protocol": "TCP"}],
            "endpoints": [{"addresses": ["127.0.0.1"]}],
        })
    };
    merge_patch(&client, slice, patch(closed)).await.unwrap();
    let url = format!("https://127.0.0.1:{closed}/apis/wardle.example.com/v1");
    assert_eq!(
        until_condition(&client, "FailedDiscoveryCheck").await,
        unavailable(&format!(
            "failing or missing response from {url}: Get \"{url}\": dial tcp 127.0.0.1:{closed}: connect: connection refused"
        ))
    );
    merge_patch(&client, slice, patch(extension.port))
        .await
        .unwrap();
    until_condition(&client, "Passed").await;
    get(&client, path).await.unwrap();
    handle.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_are_upgraded() {
    let (client, serving, authority) = serving().await;
    let server = start(&authority).await;
    create_service(&client).await;
    create_slice(&client, server.port, true).await;
    register(&client, &server.bundle).await;
    until_condition(&client, "Passed").await;
    let token = admin_token(&serving);
    let flunder = "/apis/wardle.example.com/v1/namespaces/test/flunders/a";
    let target = format!("{flunder}/exec");
    let mut session = upgrade(&serving, &target, &token, "Upgrade: shout\r\n").await;
    let head = &session.head;
    assert!(head.starts_with("http/1.1 101 "), "{head}");
    assert!(head.contains("upgrade: shout"), "{head}");
    session.stream.write_all(b"hello").await.unwrap();
    let mut answer = [0; 5];
    session.stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HELLO");
    let user = |request: &Received| request.header("x-remote-user")[0].to_owned();
    let user = server.received.lock().unwrap().last().map(user);
    assert_eq!(user.unwrap(), "kubernetes-admin");
    // A request that the server does not upgrade has its response.
    let session = upgrade(&serving, flunder, &token, "Upgrade: shout\r\n").await;
    assert!(
        session.head.starts_with("http/1.1 200 "),
        "{}",
        session.head
    );
}

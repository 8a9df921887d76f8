//! `proxy` of pods, services and nodes: plain requests and upgraded connections.

use std::net::IpAddr;
use std::sync::Arc;

use async_trait::async_trait;
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_apiserver::plugins::{
    DialError, KubeletClient, LogStream, PodConnection, PodLogRequest,
};
use kueue_lab_apiserver::{ApiServer, ServeOptions, ServingHandle};
use kueue_lab_clock::Clock;
use kueue_lab_clock::Entropy;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

use super::remote_commands::{admin_token, upgrade};
use super::server_fixture::*;

const PODS: &str = "/api/v1/namespaces/test/pods";

/// A network of servers that upgrade connections and then answer each line in upper case.
struct Network;

async fn answer(name: String, mut connection: DuplexStream) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Ok(byte) = connection.read_u8().await else {
            return;
        };
        head.push(byte);
    }
    let head = String::from_utf8(head).unwrap().to_lowercase();
    assert!(!head.contains("authorization"), "{head}");
    if !head.contains("upgrade: shout") {
        let length = name.len();
        let text = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{name}");
        connection.write_all(text.as_bytes()).await.unwrap();
        return;
    }
    assert!(head.contains("connection: upgrade"), "{head}");
    let path = head.split(' ').nth(1).unwrap().to_owned();
    if path.ends_with("refused") {
        let text = "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno";
        connection.write_all(text.as_bytes()).await.unwrap();
        return;
    }
    let text = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: shout\r\n\r\n";
    connection.write_all(text.as_bytes()).await.unwrap();
    let first = format!("{name} {path}\n");
    connection.write_all(first.as_bytes()).await.unwrap();
    let mut data = [0; 64];
    while let Ok(length @ 1..) = connection.read(&mut data).await {
        let text = data[..length].to_ascii_uppercase();
        connection.write_all(&text).await.unwrap();
    }
}

fn connect(name: String) -> PodConnection {
    let (client, server) = tokio::io::duplex(4096);
    tokio::spawn(answer(name, server));
    Box::new(client)
}

#[async_trait]
impl KubeletClient for Network {
    async fn logs(&self, _request: PodLogRequest) -> Result<LogStream, ApiError> {
        Err(ApiError::bad_request("no log"))
    }

    async fn dial(&self, address: IpAddr, port: u16) -> Result<PodConnection, DialError> {
        Ok(connect(format!("{address}:{port}")))
    }

    async fn dial_node(&self, node: &str, port: Option<u16>) -> Result<PodConnection, DialError> {
        match port {
            Some(port) => Err(DialError::Refused(format!("{node}:{port}"))),
            None => Ok(connect(format!("kubelet {node}"))),
        }
    }
}

async fn serve() -> (ApiServer, ServingHandle) {
    let server = ApiServer::builder(Clock::real(), Entropy::seeded(1)).build();
    server.set_kubelet(Arc::new(Network));
    let client = server.client();
    namespace(&client, "test").await;
    send(&client, "POST", PODS, pod("p")).await.unwrap();
    let status = json!({"status": {"podIP": "10.1.2.3", "podIPs": [{"ip": "10.1.2.3"}]}});
    let path = format!("{PODS}/p/status");
    merge_patch(&client, &path, status).await.unwrap();
    let service = json!({"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}});
    let path = "/api/v1/namespaces/test/services";
    send(&client, "POST", path, service).await.unwrap();
    let slice = json!({
        "metadata": {"name": "s-1", "labels": {"kubernetes.io/service-name": "s"}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.4.5.6"]}],
        "ports": [{"name": "", "port": 8080}],
    });
    let path = "/apis/discovery.k8s.io/v1/namespaces/test/endpointslices";
    send(&client, "POST", path, slice).await.unwrap();
    let node = json!({"metadata": {"name": "n"}});
    send(&client, "POST", "/api/v1/nodes", node).await.unwrap();
    let serving = server.serve(ServeOptions::default()).await.unwrap();
    (server, serving)
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_are_upgraded_through_proxy() {
    let (_server, serving) = serve().await;
    let token = admin_token(&serving);
    for (target, first) in [
        (format!("{PODS}/p:99/proxy/ws?a=b"), "10.1.2.3:99 /ws?a=b\n"),
        (
            "/api/v1/namespaces/test/services/s/proxy/x".to_owned(),
            "10.4.5.6:8080 /x\n",
        ),
        ("/api/v1/nodes/n/proxy/exec".to_owned(), "kubelet n /exec\n"),
    ] {
        let mut session = upgrade(&serving, &target, &token, "Upgrade: shout\r\n").await;
        let head = &session.head;
        assert!(head.starts_with("http/1.1 101 "), "{head}");
        assert!(head.contains("upgrade: shout"), "{head}");
        let mut line = vec![0; first.len()];
        session.stream.read_exact(&mut line).await.unwrap();
        assert_eq!(String::from_utf8(line).unwrap(), first);
        session.stream.write_all(b"hello").await.unwrap();
        let mut answer = [0; 5];
        session.stream.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"HELLO");
    }
    // A server that does not upgrade: its response is that of the proxy.
    let target = format!("{PODS}/p/proxy/refused");
    let mut session = upgrade(&serving, &target, &token, "Upgrade: shout\r\n").await;
    let head = &session.head;
    assert!(head.starts_with("http/1.1 403 "), "{head}");
    let mut body = [0; 2];
    session.stream.read_exact(&mut body).await.unwrap();
    assert_eq!(&body, b"no");
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_are_proxied_to_their_kubelets() {
    let (server, _serving) = serve().await;
    let client = server.client();
    let text = async |path: &str| {
        let request = http::Request::get(path).body(Vec::new()).unwrap();
        client.request_text(request).await
    };
    assert_eq!(
        text("/api/v1/nodes/n/proxy/pods").await.unwrap(),
        "kubelet n"
    );
    let refused = error_status(text("/api/v1/nodes/n:9/proxy/pods").await);
    assert_eq!(refused.code, 503);
    assert_eq!(
        refused.message,
        "error trying to reach service: dial tcp n:9: connect: connection refused"
    );
    let missing = error_status(text("/api/v1/nodes/m/proxy/pods").await);
    assert_eq!((missing.code, missing.reason.as_str()), (404, "NotFound"));
}

/// The addresses and ports of the Endpoints and the EndpointSlice of `kubernetes`.
async fn endpoints(client: &kube::Client) -> Option<(Value, Value)> {
    let endpoints = get(client, "/api/v1/namespaces/default/endpoints/kubernetes").await;
    let path = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes";
    let slice = get(client, path).await.ok()?;
    let endpoints = endpoints.ok()?;
    Some((
        endpoints["subsets"].clone(),
        json!([
            slice["endpoints"],
            slice["ports"],
            slice["addressType"],
            slice["metadata"]["labels"]
        ]),
    ))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_service_kubernetes_has_the_endpoint_of_the_server() {
    let server = ApiServer::builder(Clock::scaled(50.0), Entropy::seeded(1)).build();
    let client = server.client();
    let serving = server.serve(ServeOptions::default()).await.unwrap();
    let port = serving.addr().port();
    let ports = json!([{"name": "https", "port": port, "protocol": "TCP"}]);
    let expected = (
        json!([{"addresses": [{"ip": "127.0.0.1"}], "ports": ports}]),
        json!([
            [{"addresses": ["127.0.0.1"], "conditions": {"ready": true}}],
            ports,
            "IPv4",
            {"kubernetes.io/service-name": "kubernetes"},
        ]),
    );
    assert_eq!(endpoints(&client).await, Some(expected.clone()));
    let service = get(&client, "/api/v1/namespaces/default/services/kubernetes").await;
    assert_eq!(service.unwrap()["spec"]["ports"][0]["targetPort"], port);
    // Deleted objects are created again.
    for path in [
        "/api/v1/namespaces/default/services/kubernetes",
        "/api/v1/namespaces/default/endpoints/kubernetes",
        "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes",
    ] {
        send(&client, "DELETE", path, Value::Null).await.unwrap();
    }
    while endpoints(&client).await.as_ref() != Some(&expected) {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    get(&client, "/api/v1/namespaces/default/services/kubernetes")
        .await
        .unwrap();
    // A server that stops has no endpoint.
    serving.shutdown().await;
    while endpoints(&client)
        .await
        .is_none_or(|(subsets, _)| subsets != Value::Null)
    {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

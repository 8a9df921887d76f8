//! `pods/exec` over the network: upgrades, WebSocket frames, authorization, errors.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::FutureExt;
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_apiserver::plugins::{
    CommandError, ContainerReference, ContainerStreams, ExecCommand, KubeletClient, LogStream,
    PodLogRequest, RemoteCommand, StartError,
};
use kueue_lab_apiserver::{ApiServer, ServeOptions, ServingHandle};
use kueue_lab_clock::Clock;
use kueue_lab_clock::Entropy;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::server_fixture::*;

const PODS: &str = "/api/v1/namespaces/test/pods";

/// Copies its input to its output; then the words of the command are its error output, and their
/// number is its exit code.
#[derive(Default)]
struct EchoKubelet {
    /// Notified when the command `ignore`, which does not read its input, is killed.
    killed: Arc<Notify>,
}

/// Notifies when it is dropped.
struct NotifyOnDrop(Arc<Notify>);

impl Drop for NotifyOnDrop {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

async fn echo(command: Vec<String>, streams: ContainerStreams) -> Result<(), CommandError> {
    let ContainerStreams {
        stdin,
        stdout,
        stderr,
        ..
    } = streams;
    if let (Some(mut stdin), Some(stdout)) = (stdin, stdout) {
        while let Some(data) = stdin.recv().await {
            let _ = stdout.send(data).await;
        }
    }
    if let Some(stderr) = stderr {
        let _ = stderr.send(Bytes::from(command.join(" "))).await;
    }
    match command.len() {
        0 => Ok(()),
        count => Err(CommandError::ExitCode(count as i32)),
    }
}

#[async_trait]
impl KubeletClient for EchoKubelet {
    async fn logs(&self, _request: PodLogRequest) -> Result<LogStream, ApiError> {
        Err(ApiError::bad_request("no log"))
    }

    async fn exec(
        &self,
        container: &ContainerReference,
        command: ExecCommand,
    ) -> Result<RemoteCommand, StartError> {
        assert_eq!(
            (container.pod.name.as_str(), container.container.as_str()),
            ("p", "c")
        );
        if command.command == ["missing"] {
            return Err(StartError {
                status: http::StatusCode::INTERNAL_SERVER_ERROR,
                message: "container not found (\"c\")".into(),
            });
        }
        let killed = NotifyOnDrop(self.killed.clone());
        Ok(Box::new(move |streams| {
            async move {
                if command.command == ["ignore"] {
                    std::future::pending::<()>().await;
                }
                drop(killed);
                echo(command.command, streams).await
            }
            .boxed()
        }))
    }
}

async fn serve() -> (ApiServer, ServingHandle) {
    serve_with(EchoKubelet::default()).await
}

async fn serve_with(kubelet: EchoKubelet) -> (ApiServer, ServingHandle) {
    let server = ApiServer::builder(Clock::real(), Entropy::seeded(1)).build();
    server.set_kubelet(Arc::new(kubelet));
    let client = server.client();
    namespace(&client, "test").await;
    send(&client, "POST", PODS, pod("p")).await.unwrap();
    let binding = json!({"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}});
    send(&client, "POST", &format!("{PODS}/p/binding"), binding)
        .await
        .unwrap();
    let serving = server.serve(ServeOptions::default()).await.unwrap();
    (server, serving)
}

pub(crate) fn admin_token(serving: &ServingHandle) -> String {
    let config: Value = serde_yaml::from_str(serving.kubeconfig()).unwrap();
    config["users"][0]["user"]["token"].as_str().unwrap().into()
}

/// A connection after its response head, and that head.
pub(crate) struct Upgraded {
    pub(crate) head: String,
    pub(crate) stream: TlsStream<TcpStream>,
}

/// Sends a request with an upgrade.
pub(crate) async fn upgrade(
    serving: &ServingHandle,
    target: &str,
    token: &str,
    headers: &str,
) -> Upgraded {
    let mut roots = RootCertStore::empty();
    let authority = serving.certificate_authority_pem().as_bytes();
    roots
        .add(CertificateDer::from_pem_slice(authority).unwrap())
        .unwrap();
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let address = serving.addr();
    let stream = TcpStream::connect(address).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let connector = TlsConnector::from(Arc::new(config));
    let mut stream = connector.connect(name, stream).await.unwrap();
    let request = format!(
        "GET {target} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nConnection: Upgrade\r\n{headers}\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    let head = String::from_utf8(head).unwrap().to_lowercase();
    Upgraded { head, stream }
}

fn websocket(protocol: &str) -> String {
    format!(
        "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: {protocol}\r\n"
    )
}

impl Upgraded {
    /// Sends a masked frame.
    async fn write(&mut self, opcode: u8, data: &[u8]) {
        let mut frame = vec![0x80 | opcode, 0x80 | data.len() as u8, 0, 0, 0, 0];
        frame.extend_from_slice(data);
        self.stream.write_all(&frame).await.unwrap();
    }

    /// The opcode and payload of the next frame.
    async fn read(&mut self) -> (u8, Vec<u8>) {
        let opcode = self.stream.read_u8().await.unwrap() & 0x0f;
        let length = match self.stream.read_u8().await.unwrap() {
            126 => self.stream.read_u16().await.unwrap().into(),
            length => usize::from(length),
        };
        let mut data = vec![0; length];
        self.stream.read_exact(&mut data).await.unwrap();
        (opcode, data)
    }

    /// The messages until the close frame, whose code is 1000.
    async fn messages(&mut self) -> Vec<Vec<u8>> {
        let mut messages = Vec::new();
        loop {
            match self.read().await {
                (8, code) => {
                    assert_eq!(code, 1000_u16.to_be_bytes());
                    return messages;
                }
                (_, message) => messages.push(message),
            }
        }
    }
}

fn status(message: &[u8]) -> Value {
    assert_eq!(message[0], 3, "the error channel");
    serde_json::from_slice(&message[1..]).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn v5_closes_stdin_and_reports_the_exit_code() {
    let (_server, serving) = serve().await;
    let token = admin_token(&serving);
    let target = format!("{PODS}/p/exec?command=a&command=b&stdin=true&stdout=true&stderr=true");
    let headers = websocket("v5.channel.k8s.io,v4.channel.k8s.io");
    let mut session = upgrade(&serving, &target, &token, &headers).await;
    assert!(
        session.head.starts_with("http/1.1 101 "),
        "{}",
        session.head
    );
    assert!(
        session
            .head
            .contains("sec-websocket-protocol: v5.channel.k8s.io")
    );
    session.write(2, b"\x00hello").await;
    session.write(9, b"ping").await;
    session.write(2, b"\xff\x00").await;
    let mut messages = session.messages().await;
    let outcome = status(&messages.pop().unwrap());
    assert_eq!(outcome["reason"], "NonZeroExitCode");
    assert_eq!(outcome["details"]["causes"][0]["message"], "2");
    let known: [&[u8]; 4] = [b"\x01", b"\x01hello", b"ping", b"\x02a b"];
    for message in known {
        assert!(messages.contains(&message.to_vec()), "{messages:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn v4_and_base64_are_those_of_the_kubelet() {
    let (_server, serving) = serve().await;
    let token = admin_token(&serving);
    let target = format!("{PODS}/p/exec?stderr=true&stdout=false&command=x");
    // Python's client sends the origin of the server.
    let origin = format!("Origin: https://{}\r\n", serving.addr());
    let headers = format!("{origin}{}", websocket("v4.channel.k8s.io"));
    let mut session = upgrade(&serving, &target, &token, &headers).await;
    let mut messages = session.messages().await;
    assert_eq!(
        status(&messages.pop().unwrap())["details"]["causes"][0]["message"],
        "1"
    );
    assert_eq!(messages, [b"\x02".to_vec(), b"\x02x".to_vec()]);
    let headers = websocket("base64.channel.k8s.io");
    let mut session = upgrade(&serving, &target, &token, &headers).await;
    let messages = session.messages().await;
    assert_eq!(messages[..2], [b"2".to_vec(), b"2eA==".to_vec()]);
    let page = "Origin: https://evil.example\r\n".to_owned() + &websocket("v4.channel.k8s.io");
    let refused = upgrade(&serving, &target, &token, &page).await;
    assert!(
        refused.head.starts_with("http/1.1 403 "),
        "{}",
        refused.head
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_before_the_command_are_responses_or_v5_statuses() {
    let (server, serving) = serve().await;
    let token = admin_token(&serving);
    let exec = |query: &str| format!("{PODS}/p/exec?{query}");
    let code = async |target: &str, headers: &str| {
        let head = upgrade(&serving, target, &token, headers).await.head;
        head.split(' ').nth(1).unwrap().to_owned()
    };
    let v4 = websocket("v4.channel.k8s.io");
    assert_eq!(code(&exec("command=missing"), &v4).await, "500");
    assert_eq!(code(&exec("command=x&container=y"), &v4).await, "400");
    assert_eq!(
        code(&exec("command=x"), &websocket("v9.example")).await,
        "403"
    );
    assert_eq!(code(&exec("command=x&stdout=0&stderr=0"), &v4).await, "400");
    assert_eq!(code(&format!("{PODS}/q/exec?command=x"), &v4).await, "404");
    let spdy = "Upgrade: SPDY/3.1\r\n";
    assert_eq!(code(&exec("command=x"), spdy).await, "400");
    let spdy = "Upgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v9.example\r\n";
    assert_eq!(code(&exec("command=x"), spdy).await, "403");

    let v5 = websocket("v5.channel.k8s.io");
    let mut session = upgrade(&serving, &exec("command=missing"), &token, &v5).await;
    let message = session.messages().await.pop().unwrap();
    assert_eq!(
        status(&message)["message"],
        "Internal error occurred: unable to upgrade connection: container not found (\"c\")"
    );
    let plain = error_status(get(&server.client(), &exec("command=x")).await);
    assert_eq!(
        (plain.code, plain.message.as_str()),
        (400, "Upgrade request required")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn websocket_sessions_require_create() {
    let (server, serving) = serve().await;
    let admin = server.client();
    let path = "/api/v1/namespaces/test/serviceaccounts/default/token";
    let token = send(&admin, "POST", path, json!({})).await.unwrap();
    let token = token["status"]["token"].as_str().unwrap().to_owned();
    let rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/test";
    let role = |verbs: Value| {
        json!({"metadata": {"name": "r"}, "rules": [
            {"apiGroups": [""], "resources": ["pods/exec"], "verbs": verbs},
        ]})
    };
    let binding = json!({
        "metadata": {"name": "b"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
        "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": "test"}],
    });
    send(
        &admin,
        "POST",
        &format!("{rbac}/roles"),
        role(json!(["get"])),
    )
    .await
    .unwrap();
    send(&admin, "POST", &format!("{rbac}/rolebindings"), binding)
        .await
        .unwrap();
    let target = format!("{PODS}/p/exec?stdout=true");
    let headers = websocket("v4.channel.k8s.io");
    let refused = upgrade(&serving, &target, &token, &headers).await;
    assert!(
        refused.head.starts_with("http/1.1 403 "),
        "{}",
        refused.head
    );
    send(
        &admin,
        "PUT",
        &format!("{rbac}/roles/r"),
        role(json!(["get", "create"])),
    )
    .await
    .unwrap();
    let allowed = upgrade(&serving, &target, &token, &headers).await;
    assert!(
        allowed.head.starts_with("http/1.1 101 "),
        "{}",
        allowed.head
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_end_with_the_server() {
    let (_server, serving) = serve().await;
    let token = admin_token(&serving);
    let target = format!("{PODS}/p/exec?stdin=true&stdout=true");
    let headers = websocket("v5.channel.k8s.io");
    let mut session = upgrade(&serving, &target, &token, &headers).await;
    assert_eq!(session.read().await, (2, b"\x01".to_vec()));
    serving.shutdown().await;
    let mut rest = Vec::new();
    let _ = session.stream.read_to_end(&mut rest).await;
    assert_eq!(rest, b"");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_is_killed_when_its_client_is_gone() {
    let kubelet = EchoKubelet::default();
    let killed = kubelet.killed.clone();
    let (_server, serving) = serve_with(kubelet).await;
    let token = admin_token(&serving);
    let target = format!("{PODS}/p/exec?command=ignore&stdin=true&stdout=true");
    let headers = websocket("v4.channel.k8s.io");
    let mut session = upgrade(&serving, &target, &token, &headers).await;
    // More input than waits in the queue of the process.
    for _ in 0..100 {
        session.write(2, b"\x00input").await;
    }
    drop(session);
    let killed = tokio::time::timeout(Duration::from_secs(60), killed.notified());
    killed.await.expect("the command is killed");
}

//! A server under attack, its clients, and connections of an attacker.

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use futures::channel::mpsc;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Incoming;
use hyper::client::conn::http2::SendRequest;
use hyper_util::rt::{TokioExecutor, TokioIo};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use kueue_lab_apiserver::{ApiServer, ApiServerBuilder, ServeOptions, ServingHandle};
use kueue_lab_clock::Clock;
use kueue_lab_entropy::Entropy;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use super::server_fixture::{namespace, send};

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
/// Longer than any of these tests takes; a test that reaches it fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server on the network with the namespace `test`.
pub(crate) struct Served {
    /// An in-process client.
    pub(crate) admin: Client,
    pub(crate) handle: ServingHandle,
    _server: ApiServer,
}

/// Starts a server.
pub(crate) async fn serve() -> Served {
    serve_with(|builder| builder).await
}

/// Starts a server with other settings.
pub(crate) async fn serve_with(
    configure: impl FnOnce(ApiServerBuilder) -> ApiServerBuilder,
) -> Served {
    let builder = ApiServer::builder(Clock::real(), Entropy::seeded(1));
    let server = configure(builder).build();
    let handle = server.serve(ServeOptions::default()).await.unwrap();
    let admin = server.client();
    namespace(&admin, "test").await;
    Served {
        admin,
        handle,
        _server: server,
    }
}

impl Served {
    async fn config(&self, token: Option<String>) -> Config {
        let kubeconfig = Kubeconfig::from_yaml(self.handle.kubeconfig()).unwrap();
        let options = KubeConfigOptions::default();
        let mut config = Config::from_custom_kubeconfig(kubeconfig, &options)
            .await
            .unwrap();
        if let Some(token) = token {
            config.auth_info.token = Some(token.into());
        }
        config
    }

    /// A client on the network with the kubeconfig.
    pub(crate) async fn administrator(&self) -> Client {
        Client::try_from(self.config(None).await).unwrap()
    }

    /// A token of the service account `test/NAME`, which is created, with these rules.
    pub(crate) async fn account_token(&self, name: &str, rules: Value) -> String {
        let accounts = "/api/v1/namespaces/test/serviceaccounts";
        let account = json!({"metadata": {"name": name}});
        send(&self.admin, "POST", accounts, account).await.unwrap();
        let role = json!({"metadata": {"name": name}, "rules": rules});
        let path = format!("{RBAC}/clusterroles");
        send(&self.admin, "POST", &path, role).await.unwrap();
        let binding = json!({
            "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "test"}],
        });
        let path = format!("{RBAC}/clusterrolebindings");
        send(&self.admin, "POST", &path, binding).await.unwrap();
        let path = format!("{accounts}/{name}/token");
        let token = send(&self.admin, "POST", &path, json!({})).await.unwrap();
        token["status"]["token"].as_str().unwrap().to_owned()
    }

    /// A client on the network of the service account `test/NAME` with these rules.
    pub(crate) async fn account(&self, name: &str, rules: Value) -> Client {
        let token = self.account_token(name, rules).await;
        Client::try_from(self.config(Some(token)).await).unwrap()
    }

    /// An HTTP/2 connection.
    pub(crate) async fn connect(&self) -> Attacker {
        let stream = TcpStream::connect(self.handle.addr()).await.unwrap();
        let stream = kueue_lab_http::connect_tls_insecure(stream, "127.0.0.1")
            .await
            .unwrap();
        let handshake =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream));
        let (sender, connection) = handshake.await.unwrap();
        Attacker {
            sender,
            connection: tokio::spawn(async move { drop(connection.await) }),
            authority: self.handle.addr().to_string(),
        }
    }
}

/// The body of a request whose sender does not end it.
pub(crate) type OpenBody = mpsc::UnboundedSender<Result<Frame<Bytes>, Infallible>>;
type AttackerBody = StreamBody<mpsc::UnboundedReceiver<Result<Frame<Bytes>, Infallible>>>;

/// An HTTP/2 connection of an attacker. It answers PING.
pub(crate) struct Attacker {
    sender: SendRequest<AttackerBody>,
    connection: JoinHandle<()>,
    authority: String,
}

impl Attacker {
    /// Sends the head of a request, whose body stays open as long as the sender lives.
    pub(crate) fn request(
        &mut self,
        method: &str,
        path: &str,
        token: Option<&str>,
    ) -> (
        OpenBody,
        impl Future<Output = hyper::Result<Response<Incoming>>> + Send + 'static,
    ) {
        let (sender, body) = mpsc::unbounded();
        let mut request = Request::builder()
            .method(method)
            .uri(format!("https://{}{path}", self.authority))
            .header("content-type", "application/json");
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let request = request.body(StreamBody::new(body)).unwrap();
        (sender, self.sender.send_request(request))
    }

    /// Whether the server closes the connection.
    pub(crate) async fn is_closed(self) -> bool {
        tokio::time::timeout(PATIENCE, self.connection)
            .await
            .is_ok()
    }
}

/// The status and the body of a response.
pub(crate) async fn answer(
    response: impl Future<Output = hyper::Result<Response<Incoming>>>,
) -> (u16, Value) {
    let response = tokio::time::timeout(PATIENCE, response).await.unwrap();
    let response = response.unwrap();
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&body).unwrap_or_default())
}

/// Bytes of a body.
pub(crate) fn data(bytes: impl Into<Bytes>) -> Result<Frame<Bytes>, Infallible> {
    Ok(Frame::data(bytes.into()))
}

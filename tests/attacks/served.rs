//! A server under attack and its clients.

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use kueue_lab_apiserver::{ApiServer, ApiServerBuilder, ServeOptions, ServingHandle};
use kueue_lab_clock::Clock;
use kueue_lab_entropy::Entropy;
use serde_json::{Value, json};

use super::connection::Attacker;
use super::server_fixture::{namespace, send};

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

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
        Attacker::connect(self.handle.addr()).await
    }
}

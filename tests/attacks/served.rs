//! Clients of a server under attack.

use kube::Client;
use serde_json::{Value, json};

use super::connection::Attacker;
use super::server_fixture::{Served, send};

impl Served {
    /// A client on the network with the kubeconfig.
    pub(crate) async fn administrator(&self) -> Client {
        Client::try_from(self.config(None).await).unwrap()
    }

    /// A token of the service account `test/NAME`, which is created, with these rules.
    pub(crate) async fn account_token(&self, name: &str, rules: Value) -> String {
        let accounts = "/api/v1/namespaces/test/serviceaccounts";
        let account = json!({"metadata": {"name": name}});
        send(&self.admin, "POST", accounts, account).await.unwrap();
        let subject = json!({"kind": "ServiceAccount", "name": name, "namespace": "test"});
        self.grant(name, rules, subject).await;
        let path = format!("{accounts}/{name}/token");
        let token = send(&self.admin, "POST", &path, json!({})).await.unwrap();
        token["status"]["token"].as_str().unwrap().to_owned()
    }

    /// A client on the network of the service account `test/NAME` with these rules.
    pub(crate) async fn account(&self, name: &str, rules: Value) -> Client {
        let token = self.account_token(name, rules).await;
        Client::try_from(self.config(Some(&token)).await).unwrap()
    }

    /// An HTTP/2 connection.
    pub(crate) async fn connect(&self) -> Attacker {
        Attacker::connect(self.handle.addr()).await
    }
}

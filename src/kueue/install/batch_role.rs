//! The users of Kueue's documentation, batch administrators and batch users, as ServiceAccounts.

use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, RoleBinding};
use kube::Client;
use kube::api::ApiResource;
use serde_json::{Value, json};

use super::cluster_roles::{BATCH_ADMIN_ROLE, BATCH_USER_ROLE};
use super::dynamic_objects::{self, api_resource};
use super::{InstallError, NAMESPACE};

/// The lifetime of tokens: one day.
const TOKEN_EXPIRATION_SECONDS: i64 = 86_400;

/// A role of users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchRole {
    /// Manages queues, in the whole cluster.
    Admin,
    /// Submits jobs, in one namespace.
    User,
}

impl BatchRole {
    /// The name of the ServiceAccount.
    pub fn name(self) -> &'static str {
        match self {
            Self::Admin => "batch-admin",
            Self::User => "batch-user",
        }
    }

    fn cluster_role(self) -> &'static str {
        match self {
            Self::Admin => BATCH_ADMIN_ROLE,
            Self::User => BATCH_USER_ROLE,
        }
    }

    /// A token of the ServiceAccount in `namespace`, valid for a day. Creates the account and binds
    /// it to its ClusterRole: an administrator in the cluster, a user in `namespace`.
    ///
    /// # Errors
    /// The namespace or the ClusterRole does not exist, or a request fails.
    pub async fn token(self, client: &Client, namespace: &str) -> Result<String, InstallError> {
        let roles = api_resource::<ClusterRole>();
        let role = self.cluster_role();
        if dynamic_objects::get(client, &roles, None, role)
            .await?
            .is_none()
        {
            return Err(InstallError::NoClusterRole(role));
        }
        let account = json!({
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": self.name()},
        });
        let accounts = api_resource::<ServiceAccount>();
        dynamic_objects::apply(client, &accounts, Some(namespace), account).await?;
        let (kind, binding_namespace, name) = match self {
            Self::Admin => (
                api_resource::<ClusterRoleBinding>(),
                None,
                format!("{NAMESPACE}:{namespace}:{}", self.name()),
            ),
            Self::User => (
                api_resource::<RoleBinding>(),
                Some(namespace),
                self.name().to_owned(),
            ),
        };
        let binding = self.binding(&kind, &name, namespace);
        dynamic_objects::apply(client, &kind, binding_namespace, binding).await?;
        self.request_token(client, namespace).await
    }

    fn binding(self, kind: &ApiResource, name: &str, namespace: &str) -> Value {
        json!({
            "apiVersion": kind.api_version,
            "kind": kind.kind,
            "metadata": {"name": name},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": self.cluster_role(),
            },
            "subjects": [{
                "kind": "ServiceAccount",
                "name": self.name(),
                "namespace": namespace,
            }],
        })
    }

    async fn request_token(self, client: &Client, namespace: &str) -> Result<String, InstallError> {
        let request = json!({
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": TOKEN_EXPIRATION_SECONDS, "audiences": []},
        });
        let name = self.name();
        let request = http::Request::post(format!(
            "/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        ))
        .header(http::header::CONTENT_TYPE, "application/json")
        .body(request.to_string().into_bytes());
        let what = || format!("a token of serviceaccounts {name:?}");
        let request =
            request.map_err(|e| InstallError::of("create", what(), kube::Error::HttpError(e)))?;
        let issued: Value = client
            .request(request)
            .await
            .map_err(|e| InstallError::of("create", what(), e))?;
        let token = issued["status"]["token"].as_str().unwrap_or_default();
        Ok(token.to_owned())
    }
}

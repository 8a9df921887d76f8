//! What Kueue needs to be in a cluster that is not ours: kinds, webhooks, certificates; and the way
//! back, which leaves jobs and pods able to run.
//!
//! Everything put there carries [`MANAGED_BY`] and is written by server-side apply as
//! [`FIELD_MANAGER`], so it is upgraded in place and found again. `docs/real-clusters.md` says why
//! the webhooks are registered as they are.
//!
//! Knows `webhooks` and `api`; must not know how webhooks are answered or who admits.

mod cert_rotator;
mod crds;
mod dynamic_objects;
mod error;
pub mod uninstall;
mod webhook_configurations;
mod webhook_probe;
mod webhook_route;

use std::net::SocketAddr;

use k8s_openapi::api::core::v1::Namespace;
use kube::Client;
use serde_json::json;

pub use cert_rotator::CertRotator;
pub use error::InstallError;
pub use webhook_configurations::FailurePolicy;
pub use webhook_route::WebhookRoute;

use kueue_lab_clock::Clock;

/// The namespace for what has to be in one.
pub const NAMESPACE: &str = "kueue-lab-system";
/// Who wrote it, for server-side apply.
pub const FIELD_MANAGER: &str = "kueue-lab-install";
/// Key and value of the label on everything that is installed.
pub const MANAGED_BY: (&str, &str) = ("app.kubernetes.io/managed-by", "kueue-lab");

/// Selects everything that is installed.
pub fn selector() -> String {
    format!("{}={}", MANAGED_BY.0, MANAGED_BY.1)
}

/// Where webhooks are answered.
#[derive(Clone, Debug)]
pub struct WebhookEndpoint {
    /// How the API server gets there.
    pub route: WebhookRoute,
    /// Where the server listens.
    pub address: SocketAddr,
    /// Certificates (PEM) that sign the server's.
    pub authority: String,
    /// What happens to jobs and pods when nobody answers.
    pub failure_policy: FailurePolicy,
}

/// Puts into a cluster what Kueue needs there.
#[derive(Clone)]
pub struct Installer {
    client: Client,
    clock: Clock,
    namespace: String,
}

impl Installer {
    /// For a cluster; what has to be in a namespace goes into `namespace`.
    pub fn new(client: Client, clock: Clock, namespace: impl Into<String>) -> Self {
        Self {
            client,
            clock,
            namespace: namespace.into(),
        }
    }

    /// The namespace for what has to be in one.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Makes sure of the namespace and the kinds, and waits until the kinds are served. With an
    /// endpoint old versions are converted there; without one they are not served, since what they
    /// would show were wrong. Can be repeated at any time.
    ///
    /// # Errors
    /// Rights are missing, kinds that others made do not fit, or the cluster does not answer.
    pub async fn install_crds(
        &self,
        endpoint: Option<&WebhookEndpoint>,
    ) -> Result<(), InstallError> {
        self.ensure_namespace().await?;
        crds::install(&self.client, &self.clock, endpoint).await
    }

    /// Registers the webhooks, of jobs those of the integrations that `managed` says by name, and
    /// checks that they can be reached. Unregisters them again when they cannot.
    ///
    /// # Errors
    /// Rights are missing, the cluster does not answer, or does not reach the endpoint.
    pub async fn install_webhooks(
        &self,
        endpoint: &WebhookEndpoint,
        managed: impl Fn(&str) -> bool,
    ) -> Result<(), InstallError> {
        webhook_configurations::install(&self.client, &self.namespace, endpoint, managed).await?;
        let reached = webhook_probe::probe_webhooks(&self.client, &self.clock, endpoint).await;
        if reached.is_err() {
            self.remove_webhooks().await?;
        }
        reached
    }

    /// Unregisters the webhooks. For whoever serves them from outside the cluster and stops: nothing
    /// waits for an answer that cannot come.
    ///
    /// # Errors
    /// Rights are missing or the cluster does not answer.
    pub async fn remove_webhooks(&self) -> Result<(), InstallError> {
        webhook_configurations::remove(&self.client).await.map(drop)
    }

    /// Unregisters webhooks that somebody outside of the cluster served who is gone: for whoever leads
    /// without webhooks. Gives how many configurations there were.
    ///
    /// # Errors
    /// Rights are missing or the cluster does not answer.
    pub async fn remove_abandoned_webhooks(&self) -> Result<usize, InstallError> {
        webhook_configurations::remove_url_webhooks(&self.client).await
    }

    /// Makes sure of the namespace; one that is about to go is waited for and made anew.
    ///
    /// # Errors
    /// Rights are missing, the cluster does not answer, or the namespace does not go.
    pub async fn ensure_namespace(&self) -> Result<(), InstallError> {
        let kind = dynamic_objects::api_resource::<Namespace>();
        let object = json!({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": self.namespace},
        });
        let there = dynamic_objects::get(&self.client, &kind, None, &self.namespace).await?;
        match there {
            // Somebody else's stays somebody else's.
            Some(there) if there.metadata.deletion_timestamp.is_none() => return Ok(()),
            Some(_) => {
                tracing::info!("namespace {} is about to go; waiting", self.namespace);
                dynamic_objects::ensure_deleted(&self.client, &self.clock, &kind, &self.namespace)
                    .await?;
            }
            None => {}
        }
        dynamic_objects::apply(&self.client, &kind, None, object)
            .await
            .map(drop)
    }
}

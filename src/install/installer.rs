//! Installs CRDs and webhook configurations into a cluster.

use super::{
    FailurePolicy, InstallError, WebhookRoute, crds, dynamic_objects, webhook_configurations,
    webhook_probe,
};
use k8s_openapi::api::core::v1::Namespace;
use kube::Client;
use kueue_lab_clock::Clock;
use serde_json::json;
use std::net::SocketAddr;

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
    pub(super) client: Client,
    pub(super) clock: Clock,
    pub(super) namespace: String,
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

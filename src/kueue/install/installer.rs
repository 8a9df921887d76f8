//! Installs CRDs, webhook configurations and the API of explanations into a cluster.

use std::net::SocketAddr;

use k8s_openapi::api::core::v1::Namespace;
use kube::Client;
use serde_json::json;

use super::{
    ExplanationEndpoint, FailurePolicy, InstallError, WebhookRoute, crds, dynamic_objects,
    explanation_api, webhook_configurations, webhook_probe,
};
use kueue_lab_clock::Clock;

/// The route from the API server to the webhooks.
#[derive(Clone, Debug)]
pub struct WebhookEndpoint {
    /// The route from the API server.
    pub route: WebhookRoute,
    /// The listen address of the webhook server.
    pub address: SocketAddr,
    /// The certificate authority (PEM), for `caBundle`.
    pub authority: String,
    /// The failure policy for jobs and pods.
    pub failure_policy: FailurePolicy,
}

/// Installs Kueue's CRDs, webhook configurations and the API of explanations into a cluster.
#[derive(Clone)]
pub struct Installer {
    pub(super) client: Client,
    pub(super) clock: Clock,
    pub(super) namespace: String,
}

impl Installer {
    /// An installer that creates namespaced objects in `namespace`.
    pub fn new(client: Client, clock: Clock, namespace: impl Into<String>) -> Self {
        Self {
            client,
            clock,
            namespace: namespace.into(),
        }
    }

    /// The namespace of namespaced objects.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Ensures the namespace and the CRDs, and waits until the CRDs are established. With an
    /// endpoint, old versions are converted by the webhook; without one they are not served.
    /// Idempotent.
    ///
    /// # Errors
    /// Permissions are missing, existing CRDs are incompatible, or the API server is unavailable.
    pub async fn install_crds(
        &self,
        endpoint: Option<&WebhookEndpoint>,
    ) -> Result<(), InstallError> {
        self.ensure_namespace().await?;
        crds::install(&self.client, &self.clock, endpoint).await
    }

    /// Registers the webhooks, those of jobs for the frameworks that `managed` returns true for,
    /// and probes them. Unregisters them if the probe fails.
    ///
    /// # Errors
    /// Permissions are missing, the API server is unavailable, or cannot call the webhooks.
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

    /// Unregisters the webhooks. Called before a webhook server outside the cluster stops, so that
    /// no request waits for it.
    ///
    /// # Errors
    /// Permissions are missing or the API server is unavailable.
    pub async fn remove_webhooks(&self) -> Result<(), InstallError> {
        webhook_configurations::remove(&self.client).await.map(drop)
    }

    /// Unregisters webhooks of a server outside the cluster that has stopped; called by a leader
    /// without webhooks. Returns the number of configurations.
    ///
    /// # Errors
    /// Permissions are missing or the API server is unavailable.
    pub async fn remove_abandoned_webhooks(&self) -> Result<usize, InstallError> {
        webhook_configurations::remove_url_webhooks(&self.client).await
    }

    /// Registers the API of explanations and waits until the API server reaches its server. Unregisters it otherwise.
    ///
    /// # Errors
    /// Permissions are missing, the API server is unavailable, or does not reach the server.
    pub async fn install_explanations(
        &self,
        endpoint: &ExplanationEndpoint,
    ) -> Result<(), InstallError> {
        explanation_api::install(&self.client, &self.clock, &self.namespace, endpoint).await
    }

    /// Unregisters the API of explanations, if it is registered. Called before its server stops, and by a leader that
    /// serves none.
    ///
    /// # Errors
    /// Permissions are missing or the API server is unavailable.
    pub async fn remove_explanations(&self) -> Result<bool, InstallError> {
        explanation_api::remove(&self.client, &self.namespace).await
    }

    /// The DNS name that the certificate of the server of explanations must have.
    pub fn explanation_server_name(&self) -> String {
        explanation_api::server_name(&self.namespace)
    }

    /// Ensures the namespace; waits for a terminating one and recreates it.
    ///
    /// # Errors
    /// Permissions are missing, the API server is unavailable, or the deletion of the namespace
    /// times out.
    pub async fn ensure_namespace(&self) -> Result<(), InstallError> {
        let kind = dynamic_objects::api_resource::<Namespace>();
        let object = json!({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": self.namespace},
        });
        let existing = dynamic_objects::get(&self.client, &kind, None, &self.namespace).await?;
        match existing {
            // An existing namespace keeps its labels.
            Some(existing) if existing.metadata.deletion_timestamp.is_none() => return Ok(()),
            Some(_) => {
                tracing::info!("namespace {} is terminating; waiting", self.namespace);
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

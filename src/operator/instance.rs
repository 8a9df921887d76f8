//! The state of one instance across its terms as leader or follower.

use kube::Client;
use kueue_lab_clock::Clock;
use kueue_lab_controller::{Controller, ControllerConfig};
use kueue_lab_election::{LeaderElectionConfig, LeaderElector};
use kueue_lab_entropy::Entropy;
use kueue_lab_install::{
    CertRotator, FailurePolicy, InstallError, Installer, WebhookEndpoint, WebhookRoute,
};
use kueue_lab_metrics::{self as metrics, Metrics};
use kueue_lab_runtime::{Context, Tasks};
use kueue_lab_webhooks::certificates::CertificateLifetimes;
use kueue_lab_webhooks::{AdmissionHandler, ServerError, WebhookServer};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::sync::watch;

/// What an instance does at the moment.
#[derive(Clone, Default)]
pub enum InstanceRole {
    /// It gets ready.
    #[default]
    Starting,
    /// Somebody else leads.
    Follower(String),
    /// It leads.
    Leader(Controller),
}

/// What all terms of an instance have in common.
pub(super) struct Instance {
    /// For what must not wait: the lease, and what is installed.
    pub(super) client: Client,
    /// For the controller, no faster than its configuration says.
    pub(super) rate_limited_client: Client,
    pub(super) clock: Clock,
    pub(super) entropy: Entropy,
    pub(super) kueue: ControllerConfig,
    pub(super) installer: Installer,
    pub(super) endpoint: Option<(WebhookEndpoint, CertRotator)>,
    pub(super) policy: Arc<AdmissionHandler>,
    pub(super) leader_election: Option<LeaderElectionConfig>,
    pub(super) metrics: Option<Metrics>,
    pub(super) role: watch::Sender<InstanceRole>,
}

impl Instance {
    /// Whether webhooks stay registered when this instance stops: others answer them.
    pub(super) fn is_in_cluster(&self) -> bool {
        let reach = self.endpoint.as_ref().map(|(endpoint, _)| &endpoint.route);
        matches!(reach, Some(WebhookRoute::Service { .. }))
    }

    /// A context for one term; its tasks end with it.
    pub(super) fn context(&self) -> Context {
        Context::new(
            self.rate_limited_client.clone(),
            self.clock.clone(),
            self.entropy.clone(),
        )
    }

    pub(super) fn leader_elector(&self) -> Option<LeaderElector> {
        let rules = self.leader_election.clone()?;
        Some(LeaderElector::new(
            self.client.clone(),
            self.clock.clone(),
            self.entropy.clone(),
            rules,
        ))
    }
}

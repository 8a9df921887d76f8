//! The state of one instance across its terms as leader or follower.

use std::sync::Arc;

use kube::Client;
use tokio::sync::watch;

use kueue_lab_clock::Clock;
use kueue_lab_clock::Entropy;
use kueue_lab_controller::{Controller, ControllerConfig};
use kueue_lab_controller_runtime::Context;
use kueue_lab_election::{LeaderElectionConfig, LeaderElector};
use kueue_lab_install::{
    CertRotator, ExplanationEndpoint, Installer, WebhookEndpoint, WebhookRoute,
};
use kueue_lab_metrics::Metrics;
use kueue_lab_webhooks::AdmissionHandler;

/// The role of an instance.
#[derive(Clone, Default)]
pub enum InstanceRole {
    /// Starting.
    #[default]
    Starting,
    /// A follower, with the identity of the leader.
    Follower(String),
    /// The leader.
    Leader(Box<Controller>),
}

/// The state that all terms of an instance share.
pub(super) struct Instance {
    /// For requests that must not be rate limited: Lease and installation.
    pub(super) client: Client,
    /// For the controller, limited by `clientConnection`.
    pub(super) rate_limited_client: Client,
    pub(super) clock: Clock,
    pub(super) entropy: Entropy,
    pub(super) kueue: ControllerConfig,
    pub(super) installer: Installer,
    pub(super) endpoint: Option<(WebhookEndpoint, CertRotator)>,
    /// The server of explanations, whose authority is that of the endpoint.
    pub(super) explanations: Option<ExplanationEndpoint>,
    pub(super) policy: Arc<AdmissionHandler>,
    pub(super) leader_election: Option<LeaderElectionConfig>,
    pub(super) metrics: Option<Metrics>,
    pub(super) role: watch::Sender<InstanceRole>,
}

impl Instance {
    /// Whether other replicas serve the webhooks when this instance stops.
    pub(super) fn is_in_cluster(&self) -> bool {
        let route = self.endpoint.as_ref().map(|(endpoint, _)| &endpoint.route);
        matches!(route, Some(WebhookRoute::Service { .. }))
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
        let config = self.leader_election.clone()?;
        Some(LeaderElector::new(
            self.client.clone(),
            self.clock.clone(),
            self.entropy.clone(),
            config,
        ))
    }
}

//! The operator: starts an instance on a cluster, reports its role, and stops it.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use kube::Client;
use tokio::sync::watch;

use super::explainer::Explainer;
use super::explanation_server::ExplanationServer;
use super::instance::{Instance, InstanceRole};
use super::operator_health::OperatorHealth;
use super::{health, leadership, rate_limiter};
use kueue_lab_clock::Clock;
use kueue_lab_clock::Entropy;
use kueue_lab_controller::{Controller, ControllerConfig};
use kueue_lab_controller_runtime::Tasks;
use kueue_lab_election::LeaderElectionConfig;
use kueue_lab_install::{
    CertRotator, CertificateSecret, ExplanationEndpoint, FailurePolicy, InstallError, Installer,
    WebhookEndpoint, WebhookRoute,
};
use kueue_lab_metrics::Metrics;
use kueue_lab_webhooks::certificates::CertificateLifetimes;
use kueue_lab_webhooks::{AdmissionHandler, ServerError, WebhookServer};

/// The consequences of running without webhooks.
pub const WITHOUT_WEBHOOKS: &str = "no webhooks: jobs are suspended after their creation, pods are not gated and run outside of quota, objects of Kueue are not validated, and v1beta1 is not served";

/// The configuration of an instance.
pub struct OperatorConfig {
    /// The client of the cluster.
    pub client: Client,
    /// The clock; on real clusters the wall clock.
    pub clock: Clock,
    /// The entropy source.
    pub entropy: Entropy,
    /// Kueue's configuration.
    pub kueue: ControllerConfig,
    /// The namespace of namespaced objects.
    pub namespace: String,
    /// The route from the API server to the webhooks. None disables webhooks: jobs are suspended by
    /// the controller only, and old versions of Kueue's kinds are not served.
    pub route: Option<WebhookRoute>,
    /// The port of the webhook server; 0 selects a free one.
    pub port: u16,
    /// The API of explanations; none is served without webhooks.
    pub explanations: Option<ExplanationConfig>,
    /// The failure policy of webhooks of jobs and pods.
    pub failure_policy: FailurePolicy,
    /// The lifetimes of the serving certificate.
    pub certificate_lifetimes: CertificateLifetimes,
    /// The identity in leader election; None leads without election.
    pub identity: Option<String>,
    /// The metrics to update.
    pub metrics: Option<Metrics>,
}

/// The API of explanations of an instance.
pub struct ExplanationConfig {
    /// What it serves.
    pub explainer: Arc<dyn Explainer>,
    /// Its port; 0 selects a free one.
    pub port: u16,
    /// The address of the pod of this process, inside a cluster.
    pub pod: Option<IpAddr>,
}

/// The error of an instance that cannot run.
#[derive(Debug, thiserror::Error)]
pub enum OperatorError {
    /// Installation failed.
    #[error(transparent)]
    Install(#[from] InstallError),
    /// The webhook server failed.
    #[error(transparent)]
    Server(#[from] ServerError),
}

impl OperatorError {
    /// Whether the cause is the request or the cluster rather than a transient failure.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Install(error) => error.is_usage(),
            Self::Server(error) => matches!(error, ServerError::Listen { .. }),
        }
    }
}

/// A running instance.
pub struct Operator {
    tasks: Tasks,
    role: watch::Receiver<InstanceRole>,
    failed: watch::Receiver<Option<Arc<OperatorError>>>,
    policy: Arc<AdmissionHandler>,
    metrics: Option<Metrics>,
    endpoints: health::HealthEndpoints,
    webhooks: Option<SocketAddr>,
    done: tokio::sync::oneshot::Receiver<()>,
    stop: tokio_util::sync::CancellationToken,
}

impl Operator {
    /// Ensures the namespace, serves the webhooks and joins the election.
    ///
    /// # Errors
    /// Permissions are missing, the API server is unavailable, or the webhook port is in use.
    pub async fn start(config: OperatorConfig) -> Result<Self, OperatorError> {
        let installer = Installer::new(
            config.client.clone(),
            config.clock.clone(),
            &config.namespace,
        );
        installer.ensure_namespace().await?;
        let tasks = Tasks::new();
        let policy = Arc::new(AdmissionHandler::new(config.kueue.gates));
        let endpoint = match config.route {
            None => None,
            Some(route) => {
                let (clock, mut hosts) = (config.clock.clone(), route.server_names());
                hosts.extend(
                    config
                        .explanations
                        .is_some()
                        .then(|| installer.explanation_server_name()),
                );
                let rotator = match route {
                    WebhookRoute::Service { .. } => {
                        let client = config.client.clone();
                        CertRotator::in_secret(
                            CertificateSecret::of_installation(client, &config.namespace),
                            hosts,
                            config.certificate_lifetimes,
                            clock,
                        )
                        .await?
                    }
                    _ => CertRotator::in_memory(hosts, config.certificate_lifetimes, clock)?,
                };
                let listen = route.listen_address(config.port);
                let server =
                    WebhookServer::start(&tasks, listen, policy.clone(), rotator.certificates())
                        .await?;
                let endpoint = WebhookEndpoint {
                    route,
                    address: server.address(),
                    authority: rotator.authority(),
                    failure_policy: config.failure_policy,
                };
                Some((endpoint, rotator))
            }
        };
        let (role, roles) = watch::channel(InstanceRole::Starting);
        let explanations = match config.explanations.zip(endpoint.as_ref()) {
            None => None,
            Some((explanations, (webhooks, rotator))) => {
                let server = ExplanationServer {
                    client: config.client.clone(),
                    role: roles.clone(),
                    explainer: explanations.explainer,
                };
                let listen = webhooks.route.listen_address(explanations.port);
                match server.start(&tasks, listen, rotator.certificates()).await {
                    Ok(address) => Some(ExplanationEndpoint {
                        route: webhooks.route.clone(),
                        address,
                        pod: explanations.pod,
                        authority: rotator.authority(),
                    }),
                    Err(error) => {
                        tracing::warn!(
                            "the explanations of this controller are not served: {error}"
                        );
                        None
                    }
                }
            }
        };
        let election = config.kueue.configuration.leader_election.clone();
        let election = election.unwrap_or_default();
        let election_config = config.identity.map(|identity| {
            let election_config =
                LeaderElectionConfig::new(config.namespace, election.resource_name, identity);
            LeaderElectionConfig {
                lease_duration: election.lease_duration.to_std(),
                renew_deadline: election.renew_deadline.to_std(),
                retry_period: election.retry_period.to_std(),
                ..election_config
            }
        });
        let webhooks = endpoint.as_ref().map(|(endpoint, _)| endpoint.address);
        let (fail, failed) = watch::channel(None);
        let (finish, done) = tokio::sync::oneshot::channel();
        let stop = tokio_util::sync::CancellationToken::new();
        let connection = config.kueue.configuration.client_connection.clone();
        let endpoints = health::HealthEndpoints::new(&config.kueue.configuration.health);
        let instance = Instance {
            rate_limited_client: rate_limiter::rate_limited(
                config.client.clone(),
                connection.as_ref(),
            ),
            client: config.client,
            clock: config.clock,
            entropy: config.entropy,
            kueue: config.kueue,
            installer,
            endpoint,
            explanations,
            policy: policy.clone(),
            leader_election: election_config,
            metrics: config.metrics.clone(),
            role,
        };
        let stopped = stop.clone();
        tasks.spawn("operator", async move {
            if let Err(error) = leadership::run_terms(&instance, &stopped).await {
                fail.send_replace(Some(Arc::new(error)));
            }
            // The receiver may be dropped.
            let _ = finish.send(());
        });
        Ok(Self {
            tasks,
            endpoints,
            role: roles,
            failed,
            policy,
            metrics: config.metrics,
            webhooks,
            done,
            stop,
        })
    }

    /// Waits until this instance is the leader, and returns its controller. Calls `waiting` with
    /// the identity of each other leader.
    ///
    /// # Errors
    /// Installation failed.
    pub async fn wait_until_leader(
        &self,
        mut waiting: impl FnMut(&str),
    ) -> Result<Controller, Arc<OperatorError>> {
        let (mut role, mut failed) = (self.role.clone(), self.failed.clone());
        loop {
            match &*role.borrow_and_update() {
                InstanceRole::Leader(controller) => return Ok(Controller::clone(controller)),
                InstanceRole::Follower(leader) => waiting(leader),
                InstanceRole::Starting => {}
            }
            if let Some(error) = &*failed.borrow_and_update() {
                return Err(error.clone());
            }
            tokio::select! {
                changed = role.changed() => {
                    if changed.is_err() && failed.borrow().is_none() {
                        // The instance is stopping and will not lead.
                        std::future::pending::<()>().await;
                    }
                }
                _ = failed.changed() => {}
            }
        }
    }

    /// The current role, as a watch channel.
    pub fn role(&self) -> watch::Receiver<InstanceRole> {
        self.role.clone()
    }

    /// The controller, if this instance is the leader.
    pub fn controller(&self) -> Option<Controller> {
        match &*self.role.borrow() {
            InstanceRole::Leader(controller) => Some(Controller::clone(controller)),
            _ => None,
        }
    }

    /// The address of the webhook server.
    pub fn webhooks(&self) -> Option<SocketAddr> {
        self.webhooks
    }

    /// Whether jobs can be admitted by the webhooks.
    pub fn is_ready(&self) -> bool {
        self.policy.is_ready() || self.webhooks.is_none()
    }

    /// Serves health checks over HTTP, with metrics if requested. Returns the bound address.
    ///
    /// # Errors
    /// The address cannot be bound.
    pub async fn serve_health(
        &self,
        listen: SocketAddr,
        with_metrics: bool,
    ) -> std::io::Result<SocketAddr> {
        let paths = match with_metrics {
            true => health::ServedPaths::All,
            false => health::ServedPaths::Health,
        };
        health::serve(&self.tasks, listen, self.health_checker(), paths).await
    }

    /// Serves metrics over HTTP. Returns the bound address.
    ///
    /// # Errors
    /// The address cannot be bound.
    pub async fn serve_metrics(&self, listen: SocketAddr) -> std::io::Result<SocketAddr> {
        health::serve(
            &self.tasks,
            listen,
            self.health_checker(),
            health::ServedPaths::Metrics,
        )
        .await
    }

    fn health_checker(&self) -> Arc<OperatorHealth> {
        Arc::new(OperatorHealth {
            role: self.role.clone(),
            failed: self.failed.clone(),
            policy: self.webhooks.is_some().then(|| self.policy.clone()),
            metrics: self.metrics.clone(),
            endpoints: self.endpoints.clone(),
        })
    }

    /// Waits until a permanent failure stops the instance.
    pub async fn failed(&self) -> Arc<OperatorError> {
        let mut failed = self.failed.clone();
        loop {
            if let Some(error) = &*failed.borrow_and_update() {
                return error.clone();
            }
            if failed.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Stops the instance gracefully: unregisters webhooks that no other instance serves, and
    /// releases the Lease.
    pub async fn stop(self) {
        self.stop.cancel();
        // The sender is dropped with the task.
        let _ = self.done.await;
        self.tasks.shutdown().await;
    }

    /// Stops immediately, without releasing the Lease, as a killed process does.
    pub async fn abort(self) {
        self.tasks.shutdown().await;
    }
}

//! The operator: starts an instance on a cluster, reports its role, and stops it.

use super::instance::{Instance, InstanceRole};
use super::operator_health::OperatorHealth;
use super::{health, leadership, rate_limiter};
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

/// What is lost without webhooks.
pub const WITHOUT_WEBHOOKS: &str = "no webhooks: jobs are suspended after they were made rather than before, pods are not gated and run outside of quota, nobody checks queues that are written, and v1beta1 is not served";

/// How the controller is run on a cluster.
pub struct OperatorConfig {
    /// The way to the cluster.
    pub client: Client,
    /// Time; real clusters have the wall clock's.
    pub clock: Clock,
    /// Chance.
    pub entropy: Entropy,
    /// Kueue's configuration.
    pub kueue: ControllerConfig,
    /// The namespace for what has to be in one.
    pub namespace: String,
    /// How the cluster gets to the webhooks; without it there are none, jobs are held by the
    /// controller alone, and old versions of Kueue's kinds are not served.
    pub route: Option<WebhookRoute>,
    /// The port to serve webhooks on; 0 takes any that is free.
    pub port: u16,
    /// What happens to jobs and pods when nobody answers.
    pub failure_policy: FailurePolicy,
    /// How long the webhooks' certificates are good for.
    pub certificate_lifetimes: CertificateLifetimes,
    /// Who this is in the election; None leads without one.
    pub identity: Option<String>,
    /// Where is counted what it does.
    pub metrics: Option<Metrics>,
}

/// Why the controller does not run on a cluster.
#[derive(Debug, thiserror::Error)]
pub enum OperatorError {
    /// What it needs cannot be put there.
    #[error(transparent)]
    Install(#[from] InstallError),
    /// The webhooks cannot be served.
    #[error(transparent)]
    Server(#[from] ServerError),
}

impl OperatorError {
    /// Whether what was asked for cannot be, rather than that something went wrong.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Install(error) => error.is_usage(),
            Self::Server(error) => matches!(error, ServerError::Listen { .. }),
        }
    }
}

/// The controller on a cluster.
pub struct Operator {
    tasks: Tasks,
    role: watch::Receiver<InstanceRole>,
    failed: watch::Receiver<Option<Arc<OperatorError>>>,
    policy: Arc<AdmissionHandler>,
    metrics: Option<Metrics>,
    webhooks: Option<SocketAddr>,
    done: tokio::sync::oneshot::Receiver<()>,
    stop: tokio_util::sync::CancellationToken,
}

impl Operator {
    /// Makes sure of the namespace, serves the webhooks and begins to take part in the election.
    ///
    /// # Errors
    /// Rights are missing, the cluster does not answer, or the webhooks' port is taken.
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
            Some(reach) => {
                let (clock, hosts) = (config.clock.clone(), reach.server_names());
                let keeper = match reach {
                    WebhookRoute::Service { .. } => {
                        let client = config.client.clone();
                        CertRotator::in_secret(
                            client,
                            &config.namespace,
                            hosts,
                            config.certificate_lifetimes,
                            clock,
                        )
                        .await?
                    }
                    _ => CertRotator::in_memory(hosts, config.certificate_lifetimes, clock)?,
                };
                let listen = reach.listen_address(config.port);
                let server =
                    WebhookServer::start(&tasks, listen, policy.clone(), keeper.certificates())
                        .await?;
                let endpoint = WebhookEndpoint {
                    route: reach,
                    address: server.address(),
                    authority: keeper.authority(),
                    failure_policy: config.failure_policy,
                };
                Some((endpoint, keeper))
            }
        };
        let election = config.kueue.configuration.leader_election.clone();
        let election = election.unwrap_or_default();
        let rules = config.identity.map(|identity| {
            let rules =
                LeaderElectionConfig::new(config.namespace, election.resource_name, identity);
            LeaderElectionConfig {
                lease_duration: election.lease_duration.to_std(),
                renew_deadline: election.renew_deadline.to_std(),
                retry_period: election.retry_period.to_std(),
                ..rules
            }
        });
        let webhooks = endpoint.as_ref().map(|(endpoint, _)| endpoint.address);
        let (role, roles) = watch::channel(InstanceRole::Starting);
        let (fail, failed) = watch::channel(None);
        let (finish, done) = tokio::sync::oneshot::channel();
        let stop = tokio_util::sync::CancellationToken::new();
        let connection = config.kueue.configuration.client_connection.clone();
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
            policy: policy.clone(),
            leader_election: rules,
            metrics: config.metrics.clone(),
            role,
        };
        let stopped = stop.clone();
        tasks.spawn("operator", async move {
            if let Err(error) = leadership::run_terms(&instance, &stopped).await {
                fail.send_replace(Some(Arc::new(error)));
            }
            // Nobody may wait for it any more.
            let _ = finish.send(());
        });
        Ok(Self {
            tasks,
            role: roles,
            failed,
            policy,
            metrics: config.metrics,
            webhooks,
            done,
            stop,
        })
    }

    /// Waits until this instance leads, and gives its controller. Calls `waiting` with the name of
    /// whoever leads meanwhile.
    ///
    /// # Errors
    /// What has to be there cannot be installed.
    pub async fn wait_until_leader(
        &self,
        mut waiting: impl FnMut(&str),
    ) -> Result<Controller, Arc<OperatorError>> {
        let (mut role, mut failed) = (self.role.clone(), self.failed.clone());
        loop {
            match &*role.borrow_and_update() {
                InstanceRole::Leader(controller) => return Ok(controller.clone()),
                InstanceRole::Follower(leader) => waiting(leader),
                InstanceRole::Starting => {}
            }
            if let Some(error) = &*failed.borrow_and_update() {
                return Err(error.clone());
            }
            tokio::select! {
                changed = role.changed() => {
                    if changed.is_err() && failed.borrow().is_none() {
                        // It stops; there will be no leading.
                        std::future::pending::<()>().await;
                    }
                }
                _ = failed.changed() => {}
            }
        }
    }

    /// What this instance does at the moment, to be followed.
    pub fn role(&self) -> watch::Receiver<InstanceRole> {
        self.role.clone()
    }

    /// The controller, while this instance leads.
    pub fn controller(&self) -> Option<Controller> {
        match &*self.role.borrow() {
            InstanceRole::Leader(controller) => Some(controller.clone()),
            _ => None,
        }
    }

    /// Where webhooks are served.
    pub fn webhooks(&self) -> Option<SocketAddr> {
        self.webhooks
    }

    /// Whether jobs can be judged.
    pub fn is_ready(&self) -> bool {
        self.policy.is_ready() || self.webhooks.is_none()
    }

    /// Serves health over plain HTTP, and metrics if wanted. Gives the address, with the port that was
    /// taken.
    ///
    /// # Errors
    /// The address cannot be listened on.
    pub async fn serve_health(
        &self,
        listen: SocketAddr,
        with_metrics: bool,
    ) -> std::io::Result<SocketAddr> {
        let told = match with_metrics {
            true => health::ServedPaths::All,
            false => health::ServedPaths::Health,
        };
        health::serve(&self.tasks, listen, self.signs(), told).await
    }

    /// Serves metrics alone over plain HTTP. Gives the address, with the port that was taken.
    ///
    /// # Errors
    /// The address cannot be listened on.
    pub async fn serve_metrics(&self, listen: SocketAddr) -> std::io::Result<SocketAddr> {
        health::serve(
            &self.tasks,
            listen,
            self.signs(),
            health::ServedPaths::Metrics,
        )
        .await
    }

    fn signs(&self) -> Arc<OperatorHealth> {
        Arc::new(OperatorHealth {
            role: self.role.clone(),
            failed: self.failed.clone(),
            policy: self.webhooks.is_some().then(|| self.policy.clone()),
            metrics: self.metrics.clone(),
        })
    }

    /// Waits until something that cannot be mended stops the instance.
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

    /// Stops admitting, hands over: webhooks that nobody else answers are unregistered and the
    /// lease is given up.
    pub async fn stop(self) {
        self.stop.cancel();
        // Its sender is dropped at the latest when the task ends.
        let _ = self.done.await;
        self.tasks.shutdown().await;
    }

    /// Stops at once and tells nobody, as a process that is killed.
    pub async fn abort(self) {
        self.tasks.shutdown().await;
    }
}

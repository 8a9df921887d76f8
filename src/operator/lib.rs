//! The controller on a cluster that somebody else runs, as one of several instances: installs what
//! it needs there, serves its webhooks, takes part in the election, and admits while it leads.
//!
//! Outside the cluster an instance does everything only while it leads, since the webhooks are
//! registered at one place. Inside, all instances stand behind one Service: they answer webhooks
//! from the start, and know the cluster well when they come to lead.
//!
//! Knows `install`, `webhooks`, `election`, `metrics` and `controller`; must not know the command line or what
//! else runs beside the controller.

pub mod health;
mod pace;
mod term;

use std::net::SocketAddr;
use std::sync::Arc;

use kube::Client;
use tokio::sync::watch;

use kueue_lab_clock::Clock;
use kueue_lab_controller::{Controller, ControllerConfig};
use kueue_lab_election::{Candidate, Rules};
use kueue_lab_entropy::Entropy;
use kueue_lab_install::{Endpoint, FailurePolicy, InstallError, Installer, Keeper, Reach};
use kueue_lab_metrics::{self as metrics, Metrics};
use kueue_lab_runtime::{Context, Tasks};
use kueue_lab_webhooks::certificates::Lifetimes;
use kueue_lab_webhooks::{Policy, Server, ServerError};

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
    pub reach: Option<Reach>,
    /// The port to serve webhooks on; 0 takes any that is free.
    pub port: u16,
    /// What happens to jobs and pods when nobody answers.
    pub failure_policy: FailurePolicy,
    /// How long the webhooks' certificates are good for.
    pub lifetimes: Lifetimes,
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

/// What an instance does at the moment.
#[derive(Clone, Default)]
pub enum Role {
    /// It gets ready.
    #[default]
    Starting,
    /// Somebody else leads.
    Waiting(String),
    /// It leads.
    Leading(Controller),
}

/// The controller on a cluster.
pub struct Operator {
    tasks: Tasks,
    role: watch::Receiver<Role>,
    failed: watch::Receiver<Option<Arc<OperatorError>>>,
    policy: Arc<Policy>,
    metrics: Option<Metrics>,
    webhooks: Option<SocketAddr>,
    done: tokio::sync::oneshot::Receiver<()>,
    stop: tokio_util::sync::CancellationToken,
}

/// What all terms of an instance have in common.
struct Instance {
    /// For what must not wait: the lease, and what is installed.
    client: Client,
    /// For the controller, no faster than its configuration says.
    paced: Client,
    clock: Clock,
    entropy: Entropy,
    kueue: ControllerConfig,
    installer: Installer,
    endpoint: Option<(Endpoint, Keeper)>,
    policy: Arc<Policy>,
    rules: Option<Rules>,
    metrics: Option<Metrics>,
    role: watch::Sender<Role>,
}

impl Instance {
    /// Whether webhooks stay registered when this instance stops: others answer them.
    fn is_inside(&self) -> bool {
        let reach = self.endpoint.as_ref().map(|(endpoint, _)| &endpoint.reach);
        matches!(reach, Some(Reach::Service { .. }))
    }

    /// A context for one term; its tasks end with it.
    fn context(&self) -> Context {
        Context::new(self.paced.clone(), self.clock.clone(), self.entropy.clone())
    }

    fn candidate(&self) -> Option<Candidate> {
        let rules = self.rules.clone()?;
        Some(Candidate::new(
            self.client.clone(),
            self.clock.clone(),
            self.entropy.clone(),
            rules,
        ))
    }
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
        installer.make_namespace().await?;
        let tasks = Tasks::new();
        let policy = Arc::new(Policy::new(config.kueue.gates));
        let endpoint = match config.reach {
            None => None,
            Some(reach) => {
                let (clock, hosts) = (config.clock.clone(), reach.hosts());
                let keeper = match reach {
                    Reach::Service { .. } => {
                        let client = config.client.clone();
                        Keeper::shared(client, &config.namespace, hosts, config.lifetimes, clock)
                            .await?
                    }
                    _ => Keeper::alone(hosts, config.lifetimes, clock)?,
                };
                let listen = reach.listen(config.port);
                let server =
                    Server::start(&tasks, listen, policy.clone(), keeper.certificates()).await?;
                let endpoint = Endpoint {
                    reach,
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
            let rules = Rules::new(config.namespace, election.resource_name, identity);
            Rules {
                lease: election.lease_duration.to_std(),
                renew_deadline: election.renew_deadline.to_std(),
                retry: election.retry_period.to_std(),
                ..rules
            }
        });
        let webhooks = endpoint.as_ref().map(|(endpoint, _)| endpoint.address);
        let (role, roles) = watch::channel(Role::Starting);
        let (fail, failed) = watch::channel(None);
        let (finish, done) = tokio::sync::oneshot::channel();
        let stop = tokio_util::sync::CancellationToken::new();
        let connection = config.kueue.configuration.client_connection.clone();
        let instance = Instance {
            paced: pace::paced(config.client.clone(), connection.as_ref()),
            client: config.client,
            clock: config.clock,
            entropy: config.entropy,
            kueue: config.kueue,
            installer,
            endpoint,
            policy: policy.clone(),
            rules,
            metrics: config.metrics.clone(),
            role,
        };
        let stopped = stop.clone();
        tasks.spawn("operator", async move {
            if let Err(error) = term::run(&instance, &stopped).await {
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
    pub async fn leading(
        &self,
        mut waiting: impl FnMut(&str),
    ) -> Result<Controller, Arc<OperatorError>> {
        let (mut role, mut failed) = (self.role.clone(), self.failed.clone());
        loop {
            match &*role.borrow_and_update() {
                Role::Leading(controller) => return Ok(controller.clone()),
                Role::Waiting(leader) => waiting(leader),
                Role::Starting => {}
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
    pub fn role(&self) -> watch::Receiver<Role> {
        self.role.clone()
    }

    /// The controller, while this instance leads.
    pub fn controller(&self) -> Option<Controller> {
        match &*self.role.borrow() {
            Role::Leading(controller) => Some(controller.clone()),
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
            true => health::Told::All,
            false => health::Told::Health,
        };
        health::serve(&self.tasks, listen, self.signs(), told).await
    }

    /// Serves metrics alone over plain HTTP. Gives the address, with the port that was taken.
    ///
    /// # Errors
    /// The address cannot be listened on.
    pub async fn serve_metrics(&self, listen: SocketAddr) -> std::io::Result<SocketAddr> {
        health::serve(&self.tasks, listen, self.signs(), health::Told::Metrics).await
    }

    fn signs(&self) -> Arc<Signs> {
        Arc::new(Signs {
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
    pub async fn vanish(self) {
        self.tasks.shutdown().await;
    }
}

/// What an instance tells of its health.
struct Signs {
    role: watch::Receiver<Role>,
    failed: watch::Receiver<Option<Arc<OperatorError>>>,
    policy: Option<Arc<Policy>>,
    metrics: Option<Metrics>,
}

impl health::Vitals for Signs {
    fn live(&self) -> Result<(), String> {
        match &*self.failed.borrow() {
            Some(error) => Err(error.to_string()),
            None => Ok(()),
        }
    }

    fn ready(&self) -> Result<(), String> {
        self.live()?;
        match &self.policy {
            Some(policy) if !policy.is_ready() => {
                Err("the controller does not know the cluster yet".to_owned())
            }
            _ => Ok(()),
        }
    }

    fn metrics(&self) -> (&'static str, String) {
        let controller = match &*self.role.borrow() {
            Role::Leading(controller) => Some(controller.clone()),
            _ => None,
        };
        let shared = controller.as_ref().map(Controller::shared);
        let text = self.metrics.as_ref().map(|metrics| metrics.text(shared));
        (metrics::CONTENT_TYPE, text.unwrap_or_default())
    }
}

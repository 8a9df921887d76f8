//! `kueue-lab controller`

use std::net::SocketAddr;
use std::path::PathBuf;

use kube::Config;

use super::target::{self, Target};
use super::{Failure, config, logging, runtime, signals};
use crate::clock::Clock;
use crate::controller::ControllerConfig;
use crate::entropy::Entropy;
use crate::install::{FailurePolicy, NAMESPACE, Reach};
use crate::metrics::{Metrics, ReplicaRole};
use crate::operator::{Operator, OperatorConfig};

const EXAMPLES: &str = "\
Examples:
  kueue-lab controller --context kind-kueue-lab     on a cluster of a kubeconfig
  kueue-lab controller --config kueue.yaml          inside a cluster (lab/deploy), configured
  kueue-lab controller --context prod --webhook-host 10.1.2.3 --webhook-port 9443

It serves /healthz, /readyz and /metrics, and hands over to another instance when it is told to stop.";

/// Where the namespace of a pod is written in the pod.
const OWN_NAMESPACE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";
/// The Service in front of the webhooks, as lab/deploy makes it.
const SERVICE: &str = "kueue-lab-webhook-service";

/// Run the admission controller alone: on a cluster of a kubeconfig, or inside one.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    target: Target,
    /// Kueue's configuration file (config.kueue.x-k8s.io), as its controller manager reads it.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The namespace for what has to be in one [default: the pod's own, or kueue-lab-system].
    #[arg(long, value_name = "NAME")]
    namespace: Option<String>,
    /// The port to serve webhooks on; 0 takes any that is free [default: 9443 inside a cluster].
    #[arg(long, value_name = "N")]
    webhook_port: Option<u16>,
    /// The name or address under which the cluster's API server reaches this machine [default: found
    /// out].
    #[arg(long, value_name = "HOST")]
    webhook_host: Option<String>,
    /// What happens to jobs and pods while no instance answers: `ignore` lets them through, `fail`
    /// refuses them, as upstream does.
    #[arg(long, value_name = "POLICY", default_value = "ignore")]
    webhook_failure: Failing,
    /// Where to serve /healthz, /readyz and /metrics; port 0 takes any that is free.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8081")]
    health: SocketAddr,
    /// Lead without an election. Only where nobody else can run a controller.
    #[arg(long)]
    no_election: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Failing {
    Ignore,
    Fail,
}

pub(super) fn run(args: Args) -> Result<(), Failure> {
    logging::to_stderr();
    runtime()?.block_on(serve(args))
}

async fn serve(args: Args) -> Result<(), Failure> {
    let kueue = match &args.config {
        Some(path) => config::read(path)?.into(),
        None => ControllerConfig::default(),
    };
    let inside = !args.target.is_named() && std::env::var_os("KUBERNETES_SERVICE_HOST").is_some();
    let (config, name) = match inside {
        true => {
            let config = Config::incluster().map_err(|e| {
                Failure::Usage(format!("cannot use the service account of this pod: {e}"))
            })?;
            (config, "the cluster around it".to_owned())
        }
        false => args.target.config().await?,
    };
    let namespace = args.namespace.clone().unwrap_or_else(|| {
        let own = std::fs::read_to_string(OWN_NAMESPACE)
            .ok()
            .filter(|_| inside);
        own.map_or_else(|| NAMESPACE.to_owned(), |own| own.trim().to_owned())
    });
    let server = config.cluster_url.to_string();
    let reach = match (args.webhook_host, inside) {
        (Some(host), _) => Reach::Host(host),
        (None, true) => Reach::Service {
            namespace: namespace.clone(),
            name: SERVICE.to_owned(),
            port: 443,
        },
        (None, false) => Reach::towards(&server).ok_or_else(|| {
            Failure::Usage(format!(
                "there is no way to {server}; name the address under which its API server reaches this machine with --webhook-host"
            ))
        })?,
    };
    let entropy = Entropy::from_os();
    let elects = kueue.configuration.leader_election.as_ref();
    let elects = !args.no_election && elects.is_none_or(|e| e.leader_elect != Some(false));
    let role = match elects {
        true => ReplicaRole::Leader,
        false => ReplicaRole::Standalone,
    };
    let stop = tokio::spawn(signals::stop());
    let operator = Operator::start(OperatorConfig {
        client: target::client(config, &name)?,
        clock: Clock::real(),
        kueue,
        namespace,
        reach: Some(reach),
        port: args.webhook_port.unwrap_or(if inside { 9443 } else { 0 }),
        failure_policy: match args.webhook_failure {
            Failing::Ignore => FailurePolicy::Ignore,
            Failing::Fail => FailurePolicy::Fail,
        },
        identity: elects.then(|| format!("{}_{}", host_name(), entropy.uid())),
        metrics: Some(Metrics::new(role)),
        entropy,
    });
    let refused = |e: &crate::operator::OperatorError| match e.is_usage() {
        true => Failure::usage(e),
        false => Failure::failed(e),
    };
    let operator = operator.await.map_err(|e| refused(&e))?;
    let health = match operator.serve_health(args.health).await {
        Ok(health) => health,
        Err(error) => {
            operator.stop().await;
            let why = format!("cannot listen on {} for health: {error}", args.health);
            return Err(Failure::Usage(why));
        }
    };
    tracing::info!("health and metrics of the controller on {name}: http://{health}");
    let lead = async {
        operator.leading(|_| ()).await?;
        // For scripts; everything else goes to stderr.
        let _ = super::crds::print(b"leading\n");
        Err::<(), _>(operator.failed().await)
    };
    let outcome = tokio::select! {
        failed = lead => failed.map_err(|e| refused(&e)),
        _ = stop => Ok(()),
    };
    tracing::info!("stopping");
    operator.stop().await;
    outcome
}

/// What this machine or pod is called, so that a person knows who leads.
fn host_name() -> String {
    let named = std::env::var("HOSTNAME")
        .ok()
        .filter(|name| !name.is_empty());
    let written = || std::fs::read_to_string("/etc/hostname").ok();
    let name = named.or_else(written).unwrap_or_default();
    match name.trim() {
        "" => "kueue-lab".to_owned(),
        name => name.to_owned(),
    }
}

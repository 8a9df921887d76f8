//! `kueue-lab controller`

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use kube::Client;

use super::kubeconfig_args::KubeconfigArgs;
use super::{CliError, config, logging, runtime, signals};
use kueue_lab_clock::Clock;
use kueue_lab_controller::ControllerConfig;
use kueue_lab_entropy::Entropy;
use kueue_lab_install::{FailurePolicy, NAMESPACE, WebhookRoute};
use kueue_lab_lab::{find_upstream, in_cluster};
use kueue_lab_metrics::{Metrics, ReplicaRole};
use kueue_lab_operator::{Operator, OperatorConfig, WITHOUT_WEBHOOKS};
use kueue_lab_webhooks::certificates::CertificateLifetimes;

const EXAMPLES: &str = "\
Examples:
  kueue-lab controller --context kind-kueue-lab     on a cluster of a kubeconfig
  kueue-lab controller --config kueue.yaml          inside a cluster (lab/deploy), configured
  kueue-lab controller --context prod --webhook-host 10.1.2.3 --webhook-port 9443

It serves /healthz, /readyz and /metrics, and hands over to another instance when it is told to stop.";

/// Where the namespace of a pod is written in the pod.
const POD_NAMESPACE_FILE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";
/// The Service in front of the webhooks, as lab/deploy makes it.
const SERVICE: &str = "kueue-lab-webhook-service";

/// Run the admission controller alone: on a cluster of a kubeconfig, or inside one.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    target: KubeconfigArgs,
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
    webhook_failure: WebhookFailurePolicy,
    /// Serve no webhooks: jobs are suspended after they were made rather than before, nobody checks
    /// queues, v1beta1 is not served, and single pods are not queued.
    #[arg(long, conflicts_with_all = ["webhook_port", "webhook_host", "webhook_failure"])]
    no_webhooks: bool,
    /// How long the webhooks' certificates are good for, in seconds. For tests of their renewal.
    #[arg(long, value_name = "SECONDS", hide = true, value_parser = clap::value_parser!(u32).range(1..))]
    webhook_certificate_lifetime: Option<u32>,
    /// Where to serve /healthz, /readyz and, unless they have an address of their own, /metrics; port
    /// 0 takes any that is free [default: `health.healthProbeBindAddress` of --config, otherwise
    /// 127.0.0.1:8081].
    #[arg(long, value_name = "ADDRESS")]
    health: Option<SocketAddr>,
    /// Where to serve /metrics, as plain HTTP [default: `metrics.bindAddress` of --config where that
    /// is not upstream's :8443, otherwise beside /healthz].
    #[arg(long, value_name = "ADDRESS")]
    metrics: Option<SocketAddr>,
    /// Lead without an election. Only where nobody else can run a controller.
    #[arg(long)]
    no_election: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum WebhookFailurePolicy {
    Ignore,
    Fail,
}

pub(super) fn run(args: Args) -> Result<(), CliError> {
    logging::to_stderr();
    runtime()?.block_on(serve(args))
}

async fn serve(args: Args) -> Result<(), CliError> {
    let kueue = match &args.config {
        Some(path) => config::read_config(path)?.into(),
        None => ControllerConfig::default(),
    };
    let listen = ListenAddresses::of(&args, &kueue)?;
    let inside = !args.target.is_named() && in_cluster::is_in_cluster();
    let (client, name, server) = match inside {
        true => {
            let client = in_cluster::in_cluster_client().map_err(CliError::usage)?;
            (client, "the cluster around it".to_owned(), None)
        }
        false => {
            let context = args.target.context()?;
            let client = context.client().await.map_err(CliError::usage)?;
            let server = context.server().to_owned();
            (client, context.name().to_owned(), Some(server))
        }
    };
    let namespace = args.namespace.clone().unwrap_or_else(|| {
        let own = std::fs::read_to_string(POD_NAMESPACE_FILE)
            .ok()
            .filter(|_| inside);
        own.map_or_else(|| NAMESPACE.to_owned(), |own| own.trim().to_owned())
    });
    let reach = match args.no_webhooks {
        true => {
            tracing::warn!("{WITHOUT_WEBHOOKS}");
            None
        }
        false => Some(reach(&args, server.as_deref(), &namespace)?),
    };
    ensure_no_other_controller(&client, &namespace).await?;
    let entropy = Entropy::from_os();
    let elects = kueue.configuration.leader_election.as_ref();
    let elects = !args.no_election && elects.is_none_or(|e| e.leader_elect != Some(false));
    let role = match elects {
        true => ReplicaRole::Leader,
        false => ReplicaRole::Standalone,
    };
    let stop = tokio::spawn(signals::shutdown_signal());
    let operator = Operator::start(OperatorConfig {
        client,
        clock: Clock::real(),
        kueue,
        namespace,
        route: reach,
        port: args.webhook_port.unwrap_or(if inside { 9443 } else { 0 }),
        failure_policy: match args.webhook_failure {
            WebhookFailurePolicy::Ignore => FailurePolicy::Ignore,
            WebhookFailurePolicy::Fail => FailurePolicy::Fail,
        },
        certificate_lifetimes: match args.webhook_certificate_lifetime {
            Some(seconds) => {
                CertificateLifetimes::for_server_lifetime(Duration::from_secs(seconds.into()))
            }
            None => CertificateLifetimes::default(),
        },
        identity: elects.then(|| format!("{}_{}", host_name(), entropy.uid())),
        metrics: Some(Metrics::new(role)),
        entropy,
    });
    let refused = |e: &kueue_lab_operator::OperatorError| match e.is_usage() {
        true => CliError::usage(e),
        false => CliError::failed(e),
    };
    let operator = operator.await.map_err(|e| refused(&e))?;
    if let Err(error) = listen.serve(&operator, &name).await {
        operator.stop().await;
        return Err(error);
    }
    let lead = async {
        operator.wait_until_leader(|_| ()).await?;
        // For scripts; everything else goes to stderr.
        let _ = super::crds::print_stdout(b"leading\n");
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

/// How the cluster's API server gets to the webhooks; `server` is its address seen from outside.
fn reach(args: &Args, server: Option<&str>, namespace: &str) -> Result<WebhookRoute, CliError> {
    match (&args.webhook_host, server) {
        (Some(host), _) => Ok(WebhookRoute::Host(host.clone())),
        (None, None) => Ok(WebhookRoute::Service {
            namespace: namespace.to_owned(),
            name: SERVICE.to_owned(),
            port: 443,
        }),
        (None, Some(server)) => WebhookRoute::for_api_server(server).ok_or_else(|| {
            CliError::Usage(format!(
                "there is no way to {server}; name the address under which its API server reaches this machine with --webhook-host, or go without webhooks with --no-webhooks"
            ))
        }),
    }
}

/// Refuses where somebody admits with whom there is no election: upstream's manager, or a controller
/// in another namespace. Other instances in the same namespace are waited for.
async fn ensure_no_other_controller(client: &Client, namespace: &str) -> Result<(), CliError> {
    match find_upstream(client, namespace).await {
        Ok(None) => Ok(()),
        Ok(Some(found)) => Err(CliError::Usage(format!(
            "{found} already admits workloads on this cluster, and two admission controllers would undo each other's decisions; stop it first"
        ))),
        Err(error) => Err(CliError::failed(error)),
    }
}

/// Where health and metrics are served.
struct ListenAddresses {
    health: Option<SocketAddr>,
    /// Where metrics have an address of their own; `Some(None)` for none at all.
    metrics: Option<Option<SocketAddr>>,
}

impl ListenAddresses {
    /// What the flags say, and what the configuration says where they do not.
    fn of(args: &Args, kueue: &ControllerConfig) -> Result<Self, CliError> {
        let manager = &kueue.configuration;
        let health = match (args.health, &args.config) {
            (Some(health), _) => Some(health),
            (None, Some(_)) => parse_bind_address(
                "health.healthProbeBindAddress",
                &manager.health.health_probe_bind_address,
            )?,
            (None, None) => Some(SocketAddr::from(([127, 0, 0, 1], 8081))),
        };
        let metrics = match (args.metrics, manager.metrics.bind_address.as_str()) {
            (Some(metrics), _) => Some(Some(metrics)),
            // Upstream's default, where it speaks TLS and asks who wants to know.
            (None, ":8443") => None,
            (None, address) => Some(parse_bind_address("metrics.bindAddress", address)?),
        };
        Ok(Self { health, metrics })
    }

    /// Begins to serve.
    async fn serve(&self, operator: &Operator, name: &str) -> Result<(), CliError> {
        let cannot = |address: SocketAddr, what: &str, error: std::io::Error| {
            CliError::Usage(format!(
                "cannot listen on {address} for {what}: {error}; choose another address with --{what}"
            ))
        };
        if let Some(address) = self.health {
            let with_metrics = self.metrics.is_none();
            let bound = operator.serve_health(address, with_metrics).await;
            let bound = bound.map_err(|e| cannot(address, "health", e))?;
            let what = if with_metrics {
                "health and metrics"
            } else {
                "health"
            };
            tracing::info!("{what} of the controller on {name}: http://{bound}");
        }
        if let Some(Some(address)) = self.metrics {
            let bound = operator.serve_metrics(address).await;
            let bound = bound.map_err(|e| cannot(address, "metrics", e))?;
            tracing::info!("metrics of the controller on {name}: http://{bound}/metrics");
        }
        Ok(())
    }
}

/// An address as upstream's configuration has it: `:8081` for all of this machine, `0` for none.
fn parse_bind_address(field: &str, text: &str) -> Result<Option<SocketAddr>, CliError> {
    if text == "0" {
        return Ok(None);
    }
    let whole = match text.strip_prefix(':') {
        Some(port) => format!("0.0.0.0:{port}"),
        None => text.replacen("localhost:", "127.0.0.1:", 1),
    };
    match whole.parse() {
        Ok(address) => Ok(Some(address)),
        Err(_) => Err(CliError::Usage(format!(
            "the configuration's {field} {text:?} is no address to listen on, such as :8081"
        ))),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_upstream_writes_them() {
        let bound = |text| parse_bind_address("f", text).map_err(|e| e.to_string());
        assert_eq!(bound(":8081"), Ok("0.0.0.0:8081".parse().ok()));
        assert_eq!(bound("localhost:1"), Ok("127.0.0.1:1".parse().ok()));
        assert_eq!(bound("[::1]:2"), Ok("[::1]:2".parse().ok()));
        assert_eq!(bound("0"), Ok(None));
        assert!(bound("here").unwrap_err().contains("f \"here\""));
    }
}

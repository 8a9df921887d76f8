//! `kueue-lab controller`

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;

use super::config::ConfigPurpose;
use super::kubeconfig_args::KubeconfigArgs;
use super::{CommandError, Shutdown, config, logging, runtime};
use kueue_lab_api::config::resolve_gates;
use kueue_lab_clock::Clock;
use kueue_lab_clock::Entropy;
use kueue_lab_controller::{ControllerConfig, UpstreamLatency};
use kueue_lab_install::{FailurePolicy, NAMESPACE, WebhookRoute};
use kueue_lab_lab::{ControllerExplainer, find_upstream, in_cluster};
use kueue_lab_manager::{
    ExplanationConfig, Operator, OperatorConfig, OperatorError, WITHOUT_WEBHOOKS,
};
use kueue_lab_metrics::{Metrics, ReplicaRole};
use kueue_lab_webhooks::certificates::CertificateLifetimes;

const EXAMPLES: &str = "\
Examples:
  kueue-lab controller --context kind-kueue-lab     on the cluster of a kubeconfig context
  kueue-lab controller --config kueue.yaml          inside a cluster (lab/deploy), with a configuration
  kueue-lab controller --context prod --webhook-host 10.1.2.3 --webhook-port 9443

It serves /healthz, /readyz and /metrics, and releases its Lease when it is stopped.";

/// The file in a pod that holds the pod's namespace.
const POD_NAMESPACE_FILE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";
/// The Service of the webhooks in lab/deploy.
const SERVICE: &str = "kueue-lab-webhook-service";

/// Run only the admission controller, on the cluster of a kubeconfig or inside a cluster.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    target: KubeconfigArgs,
    /// Kueue's configuration file (config.kueue.x-k8s.io), as its controller manager reads it.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Feature gates, NAME=true|false separated by commas, unless --config sets featureGates.
    #[arg(long, value_name = "GATES")]
    feature_gates: Option<String>,
    /// The namespace of the controller's own objects [default: the pod's own, or kueue-lab-system].
    #[arg(long, value_name = "NAME")]
    namespace: Option<String>,
    /// The port to serve webhooks on; 0 takes any free port [default: 9443 inside a cluster].
    #[arg(long, value_name = "N")]
    webhook_port: Option<u16>,
    /// The port to serve explanations on; 0 takes any free port [default: 9444 inside a cluster].
    #[arg(long, value_name = "N")]
    explanation_port: Option<u16>,
    /// The name or address under which the cluster's API server reaches this machine [default:
    /// detected].
    #[arg(long, value_name = "HOST")]
    webhook_host: Option<String>,
    /// The failurePolicy of the webhooks for jobs and pods while no instance answers: `ignore` admits
    /// them, `fail` rejects them, as upstream does.
    #[arg(long, value_name = "POLICY", default_value = "ignore")]
    webhook_failure: WebhookFailurePolicy,
    /// Serve no webhooks: jobs are suspended after their creation, queues are not validated, v1beta1 is
    /// not served, single pods are not queued, and `kueue-lab explain` decides on a copy of the objects.
    #[arg(long, conflicts_with_all = ["webhook_port", "explanation_port", "webhook_host", "webhook_failure"])]
    no_webhooks: bool,
    /// Validity of the webhooks' certificates, in seconds. For tests of their renewal.
    #[arg(long, value_name = "SECONDS", hide = true, value_parser = clap::value_parser!(u32).range(1..))]
    webhook_certificate_lifetime: Option<u32>,
    /// Address to serve /healthz, /readyz and, without an address of its own, /metrics on; port 0
    /// takes any free port [default: `health.healthProbeBindAddress` of --config, otherwise
    /// 127.0.0.1:8081].
    #[arg(long, value_name = "ADDRESS")]
    health: Option<SocketAddr>,
    /// Address to serve /metrics on, as plain HTTP [default: `metrics.bindAddress` of --config unless
    /// that is upstream's :8443, otherwise the address of /healthz].
    #[arg(long, value_name = "ADDRESS")]
    metrics: Option<SocketAddr>,
    /// Run without leader election. Only where no other instance can run.
    #[arg(long)]
    no_election: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum WebhookFailurePolicy {
    Ignore,
    Fail,
}

pub(super) fn run(args: Args) -> Result<(), CommandError> {
    logging::to_stderr();
    runtime()?.block_on(serve(args))
}

async fn serve(args: Args) -> Result<(), CommandError> {
    let mut kueue: ControllerConfig = match &args.config {
        Some(path) => config::read_config(path, ConfigPurpose::Controller)?
            .loaded
            .into(),
        None => ControllerConfig::default(),
    };
    if let Some(gates) = &args.feature_gates {
        kueue.gates = resolve_gates(Some(gates), &kueue.configuration).map_err(|error| {
            CommandError::usage(format!("--feature-gates: {}", error.message()))
        })?;
    }
    kueue.upstream_latency = UpstreamLatency::NONE;
    let listen = ListenAddresses::of(&args, &kueue)?;
    let inside = !args.target.is_named() && in_cluster::is_in_cluster();
    let (client, name, server) = match inside {
        true => {
            let client = in_cluster::in_cluster_client().map_err(CommandError::usage)?;
            (client, "the cluster around it".to_owned(), None)
        }
        false => {
            let context = args.target.context()?;
            let client = context.client().await.map_err(CommandError::usage)?;
            let server = context.server().to_owned();
            (client, context.name().to_owned(), Some(server))
        }
    };
    let namespace = args.namespace.clone().unwrap_or_else(|| {
        let own = kueue_lab_host::read_to_string(POD_NAMESPACE_FILE, kueue_lab_host::FILE_LIMIT)
            .ok()
            .filter(|_| inside);
        own.map_or_else(|| NAMESPACE.to_owned(), |own| own.trim().to_owned())
    });
    let route = match args.no_webhooks {
        true => {
            tracing::warn!("{WITHOUT_WEBHOOKS}");
            None
        }
        false => Some(route(&args, server.as_deref(), &namespace)?),
    };
    ensure_no_other_controller(&client, &namespace).await?;
    let entropy = Entropy::from_os();
    let elects = kueue.configuration.leader_election.as_ref();
    let leader_election = !args.no_election && elects.is_none_or(|e| e.leader_elect != Some(false));
    let role = match leader_election {
        true => ReplicaRole::Leader,
        false => ReplicaRole::Standalone,
    };
    let shutdown = Shutdown::start(false)?;
    let operator = Operator::start(OperatorConfig {
        client,
        clock: Clock::real(),
        kueue,
        namespace,
        route,
        port: args.webhook_port.unwrap_or(if inside { 9443 } else { 0 }),
        explanations: Some(ExplanationConfig {
            explainer: Arc::new(ControllerExplainer),
            port: args
                .explanation_port
                .unwrap_or(if inside { 9444 } else { 0 }),
            pod: in_cluster::pod_address().filter(|_| inside),
        }),
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
        identity: leader_election.then(|| format!("{}_{}", host_name(), entropy.uid())),
        metrics: Some(Metrics::new(role)),
        entropy,
    });
    let operator = operator.await.map_err(operator_error)?;
    if let Err(error) = listen.serve(&operator, &name).await {
        shutdown.request();
        shutdown.bounded(operator.stop()).await;
        return Err(error);
    }
    let lead = async {
        operator.wait_until_leader(|_| ()).await?;
        // The line that scripts wait for; logs go to stderr.
        let _ = super::output::print_stdout(b"leading\n");
        Err::<(), _>(operator.failed().await)
    };
    let outcome = tokio::select! {
        failed = lead => failed.map_err(operator_error),
        () = shutdown.requested() => Ok(()),
    };
    tracing::info!("stopping");
    shutdown.request();
    shutdown.bounded(operator.stop()).await;
    outcome
}

/// How the cluster's API server reaches the webhooks; `server` is its address in the kubeconfig.
fn route(args: &Args, server: Option<&str>, namespace: &str) -> Result<WebhookRoute, CommandError> {
    match (&args.webhook_host, server) {
        (Some(host), _) => Ok(WebhookRoute::Host(host.clone())),
        (None, None) => Ok(WebhookRoute::Service {
            namespace: namespace.to_owned(),
            name: SERVICE.to_owned(),
            port: 443,
        }),
        (None, Some(server)) => WebhookRoute::for_api_server(server).ok_or_else(|| {
            CommandError::usage(format!(
                "there is no route to {server}; name the address under which its API server reaches this machine with --webhook-host, or serve no webhooks with --no-webhooks"
            ))
        }),
    }
}

/// Fails if an admission controller runs that takes no part in the same leader election: upstream's
/// manager, or an instance in another namespace.
async fn ensure_no_other_controller(client: &Client, namespace: &str) -> Result<(), CommandError> {
    match find_upstream(client, namespace).await {
        Ok(None) => Ok(()),
        Ok(Some(found)) => Err(CommandError::usage(format!(
            "{found} already admits workloads on this cluster, and two admission controllers would revert each other's decisions; stop it first"
        ))),
        Err(error) => Err(CommandError::failed(error)),
    }
}

/// The addresses of health and metrics.
struct ListenAddresses {
    health: Option<SocketAddr>,
    /// The address of metrics; `None` to serve them with health, `Some(None)` for no metrics.
    metrics: Option<Option<SocketAddr>>,
}

impl ListenAddresses {
    /// The addresses of the flags, then of the configuration.
    fn of(args: &Args, kueue: &ControllerConfig) -> Result<Self, CommandError> {
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
            // Upstream's default, which serves TLS with authentication: not supported here.
            (None, ":8443") => None,
            (None, address) => Some(parse_bind_address("metrics.bindAddress", address)?),
        };
        Ok(Self { health, metrics })
    }

    /// Starts to serve.
    async fn serve(&self, operator: &Operator, name: &str) -> Result<(), CommandError> {
        let listen_error = |address: SocketAddr, what: &str, error: std::io::Error| {
            CommandError::usage(format!(
                "cannot listen on {address} for {what}: {error}; choose another address with --{what}"
            ))
        };
        if let Some(address) = self.health {
            let with_metrics = self.metrics.is_none();
            let bound = operator.serve_health(address, with_metrics).await;
            let bound = bound.map_err(|e| listen_error(address, "health", e))?;
            let what = if with_metrics {
                "health and metrics"
            } else {
                "health"
            };
            tracing::info!("{what} of the controller on {name}: http://{bound}");
        }
        if let Some(Some(address)) = self.metrics {
            let bound = operator.serve_metrics(address).await;
            let bound = bound.map_err(|e| listen_error(address, "metrics", e))?;
            tracing::info!("metrics of the controller on {name}: http://{bound}/metrics");
        }
        Ok(())
    }
}

/// Parses an address of Kueue's configuration: `:8081` for all interfaces, `0` for none.
fn parse_bind_address(field: &str, text: &str) -> Result<Option<SocketAddr>, CommandError> {
    if text == "0" {
        return Ok(None);
    }
    let whole = match text.strip_prefix(':') {
        Some(port) => format!("0.0.0.0:{port}"),
        None => text.replacen("localhost:", "127.0.0.1:", 1),
    };
    match whole.parse() {
        Ok(address) => Ok(Some(address)),
        Err(_) => Err(CommandError::usage(format!(
            "the configuration's {field} {text:?} is not an address to listen on, such as :8081"
        ))),
    }
}

/// The name of this machine or pod, for the holder identity of the Lease.
fn host_name() -> String {
    let named = std::env::var("HOSTNAME")
        .ok()
        .filter(|name| !name.is_empty());
    let written =
        || kueue_lab_host::read_to_string("/etc/hostname", kueue_lab_host::FILE_LIMIT).ok();
    let name = named.or_else(written).unwrap_or_default();
    match name.trim() {
        "" => "kueue-lab".to_owned(),
        name => name.to_owned(),
    }
}

/// The error of an instance of the controller.
fn operator_error(error: impl Into<Arc<OperatorError>>) -> CommandError {
    let error: Arc<OperatorError> = error.into();
    match error.is_usage() {
        true => CommandError::usage(error),
        false => CommandError::failed(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bind_addresses_of_the_configuration_are_parsed() {
        let bound = |text| parse_bind_address("f", text).map_err(|e| e.to_string());
        assert_eq!(bound(":8081"), Ok("0.0.0.0:8081".parse().ok()));
        assert_eq!(bound("localhost:1"), Ok("127.0.0.1:1".parse().ok()));
        assert_eq!(bound("[::1]:2"), Ok("[::1]:2".parse().ok()));
        assert_eq!(bound("0"), Ok(None));
        assert!(bound("here").unwrap_err().contains("f \"here\""));
    }
}

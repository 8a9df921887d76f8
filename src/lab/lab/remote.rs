//! The controller of a lab on an existing cluster.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::Api;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::LabError;
use super::explanation_server::ControllerExplainer;
use kueue_lab_clock::Clock;
use kueue_lab_clock::Entropy;
use kueue_lab_cluster::RemoteCluster;
use kueue_lab_cluster::local::HostAccess;
use kueue_lab_controller::{Controller, ControllerConfig};
use kueue_lab_controller_runtime::Context;
use kueue_lab_install::{FailurePolicy, NAMESPACE, WebhookRoute};
use kueue_lab_machines::Machines;
use kueue_lab_manager::{
    ExplanationConfig, InstanceRole, Operator, OperatorConfig, WITHOUT_WEBHOOKS,
};
use kueue_lab_presets::Presets;
use kueue_lab_webhooks::certificates::{
    CertificateBundle, CertificateLifetimes, ServingCertificate,
};

/// The ConfigMap with the authority of the cluster's client certificates.
const AUTHENTICATION: &str = "extension-apiserver-authentication";
/// Prefix of the identities of labs in leader election.
pub const IDENTITY_PREFIX: &str = "kueue-lab_";

/// The controller of a lab that has become the leader.
pub(super) struct Leadership {
    pub(super) controller: Controller,
    /// Whether it leads, from then on.
    pub(super) role: watch::Receiver<InstanceRole>,
}

/// Installs the controller's objects and waits until it leads, as long as another instance leads
/// and `stop` is not cancelled. Returns what runs the controller as well.
pub(super) async fn start_leading(
    remote: &RemoteCluster,
    clock: &Clock,
    entropy: &Entropy,
    kueue: &ControllerConfig,
    stop: &CancellationToken,
) -> Result<(Operator, Leadership), LabError> {
    let reach = reach(remote);
    if reach.is_none() {
        tracing::warn!("{WITHOUT_WEBHOOKS}");
    }
    let operator = Operator::start(OperatorConfig {
        client: remote.client(),
        clock: clock.clone(),
        entropy: entropy.clone(),
        kueue: kueue.clone(),
        namespace: NAMESPACE.to_owned(),
        route: reach,
        port: 0,
        explanations: Some(ExplanationConfig {
            explainer: Arc::new(ControllerExplainer),
            port: 0,
            pod: None,
        }),
        failure_policy: FailurePolicy::Ignore,
        certificate_lifetimes: CertificateLifetimes::default(),
        identity: Some(format!("{IDENTITY_PREFIX}{}", entropy.uid())),
        metrics: None,
    });
    let operator = operator.await.map_err(Arc::new)?;
    let waiting = |leader: &str| tracing::info!("waiting: {leader} is the leader");
    let led = tokio::select! {
        led = operator.wait_until_leader(waiting) => led.map_err(LabError::from),
        () = stop.cancelled() => Err(LabError::Interrupted),
    };
    match led {
        Ok(controller) => {
            let role = operator.role();
            Ok((operator, Leadership { controller, role }))
        }
        Err(error) => {
            operator.stop().await;
            Err(error)
        }
    }
}

/// Pauses machines and presets while another lab leads: a node must not have two kubelets, nor a
/// queue two presets folders.
pub(super) fn pause_when_not_leading(
    mut role: watch::Receiver<InstanceRole>,
    context: &Context,
    machines: &Arc<Machines>,
    presets: &Arc<Presets>,
) {
    let (machines, presets) = (machines.clone(), presets.clone());
    context.tasks.spawn("role", async move {
        loop {
            let leads = matches!(&*role.borrow_and_update(), InstanceRole::Leader(_));
            machines.set_paused(!leads);
            presets.set_idle(!leads);
            if role.changed().await.is_err() {
                return;
            }
        }
    });
}

/// Serves the logs of containers on virtual nodes to the cluster's API server, which authenticates with a
/// certificate of the cluster's client authority. Failure is not fatal.
pub(super) async fn serve_logs(remote: &RemoteCluster, machines: &Machines, clock: &Clock) {
    let Some(reach) = reach(remote) else {
        return;
    };
    let hosts = reach.server_names();
    let Some(host) = hosts.first().cloned() else {
        return;
    };
    let tls = kubelet_tls(remote, &hosts, clock).await;
    let served = match tls {
        Ok(tls) => {
            machines
                .serve_logs(reach.listen_address(0), host, tls)
                .await
        }
        Err(error) => Err(error),
    };
    if let Err(error) = served {
        tracing::warn!("`kubectl logs` is not available for pods on virtual nodes: {error}");
    }
}

/// The TLS configuration of the kubelets.
async fn kubelet_tls(
    remote: &RemoteCluster,
    hosts: &[String],
    clock: &Clock,
) -> std::io::Result<Arc<tokio_rustls::rustls::ServerConfig>> {
    let config_maps: Api<ConfigMap> = Api::namespaced(remote.client(), "kube-system");
    let authentication = config_maps.get(AUTHENTICATION).await;
    let authentication = authentication.map_err(|error| {
        std::io::Error::other(format!("ConfigMap kube-system/{AUTHENTICATION}: {error}"))
    })?;
    let client_ca = authentication
        .data
        .unwrap_or_default()
        .remove("client-ca-file");
    let client_ca = client_ca.ok_or_else(|| {
        std::io::Error::other(format!(
            "ConfigMap kube-system/{AUTHENTICATION} has no client-ca-file, so the API server cannot be authenticated"
        ))
    })?;
    let bundle = CertificateBundle::generate(hosts, CertificateLifetimes::default(), clock.now());
    // Few API servers verify the kubelet's certificate; this one is self-signed.
    let tls = bundle
        .and_then(|bundle| ServingCertificate::new(bundle)?.client_verifying_config(&client_ca));
    tls.map_err(std::io::Error::other)
}

/// How the cluster's API server reaches this process: as its tool configures it, or by the network
/// route.
fn reach(remote: &RemoteCluster) -> Option<WebhookRoute> {
    match remote.host_access() {
        Some(HostAccess::NetworkGateway(gateway)) => Some(WebhookRoute::DockerGateway(gateway)),
        Some(HostAccess::DockerDesktop) => Some(WebhookRoute::DockerDesktop),
        Some(HostAccess::K3d) => Some(WebhookRoute::K3d),
        Some(HostAccess::Unreachable) => None,
        None => WebhookRoute::for_api_server(remote.server()),
    }
}

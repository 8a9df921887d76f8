//! The controller of a lab on a cluster that somebody else runs.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::LabError;
use kueue_lab_clock::Clock;
use kueue_lab_cluster::Remote;
use kueue_lab_cluster::local::WayBack;
use kueue_lab_controller::{Controller, ControllerConfig};
use kueue_lab_entropy::Entropy;
use kueue_lab_install::{FailurePolicy, NAMESPACE, Reach};
use kueue_lab_machines::Machines;
use kueue_lab_operator::{Operator, OperatorConfig, Role, WITHOUT_WEBHOOKS};
use kueue_lab_presets::Presets;
use kueue_lab_runtime::Context;
use kueue_lab_webhooks::certificates::{Bundle, Certificates, Lifetimes};

/// How the names of labs begin in an election.
pub const LAB: &str = "kueue-lab_";

/// Installs what the controller needs there and waits until it leads, for as long as another
/// instance does and nobody says stop.
pub(super) async fn lead(
    remote: &Remote,
    clock: &Clock,
    entropy: &Entropy,
    kueue: &ControllerConfig,
    stop: &CancellationToken,
) -> Result<(Operator, Controller), LabError> {
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
        reach,
        port: 0,
        failure_policy: FailurePolicy::Ignore,
        lifetimes: Lifetimes::default(),
        identity: Some(format!("{LAB}{}", entropy.uid())),
        metrics: None,
    });
    let operator = operator.await.map_err(Arc::new)?;
    let waiting = |leader: &str| tracing::info!("waiting: {leader} runs the controller there");
    let led = tokio::select! {
        led = operator.leading(waiting) => led.map_err(LabError::from),
        () = stop.cancelled() => Err(LabError::Interrupted),
    };
    match led {
        Ok(controller) => Ok((operator, controller)),
        Err(error) => {
            operator.stop().await;
            Err(error)
        }
    }
}

/// Lets machines and presets rest while another lab leads: there must not be two kubelets to a node,
/// nor two folders that say which queues there are.
pub(super) fn follow(
    operator: &Operator,
    context: &Context,
    machines: &Arc<Machines>,
    presets: &Arc<Presets>,
) {
    let (mut role, machines) = (operator.role(), machines.clone());
    let presets = presets.clone();
    context.tasks.spawn("role", async move {
        loop {
            let leads = matches!(&*role.borrow_and_update(), Role::Leading(_));
            machines.set_idle(!leads);
            presets.set_idle(!leads);
            if role.changed().await.is_err() {
                return;
            }
        }
    });
}

/// Lets the cluster's API server read what containers on virtual nodes have written. A lab does
/// without where that cannot be.
pub(super) async fn serve_logs(remote: &Remote, machines: &Machines, clock: &Clock) {
    let Some(reach) = reach(remote) else {
        return;
    };
    let hosts = reach.hosts();
    let Some(host) = hosts.first().cloned() else {
        return;
    };
    let bundle = Bundle::generate(&hosts, Lifetimes::default(), clock.now());
    // Few API servers ask who signed a kubelet's certificate; there is nobody here whom they know.
    let tls = bundle.and_then(|bundle| Certificates::new(bundle)?.server());
    let served = match tls {
        Ok(tls) => machines.serve_logs(reach.listen(0), host, tls).await,
        Err(error) => Err(std::io::Error::other(error)),
    };
    if let Err(error) = served {
        tracing::warn!("no `kubectl logs` of pods on virtual nodes: {error}");
    }
}

/// How the cluster's API server gets to this process: as its maker knows, or as the network has it.
fn reach(remote: &Remote) -> Option<Reach> {
    match remote.way_back() {
        Some(WayBack::Gateway(gateway)) => Some(Reach::DockerGateway(gateway)),
        Some(WayBack::DockerDesktop) => Some(Reach::DockerDesktop),
        Some(WayBack::K3d) => Some(Reach::K3d),
        Some(WayBack::Closed) => None,
        None => Reach::towards(remote.server()),
    }
}

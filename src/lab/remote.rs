//! The controller of a lab on a cluster that somebody else runs.

use std::sync::Arc;

use super::LabError;
use crate::clock::Clock;
use crate::cluster::Remote;
use crate::cluster::local::WayBack;
use crate::controller::{Controller, ControllerConfig};
use crate::entropy::Entropy;
use crate::install::{FailurePolicy, NAMESPACE, Reach};
use crate::machines::Machines;
use crate::operator::{Operator, OperatorConfig, Role};
use crate::runtime::Context;

/// Installs what the controller needs there and waits until it leads, for as long as another
/// instance does.
pub(super) async fn lead(
    remote: &Remote,
    clock: &Clock,
    entropy: &Entropy,
    kueue: &ControllerConfig,
) -> Result<(Operator, Controller), LabError> {
    let operator = Operator::start(OperatorConfig {
        client: remote.client(),
        clock: clock.clone(),
        entropy: entropy.clone(),
        kueue: kueue.clone(),
        namespace: NAMESPACE.to_owned(),
        reach: reach(remote),
        port: 0,
        failure_policy: FailurePolicy::Ignore,
        identity: Some(format!("kueue-lab_{}", entropy.uid())),
        metrics: None,
    });
    let operator = operator.await.map_err(Arc::new)?;
    let waiting = |leader: &str| tracing::info!("waiting: {leader} runs the controller there");
    let led = operator.leading(waiting).await;
    match led {
        Ok(controller) => Ok((operator, controller)),
        Err(error) => {
            operator.stop().await;
            Err(error.into())
        }
    }
}

/// Lets the machines rest while another lab leads: there must not be two kubelets to a node.
pub(super) fn follow(operator: &Operator, context: &Context, machines: &Arc<Machines>) {
    let (mut role, machines) = (operator.role(), machines.clone());
    context.tasks.spawn("machines-role", async move {
        loop {
            let leads = matches!(&*role.borrow_and_update(), Role::Leading(_));
            machines.set_idle(!leads);
            if role.changed().await.is_err() {
                return;
            }
        }
    });
}

/// How the cluster's API server gets to this process: as its maker knows, or as the network has it.
fn reach(remote: &Remote) -> Option<Reach> {
    match remote.way_back() {
        Some(WayBack::Gateway(gateway)) => Some(Reach::DockerGateway(gateway)),
        Some(WayBack::DockerDesktop) => Some(Reach::DockerDesktop),
        Some(WayBack::K3d) => Some(Reach::K3d),
        None => Reach::towards(remote.server()),
    }
}

//! Leader election of the controller on the embedded cluster: the Pod of the current instance holds
//! Kueue's Lease, so that a second controller waits.

use std::sync::Arc;
use std::time::Duration;

use kueue_lab_api::config::LeaderElectionConfiguration;
use kueue_lab_controller_runtime::Context;
use kueue_lab_election::{LeaderElectionConfig, LeaderElector, NamespaceMissing};
use parking_lot::Mutex;
use tokio::sync::watch;

use super::controller_instances::ControllerInstances;
use super::{DEPLOYMENT, NAMESPACE};

/// Delay of the next attempt while the namespace is missing, in wall time at a speed above 1 as those of the election.
const RETRY_PERIOD: Duration = Duration::from_secs(2);

/// The Pod that leads, with the election of its configuration.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Candidate {
    /// Name of the Pod.
    pub(super) pod: String,
    /// `leaderElection` of its configuration.
    pub(super) election: LeaderElectionConfiguration,
}

/// The leadership of a controller whose Pod does not run yet.
pub(super) type ReservedLease = Arc<Mutex<Option<LeaderElector>>>;

/// Acquires the Lease for the Pod to come, unless another candidate holds it: a second controller
/// waits from the start. `None` without leader election.
pub(super) async fn reserve(
    context: &Context,
    election: LeaderElectionConfiguration,
) -> Option<LeaderElector> {
    if election.leader_elect == Some(false) {
        return None;
    }
    let pod = DEPLOYMENT.to_owned();
    let mut elector = elector(context, &Candidate { pod, election });
    elector.try_acquire().await.then_some(elector)
}

/// Holds the Lease for the current candidate, for ever.
pub(super) async fn run(
    context: Context,
    instances: ControllerInstances,
    reserved: ReservedLease,
    mut candidates: watch::Receiver<Option<Candidate>>,
) {
    loop {
        let candidate = candidates.borrow_and_update().clone();
        let elects = |c: &Candidate| c.election.leader_elect != Some(false);
        let Some(candidate) = candidate.filter(elects) else {
            match candidates.changed().await {
                Ok(()) => continue,
                Err(_) => return,
            }
        };
        let mut elector = elector(&context, &candidate);
        let before = reserved.lock().take();
        if let Some(mut before) = before
            && before.change_identity(elector.identity().to_owned()).await
        {
            elector = before;
        }
        let changed = tokio::select! {
            () = hold(&context, &mut elector, &instances) => continue,
            changed = candidates.changed() => changed,
        };
        // The next Pod leads without a pause.
        elector.release().await;
        if changed.is_err() {
            return;
        }
    }
}

/// Acquires the Lease and renews it; returns when it is lost or cannot be acquired. The controller
/// runs while no other candidate holds the Lease.
async fn hold(context: &Context, elector: &mut LeaderElector, instances: &ControllerInstances) {
    let mut waited = false;
    let acquired = elector.acquire(|leader| {
        tracing::warn!("{leader} is the leader; the controller waits");
        instances.request_stop();
        waited = true;
    });
    let acquired = acquired.await;
    if let Err(NamespaceMissing) = acquired {
        tracing::debug!("the namespace {NAMESPACE} of the Lease is missing");
        let speed = context.clock.speed().max(1.0);
        context.clock.sleep(RETRY_PERIOD.mul_f64(speed)).await;
        return;
    }
    if waited {
        instances.request_restart();
    }
    elector.renew().await;
    tracing::warn!("lost leadership");
}

fn elector(context: &Context, candidate: &Candidate) -> LeaderElector {
    let election = &candidate.election;
    let identity = format!("{}_{}", candidate.pod, context.entropy.uid());
    let config = LeaderElectionConfig::new(NAMESPACE, &election.resource_name, identity);
    LeaderElector::new(
        context.client.clone(),
        context.clock.clone(),
        context.entropy.clone(),
        LeaderElectionConfig {
            lease_duration: election.lease_duration.to_std(),
            renew_deadline: election.renew_deadline.to_std(),
            retry_period: election.retry_period.to_std(),
            keeps_wall_time: true,
            ..config
        },
    )
}

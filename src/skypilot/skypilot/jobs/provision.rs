//! One launch: creates the Pods and waits for their admission, their scheduling and their containers.

use super::managed_jobs::{JobsControllerState, Timing};
use super::state::ManagedJobScheduleState;
use crate::clusters::{ClusterClient, LaunchProgress, LaunchState, ProvisionError};
use crate::{ClusterPlan, LaunchError, SkyEnv, Task, plan};

/// Why a launch failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum ProvisionFailure {
    /// The task does not fit the cluster.
    #[error(transparent)]
    Plan(#[from] LaunchError),
    /// The Pods failed to run.
    #[error(transparent)]
    Interrupted(#[from] ProvisionError),
}

impl From<kube::Error> for ProvisionFailure {
    fn from(error: kube::Error) -> Self {
        Self::Interrupted(error.into())
    }
}

/// Launches a cluster and returns it once its runtime is set up.
pub(super) async fn launch(
    inner: &JobsControllerState,
    id: u64,
    display_name: &str,
    task: &Task,
    env: &SkyEnv,
) -> Result<ClusterPlan, ProvisionFailure> {
    let nodes = inner.nodes().await?;
    let cluster = plan(task, display_name, env, &nodes)?;
    inner.update(id, |record, _| {
        record.set_schedule_state(ManagedJobScheduleState::Launching);
        record.set_cluster(&cluster.name);
        record.set_details("Launching");
    });
    let remote = ClusterClient {
        client: &inner.client,
        namespace: &env.namespace,
        cluster: &cluster.name,
    };
    remote.create(&cluster).await?;
    let mut wait = LaunchProgress::new(inner.clock.now(), &cluster);
    loop {
        let Timing { launch_poll, .. } = inner.timing;
        inner.clock.sleep(launch_poll).await;
        let pods = remote.list().await?;
        match wait.check(&pods, inner.clock.now())? {
            LaunchState::Running => break,
            LaunchState::Waiting(text) => inner.update(id, |record, _| record.set_details(text)),
        }
    }
    inner.clock.sleep(inner.timing.runtime_setup).await;
    Ok(cluster)
}

//! One launch: creates the Pods and waits for their admission, their scheduling and their containers.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;

use super::cluster_client::{ClusterClient, PodExt, ProvisionError};
use super::managed_jobs::{JobsControllerState, Timing};
use super::state::ManagedJobScheduleState;
use crate::{ClusterPlan, LaunchError, SkyEnv, Task, plan};
use kueue_lab_clock::Clock;

/// The number of consecutive polls a Pod may be missing.
const MAX_MISSED_POLLS: u32 = 5;
const WAITING_FOR_ADMISSION: &str = "Launching (waiting for queue admission)";
const ADMITTED: &str = "Launching (admitted by queue, waiting for scheduling)";

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
        match wait.check(&pods, &inner.clock)? {
            LaunchState::Running => break,
            LaunchState::Waiting(text) => inner.update(id, |record, _| record.set_details(text)),
        }
    }
    inner.clock.sleep(inner.timing.runtime_setup).await;
    Ok(cluster)
}

/// The result of a poll of the Pods.
#[derive(Debug, PartialEq)]
enum LaunchState {
    Waiting(&'static str),
    Running,
}

/// The progress of one launch.
struct LaunchProgress<'c> {
    cluster: &'c ClusterPlan,
    gated_since: Option<Timestamp>,
    was_gated: bool,
    ungated_since: Option<Timestamp>,
    bound: bool,
    missed: u32,
}

impl<'c> LaunchProgress<'c> {
    fn new(now: Timestamp, cluster: &'c ClusterPlan) -> Self {
        Self {
            cluster,
            gated_since: Some(now),
            was_gated: false,
            ungated_since: None,
            bound: false,
            missed: 0,
        }
    }

    fn check(&mut self, pods: &[Pod], clock: &Clock) -> Result<LaunchState, ProvisionError> {
        let lost = |text: String| Err(ProvisionError::PodsLost(text));
        if let Some(pod) = pods.iter().find(|p| p.is_terminating()) {
            return lost(format!("{}: {}", pod.name_any(), pod.termination_reason()));
        }
        let ended = |p: &&Pod| {
            let phase = p.status.as_ref().and_then(|s| s.phase.as_deref());
            matches!(phase, Some("Failed" | "Succeeded"))
        };
        if let Some(pod) = pods.iter().find(ended) {
            return lost(format!("{}: {}", pod.name_any(), pod.termination_reason()));
        }
        if pods.len() < self.cluster.pod_names.len() {
            self.missed += 1;
            if self.missed >= MAX_MISSED_POLLS {
                return lost(format!("a Pod of {} is missing", self.cluster.name));
            }
            return Ok(LaunchState::Waiting("Launching"));
        }
        self.missed = 0;
        if pods.iter().all(PodExt::is_running) {
            return Ok(LaunchState::Running);
        }
        if self.bound {
            return Ok(LaunchState::Waiting(if self.was_gated {
                ADMITTED
            } else {
                "Launching"
            }));
        }
        self.check_scheduling(pods, clock)
    }

    fn check_scheduling(
        &mut self,
        pods: &[Pod],
        clock: &Clock,
    ) -> Result<LaunchState, ProvisionError> {
        let now = clock.now();
        let over = |since: Option<Timestamp>, limit: Option<Duration>| {
            matches!((since, limit), (Some(since), Some(limit))
                if now.duration_since(since).unsigned_abs() > limit)
        };
        let queue = &self.cluster.queue;
        if pods.iter().any(PodExt::is_gated) {
            self.was_gated = true;
            self.gated_since.get_or_insert(now);
            self.ungated_since = None;
            if over(self.gated_since, queue.admission_timeout) {
                let text = "the queue did not admit the Pods in time (admission_timeout)";
                return Err(ProvisionError::PodsLost(text.into()));
            }
            return Ok(LaunchState::Waiting(WAITING_FOR_ADMISSION));
        }
        self.gated_since = None;
        self.ungated_since.get_or_insert(now);
        if pods.iter().all(PodExt::is_bound) {
            self.bound = true;
        } else if over(self.ungated_since, queue.provision_timeout) {
            return Err(ProvisionError::PodsLost(unschedulable_message(pods)));
        }
        Ok(LaunchState::Waiting(if self.was_gated {
            ADMITTED
        } else {
            "Launching"
        }))
    }
}

/// The message of the first unschedulable Pod.
fn unschedulable_message(pods: &[Pod]) -> String {
    let messages = pods.iter().flat_map(|p| {
        let conditions = p.status.as_ref().and_then(|s| s.conditions.as_deref());
        conditions.unwrap_or_default().iter()
    });
    let message = messages
        .filter(|c| c.type_ == "PodScheduled" && c.status == "False")
        .find_map(|c| c.message.clone());
    match message {
        Some(message) => format!("the Pods were not scheduled in time: {message}"),
        None => "the Pods were not scheduled in time (provision_timeout)".into(),
    }
}

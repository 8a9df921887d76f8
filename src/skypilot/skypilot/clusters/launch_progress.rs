//! The progress of one launch: admission, scheduling and start of its Pods.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;

use super::cluster_client::{PodExt, ProvisionError};
use crate::ClusterPlan;

/// The number of consecutive polls a Pod may be missing.
const MAX_MISSED_POLLS: u32 = 5;
const WAITING_FOR_ADMISSION: &str = "Launching (waiting for queue admission)";
const ADMITTED: &str = "Launching (admitted by queue, waiting for scheduling)";
/// SkyPilot's text for a launch whose Pods are not scheduled in time.
const TIMED_OUT: &str = "Timed out while waiting for nodes to start. Cluster may be out of resources or may be too slow to autoscale.";

/// The result of a poll of the Pods.
#[derive(Debug, PartialEq)]
pub(crate) enum LaunchState {
    /// The Pods do not run yet; SkyPilot's text for the reason.
    Waiting(&'static str),
    /// All containers run.
    Running,
}

/// The progress of one launch.
pub(crate) struct LaunchProgress<'c> {
    cluster: &'c ClusterPlan,
    gated_since: Option<Timestamp>,
    was_gated: bool,
    ungated_since: Option<Timestamp>,
    bound: bool,
    missed: u32,
}

impl<'c> LaunchProgress<'c> {
    /// A launch that starts now.
    pub(crate) fn new(now: Timestamp, cluster: &'c ClusterPlan) -> Self {
        Self {
            cluster,
            gated_since: Some(now),
            was_gated: false,
            ungated_since: None,
            bound: false,
            missed: 0,
        }
    }

    /// Compares the Pods with the plan.
    ///
    /// # Errors
    /// The Pods are lost, or a timeout has elapsed.
    pub(crate) fn check(
        &mut self,
        pods: &[Pod],
        now: Timestamp,
    ) -> Result<LaunchState, ProvisionError> {
        let lost = |text: String| Err(ProvisionError::PodsLost(text));
        if let Some(pod) = pods.iter().find(|p| p.is_terminating()) {
            return lost(format!("{}: {}", pod.name_any(), pod.termination_reason()));
        }
        if let Some(pod) = pods.iter().find(|p| p.has_ended()) {
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
        self.check_scheduling(pods, now)
    }

    fn check_scheduling(
        &mut self,
        pods: &[Pod],
        now: Timestamp,
    ) -> Result<LaunchState, ProvisionError> {
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
                let text = format!(
                    "{TIMED_OUT} The queue has not admitted the Pods (kubernetes.kueue.admission_timeout)"
                );
                return Err(ProvisionError::PodsLost(text));
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
        Some(message) => format!("{TIMED_OUT} Pod status: Pending Details: '{message}'"),
        None => format!("{TIMED_OUT} Pod status: Pending (kubernetes.provision_timeout)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_fixtures::planned;
    use serde_json::{Value, json};

    fn launch(config: &str) -> ClusterPlan {
        planned("run: sleep 1\n", "a", config)
    }

    fn pod(gates: Value, message: Value) -> [Pod; 1] {
        let conditions = json!([{"type": "PodScheduled", "status": "False", "message": message}]);
        let pod = json!({
            "metadata": {"name": "a-5c1e7a9b-head"},
            "spec": {"containers": [], "schedulingGates": gates},
            "status": {"phase": "Pending", "conditions": conditions},
        });
        [serde_json::from_value(pod).unwrap()]
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn the_provision_timeout_begins_with_the_admission() {
        let cluster = launch("kubernetes: {provision_timeout: 10}\n");
        let mut progress = LaunchProgress::new(at(0), &cluster);
        let gated = pod(json!([{"name": "kueue.x-k8s.io/admission"}]), json!(null));
        let waits = |text| LaunchState::Waiting(text);
        assert_eq!(
            progress.check(&gated, at(1)).unwrap(),
            waits(WAITING_FOR_ADMISSION)
        );
        assert_eq!(
            progress.check(&gated, at(900)).unwrap(),
            waits(WAITING_FOR_ADMISSION)
        );
        let admitted = pod(
            json!([]),
            json!("0/1 nodes are available: 1 Insufficient cpu."),
        );
        assert_eq!(progress.check(&admitted, at(901)).unwrap(), waits(ADMITTED));
        assert_eq!(progress.check(&admitted, at(911)).unwrap(), waits(ADMITTED));
        let error = progress.check(&admitted, at(912)).unwrap_err().to_string();
        assert_eq!(
            error,
            format!(
                "{TIMED_OUT} Pod status: Pending Details: '0/1 nodes are available: 1 Insufficient cpu.'"
            )
        );
    }

    #[test]
    fn the_admission_timeout_limits_the_wait_in_the_queue() {
        let config = "kubernetes: {provision_timeout: 10, kueue: {local_queue_name: q, admission_timeout: 30}}\n";
        let cluster = launch(config);
        let mut progress = LaunchProgress::new(at(0), &cluster);
        let gated = pod(json!([{"name": "kueue.x-k8s.io/admission"}]), json!(null));
        assert!(progress.check(&gated, at(30)).is_ok());
        let error = progress.check(&gated, at(31)).unwrap_err().to_string();
        assert!(
            error.contains("The queue has not admitted the Pods"),
            "{error}"
        );
    }

    #[test]
    fn a_missing_pod_ends_the_launch_after_some_polls() {
        let cluster = launch("kubernetes: {}\n");
        let mut progress = LaunchProgress::new(at(0), &cluster);
        for second in 1..5 {
            assert!(progress.check(&[], at(second)).is_ok());
        }
        let error = progress.check(&[], at(5)).unwrap_err().to_string();
        assert_eq!(error, "a Pod of a-5c1e7a9b is missing");
    }
}

//! Simulates scheduling of pods that do not exist, for the autoscaler.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::ResourceExt;

use super::cache::SchedulerState;
use super::schedule_one::SchedulingDecision;

/// A copy of the cluster's scheduling state.
pub struct Simulation {
    state: SchedulerState,
    placed: usize,
}

impl Simulation {
    /// The cluster with these nodes and their pods; pending pods are ignored.
    pub fn new(nodes: &[Arc<Node>], pods: &[Arc<Pod>]) -> Self {
        let mut state = SchedulerState::default();
        for node in nodes {
            state.update_node(&node.name_any(), Some(node.clone()));
        }
        let on_node = |pod: &&Arc<Pod>| {
            let spec = pod.spec.as_ref();
            spec.and_then(|s| s.node_name.as_ref()).is_some()
        };
        for pod in pods.iter().filter(on_node) {
            state.update_pod(pod.clone());
        }
        Self { state, placed: 0 }
    }

    /// Adds a node.
    pub fn add(&mut self, node: Node) {
        self.state
            .update_node(&node.name_any(), Some(Arc::new(node)));
    }

    /// Schedules up to `count` copies of a pod; returns how many fit. Without preemption.
    pub fn schedule_pods(&mut self, pod: &Pod, count: usize) -> usize {
        for done in 0..count {
            let mut one = pod.clone();
            self.placed += 1;
            let name = format!("simulated-{}", self.placed);
            one.metadata.uid = Some(name.clone());
            one.metadata.name = Some(name);
            if let Some(spec) = &mut one.spec {
                spec.node_name = None;
                spec.scheduling_gates = None;
                spec.scheduler_name = None;
                // Devices are not simulated.
                spec.resource_claims = None;
                spec.preemption_policy = Some("Never".into());
            }
            let key = kueue_lab_controller_runtime::ObjectKey::of(&one);
            self.state.update_pod(Arc::new(one));
            if !matches!(self.state.next(), Some(SchedulingDecision::Bind { .. })) {
                self.state.delete_pod(&key);
                return done;
            }
        }
        count
    }
}

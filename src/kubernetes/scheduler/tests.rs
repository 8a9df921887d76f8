//! Properties that hold for every cluster and every order of events.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, Pod};
use proptest::prelude::*;
use serde_json::json;

use super::cache::SchedulerState;
use super::schedule_one::SchedulingDecision;
use kueue_lab_controller_runtime::ObjectKey;

#[derive(Clone, Debug)]
enum Event {
    Node {
        index: usize,
        cpu: i64,
        gpu: i64,
    },
    NoNode {
        index: usize,
    },
    Pod {
        index: usize,
        cpu: i64,
        gpu: i64,
        priority: i32,
    },
    NoPod {
        index: usize,
    },
    FailBinding,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        3 => (0..4usize, 1..8i64, 0..4i64).prop_map(|(index, cpu, gpu)| Event::Node { index, cpu, gpu }),
        1 => (0..4usize).prop_map(|index| Event::NoNode { index }),
        8 => (0..20usize, 0..5i64, 0..3i64, 0..3i32)
            .prop_map(|(index, cpu, gpu, priority)| Event::Pod { index, cpu, gpu, priority }),
        3 => (0..20usize).prop_map(|index| Event::NoPod { index }),
        1 => Just(Event::FailBinding),
    ]
}

fn node(index: usize, cpu: i64, gpu: i64) -> Arc<Node> {
    let amounts = json!({"cpu": cpu.to_string(), "nvidia.com/gpu": gpu.to_string(), "pods": "5"});
    let node =
        json!({"metadata": {"name": format!("n{index}")}, "status": {"allocatable": amounts}});
    Arc::new(serde_json::from_value(node).unwrap())
}

fn pod(index: usize, life: usize, cpu: i64, gpu: i64, priority: i32) -> Pod {
    serde_json::from_value(json!({
        "metadata": {"namespace": "ns", "name": format!("p{index}"), "uid": format!("{index}-{life}")},
        "spec": {"priority": priority, "containers": [{"name": "c", "resources": {"requests":
            {"cpu": cpu.to_string(), "nvidia.com/gpu": gpu.to_string()}}}]},
    }))
    .unwrap()
}

/// The objects of the API server.
#[derive(Default)]
struct TestCluster {
    state: SchedulerState,
    pods: BTreeMap<usize, Pod>,
    lives: usize,
    last_bound: Option<(usize, Arc<super::PodInfo>)>,
}

impl TestCluster {
    fn apply_event(&mut self, event: Event) {
        match event {
            Event::Node { index, cpu, gpu } => {
                let name = format!("n{index}");
                self.state.update_node(&name, Some(node(index, cpu, gpu)));
            }
            Event::NoNode { index } => self.state.update_node(&format!("n{index}"), None),
            Event::Pod {
                index,
                cpu,
                gpu,
                priority,
            } => {
                if !self.pods.contains_key(&index) {
                    self.lives += 1;
                    let pod = pod(index, self.lives, cpu, gpu, priority);
                    self.state.update_pod(Arc::new(pod.clone()));
                    self.pods.insert(index, pod);
                }
            }
            Event::NoPod { index } => {
                if self.pods.remove(&index).is_some() {
                    self.state
                        .delete_pod(&ObjectKey::new("ns", format!("p{index}")));
                }
            }
            Event::FailBinding => {
                if let Some((index, info)) = self.last_bound.take()
                    && let Some(pod) = self.pods.get_mut(&index)
                    && pod.metadata.uid.as_deref() == Some(info.uid())
                {
                    pod.spec.as_mut().unwrap().node_name = None;
                    self.state.binding_failed(&info);
                }
            }
        }
    }

    /// Applies decisions until there are none; victims are deleted at once.
    fn schedule_until_idle(&mut self) {
        for _ in 0..1_000 {
            match self.state.next() {
                None => return,
                Some(SchedulingDecision::Bind { pod, node, .. }) => {
                    self.fits(&pod, &node);
                    let index: usize = pod.key.name[1..].parse().unwrap();
                    let bound = self
                        .pods
                        .get_mut(&index)
                        .expect("only pods that exist are bound");
                    assert_eq!(bound.metadata.uid.as_deref(), Some(pod.uid()));
                    bound.spec.as_mut().unwrap().node_name = Some(node);
                    let bound = Arc::new(bound.clone());
                    self.last_bound = Some((index, pod));
                    self.state.update_pod(bound);
                }
                Some(SchedulingDecision::Preempt { pod, victims, .. }) => {
                    assert!(!victims.is_empty());
                    for victim in victims {
                        assert!(victim.priority < pod.priority);
                        let index: usize = victim.key.name[1..].parse().unwrap();
                        self.pods.remove(&index);
                        self.state.delete_pod(&victim.key);
                    }
                }
                Some(SchedulingDecision::Unschedulable { message, .. }) => {
                    assert!(!message.is_empty())
                }
            }
        }
        panic!("the scheduler does not become idle");
    }

    /// Asserts that the node's capacity is not exceeded.
    fn fits(&self, pod: &super::PodInfo, node: &str) {
        let info = &self.state.nodes()[node];
        assert!(info.pods.len() <= info.max_pods);
        for (name, wanted) in pod.requests.iter().filter(|(_, wanted)| *wanted > 0) {
            let (used, all) = (info.requested.get(name), info.allocatable.get(name));
            assert!(
                used <= all,
                "{name} of {node}: {used} of {all} with {wanted}"
            );
        }
    }

    /// Asserts that no pending pod is feasible.
    fn assert_no_pending_pod_fits(&self) {
        for pod in self.pods.values() {
            let spec = pod.spec.as_ref().unwrap();
            if spec.node_name.is_some() {
                continue;
            }
            let wanted = kueue_lab_component_helpers::resource_amounts::pod_requests(spec);
            for info in self.state.nodes().values().filter(|n| n.node.is_some()) {
                let fits = wanted.iter().all(|(name, amount)| {
                    amount <= 0 || amount <= info.allocatable.get(name) - info.requested.get(name)
                });
                let full = info.pods.len() >= info.max_pods;
                assert!(!fits || full, "{:?} fits {}", pod.metadata.name, info.name);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn nodes_are_never_overcommitted_and_capacity_is_used(events in prop::collection::vec(event(), 1..80)) {
        let mut cluster = TestCluster::default();
        for event in events {
            cluster.apply_event(event);
            cluster.schedule_until_idle();
        }
        cluster.assert_no_pending_pod_fits();
    }
}

#[test]
fn a_failed_binding_frees_its_resources_for_pending_pods() {
    let mut state = SchedulerState::default();
    state.update_node("n0", Some(node(0, 4, 0)));
    state.update_pod(Arc::new(pod(0, 1, 4, 0, 0)));
    let Some(SchedulingDecision::Bind { pod: refused, .. }) = state.next() else {
        panic!("the first fits")
    };
    state.update_pod(Arc::new(pod(1, 1, 2, 0, 0)));
    assert!(matches!(
        state.next(),
        Some(SchedulingDecision::Unschedulable { .. })
    ));
    state.binding_failed(&refused);
    state.delete_pod(&refused.key);
    assert!(
        matches!(state.next(), Some(SchedulingDecision::Bind { pod, .. }) if pod.key.name == "p1"),
        "the second fits now"
    );
}

#[test]
fn ten_thousand_equal_unschedulable_pods_cost_one_search() {
    let mut state = SchedulerState::default();
    state.update_node("n0", Some(node(0, 4, 0)));
    for index in 0..10_000 {
        state.update_pod(Arc::new(pod(index, 1, 1, 0, 0)));
    }
    let mut bound = Vec::new();
    let mut decisions = 0;
    while let Some(decision) = state.next() {
        decisions += 1;
        if let SchedulingDecision::Bind { pod, .. } = decision {
            bound.push(pod);
        }
    }
    assert_eq!((bound.len(), decisions), (4, 5));
    // One pod ends, one arrives.
    for _ in 0..100 {
        state.delete_pod(&bound.remove(0).key);
        let Some(SchedulingDecision::Bind { pod, .. }) = state.next() else {
            panic!()
        };
        bound.push(pod);
        assert!(
            matches!(state.next(), Some(SchedulingDecision::Unschedulable { pods, .. }) if pods.len() <= 1)
        );
        assert!(state.next().is_none());
    }
}

//! Schedules one pod: filters, scores and preemption on the cache. Reads no clock and makes no
//! requests.

use std::sync::Arc;

use super::cache::SchedulerState;
use super::filter::Filter;
use super::fit_error::{self, FilterFailure};
use super::{NodeInfo, PodInfo, default_preemption, score};

/// The next action.
#[derive(Debug)]
pub(super) enum SchedulingDecision {
    /// Bind the pod to the node; it is assumed in the cache.
    Bind { pod: Arc<PodInfo>, node: String },
    /// Report the pods as unschedulable.
    Unschedulable {
        pods: Vec<Arc<PodInfo>>,
        message: String,
    },
    /// Evict the victims; the pod is nominated to the node.
    Preempt {
        pod: Arc<PodInfo>,
        node: String,
        victims: Vec<Arc<PodInfo>>,
        message: String,
    },
}

impl SchedulerState {
    /// The next decision, or `None` until something changes.
    pub(super) fn next(&mut self) -> Option<SchedulingDecision> {
        if std::mem::take(&mut self.capacity_freed) {
            self.queue.move_all_to_active();
        }
        if let Some(decision) = self.report_new_arrivals() {
            return Some(decision);
        }
        let key = self.queue.first()?;
        let Some(pod) = self.pending.get(&key).cloned() else {
            self.queue.remove(&key);
            return self.next();
        };
        let filter = Filter::new(&pod, &self.nodes, self.pods_with_anti_affinity > 0);
        match self.schedule_pod(&filter) {
            Ok(node) => {
                self.remove_pending(&key);
                self.assign_pod(pod.clone(), node.clone());
                if self.labels_matter || pod.depends_on_other_pods() {
                    self.queue.move_pod_dependent_to_active();
                }
                Some(SchedulingDecision::Bind { pod, node })
            }
            Err(failures) => Some(self.post_filter(pod, &failures)),
        }
    }

    /// Reports new pods of a class that is known to be unschedulable.
    fn report_new_arrivals(&mut self) -> Option<SchedulingDecision> {
        while let Some(key) = self.arrived.pop() {
            if !self.queue.take_unreported(&key) {
                continue;
            }
            let Some(pod) = self.pending.get(&key).cloned() else {
                continue;
            };
            let class = self.equivalence_class(&pod);
            if let Some(message) = self.class_messages.get(&class).cloned() {
                self.reported_messages.insert(key, message.clone());
                return Some(SchedulingDecision::Unschedulable {
                    pods: vec![pod],
                    message: message.to_string(),
                });
            }
        }
        None
    }

    /// The best feasible node, or the filter failures of all.
    fn schedule_pod(&mut self, filter: &Filter<'_>) -> Result<String, Vec<FilterFailure>> {
        // Collected first, so that `self.nodes` is not borrowed when the start index changes.
        let nodes: Vec<&NodeInfo> = self.nodes.values().filter(|n| n.node.is_some()).collect();
        let enough = num_feasible_nodes_to_find(nodes.len());
        let mut fitting = Vec::new();
        let mut failures = vec![None; nodes.len()];
        let mut seen = 0;
        let start = if enough >= nodes.len() {
            0
        } else {
            self.next_start_node_index
        };
        for step in 0..nodes.len() {
            let at = (start + step) % nodes.len();
            seen += 1;
            match filter.check(nodes[at]) {
                None => fitting.push(nodes[at]),
                Some(failure) => failures[at] = Some(failure),
            }
            if fitting.len() >= enough {
                break;
            }
        }
        if let Some(name) = filter.pod.nominated()
            && let Some(nominated) = fitting.iter().find(|n| n.name == name)
        {
            return Ok(nominated.name.clone());
        }
        let best = score::select_host(filter.pod, &fitting, &self.nodes).map(|n| n.name.clone());
        self.next_start_node_index = (start + seen) % nodes.len().max(1);
        best.ok_or_else(|| failures.into_iter().flatten().collect())
    }

    fn post_filter(&mut self, pod: Arc<PodInfo>, failures: &[FilterFailure]) -> SchedulingDecision {
        let candidate = default_preemption::find_candidate(
            &pod,
            &self.nodes,
            failures,
            self.pods_with_anti_affinity > 0,
        );
        match candidate {
            Ok(candidate) => {
                let message = fit_error::fit_error_message(failures, "");
                self.nominate(&pod, &candidate.node);
                self.queue.mark_unschedulable(&pod.key);
                SchedulingDecision::Preempt {
                    pod,
                    node: candidate.node,
                    victims: candidate.victims,
                    message,
                }
            }
            Err(reason) => {
                let reason = if failures.is_empty() { "" } else { &reason };
                let message: Arc<str> = Arc::from(fit_error::fit_error_message(failures, reason));
                let class = self.equivalence_class(&pod);
                self.class_messages.insert(class, message.clone());
                let unreported = self.queue.mark_unschedulable(&pod.key);
                let pods = unreported
                    .into_iter()
                    .filter(|key| self.reported_messages.get(key) != Some(&message))
                    .filter_map(|key| self.pending.get(&key).cloned())
                    .collect::<Vec<_>>();
                for pod in &pods {
                    self.reported_messages
                        .insert(pod.key.clone(), message.clone());
                }
                SchedulingDecision::Unschedulable {
                    pods,
                    message: message.to_string(),
                }
            }
        }
    }
}

/// How many feasible nodes to find among `all`, as `percentageOfNodesToScore`.
fn num_feasible_nodes_to_find(all: usize) -> usize {
    if all < 100 {
        return all.max(1);
    }
    let percent = 50usize.saturating_sub(all / 125).max(5);
    (all * percent / 100).max(100)
}

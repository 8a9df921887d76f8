//! Schedules one pod: filters, scores and preemption on the cache. Reads no clock and makes no
//! requests.

use std::sync::Arc;

use k8s_openapi::api::resource::v1::ResourceClaim;

use super::binding_cycle::{SCHEDULER_ERROR, UNSCHEDULABLE};
use super::cache::SchedulerState;
use super::default_preemption::Candidate;
use super::dynamic_resources::{ClaimFailure, ClaimToBind, NodeAllocations};
use super::filter::Filter;
use super::fit_error::{self, FilterFailure};
use super::{NodeInfo, PodInfo, default_preemption, score};

/// The next action.
#[derive(Debug)]
pub(super) enum SchedulingDecision {
    /// Bind the pod to the node, after its claims; it is assumed in the cache.
    Bind {
        pod: Arc<PodInfo>,
        node: String,
        claims: Vec<ClaimToBind>,
    },
    /// Report the pods as unschedulable, and deallocate a claim for them.
    Unschedulable {
        pods: Vec<Arc<PodInfo>>,
        reason: &'static str,
        message: String,
        deallocate: Option<Arc<ResourceClaim>>,
    },
    /// Evict the victims; the pod is nominated to the node.
    Preempt {
        pod: Arc<PodInfo>,
        node: String,
        victims: Vec<Arc<PodInfo>>,
        message: String,
    },
}

/// The outcome of a scheduling cycle.
enum Outcome {
    Node {
        node: String,
        claims: Vec<ClaimToBind>,
    },
    Preempt {
        candidate: Candidate,
        message: String,
    },
    Unschedulable {
        reason: &'static str,
        message: String,
        deallocate: Option<Arc<ResourceClaim>>,
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
        self.dra.refresh();
        let (outcome, next_start) = self.scheduling_cycle(&pod);
        self.next_start_node_index = next_start;
        Some(match outcome {
            Outcome::Node { node, claims } => {
                self.assume(&pod, &node, &claims);
                SchedulingDecision::Bind { pod, node, claims }
            }
            Outcome::Preempt { candidate, message } => {
                self.nominate(&pod, &candidate.node);
                self.queue.mark_unschedulable(&pod.key);
                SchedulingDecision::Preempt {
                    pod,
                    node: candidate.node,
                    victims: candidate.victims,
                    message,
                }
            }
            Outcome::Unschedulable {
                reason,
                message,
                deallocate,
            } => {
                let pods = self.mark_unschedulable(&pod, &message);
                SchedulingDecision::Unschedulable {
                    pods,
                    reason,
                    message,
                    deallocate,
                }
            }
        })
    }

    /// Assumes a pod on a node, and the allocations of its claims.
    fn assume(&mut self, pod: &Arc<PodInfo>, node: &str, claims: &[ClaimToBind]) {
        self.remove_pending(&pod.key);
        self.assign_pod(pod.clone(), node.to_owned());
        if self.labels_matter || pod.depends_on_other_pods() {
            self.queue.move_pod_dependent_to_active();
        }
        for to_bind in claims {
            if let Some(allocation) = &to_bind.allocation {
                self.dra
                    .signal_pending_allocation(&to_bind.claim, allocation);
            }
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
                    reason: UNSCHEDULABLE,
                    message: message.to_string(),
                    deallocate: None,
                });
            }
        }
        None
    }

    /// Schedules a pod; returns the outcome and the next start of the search for nodes.
    fn scheduling_cycle(&self, pod: &Arc<PodInfo>) -> (Outcome, usize) {
        let any_pod_has_anti_affinity = self.pods_with_anti_affinity > 0;
        let start = self.next_start_node_index;
        let filter = Filter::new(pod, self.nodes.values(), any_pod_has_anti_affinity);
        let claims = match pod.needs_devices() {
            true => NodeAllocations::pre_filter(&self.dra, pod),
            false => Ok(None),
        };
        let claims = match claims {
            Ok(claims) => claims,
            Err(error) => {
                let reason = error.to_string();
                let nodes = self.nodes.values().filter(|n| n.node.is_some()).count();
                let failures = vec![FilterFailure::PreFilter(reason); nodes];
                let post_filter = Some("no new claims to deallocate");
                return (self.post_filter(&filter, &failures, post_filter), start);
            }
        };
        let claims = claims.as_ref();
        let filter = filter.with_claims(claims);
        let (found, next_start) = self.find_node(&filter);
        let failures = match found {
            Ok(node) => {
                let claims = claims.map(|claims| claims.claims_to_bind(&node));
                let claims = claims.unwrap_or_default();
                return (Outcome::Node { node, claims }, next_start);
            }
            Err(failures) => failures,
        };
        let error = failures.iter().find_map(|failure| match failure {
            FilterFailure::DynamicResources(ClaimFailure::Error(error)) => Some(error),
            _ => None,
        });
        if let Some(error) = error {
            let outcome = Outcome::Unschedulable {
                reason: SCHEDULER_ERROR,
                message: format!("running \"DynamicResources\" filter plugin: {error}"),
                deallocate: None,
            };
            return (outcome, next_start);
        }
        let deallocate = claims.and_then(NodeAllocations::claim_to_deallocate);
        if deallocate.is_some() {
            let post_filter = Some("deallocation of ResourceClaim completed");
            let outcome = Outcome::Unschedulable {
                reason: UNSCHEDULABLE,
                message: fit_error::fit_error_message(&failures, post_filter, ""),
                deallocate,
            };
            return (outcome, next_start);
        }
        let post_filter = claims.map(|_| "still not schedulable");
        let outcome = self.post_filter(&filter, &failures, post_filter);
        (outcome, next_start)
    }

    /// The best feasible node, or the filter failures of all; and the next start of the search.
    fn find_node(&self, filter: &Filter<'_>) -> (Result<String, Vec<FilterFailure>>, usize) {
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
            return (Ok(nominated.name.clone()), self.next_start_node_index);
        }
        let best = score::select_host(filter.pod, &fitting, &self.nodes).map(|n| n.name.clone());
        let next_start = (start + seen) % nodes.len().max(1);
        let best = best.ok_or_else(|| failures.into_iter().flatten().collect());
        (best, next_start)
    }

    /// Preemption, or the message of the failure.
    fn post_filter(
        &self,
        filter: &Filter<'_>,
        failures: &[FilterFailure],
        post_filter: Option<&str>,
    ) -> Outcome {
        let candidate = default_preemption::find_candidate(filter, &self.nodes, failures);
        match candidate {
            Ok(candidate) => Outcome::Preempt {
                candidate,
                message: fit_error::fit_error_message(failures, post_filter, ""),
            },
            Err(reason) => {
                let reason = match failures.is_empty() {
                    true => String::new(),
                    false => reason.to_string(),
                };
                Outcome::Unschedulable {
                    reason: UNSCHEDULABLE,
                    message: fit_error::fit_error_message(failures, post_filter, &reason),
                    deallocate: None,
                }
            }
        }
    }

    /// Marks the class of a pod as unschedulable; returns its pods to report.
    fn mark_unschedulable(&mut self, pod: &PodInfo, message: &str) -> Vec<Arc<PodInfo>> {
        let message: Arc<str> = Arc::from(message);
        let class = self.equivalence_class(pod);
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
        pods
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

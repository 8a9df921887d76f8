//! What happens later: retrying parked workloads, second passes, and what follows from nodes and
//! pods that changed.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::{Engine, order_context};
use crate::cache::QueueNames;
use crate::kube::label_selector::Labels;

/// Changes of nodes are gathered this long.
const NODE_DELAY: SignedDuration = SignedDuration::from_secs(1);
/// Room freed by pods is gathered this long.
const POD_DELAY: SignedDuration = SignedDuration::from_secs(10);

/// What nodes and pods will lead to.
#[derive(Clone, Debug, Default)]
pub(super) struct Timers {
    /// The labels of nodes as last seen.
    pub node_labels: BTreeMap<String, Labels>,
    nodes_due: Option<Timestamp>,
    freed: BTreeSet<String>,
    freed_due: Option<Timestamp>,
}

impl Timers {
    /// Nodes that workloads can be placed on changed.
    pub fn schedule_node_retry(&mut self, now: Timestamp) {
        let due = now.saturating_add(NODE_DELAY).unwrap_or(Timestamp::MAX);
        self.nodes_due.get_or_insert(due);
    }

    /// There is more room on a node.
    pub fn schedule_freed_node_retry(&mut self, node: String, now: Timestamp) {
        let due = now.saturating_add(POD_DELAY).unwrap_or(Timestamp::MAX);
        self.freed.insert(node);
        self.freed_due.get_or_insert(due);
    }
}

impl Engine {
    /// When [`Engine::advance`] has something to do next.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        let all = [
            self.queues.next_requeue(),
            self.queues.second_pass.next_deadline(),
            self.timers.nodes_due,
            self.timers.freed_due,
        ];
        all.into_iter().flatten().min()
    }

    /// Does what is due. Gives how many workloads may be tried again.
    pub fn advance(&mut self, now: Timestamp) -> usize {
        if self.timers.nodes_due.take_if(|due| *due <= now).is_some() {
            self.notify_retry_inadmissible_everywhere(now);
        }
        if self.timers.freed_due.take_if(|due| *due <= now).is_some() {
            let mut queues = QueueNames::new();
            for node in std::mem::take(&mut self.timers.freed) {
                // A node that is gone has been dealt with.
                let Some(labels) = self.timers.node_labels.get(&node) else {
                    continue;
                };
                for flavor in self.cache.tas.flavors_of_node(labels) {
                    queues.extend(self.cache.cluster_queues_using_flavor(&flavor));
                }
            }
            self.notify_retry_inadmissible(queues, now);
        }
        let mut moved = 0;
        for target in self.queues.take_due_requeue_requests(now) {
            let ctx = order_context!(self);
            let forest = &self.cache.hierarchy;
            moved +=
                self.queues
                    .requeue_inadmissible(&target, forest, &self.cluster_objects, ctx, now);
        }
        moved += usize::from(self.queues.advance_second_pass(now, &self.config));
        moved
    }
}

//! Delayed work: requeueing inadmissible workloads, second passes, and the effects of Node and Pod
//! events.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::{Engine, order_context};
use crate::cache::QueueNames;
use kueue_lab_component_helpers::label_selector::Labels;

/// The batch period of Node changes.
const NODE_DELAY: SignedDuration = SignedDuration::from_secs(1);
/// The batch period of capacity that Pods release.
const POD_DELAY: SignedDuration = SignedDuration::from_secs(10);

/// Pending effects of Node and Pod events.
#[derive(Clone, Debug, Default)]
pub(super) struct Timers {
    /// The last known labels of nodes.
    pub node_labels: BTreeMap<String, Labels>,
    nodes_due: Option<Timestamp>,
    freed_nodes: BTreeSet<String>,
    freed_nodes_due: Option<Timestamp>,
}

impl Timers {
    /// Schedules the requeueing after a change of nodes.
    pub(crate) fn schedule_node_retry(&mut self, now: Timestamp) {
        let due = now.saturating_add(NODE_DELAY).unwrap_or(Timestamp::MAX);
        self.nodes_due.get_or_insert(due);
    }

    /// Schedules the requeueing after capacity of a node was released.
    pub(crate) fn schedule_freed_node_retry(&mut self, node: String, now: Timestamp) {
        let due = now.saturating_add(POD_DELAY).unwrap_or(Timestamp::MAX);
        self.freed_nodes.insert(node);
        self.freed_nodes_due.get_or_insert(due);
    }
}

impl Engine {
    /// The next time [`Engine::advance`] has work to do.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        let all = [
            self.queues.next_requeue(),
            self.queues.second_pass.next_deadline(),
            self.timers.nodes_due,
            self.timers.freed_nodes_due,
        ];
        all.into_iter().flatten().min()
    }

    /// Does all work that is due. Returns how many workloads became active.
    pub fn advance(&mut self, now: Timestamp) -> usize {
        if self.timers.nodes_due.take_if(|due| *due <= now).is_some() {
            self.notify_retry_inadmissible_everywhere(now);
        }
        if self
            .timers
            .freed_nodes_due
            .take_if(|due| *due <= now)
            .is_some()
        {
            let mut queues = QueueNames::new();
            for node in std::mem::take(&mut self.timers.freed_nodes) {
                // A deleted node was handled by its event.
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
            let hierarchy = &self.cache.hierarchy;
            moved += self.queues.requeue_inadmissible(
                &target,
                hierarchy,
                &self.cluster_objects,
                ctx,
                now,
            );
        }
        moved += usize::from(self.queues.advance_second_pass(now, &self.config));
        moved
    }
}

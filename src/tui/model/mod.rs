//! The model: rows fed by watches, and what follows from them. Pure: changes and a moment in, state
//! out.
//!
//! Must not know the terminal, the keys, or how rows are fetched. All text in it is clean.

pub mod cond;
pub mod derived;
pub mod event;
pub mod evictions;
pub mod health;
pub mod import;
mod key;
pub mod meta;
pub mod node;
pub mod pod;
pub mod queues;
pub mod quota;
mod store;
pub mod workload;

#[cfg(test)]
mod reference_tests;

pub use key::{Key, Kind};
pub use store::{Change, Row, Store};

use std::collections::BTreeMap;

use jiff::Timestamp;

use event::{EventLog, EventRow};
use evictions::Feed;
use health::Health;
use node::NodeRow;
use pod::PodRow;
use queues::{ClusterQueueRow, CohortRow, FlavorRow, LocalQueueRow, PriorityClassRow};
use workload::WorkloadRow;

/// One piece of news from the cluster.
#[derive(Clone, Debug)]
pub enum News {
    /// About Workloads.
    Workload(Change<WorkloadRow>),
    /// About ClusterQueues.
    ClusterQueue(Change<ClusterQueueRow>),
    /// About LocalQueues.
    LocalQueue(Change<LocalQueueRow>),
    /// About Cohorts.
    Cohort(Change<CohortRow>),
    /// About ResourceFlavors.
    Flavor(Change<FlavorRow>),
    /// About WorkloadPriorityClasses.
    PriorityClass(Change<PriorityClassRow>),
    /// About Nodes.
    Node(Change<NodeRow>),
    /// About Pods.
    Pod(Change<PodRow>),
    /// About Events.
    Event(Change<EventRow>),
    /// About a watch itself.
    Health(Kind, Health),
}

/// Everything that is known of the cluster.
#[derive(Clone, Debug, Default)]
pub struct Data {
    /// Workloads.
    pub workloads: Store<WorkloadRow>,
    /// ClusterQueues.
    pub cluster_queues: Store<ClusterQueueRow>,
    /// LocalQueues.
    pub local_queues: Store<LocalQueueRow>,
    /// Cohorts that have an object.
    pub cohorts: Store<CohortRow>,
    /// ResourceFlavors.
    pub flavors: Store<FlavorRow>,
    /// WorkloadPriorityClasses.
    pub priority_classes: Store<PriorityClassRow>,
    /// Nodes.
    pub nodes: Store<NodeRow>,
    /// Pods.
    pub pods: Store<PodRow>,
    /// Events.
    pub events: EventLog,
    /// Evictions.
    pub feed: Feed,
    /// How each watch is doing.
    pub health: BTreeMap<Kind, Health>,
    /// The moment this picture is of, in the lab's time.
    pub now: Timestamp,
}

impl Data {
    /// Takes in a piece of news.
    pub fn learn(&mut self, news: News) {
        match news {
            News::Workload(change) => {
                match &change {
                    Change::Reset(rows) => {
                        for row in rows {
                            self.feed.see_workload(row, &self.cluster_queues);
                        }
                    }
                    Change::Put(row) => self.feed.see_workload(row, &self.cluster_queues),
                    Change::Gone(_) => {}
                }
                self.workloads.apply(change);
            }
            News::Event(change) => {
                let rows = match &change {
                    Change::Reset(rows) => rows.as_slice(),
                    Change::Put(row) => std::slice::from_ref(&**row),
                    Change::Gone(_) => &[],
                };
                for row in rows {
                    self.feed
                        .see_event(row, &self.workloads, &self.cluster_queues);
                }
                self.events.apply(change);
            }
            News::ClusterQueue(change) => self.cluster_queues.apply(change),
            News::LocalQueue(change) => self.local_queues.apply(change),
            News::Cohort(change) => self.cohorts.apply(change),
            News::Flavor(change) => self.flavors.apply(change),
            News::PriorityClass(change) => self.priority_classes.apply(change),
            News::Node(change) => self.nodes.apply(change),
            News::Pod(change) => self.pods.apply(change),
            News::Health(kind, health) => {
                self.health.insert(kind, health);
            }
        }
    }

    /// How the watch of a kind is doing.
    pub fn health_of(&self, kind: Kind) -> &Health {
        self.health.get(&kind).unwrap_or(&Health::Starting)
    }

    /// The ClusterQueue a workload holds quota of, or else the one its LocalQueue leads to.
    pub fn cluster_queue_of<'a>(&'a self, wl: &'a WorkloadRow) -> Option<&'a str> {
        let held = wl.admission.as_ref().map(|a| a.cluster_queue.as_str());
        held.or_else(|| Some(self.local_queues.get(&wl.queue_key)?.cluster_queue.as_str()))
    }

    /// LocalQueues that lead to a ClusterQueue.
    pub fn queues_to<'a>(&'a self, cq: &'a str) -> impl Iterator<Item = &'a LocalQueueRow> {
        self.local_queues
            .iter()
            .filter(move |q| q.cluster_queue == cq)
    }
}

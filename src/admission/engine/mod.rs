//! [`Engine`]: objects and times go in, decisions come out.
//!
//! The engine keeps the cache, the queues and the newest version of every object it was told of.
//! Each event of an object is one call; a cycle is another. It never waits: what has to happen
//! later is a deadline that [`Engine::next_deadline`] tells and [`Engine::advance`] acts upon.

mod afs;
mod dra;
mod explain;
mod flavor_events;
mod node_events;
mod object_store;
mod queries;
mod queue_events;
mod schedule;
mod timers;
mod workload_events;

use std::sync::Arc;

use super::afs::AfsUsageLedger;
use super::cache::{Cache, HierarchyNodeId};
use super::cluster_objects::ClusterObjects;
use super::config::EngineConfig;
use super::cycle::{Decision, PreemptionExpectations};
use super::hash_map::FastHashMap;
use super::queue::{OrderContext, QueueManager};
use super::workload::{Info, WorkloadKey};

pub use afs::ConsumedUsage;
pub use explain::Explanation;
use object_store::ObjectStore;
pub use queries::{PendingCounts, PendingPosition, PendingState, QueueInadmissibleReason};
pub use schedule::CycleResult;
use timers::Timers;

/// The admission engine.
#[derive(Clone, Debug, Default)]
pub struct Engine {
    config: EngineConfig,
    cache: Cache,
    queues: QueueManager,
    cluster_objects: ClusterObjects,
    store: ObjectStore,
    ledger: AfsUsageLedger,
    expectations: PreemptionExpectations,
    timers: Timers,
    /// The number of the last cycle.
    cycle: i64,
    /// Workloads taken to be admitted, until it is known whether they could be written.
    assumed: FastHashMap<WorkloadKey, AssumedWorkload>,
    /// The last decision on each workload that exists.
    decisions: FastHashMap<WorkloadKey, Arc<Decision>>,
}

/// A workload taken to be admitted.
#[derive(Clone, Debug)]
struct AssumedWorkload {
    info: Info,
    /// Whether its LocalQueue was charged.
    penalty: bool,
}

/// The context of order among pending workloads, borrowed field by field.
macro_rules! order_context {
    ($engine:expr) => {
        $crate::queue::OrderContext {
            config: &$engine.config,
            ledger: &$engine.ledger,
        }
    };
}
use order_context;

impl Engine {
    /// An engine that knows no objects yet.
    pub fn new(config: EngineConfig) -> Self {
        Engine {
            cache: Cache::new(&config.gates),
            config,
            ..Default::default()
        }
    }

    /// The settings.
    pub fn config(&self) -> &EngineConfig {
        &self.config
    }

    /// Who holds how much of what.
    pub fn cache(&self) -> &Cache {
        &self.cache
    }

    /// The pending workloads.
    pub fn queues(&self) -> &QueueManager {
        &self.queues
    }

    /// Past usage of LocalQueues.
    pub fn ledger(&self) -> &AfsUsageLedger {
        &self.ledger
    }

    /// Namespaces, limits and runtime classes.
    pub fn cluster_objects(&self) -> &ClusterObjects {
        &self.cluster_objects
    }

    /// The last decision on a workload.
    pub fn decision(&self, key: &WorkloadKey) -> Option<&Arc<Decision>> {
        self.decisions.get(key)
    }

    fn order_context(&self) -> OrderContext<'_> {
        order_context!(self)
    }

    /// Asks for the parked workloads of ClusterQueues and their cohorts to be retried.
    fn notify_retry_inadmissible(
        &mut self,
        queues: impl IntoIterator<Item = Arc<str>>,
        now: jiff::Timestamp,
    ) {
        let names: Vec<Arc<str>> = queues.into_iter().collect();
        let node_of = |name: &str| -> Option<HierarchyNodeId> { self.cache.node_of(name) };
        self.queues
            .notify_retry_inadmissible(&names, node_of, &self.cache.hierarchy, now);
    }
}

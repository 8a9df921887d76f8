//! [`Engine`]: objects and times go in, decisions come out.
//!
//! The engine keeps the cache, the queues and the newest version of every object it was told of.
//! Each event of an object is one call; a cycle is another. It never waits: what has to happen
//! later is a deadline that [`Engine::next_deadline`] tells and [`Engine::advance`] acts upon.

mod afs;
mod devices;
mod explain;
mod nodes;
mod queues;
mod report;
mod resources;
mod schedule;
mod store;
mod timers;
mod workloads;

use std::sync::Arc;

use super::afs::UsageLedger;
use super::cache::{Cache, NodeId};
use super::config::EngineConfig;
use super::cycle::{Decision, Expectations};
use super::lookup::Lookup;
use super::queue::{OrderContext, Queues};
use super::workload::{Info, WorkloadKey};
use super::world::World;

pub use afs::ConsumedUsage;
pub use explain::Explanation;
pub use report::{PendingCounts, PendingPosition, Place, QueueBlocker};
pub use schedule::Cycle;
use store::Store;
use timers::Timers;

/// The admission engine.
#[derive(Clone, Debug, Default)]
pub struct Engine {
    config: EngineConfig,
    cache: Cache,
    queues: Queues,
    world: World,
    store: Store,
    ledger: UsageLedger,
    expectations: Expectations,
    timers: Timers,
    /// The number of the last cycle.
    cycle: i64,
    /// Workloads taken to be admitted, until it is known whether they could be written.
    assumed: Lookup<WorkloadKey, Assumed>,
    /// The last decision on each workload that exists.
    decisions: Lookup<WorkloadKey, Arc<Decision>>,
}

/// A workload taken to be admitted.
#[derive(Clone, Debug)]
struct Assumed {
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
    pub fn queues(&self) -> &Queues {
        &self.queues
    }

    /// Past usage of LocalQueues.
    pub fn ledger(&self) -> &UsageLedger {
        &self.ledger
    }

    /// Namespaces, limits and runtime classes.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// The last decision on a workload.
    pub fn decision(&self, key: &WorkloadKey) -> Option<&Arc<Decision>> {
        self.decisions.get(key)
    }

    fn order_context(&self) -> OrderContext<'_> {
        order_context!(self)
    }

    /// Asks for the parked workloads of ClusterQueues and their cohorts to be retried.
    fn retry(&mut self, queues: impl IntoIterator<Item = Arc<str>>, now: jiff::Timestamp) {
        let names: Vec<Arc<str>> = queues.into_iter().collect();
        let node_of = |name: &str| -> Option<NodeId> { self.cache.node_of(name) };
        self.queues
            .request_flush(&names, node_of, &self.cache.forest, now);
    }
}

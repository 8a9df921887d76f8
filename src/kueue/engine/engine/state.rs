//! [`Engine`]: the state of the admission engine.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::object_store::ObjectStore;
use super::quota_slots::QuotaSlots;
use super::timers::Timers;
use crate::afs::AfsUsageLedger;
use crate::cache::{Cache, HierarchyNodeId};
use crate::cluster_objects::ClusterObjects;
use crate::config::EngineConfig;
use crate::cycle::{Decision, PreemptionExpectations};
use crate::dra::DraCache;
use crate::hash_map::FastHashMap;
use crate::queue::{OrderContext, QueueManager};
use crate::workload::{Info, WorkloadKey};

/// The admission engine.
#[derive(Clone, Debug, Default)]
pub struct Engine {
    pub(super) config: EngineConfig,
    pub(super) cache: Cache,
    pub(super) queues: QueueManager,
    pub(super) cluster_objects: ClusterObjects,
    /// Shared with those who read it without the engine.
    pub(super) dra_cache: Arc<DraCache>,
    pub(super) store: ObjectStore,
    pub(super) ledger: AfsUsageLedger,
    pub(super) expectations: PreemptionExpectations,
    pub(super) timers: Timers,
    /// The number of the last cycle.
    pub(super) cycle: i64,
    /// Assumed workloads, until the outcome of their admission is known.
    pub(super) assumed: FastHashMap<WorkloadKey, AssumedWorkload>,
    /// The last decision on each existing workload.
    pub(super) decisions: FastHashMap<WorkloadKey, Arc<Decision>>,
    /// The number of changes of the cache before the last cycle.
    pub(super) changes_before_cycle: u64,
    /// The ClusterQueues whose retries are skipped.
    pub(super) quota_slots: BTreeMap<Arc<str>, QuotaSlots>,
}

/// A workload that is assumed to be admitted.
#[derive(Clone, Debug)]
pub(super) struct AssumedWorkload {
    pub(super) info: Info,
    /// Whether its LocalQueue has an entry penalty for it.
    pub(super) penalty: bool,
}

/// The order context of pending workloads, borrowing the fields of the engine separately.
macro_rules! order_context {
    ($engine:expr) => {
        $crate::queue::OrderContext {
            config: &$engine.config,
            ledger: &$engine.ledger,
        }
    };
}
pub(super) use order_context;

impl Engine {
    /// An engine without objects.
    pub fn new(config: EngineConfig) -> Self {
        Engine {
            cache: Cache::new(&config.gates),
            config,
            ..Default::default()
        }
    }

    /// The configuration.
    pub fn config(&self) -> &EngineConfig {
        &self.config
    }

    /// The cache.
    pub fn cache(&self) -> &Cache {
        &self.cache
    }

    /// The pending workloads.
    pub fn queues(&self) -> &QueueManager {
        &self.queues
    }

    /// Consumed usage and entry penalties of LocalQueues.
    pub fn ledger(&self) -> &AfsUsageLedger {
        &self.ledger
    }

    /// Namespaces, LimitRanges and RuntimeClasses.
    pub fn cluster_objects(&self) -> &ClusterObjects {
        &self.cluster_objects
    }

    /// The last decision on a workload.
    pub fn decision(&self, key: &WorkloadKey) -> Option<&Arc<Decision>> {
        self.decisions.get(key)
    }

    pub(super) fn order_context(&self) -> OrderContext<'_> {
        order_context!(self)
    }

    /// Requests that the inadmissible workloads of ClusterQueues and their cohorts are requeued.
    pub(super) fn notify_retry_inadmissible(
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

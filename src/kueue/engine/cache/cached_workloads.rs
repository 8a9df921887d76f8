//! The workloads that reserve quota, with precomputed usage.
//!
//! Must not depend on quota.

use std::sync::Arc;

use jiff::Timestamp;
use smallvec::SmallVec;

use crate::resources::Amount;
use crate::resources::{FlavorResourceId, FlavorResourceQuantities, FlavorResourceTable};
use crate::workload::{Info, TasUsage, predicates};
use kueue_lab_api::constants as c;
use kueue_lab_quota_tree::HierarchyNodeId;

/// The index of a workload that reserves quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WorkloadIndex(u32);

impl WorkloadIndex {
    /// The number, for indexing.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A workload that reserves quota.
#[derive(Clone, Debug)]
pub struct CachedWorkload {
    /// The workload.
    pub info: Arc<Info>,
    /// The node of its ClusterQueue.
    pub queue: HierarchyNodeId,
    /// The quota it reserves.
    pub usage: FlavorResourceQuantities,
    /// The flavor resources it is assigned, including those with no requests.
    pub uses: SmallVec<[FlavorResourceId; 4]>,
    /// The topology domains it uses.
    pub tas_usage: Option<Arc<TasUsage>>,
    /// Whether it is being evicted.
    pub evicted: bool,
    /// Whether it is admitted.
    pub admitted: bool,
    /// The transition time of its QuotaReserved condition, if it is True.
    pub reserved_at: Option<Timestamp>,
    /// Whether a simulation removed it from its ClusterQueue.
    pub removed: bool,
    /// Its index among the reserving workloads of its ClusterQueue.
    pub(super) position: usize,
}

impl CachedWorkload {
    /// Computes the usage of a workload.
    pub fn new(info: Arc<Info>, queue: HierarchyNodeId, frs: &mut FlavorResourceTable) -> Self {
        let (usage, uses) = usage_of(&info, frs);
        let reserved = predicates::true_condition(&info.obj, c::QUOTA_RESERVED);
        CachedWorkload {
            usage,
            uses,
            tas_usage: info.is_using_tas().then(|| Arc::new(info.tas_usage())),
            evicted: predicates::is_evicted(&info.obj),
            admitted: predicates::is_admitted(&info.obj),
            reserved_at: reserved.map(|cond| cond.last_transition_time.0),
            removed: false,
            position: 0,
            queue,
            info,
        }
    }

    /// Whether it is assigned any of these flavor resources.
    pub fn uses_any(&self, frs: &[FlavorResourceId]) -> bool {
        self.uses.iter().any(|fr| frs.contains(fr))
    }
}

/// The quota usage of a workload with assigned flavors, and all flavor resources it is assigned.
pub fn usage_of(
    info: &Info,
    frs: &mut FlavorResourceTable,
) -> (FlavorResourceQuantities, SmallVec<[FlavorResourceId; 4]>) {
    let mut usage = FlavorResourceQuantities::new();
    let mut uses: SmallVec<[FlavorResourceId; 4]> = SmallVec::new();
    for ps in &*info.total_requests {
        for (&resource, flavor) in &ps.flavors {
            let fr = frs.intern(flavor, resource);
            if !uses.contains(&fr) {
                uses.push(fr);
            }
        }
        for (resource, amount) in ps.requests.iter() {
            if let Some(flavor) = ps.flavors.get(&resource).filter(|f| !f.is_empty()) {
                usage.add(frs.intern(flavor, resource), Amount::new(amount));
            }
        }
    }
    (usage, uses)
}

/// All workloads that reserve quota.
#[derive(Clone, Debug, Default)]
pub(super) struct CachedWorkloads {
    slots: Vec<Option<CachedWorkload>>,
    free: Vec<WorkloadIndex>,
}

impl CachedWorkloads {
    pub(crate) fn insert(&mut self, workload: CachedWorkload) -> WorkloadIndex {
        if let Some(idx) = self.free.pop() {
            self.slots[idx.index()] = Some(workload);
            return idx;
        }
        self.slots.push(Some(workload));
        WorkloadIndex(self.slots.len() as u32 - 1)
    }

    pub(crate) fn remove(&mut self, idx: WorkloadIndex) -> Option<CachedWorkload> {
        let workload = self.slots.get_mut(idx.index())?.take();
        if workload.is_some() {
            self.free.push(idx);
        }
        workload
    }

    pub(crate) fn get(&self, idx: WorkloadIndex) -> Option<&CachedWorkload> {
        self.slots.get(idx.index())?.as_ref()
    }

    pub(crate) fn get_mut(&mut self, idx: WorkloadIndex) -> Option<&mut CachedWorkload> {
        self.slots.get_mut(idx.index())?.as_mut()
    }
}

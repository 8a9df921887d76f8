//! [`EngineQuotas`]: how much of the quotas of a cohort its ClusterQueues can use, as the engine computes it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use kueue_lab_api::v1beta2::{ClusterQueue, Cohort};
use kueue_lab_codec::Codec;
use kueue_lab_engine::cache::{CohortHierarchy, HierarchyNodeId};
use kueue_lab_engine::engine::ObjectChange;
use kueue_lab_engine::resources::{Amount, FlavorResourceId};
use kueue_lab_engine::{Engine, EngineConfig};

use super::queue_fields::QuotaFields;
use crate::Manifest;

/// The quotas of ClusterQueues and Cohorts without workloads. ClusterQueues in a cycle of Cohorts have none.
pub(super) struct EngineQuotas {
    engine: Engine,
    /// The ClusterQueues that can borrow, by the root of their tree and the flavor and resource.
    borrowers: BTreeMap<(usize, usize), BTreeSet<String>>,
}

impl EngineQuotas {
    /// The quotas of these objects.
    pub(super) fn new(queues: &[&Manifest], cohorts: &[&Manifest]) -> Self {
        let mut engine = Engine::new(EngineConfig::default());
        let now = Timestamp::UNIX_EPOCH;
        for cohort in cohorts {
            if let Ok(cohort) = Cohort::from_value(&cohort.object) {
                engine.apply(ObjectChange::upsert(cohort), now);
            }
        }
        for queue in queues {
            if let Ok(queue) = ClusterQueue::from_value(&queue.object) {
                engine.apply(ObjectChange::upsert(queue), now);
            }
        }
        let mut quotas = Self {
            engine,
            borrowers: BTreeMap::new(),
        };
        for queue in queues {
            let Some(id) = quotas.node(queue) else {
                continue;
            };
            let hierarchy = quotas.hierarchy();
            let all = hierarchy[id].resources.quotas();
            let borrowed = all.filter(|(fr, _)| can_borrow(hierarchy, id, *fr));
            let root = hierarchy.root(id).index();
            let keys: Vec<_> = borrowed.map(|(fr, _)| (root, fr.index())).collect();
            for key in keys {
                let borrowers = quotas.borrowers.entry(key).or_default();
                borrowers.insert(queue.key.name.clone());
            }
        }
        quotas
    }

    /// Whether the ClusterQueue can use a resource in a flavor at all; `None` if the engine does not know it.
    pub(super) fn can_use(&self, queue: &Manifest, quota: &QuotaFields<'_>) -> Option<bool> {
        let (id, fr) = self.find(queue, quota)?;
        Some(self.hierarchy().potential_available(id, fr) > Amount::ZERO)
    }

    /// Whether the ClusterQueue can use more than its nominal quota.
    pub(super) fn can_borrow(&self, queue: &Manifest, quota: &QuotaFields<'_>) -> bool {
        let found = self.find(queue, quota);
        found.is_some_and(|(id, fr)| can_borrow(self.hierarchy(), id, fr))
    }

    /// Whether other ClusterQueues of the tree can use more than their nominal quota.
    pub(super) fn others_can_borrow(&self, queue: &Manifest, quota: &QuotaFields<'_>) -> bool {
        let Some((id, fr)) = self.find(queue, quota) else {
            return false;
        };
        let key = (self.hierarchy().root(id).index(), fr.index());
        let borrowers = self.borrowers.get(&key).into_iter().flatten();
        borrowers
            .into_iter()
            .any(|borrower| *borrower != queue.key.name)
    }

    /// Whether the ClusterQueue lends a part of its quota.
    pub(super) fn lends(&self, queue: &Manifest, quota: &QuotaFields<'_>) -> bool {
        self.find(queue, quota).is_some_and(|(id, fr)| {
            let quota = self.hierarchy()[id].resources.quota(fr);
            let most = quota.lending_limit.unwrap_or(quota.nominal);
            most.min(quota.nominal) > Amount::ZERO
        })
    }

    /// Whether the lending limit of a Cohort holds back a part of the quota of the Cohort and of all below it; also
    /// if there is no quota.
    pub(super) fn holds_back(&self, cohort: &Manifest, quota: &QuotaFields<'_>) -> bool {
        let hierarchy = self.hierarchy();
        let Some(id) = hierarchy.cohort(&cohort.key.name) else {
            return true;
        };
        let Some(fr) = hierarchy.frs.get(quota.flavor, quota.resource.into()) else {
            return true;
        };
        let resources = &hierarchy[id].resources;
        let subtree = resources.subtree_quota(fr);
        let limit = resources.quota(fr).lending_limit;
        hierarchy.has_cycle(id)
            || subtree <= Amount::ZERO
            || limit.is_none_or(|limit| limit < subtree)
    }

    /// The quota tree.
    pub(super) fn hierarchy(&self) -> &CohortHierarchy {
        &self.engine.cache().hierarchy
    }

    /// The node of a ClusterQueue that is in no cycle.
    pub(super) fn node(&self, queue: &Manifest) -> Option<HierarchyNodeId> {
        let id = self.engine.cache().node_of(&queue.key.name)?;
        (!self.hierarchy().has_cycle(id)).then_some(id)
    }

    /// The node of a ClusterQueue that is in no cycle, and the number of the flavor and resource.
    pub(super) fn find(
        &self,
        queue: &Manifest,
        quota: &QuotaFields<'_>,
    ) -> Option<(HierarchyNodeId, FlavorResourceId)> {
        let frs = &self.hierarchy().frs;
        let fr = frs.get(quota.flavor, quota.resource.into())?;
        Some((self.node(queue)?, fr))
    }
}

fn can_borrow(hierarchy: &CohortHierarchy, id: HierarchyNodeId, fr: FlavorResourceId) -> bool {
    let nominal = hierarchy[id].resources.quota(fr).nominal;
    hierarchy.has_parent(id) && hierarchy.potential_available(id, fr) > nominal
}

//! [`VariantFamily`]: a parent Workload with its variants and the order of flavors.

use std::sync::Arc;

use crate::ControllerContext;
use crate::informers::BY_OWNER_UID;
use kueue_lab_api::v1beta2::{
    ClusterQueue, ConcurrentAdmissionConstraints, ConcurrentAdmissionMigrationMode, Workload,
};
use kueue_lab_controller_runtime::ObjectKey;
use kueue_lab_engine::concurrent_admission::variant_flavor;
use kueue_lab_engine::workload::predicates;

/// A parent Workload with its variants.
pub(super) struct VariantFamily {
    /// The parent.
    pub parent: Arc<Workload>,
    /// The variants, in the order of flavors.
    pub variants: Vec<Arc<Workload>>,
    /// The flavors of the ClusterQueue in order of preference.
    pub flavors: Vec<String>,
    cluster_queue: Arc<ClusterQueue>,
}

impl VariantFamily {
    /// The family of a parent. None if its ClusterQueue does not exist or has no flavors.
    pub(super) fn of(shared: &ControllerContext, parent: Arc<Workload>) -> Option<Self> {
        let name = {
            let engine = shared.engine();
            engine.cluster_queue_of(&parent)?.0.clone()
        };
        let queues = &shared.informers.cluster_queues;
        let cluster_queue = queues.get(&ObjectKey::cluster(&*name))?;
        let group = cluster_queue.spec.resource_groups.first()?;
        let flavors = group.flavors.iter().map(|f| f.name.clone()).collect();
        let workloads = &shared.informers.workloads;
        let mut variants = workloads.by_index(BY_OWNER_UID, predicates::uid(&parent));
        variants.retain(|wl| predicates::namespace(wl) == predicates::namespace(&parent));
        let mut family = Self {
            parent,
            variants,
            flavors,
            cluster_queue,
        };
        let mut variants = std::mem::take(&mut family.variants);
        variants.sort_by_key(|wl| family.flavor_order(wl));
        family.variants = variants;
        Some(family)
    }

    /// The index of a variant's flavor; 0 for a flavor that is not in the ClusterQueue.
    pub(super) fn flavor_order(&self, variant: &Workload) -> usize {
        variant_flavor(variant).map_or(0, |flavor| self.flavor_index(flavor))
    }

    fn flavor_index(&self, flavor: &str) -> usize {
        let mut flavors = self.flavors.iter();
        flavors.position(|f| f == flavor).unwrap_or(0)
    }

    /// The admitted variant with the best flavor.
    pub(super) fn admitted_variant(&self) -> Option<&Arc<Workload>> {
        self.variants.iter().find(|wl| predicates::is_admitted(wl))
    }

    /// The migration mode of the ClusterQueue: the handling of other variants after a variant is
    /// admitted.
    pub(super) fn migration_mode(&self) -> ConcurrentAdmissionMigrationMode {
        let policy = self.cluster_queue.spec.concurrent_admission_policy.as_ref();
        let mode = policy.and_then(|policy| policy.migration.mode);
        mode.unwrap_or(ConcurrentAdmissionMigrationMode::TryPreferredFlavors)
    }

    /// The last flavor to migrate to, with its index.
    pub(super) fn last_acceptable_flavor(&self) -> Option<(&str, usize)> {
        let policy = self
            .cluster_queue
            .spec
            .concurrent_admission_policy
            .as_ref()?;
        let constraints: &ConcurrentAdmissionConstraints = policy.migration.constraints.as_ref()?;
        let last = constraints.last_acceptable_flavor_name.as_deref()?;
        Some((last, self.flavor_index(last)))
    }
}

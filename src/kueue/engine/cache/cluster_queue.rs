//! [`ClusterQueue`]: a ClusterQueue in the cache, with its spec, status and reserving workloads.
//!
//! Must not depend on pending workloads.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::cached_workloads::WorkloadIndex;
use super::local_queue::LocalQueueUsage;
use super::preemption_policies::PreemptionPolicies;
use crate::hash_map::FastHashMap;
use crate::resources::{FlavorName, FlavorResourceQuantities, ResourceName};
use crate::workload::{LocalQueueKey, QueueOrderKey, WorkloadKey};
use kueue_lab_api::v1beta2::{
    AdmissionMode, ClusterQueueSpec, FlavorFungibility, FlavorFungibilityPolicy,
    ResourceGroup as ApiResourceGroup,
};
use kueue_lab_component_helpers::label_selector::Selector;
use kueue_lab_quota_tree::HierarchyNodeId;

/// A resource group: resources that are assigned the same flavor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceGroup {
    /// The covered resources.
    pub covered: Vec<ResourceName>,
    /// The flavors, in the order they are tried.
    pub flavors: Vec<FlavorName>,
}

impl ResourceGroup {
    /// Whether the group covers a resource.
    pub fn covers(&self, resource: ResourceName) -> bool {
        self.covered.contains(&resource)
    }

    pub(super) fn from_api(groups: &[ApiResourceGroup]) -> Arc<[Self]> {
        groups
            .iter()
            .map(|g| {
                let covered: BTreeSet<ResourceName> = g
                    .covered_resources
                    .iter()
                    .map(|r| ResourceName::new(r))
                    .collect();
                ResourceGroup {
                    covered: covered.into_iter().collect(),
                    flavors: g.flavors.iter().map(|f| f.name.as_str().into()).collect(),
                }
            })
            .collect()
    }
}

/// The flavors that each admission check of a ClusterQueue applies to.
pub type AdmissionChecks = BTreeMap<String, BTreeSet<FlavorName>>;

/// The admission checks of a ClusterQueue. A check without flavors applies to all of them.
pub fn admission_checks(spec: &ClusterQueueSpec) -> AdmissionChecks {
    let all = || {
        spec.resource_groups
            .iter()
            .flat_map(|g| &g.flavors)
            .map(|f| f.name.as_str().into())
    };
    spec.admission_check_rules()
        .iter()
        .map(|rule| {
            let flavors = if rule.on_flavors.is_empty() {
                all().collect()
            } else {
                rule.on_flavors.iter().map(|f| f.as_str().into()).collect()
            };
            (rule.name.clone(), flavors)
        })
        .collect()
}

/// The status of a ClusterQueue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueueStatus {
    /// Its spec was never applied in full, because its cohort is in a cycle.
    #[default]
    Unknown,
    /// It is inactive.
    Pending,
    /// It is active.
    Active,
    /// It is being deleted.
    Terminating,
}

/// `spec.flavorFungibility` with defaults applied.
#[derive(Clone, Debug, PartialEq)]
pub struct FlavorFungibilityConfig {
    /// `whenCanBorrow` is TryNextFlavor.
    pub try_next_if_borrowing: bool,
    /// `whenCanPreempt` is TryNextFlavor.
    pub try_next_if_preempting: bool,
    /// The preference is PreemptionOverBorrowing.
    pub prefer_less_borrowing: bool,
}

impl FlavorFungibilityConfig {
    /// Applies the defaults.
    pub fn from_spec(spec: Option<&FlavorFungibility>) -> Self {
        use kueue_lab_api::v1beta2::FlavorFungibilityPreference as Preference;
        let default = FlavorFungibility::default();
        let spec = spec.unwrap_or(&default);
        let next = FlavorFungibilityPolicy::TryNextFlavor;
        FlavorFungibilityConfig {
            try_next_if_borrowing: spec.when_can_borrow() == next,
            try_next_if_preempting: spec.when_can_preempt() == next,
            prefer_less_borrowing: spec.preference == Some(Preference::PreemptionOverBorrowing),
        }
    }
}

/// The reasons why a ClusterQueue is inactive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct InactiveReasons {
    pub stopped: bool,
    pub missing_flavors: Vec<FlavorName>,
    pub missing_checks: Vec<String>,
    pub inactive_checks: Vec<String>,
    pub multi_kueue_checks: Vec<String>,
    pub provisioning_checks: Vec<String>,
    pub per_flavor_multi_kueue_checks: Vec<String>,
}

/// A ClusterQueue in the cache.
#[derive(Clone, Debug)]
pub struct ClusterQueue {
    /// Its name.
    pub name: Arc<str>,
    /// Its node in the hierarchy.
    pub node: HierarchyNodeId,
    /// Its resource groups.
    pub groups: Arc<[ResourceGroup]>,
    /// The namespaces whose workloads it accepts.
    pub namespace_selector: Selector,
    /// Its preemption policies.
    pub preemption: PreemptionPolicies,
    /// Its flavor fungibility.
    pub fungibility: FlavorFungibilityConfig,
    /// Its admission checks with their flavors.
    pub checks: AdmissionChecks,
    /// Its status.
    pub status: QueueStatus,
    /// Its admission mode, for admission fair sharing.
    pub admission_mode: Option<AdmissionMode>,
    /// Its concurrent admission policy.
    pub concurrent_admission: Option<ConcurrentAdmission>,
    /// Its TAS flavors with their topologies.
    pub tas_flavors: BTreeMap<FlavorName, String>,
    pub(super) inactive_reasons: InactiveReasons,
    pub(super) is_tas_synced: bool,
    pub(super) reserving_workloads: Vec<ReservingWorkload>,
    pub(super) by_key: FastHashMap<WorkloadKey, WorkloadIndex>,
    pub(super) not_ready: BTreeSet<WorkloadKey>,
    pub(super) admitted_usage: FlavorResourceQuantities,
    pub(super) admitted_workloads: usize,
    pub(super) local_queues: BTreeMap<LocalQueueKey, LocalQueueUsage>,
}

/// A workload that reserves quota, with its order key: preemption policies exclude most workloads
/// by it, without a lookup.
#[derive(Clone, Copy, Debug)]
pub struct ReservingWorkload {
    /// The workload.
    pub idx: WorkloadIndex,
    /// Its position in the queue order.
    pub order_key: QueueOrderKey,
}

/// A concurrent admission policy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConcurrentAdmission {
    /// Variants do not migrate to flavors after this one.
    pub last_acceptable_flavor: Option<String>,
}

impl ClusterQueue {
    pub(super) fn new(name: &str, node: HierarchyNodeId) -> Self {
        ClusterQueue {
            name: name.into(),
            node,
            groups: Arc::default(),
            namespace_selector: Selector::Nothing,
            preemption: PreemptionPolicies::from_spec(None),
            fungibility: FlavorFungibilityConfig::from_spec(None),
            checks: AdmissionChecks::new(),
            status: QueueStatus::Unknown,
            admission_mode: None,
            concurrent_admission: None,
            tas_flavors: BTreeMap::new(),
            inactive_reasons: InactiveReasons::default(),
            is_tas_synced: false,
            reserving_workloads: Vec::new(),
            by_key: FastHashMap::default(),
            not_ready: BTreeSet::new(),
            admitted_usage: FlavorResourceQuantities::new(),
            admitted_workloads: 0,
            local_queues: BTreeMap::new(),
        }
    }

    /// The resource group that covers a resource.
    pub(crate) fn resource_group_for(&self, resource: ResourceName) -> Option<&ResourceGroup> {
        self.groups.iter().find(|g| g.covers(resource))
    }

    /// The flavors of all resource groups, in order, with duplicates.
    pub fn flavors(&self) -> impl Iterator<Item = &FlavorName> {
        self.groups.iter().flat_map(|g| &g.flavors)
    }

    /// Whether any resource group has a flavor.
    pub(crate) fn uses_flavor(&self, flavor: &str) -> bool {
        self.flavors().any(|f| &**f == flavor)
    }

    /// Whether it is active.
    pub fn is_active(&self) -> bool {
        self.status == QueueStatus::Active
    }

    /// Whether all its flavors are TAS flavors. True without flavors.
    pub(crate) fn is_tas_only(&self) -> bool {
        self.flavors().all(|f| self.tas_flavors.contains_key(f))
    }

    /// Whether it has a MultiKueue admission check.
    pub(crate) fn has_multi_kueue_check(&self) -> bool {
        !self.inactive_reasons.multi_kueue_checks.is_empty()
    }

    /// Whether a flavor has a ProvisioningRequest admission check.
    pub(crate) fn has_provisioning_check(&self, flavor: &str) -> bool {
        self.inactive_reasons
            .provisioning_checks
            .iter()
            .filter_map(|check| self.checks.get(check))
            .any(|flavors| flavors.iter().any(|f| &**f == flavor))
    }

    /// Whether it uses admission fair sharing.
    pub(crate) fn uses_admission_fair_sharing(&self) -> bool {
        self.admission_mode == Some(AdmissionMode::UsageBasedAdmissionFairSharing)
    }

    /// The workloads that reserve its quota.
    pub fn reserving_workloads(&self) -> &[ReservingWorkload] {
        &self.reserving_workloads
    }

    /// A workload that reserves its quota.
    pub(crate) fn reserving_workload(&self, key: &WorkloadKey) -> Option<WorkloadIndex> {
        self.by_key.get(key).copied()
    }
}

//! A ClusterQueue as the cache keeps it: its settings, its members and whether it is active.
//!
//! Must not know of the queues in front of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::cached_workloads::WorkloadIndex;
use super::hierarchy::HierarchyNodeId;
use super::local_queue::LocalQueueUsage;
use super::preemption_policies::PreemptionPolicies;
use crate::hash_map::FastHashMap;
use crate::kube::label_selector::Selector;
use crate::resources::{FlavorName, FlavorResourceQuantities, ResourceName};
use crate::workload::{LocalQueueKey, QueueOrderKey, WorkloadKey};
use kueue_lab_api::v1beta2::{
    AdmissionMode, ClusterQueueSpec, FlavorFungibility, FlavorFungibilityPolicy,
    ResourceGroup as ApiResourceGroup,
};

/// Resources that come in the same flavors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceGroup {
    /// The resources.
    pub covered: Vec<ResourceName>,
    /// The flavors, in the order they are tried.
    pub flavors: Vec<FlavorName>,
}

impl ResourceGroup {
    /// Whether the group provides a resource.
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

/// Which flavors each admission check of a ClusterQueue applies to.
pub type AdmissionChecks = BTreeMap<String, BTreeSet<FlavorName>>;

/// The checks of a ClusterQueue; a check that names no flavors applies to all of them.
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

/// Whether a ClusterQueue takes part in scheduling.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueueStatus {
    /// It was never fully read, for being in a cycle of cohorts.
    #[default]
    Unknown,
    /// Something keeps it from admitting.
    Pending,
    /// It admits.
    Active,
    /// It is being deleted.
    Terminating,
}

/// When the flavor search of a ClusterQueue goes on, with defaults applied.
#[derive(Clone, Debug, PartialEq)]
pub struct FlavorFungibilityConfig {
    /// Whether to try the next flavor when this one needs borrowing.
    pub try_next_if_borrowing: bool,
    /// Whether to try the next flavor when this one needs preemption.
    pub try_next_if_preempting: bool,
    /// Whether less borrowing counts more than less preemption among the flavors tried.
    pub prefer_less_borrowing: bool,
}

impl FlavorFungibilityConfig {
    /// Reads the spec.
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

/// Why a ClusterQueue may be inactive.
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
    /// Its place in the forest of cohorts.
    pub node: HierarchyNodeId,
    /// Its resource groups.
    pub groups: Arc<[ResourceGroup]>,
    /// The namespaces it takes workloads from.
    pub namespace_selector: Selector,
    /// Its preemption policies.
    pub preemption: PreemptionPolicies,
    /// When its flavor search goes on.
    pub fungibility: FlavorFungibilityConfig,
    /// Its admission checks with their flavors.
    pub checks: AdmissionChecks,
    /// Whether it takes part in scheduling.
    pub status: QueueStatus,
    /// How its LocalQueues are served.
    pub admission_mode: Option<AdmissionMode>,
    /// The last flavor a variant may migrate to, by the policy of concurrent admission; none when
    /// there is no such policy.
    pub concurrent_admission: Option<ConcurrentAdmission>,
    /// Its TAS flavors with their topology.
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

/// A workload that holds quota of a ClusterQueue, with what rules most of them out as victims: of
/// many candidates few are allowed, and the others are not even fetched.
#[derive(Clone, Copy, Debug)]
pub struct ReservingWorkload {
    /// The workload.
    pub idx: WorkloadIndex,
    /// Its rank.
    pub order_key: QueueOrderKey,
}

/// The policy of concurrent admission.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConcurrentAdmission {
    /// No migration to flavors after this one.
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

    /// The group that provides a resource.
    pub fn resource_group_for(&self, resource: ResourceName) -> Option<&ResourceGroup> {
        self.groups.iter().find(|g| g.covers(resource))
    }

    /// All its flavors, in order, with repetition.
    pub fn flavors(&self) -> impl Iterator<Item = &FlavorName> {
        self.groups.iter().flat_map(|g| &g.flavors)
    }

    /// Whether one of its groups has a flavor.
    pub fn uses_flavor(&self, flavor: &str) -> bool {
        self.flavors().any(|f| &**f == flavor)
    }

    /// Whether it takes part in scheduling.
    pub fn is_active(&self) -> bool {
        self.status == QueueStatus::Active
    }

    /// Whether all its flavors have a topology. (True of one without flavors.)
    pub fn is_tas_only(&self) -> bool {
        self.flavors().all(|f| self.tas_flavors.contains_key(f))
    }

    /// Whether its workloads run on other clusters.
    pub fn has_multi_kueue_check(&self) -> bool {
        !self.inactive_reasons.multi_kueue_checks.is_empty()
    }

    /// Whether capacity of a flavor is provisioned on request.
    pub fn has_provisioning_check(&self, flavor: &str) -> bool {
        self.inactive_reasons
            .provisioning_checks
            .iter()
            .filter_map(|check| self.checks.get(check))
            .any(|flavors| flavors.iter().any(|f| &**f == flavor))
    }

    /// Whether its LocalQueues are served by their usage.
    pub fn uses_admission_fair_sharing(&self) -> bool {
        self.admission_mode == Some(AdmissionMode::UsageBasedAdmissionFairSharing)
    }

    /// The workloads that hold its quota.
    pub fn reserving_workloads(&self) -> &[ReservingWorkload] {
        &self.reserving_workloads
    }

    /// A workload that holds its quota.
    pub fn reserving_workload(&self, key: &WorkloadKey) -> Option<WorkloadIndex> {
        self.by_key.get(key).copied()
    }
}

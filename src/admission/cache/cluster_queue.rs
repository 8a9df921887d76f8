//! A ClusterQueue as the cache keeps it: its settings, its members and whether it is active.
//!
//! Must not know of the queues in front of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::forest::NodeId;
use super::local_queue::LocalQueueUsage;
use super::policy::Preemption;
use super::workloads::WlIdx;
use crate::kube::selector::Selector;
use crate::lookup::Lookup;
use crate::resources::{FlavorName, FrAmounts, ResourceName};
use crate::workload::{LocalQueueKey, Rank, WorkloadKey};
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
pub struct Fungibility {
    /// Whether to try the next flavor when this one needs borrowing.
    pub try_next_if_borrowing: bool,
    /// Whether to try the next flavor when this one needs preemption.
    pub try_next_if_preempting: bool,
    /// Whether less borrowing counts more than less preemption among the flavors tried.
    pub prefer_less_borrowing: bool,
}

impl Fungibility {
    /// Reads the spec.
    pub fn from_spec(spec: Option<&FlavorFungibility>) -> Self {
        use kueue_lab_api::v1beta2::FlavorFungibilityPreference as Preference;
        let default = FlavorFungibility::default();
        let spec = spec.unwrap_or(&default);
        let next = FlavorFungibilityPolicy::TryNextFlavor;
        Fungibility {
            try_next_if_borrowing: spec.when_can_borrow() == next,
            try_next_if_preempting: spec.when_can_preempt() == next,
            prefer_less_borrowing: spec.preference == Some(Preference::PreemptionOverBorrowing),
        }
    }
}

/// Why a ClusterQueue may be inactive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Obstacles {
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
    pub node: NodeId,
    /// Its resource groups.
    pub groups: Arc<[ResourceGroup]>,
    /// The namespaces it takes workloads from.
    pub namespace_selector: Selector,
    /// Its preemption policies.
    pub preemption: Preemption,
    /// When its flavor search goes on.
    pub fungibility: Fungibility,
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
    pub(super) obstacles: Obstacles,
    pub(super) is_tas_synced: bool,
    pub(super) members: Vec<Member>,
    pub(super) by_key: Lookup<WorkloadKey, WlIdx>,
    pub(super) not_ready: BTreeSet<WorkloadKey>,
    pub(super) admitted_usage: FrAmounts,
    pub(super) admitted_workloads: usize,
    pub(super) local_queues: BTreeMap<LocalQueueKey, LocalQueueUsage>,
}

/// A workload that holds quota of a ClusterQueue, with what rules most of them out as victims: of
/// many candidates few are allowed, and the others are not even fetched.
#[derive(Clone, Copy, Debug)]
pub struct Member {
    /// The workload.
    pub idx: WlIdx,
    /// Its rank.
    pub rank: Rank,
}

/// The policy of concurrent admission.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConcurrentAdmission {
    /// No migration to flavors after this one.
    pub last_acceptable_flavor: Option<String>,
}

impl ClusterQueue {
    pub(super) fn new(name: &str, node: NodeId) -> Self {
        ClusterQueue {
            name: name.into(),
            node,
            groups: Arc::default(),
            namespace_selector: Selector::Nothing,
            preemption: Preemption::from_spec(None),
            fungibility: Fungibility::from_spec(None),
            checks: AdmissionChecks::new(),
            status: QueueStatus::Unknown,
            admission_mode: None,
            concurrent_admission: None,
            tas_flavors: BTreeMap::new(),
            obstacles: Obstacles::default(),
            is_tas_synced: false,
            members: Vec::new(),
            by_key: Lookup::default(),
            not_ready: BTreeSet::new(),
            admitted_usage: FrAmounts::new(),
            admitted_workloads: 0,
            local_queues: BTreeMap::new(),
        }
    }

    /// The group that provides a resource.
    pub fn group_of(&self, resource: ResourceName) -> Option<&ResourceGroup> {
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
        !self.obstacles.multi_kueue_checks.is_empty()
    }

    /// Whether capacity of a flavor is provisioned on request.
    pub fn has_provisioning_check(&self, flavor: &str) -> bool {
        self.obstacles
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
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// A workload that holds its quota.
    pub fn member(&self, key: &WorkloadKey) -> Option<WlIdx> {
        self.by_key.get(key).copied()
    }
}

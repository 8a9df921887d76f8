//! [`EngineConfig`]: the settings of Kueue's Configuration file that change a decision.
//!
//! Must not know the file format; the controller converts.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use super::device_class_mappings::DeviceClassMappings;
use super::feature_gates::Gates;
use super::resources::{Decimal, ResourceFormatter, ResourceName};

/// Settings of the engine. The default is a Kueue whose configuration file says nothing.
#[derive(Clone, Debug, Default)]
pub struct EngineConfig {
    /// Feature gates.
    pub gates: Gates,
    /// Fair sharing among ClusterQueues and cohorts, when set.
    pub fair_sharing: Option<FairSharing>,
    /// Fair sharing among the LocalQueues of a ClusterQueue, when set.
    pub admission_fair_sharing: Option<AdmissionFairSharing>,
    /// What becomes of requests for resources a ClusterQueue does not list.
    pub quota_check_strategy: QuotaCheckStrategy,
    /// Which time orders a workload evicted because its pods did not become ready.
    pub requeuing_timestamp: RequeuingTimestamp,
    /// Whether admission waits until the pods of all admitted workloads are ready.
    pub block_admission_until_pods_ready: bool,
    /// Resources whose names begin with one of these do not count towards quota.
    pub excluded_resource_prefixes: Vec<String>,
    /// Resources that count towards quota as other resources, by input resource.
    pub resource_transformations: BTreeMap<ResourceName, ResourceTransformation>,
    /// What devices count as.
    pub device_class_mappings: DeviceClassMappings,
    /// How amounts are written in messages and status.
    pub formatter: ResourceFormatter,
}

impl EngineConfig {
    /// Whether ClusterQueues and cohorts share by dominant resource share.
    pub fn fair_sharing_enabled(&self) -> bool {
        self.fair_sharing.is_some()
    }

    /// Admission fair sharing, if configured and its gate is on.
    pub fn afs(&self) -> Option<&AdmissionFairSharing> {
        self.admission_fair_sharing
            .as_ref()
            .filter(|_| self.gates.admission_fair_sharing)
    }

    /// Whether undeclared resources are left out of the quota check.
    pub fn ignores_undeclared_resources(&self) -> bool {
        self.gates.quota_check_strategy
            && self.quota_check_strategy == QuotaCheckStrategy::IgnoreUndeclared
    }
}

/// Fair sharing: when a workload may preempt others by share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FairSharing {
    /// The strategies in the order they are tried; none means both.
    pub strategies: Vec<PreemptionStrategy>,
}

/// A rule by which fair sharing allows a preemption.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum PreemptionStrategy {
    /// The preemptor's share, with the workload, is at most the target's share without its own.
    LessThanOrEqualToFinalShare,
    /// The preemptor's share, with the workload, is below the target's share before.
    LessThanInitialShare,
}

/// Fair sharing among LocalQueues by their past usage.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AdmissionFairSharing {
    /// After this time past usage counts half; zero forgets it at once.
    pub usage_half_life: Duration,
    /// How often usage is sampled.
    pub usage_sampling_interval: Duration,
    /// The weight of each resource in the usage, 1 where not listed.
    pub resource_weights: BTreeMap<ResourceName, f64>,
}

/// What becomes of requests for resources a ClusterQueue does not list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QuotaCheckStrategy {
    /// They keep the workload pending.
    #[default]
    BlockUndeclared,
    /// They are not counted.
    IgnoreUndeclared,
}

/// Which time orders a workload evicted because its pods did not become ready.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RequeuingTimestamp {
    /// The time of its eviction: it goes to the back.
    #[default]
    Eviction,
    /// Its creation: it keeps its place.
    Creation,
}

/// A resource that counts towards quota as others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceTransformation {
    /// Whether the input itself still counts.
    pub strategy: TransformationStrategy,
    /// The quantity of this resource in the same request multiplies the input first.
    pub multiply_by: Option<ResourceName>,
    /// How much of each output one unit of input makes; may be negative.
    pub outputs: BTreeMap<ResourceName, Decimal>,
}

/// Whether the input of a transformation still counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TransformationStrategy {
    /// It does.
    #[default]
    Retain,
    /// It does not.
    Replace,
}

//! [`EngineConfig`]: the fields of Kueue's Configuration that change a decision.
//!
//! Must not depend on the file format; the controller converts.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::device_class_mappings::DeviceClassMappings;
use super::feature_gates::Gates;
use super::resources::{Decimal, ResourceFormatter, ResourceName};

/// Configuration of the engine. The default equals an empty Kueue Configuration.
#[derive(Clone, Debug, Default)]
pub struct EngineConfig {
    /// Feature gates.
    pub gates: Gates,
    /// Fair sharing among ClusterQueues and Cohorts, if enabled.
    pub fair_sharing: Option<FairSharing>,
    /// Admission fair sharing among the LocalQueues of a ClusterQueue, if enabled.
    pub admission_fair_sharing: Option<AdmissionFairSharing>,
    /// The handling of requests for resources that a ClusterQueue does not cover.
    pub quota_check_strategy: QuotaCheckStrategy,
    /// The timestamp that orders a workload evicted by the PodsReady timeout.
    pub requeuing_timestamp: RequeuingTimestamp,
    /// `waitForPodsReady.blockAdmission`: admission is blocked until the pods of all admitted
    /// workloads are ready.
    pub block_admission_until_pods_ready: bool,
    /// Prefixes of resource names that are excluded from quota.
    pub excluded_resource_prefixes: Vec<String>,
    /// Resource transformations by input resource.
    pub resource_transformations: BTreeMap<ResourceName, ResourceTransformation>,
    /// Device class mappings of dynamic resource allocation.
    pub device_class_mappings: DeviceClassMappings,
    /// Formats amounts in messages and status.
    pub formatter: ResourceFormatter,
}

impl EngineConfig {
    /// Whether fair sharing by dominant resource share is enabled.
    pub fn fair_sharing_enabled(&self) -> bool {
        self.fair_sharing.is_some()
    }

    /// Admission fair sharing, if configured and its feature gate is enabled.
    pub fn afs(&self) -> Option<&AdmissionFairSharing> {
        self.admission_fair_sharing
            .as_ref()
            .filter(|_| self.gates.admission_fair_sharing)
    }

    /// Whether undeclared resources are ignored in the quota check.
    pub(crate) fn ignores_undeclared_resources(&self) -> bool {
        self.gates.quota_check_strategy
            && self.quota_check_strategy == QuotaCheckStrategy::IgnoreUndeclared
    }
}

/// Fair sharing configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FairSharing {
    /// The preemption strategies in the order they are applied; empty means both.
    pub strategies: Vec<PreemptionStrategy>,
}

/// A fair sharing preemption strategy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PreemptionStrategy {
    /// The share of the preemptor with its workload is at most the share of the target without its
    /// workload.
    LessThanOrEqualToFinalShare,
    /// The share of the preemptor with its workload is below the share of the target with its
    /// workload.
    LessThanInitialShare,
}

/// Admission fair sharing configuration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AdmissionFairSharing {
    /// The time in which consumed usage decays by half; zero drops it immediately.
    pub usage_half_life: Duration,
    /// The interval at which usage is sampled.
    pub usage_sampling_interval: Duration,
    /// The weight of each resource, 1 by default.
    pub resource_weights: BTreeMap<ResourceName, f64>,
}

/// The handling of requests for resources that a ClusterQueue does not cover.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QuotaCheckStrategy {
    /// The workload stays pending.
    #[default]
    BlockUndeclared,
    /// They do not count towards quota.
    IgnoreUndeclared,
}

/// The timestamp that orders a workload evicted by the PodsReady timeout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RequeuingTimestamp {
    /// Its eviction: the workload goes to the back of the queue.
    #[default]
    Eviction,
    /// Its creation: the workload keeps its position.
    Creation,
}

/// A resource transformation: how an input resource counts towards quota.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceTransformation {
    /// Whether the input resource is retained.
    pub strategy: TransformationStrategy,
    /// The quantity of this resource in the same request multiplies the input.
    pub multiply_by: Option<ResourceName>,
    /// The quantity of each output per unit of input; may be negative.
    pub outputs: BTreeMap<ResourceName, Decimal>,
}

/// Whether the input of a transformation is retained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TransformationStrategy {
    /// It counts as well.
    #[default]
    Retain,
    /// Only the outputs count.
    Replace,
}

//! [`Settings`]: the parts of Kueue's Configuration that the controller uses.

use std::sync::Arc;

use jiff::SignedDuration;

use crate::host_configuration::HostConfiguration;
use crate::scheduler::CycleGate;
use crate::upstream_latency::UpstreamLatency;
use crate::worker_clients::{NetworkClients, WorkerClients};
use kueue_lab_api::config::{
    self as api, Configuration, Feature, FeatureGates, WorkloadRetentionPolicy,
};
use kueue_lab_engine::EngineConfig;
use kueue_lab_engine::config as engine;
use kueue_lab_engine::dra::{DeviceClassMappings, DeviceSource, DeviceSourceConfig};
use kueue_lab_engine::feature_gates::Gates;
use kueue_lab_engine::resources::{Decimal, ResourceFormatter, ResourceName};

/// The framework behind [`Feature::SparkApplicationIntegration`](api::Feature).
const SPARK_APPLICATION: &str = "sparkoperator.k8s.io/sparkapplication";

/// The configuration of a controller.
#[derive(Clone, Debug)]
pub struct ControllerConfig {
    /// Kueue's Configuration with defaults applied.
    pub configuration: Configuration,
    /// Feature gates.
    pub gates: FeatureGates,
    /// The instance name, as upstream's host name: `reportingInstance` of Events is
    /// `<controller>-<instance>`.
    pub instance: String,
    /// The latencies of upstream to wait for.
    pub upstream_latency: UpstreamLatency,
    /// Makes the clients of MultiKueue's worker clusters.
    pub worker_clients: Arc<dyn WorkerClients>,
    /// The parts of the configuration that act on the machine of the manager.
    pub host: HostConfiguration,
    /// The gate before scheduling cycles.
    pub cycle_gate: CycleGate,
}

impl Default for ControllerConfig {
    /// The lab's defaults: upstream's, with all integrations but that of SparkApplications, which needs
    /// its feature gate.
    fn default() -> Self {
        let frameworks = api::FRAMEWORKS
            .iter()
            .map(|framework| framework.name.to_owned())
            .filter(|name| name != SPARK_APPLICATION);
        let mut configuration = Configuration {
            integrations: Some(api::Integrations {
                frameworks: frameworks.collect(),
                ..Default::default()
            }),
            ..Default::default()
        };
        api::apply_defaults(&mut configuration);
        Self {
            configuration,
            gates: FeatureGates::default(),
            instance: "kueue-lab".to_owned(),
            upstream_latency: UpstreamLatency::RECORDED,
            worker_clients: Arc::new(NetworkClients),
            host: HostConfiguration::of_manager(),
            cycle_gate: CycleGate::default(),
        }
    }
}

impl From<api::LoadedConfiguration> for ControllerConfig {
    /// A loaded Configuration with its feature gates.
    fn from(loaded: api::LoadedConfiguration) -> Self {
        Self {
            configuration: loaded.configuration,
            gates: loaded.gates,
            ..Self::default()
        }
    }
}

/// The parts of Kueue's Configuration that the controller uses.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The Configuration with defaults applied.
    pub configuration: Configuration,
    /// Feature gates.
    pub gates: FeatureGates,
    /// The instance name.
    pub instance: String,
    /// The latencies of upstream to wait for.
    pub upstream_latency: UpstreamLatency,
    /// Makes the clients of MultiKueue's worker clusters.
    pub worker_clients: Arc<dyn WorkerClients>,
    /// The parts of the configuration that act on the machine of the manager.
    pub host: HostConfiguration,
    /// The gate before scheduling cycles.
    pub cycle_gate: CycleGate,
    /// `waitForPodsReady`; None if it is disabled.
    pub wait_for_pods_ready: Option<api::WaitForPodsReady>,
}

impl Settings {
    /// The settings of a configuration.
    pub fn new(config: ControllerConfig) -> Self {
        let ControllerConfig {
            configuration,
            gates,
            instance,
            upstream_latency,
            worker_clients,
            host,
            cycle_gate,
        } = config;
        let off = gates.enabled(Feature::DisableWaitForPodsReady);
        let wait_for_pods_ready = configuration.wait_for_pods_ready.clone().filter(|_| !off);
        Self {
            configuration,
            gates,
            instance,
            upstream_latency,
            worker_clients,
            host,
            cycle_gate,
            wait_for_pods_ready,
        }
    }

    /// Whether a feature gate is enabled.
    pub fn enabled(&self, feature: Feature) -> bool {
        self.gates.enabled(feature)
    }

    /// The number of concurrent reconciliations of a kind, such as `Job.batch`: the number in
    /// `groupKindConcurrency`, or `default`.
    pub(crate) fn group_kind_concurrency(&self, group_kind: &str, default: usize) -> usize {
        let controller = self.configuration.controller.as_ref();
        let configured = controller.and_then(|c| c.group_kind_concurrency.get(group_kind));
        configured
            .and_then(|n| usize::try_from(*n).ok())
            .filter(|n| *n > 0)
            .unwrap_or(default)
    }

    /// Retention of a class of Workloads; `None` keeps them.
    pub(crate) fn workload_retention(
        &self,
        class: impl FnOnce(&WorkloadRetentionPolicy) -> Option<api::Duration>,
    ) -> Option<SignedDuration> {
        let policies = self.configuration.object_retention_policies.as_ref()?;
        let retention = class(policies.workloads.as_ref()?)?;
        Some(SignedDuration::try_from(retention.to_std()).unwrap_or(SignedDuration::MAX))
    }

    /// Whether admission is blocked until the pods of all admitted Workloads are ready.
    pub(crate) fn blocks_admission_until_pods_ready(&self) -> bool {
        self.wait_for_pods_ready
            .as_ref()
            .is_some_and(api::WaitForPodsReady::blocks_admission)
    }

    /// The configuration of the engine.
    pub fn engine(&self) -> EngineConfig {
        let c = &self.configuration;
        let gates = Gates::from(&self.gates);
        let resources = c.resources.clone().unwrap_or_default();
        let device_mappings = match gates.kueue_dra_integration {
            true => device_mappings(&resources.device_class_mappings),
            false => DeviceClassMappings::default(),
        };
        let timestamp = self
            .wait_for_pods_ready
            .as_ref()
            .and_then(|w| w.requeuing_strategy.as_ref())
            .map(api::RequeuingStrategy::timestamp);
        EngineConfig {
            gates,
            fair_sharing: c.fair_sharing.as_ref().map(fair_sharing),
            admission_fair_sharing: c
                .admission_fair_sharing
                .as_ref()
                .map(admission_fair_sharing),
            quota_check_strategy: match resources.quota_check_strategy() {
                api::QuotaCheckStrategy::BlockUndeclared => {
                    engine::QuotaCheckStrategy::BlockUndeclared
                }
                api::QuotaCheckStrategy::IgnoreUndeclared => {
                    engine::QuotaCheckStrategy::IgnoreUndeclared
                }
            },
            requeuing_timestamp: match timestamp {
                Some(api::RequeuingTimestamp::Creation) => engine::RequeuingTimestamp::Creation,
                _ => engine::RequeuingTimestamp::Eviction,
            },
            block_admission_until_pods_ready: self.blocks_admission_until_pods_ready(),
            excluded_resource_prefixes: resources.exclude_resource_prefixes.clone(),
            resource_transformations: resources
                .transformations
                .iter()
                .map(transformation)
                .collect(),
            formatter: ResourceFormatter::with_binary_resources(device_mappings.binary_resources()),
            device_class_mappings: device_mappings,
        }
    }
}

fn fair_sharing(sharing: &api::FairSharing) -> engine::FairSharing {
    let strategy = |s: api::PreemptionStrategy| match s {
        api::PreemptionStrategy::LessThanOrEqualToFinalShare => {
            engine::PreemptionStrategy::LessThanOrEqualToFinalShare
        }
        api::PreemptionStrategy::LessThanInitialShare => {
            engine::PreemptionStrategy::LessThanInitialShare
        }
    };
    engine::FairSharing {
        strategies: sharing.strategies().into_iter().map(strategy).collect(),
    }
}

fn admission_fair_sharing(sharing: &api::AdmissionFairSharing) -> engine::AdmissionFairSharing {
    let weights = sharing.resource_weights.iter();
    engine::AdmissionFairSharing {
        usage_half_life: sharing.usage_half_life_time.to_std(),
        usage_sampling_interval: sharing.usage_sampling_interval.to_std(),
        resource_weights: weights
            .map(|(name, w)| (ResourceName::new(name), *w))
            .collect(),
    }
}

fn device_mappings(configured: &[api::DeviceClassMapping]) -> DeviceClassMappings {
    let mut mappings = DeviceClassMappings::default();
    for mapping in configured {
        let measure = |source, measure: &api::DeviceSourceSelector| {
            let cel = measure.device_selector.cel.as_ref();
            let measure = DeviceSourceConfig {
                resource: mapping.name.clone(),
                driver: measure.driver.clone(),
                name: measure.name.clone(),
                selector: cel.map(|cel| cel.expression.clone()),
            };
            (source, measure)
        };
        let measures = mapping.sources.iter().flat_map(|s| {
            let counter = s
                .counter
                .as_ref()
                .map(|m| measure(DeviceSource::Counter, m));
            let capacity = s
                .capacity
                .as_ref()
                .map(|m| measure(DeviceSource::Capacity, m));
            counter.into_iter().chain(capacity)
        });
        let measures: Vec<(DeviceSource, DeviceSourceConfig)> = measures.collect();
        mappings.map(&mapping.name, &mapping.device_class_names, &measures);
    }
    mappings
}

fn transformation(
    t: &api::ResourceTransformation,
) -> (ResourceName, engine::ResourceTransformation) {
    let outputs = t.outputs.iter();
    let engine = engine::ResourceTransformation {
        strategy: match t.strategy() {
            api::ResourceTransformationStrategy::Retain => engine::TransformationStrategy::Retain,
            api::ResourceTransformationStrategy::Replace => engine::TransformationStrategy::Replace,
        },
        multiply_by: (!t.multiply_by.is_empty()).then(|| ResourceName::new(&t.multiply_by)),
        outputs: outputs
            .map(|(name, q)| (ResourceName::new(name), Decimal::parse_lossy(q)))
            .collect(),
    };
    (ResourceName::new(&t.input), engine)
}

//! The kinds of the smaller groups: what they default to and what they are checked for.

mod admissionregistration;
mod dynamic_resource_allocation;
mod events;
mod horizontal_pod_autoscaler;
mod networking;
mod pod_disruption_budget;
mod rbac;
mod scheduling;
mod storage;

use super::builtin_strategy::BuiltinStrategy;

/// The rules of a kind of one of these groups.
pub fn strategy_of(group: &str, kind: &str) -> BuiltinStrategy {
    match group {
        "" | "events.k8s.io" => events::strategy_of(group),
        "policy" => pod_disruption_budget::STRATEGY,
        "autoscaling" => horizontal_pod_autoscaler::STRATEGY,
        "rbac.authorization.k8s.io" => rbac::strategy_of(kind),
        "scheduling.k8s.io" => scheduling::PRIORITY_CLASS,
        "node.k8s.io" => scheduling::RUNTIME_CLASS,
        "coordination.k8s.io" => scheduling::LEASE,
        "storage.k8s.io" => storage::strategy_of(kind),
        "networking.k8s.io" | "discovery.k8s.io" => networking::strategy_of(kind),
        "admissionregistration.k8s.io" => admissionregistration::strategy_of(kind),
        "flowcontrol.apiserver.k8s.io" => admissionregistration::flow_control_strategy_of(kind),
        "resource.k8s.io" => dynamic_resource_allocation::strategy_of(kind),
        _ => BuiltinStrategy::DEFAULT,
    }
}

pub use storage::{PERSISTENT_VOLUME, PERSISTENT_VOLUME_CLAIM};

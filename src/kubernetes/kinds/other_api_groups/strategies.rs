//! Strategies by API group.

use super::{
    admissionregistration, certificates, dynamic_resource_allocation, events,
    horizontal_pod_autoscaler, networking, pod_disruption_budget, rbac, scheduling, storage,
};
use crate::builtin_strategy::BuiltinStrategy;

/// Returns the strategy of a kind in one of these groups.
pub(crate) fn strategy_of(group: &str, kind: &str) -> BuiltinStrategy {
    match group {
        "" | "events.k8s.io" => events::strategy_of(group),
        "certificates.k8s.io" if kind == "CertificateSigningRequest" => certificates::STRATEGY,
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

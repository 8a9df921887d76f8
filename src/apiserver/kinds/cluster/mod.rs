//! The kinds of the smaller groups: what they default to and what they are checked for.

mod admission;
mod autoscaling;
mod disruption;
mod events;
mod network;
mod rbac;
mod resource;
mod scheduling;
mod storage;

use super::rules::Rules;

/// The rules of a kind of one of these groups.
pub fn rules(group: &str, kind: &str) -> Rules {
    match group {
        "" | "events.k8s.io" => events::rules(group),
        "policy" => disruption::RULES,
        "autoscaling" => autoscaling::RULES,
        "rbac.authorization.k8s.io" => rbac::rules(kind),
        "scheduling.k8s.io" => scheduling::PRIORITY_CLASS,
        "node.k8s.io" => scheduling::RUNTIME_CLASS,
        "coordination.k8s.io" => scheduling::LEASE,
        "storage.k8s.io" => storage::rules(kind),
        "networking.k8s.io" | "discovery.k8s.io" => network::rules(kind),
        "admissionregistration.k8s.io" => admission::rules(kind),
        "flowcontrol.apiserver.k8s.io" => admission::flow_control(kind),
        "resource.k8s.io" => resource::rules(kind),
        _ => Rules::PLAIN,
    }
}

pub use storage::{PERSISTENT_VOLUME, PERSISTENT_VOLUME_CLAIM};

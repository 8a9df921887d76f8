//! Strategies of the kinds of `apps`.

use super::{daemonset, deployment, replicaset, statefulset};
use crate::kinds::builtin_strategy::BuiltinStrategy;

/// The rules of a kind of apps.
pub fn strategy_of(kind: &str) -> BuiltinStrategy {
    match kind {
        "Deployment" => deployment::STRATEGY,
        "ReplicaSet" => replicaset::REPLICA_SET,
        "StatefulSet" => statefulset::STRATEGY,
        "DaemonSet" => daemonset::STRATEGY,
        _ => BuiltinStrategy::DEFAULT,
    }
}

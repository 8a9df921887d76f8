//! Strategies of the kinds in the `apps` group.

use super::{daemonset, deployment, replicaset, statefulset};
use crate::builtin_strategy::BuiltinStrategy;

/// Returns the strategy of a kind in the `apps` group.
pub(crate) fn strategy_of(kind: &str) -> BuiltinStrategy {
    match kind {
        "Deployment" => deployment::STRATEGY,
        "ReplicaSet" => replicaset::REPLICA_SET,
        "StatefulSet" => statefulset::STRATEGY,
        "DaemonSet" => daemonset::STRATEGY,
        _ => BuiltinStrategy::DEFAULT,
    }
}

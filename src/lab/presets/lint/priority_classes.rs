//! Warnings about WorkloadPriorityClasses.

use std::collections::BTreeMap;

use super::Lint;
use crate::Manifest;
use kueue_lab_json::ValueExt;

/// Classes of equal value where only lower priorities are preempted. With fair sharing `borrowWithinCohort` has no
/// effect.
pub(super) fn priority_classes(
    queues: &[&Manifest],
    classes: &[&Manifest],
    fair_sharing: bool,
) -> Vec<Lint> {
    let policies = [
        ("withinClusterQueue", true),
        ("reclaimWithinCohort", true),
        ("borrowWithinCohort/policy", !fair_sharing),
    ];
    let lower = |queue: &&&Manifest| {
        let mut used = policies.iter().filter(|(_, is_used)| *is_used);
        used.any(|(name, _)| {
            queue.object.text(&format!("/spec/preemption/{name}")) == "LowerPriority"
        })
    };
    let Some(queue) = queues.iter().find(lower) else {
        return Vec::new();
    };
    let mut first: BTreeMap<i64, &Manifest> = BTreeMap::new();
    let mut lints = Vec::new();
    for class in classes {
        let Some(value) = class.object["value"].as_i64() else {
            continue;
        };
        if let Some(other) = first.get(&value) {
            let message = format!(
                "the value {value} is also that of {}: with LowerPriority, as in ClusterQueue {}, neither preempts the other",
                other.key.name, queue.key.name
            );
            lints.push(Lint {
                name: "equal-priorities",
                finding: class
                    .warning("value", message)
                    .remedy("use different values"),
            });
        } else {
            first.insert(value, class);
        }
    }
    lints
}

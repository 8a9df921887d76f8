//! Changes of the spec that keep an admission: fewer pods, and another priority.

use super::ordering::effective_priority;
use crate::feature_gates::Gates;
use kueue_lab_api::v1beta2::{PriorityClassKind, PriorityClassRef, Workload};

/// Whether some pod set has fewer pods than before, and none has more.
pub fn is_scaled_down(old: &Workload, new: &Workload) -> bool {
    let count = |wl: &Workload, name: &str| {
        let mut sets = wl.spec.pod_sets.iter();
        sets.find(|ps| ps.name == name).map(|ps| ps.count)
    };
    let changes = new
        .spec
        .pod_sets
        .iter()
        .filter_map(|ps| Some((count(old, &ps.name)?, ps.count)));
    let mut fewer = false;
    for (was, is) in changes {
        if is > was {
            return false;
        }
        fewer |= is < was;
    }
    fewer
}

/// Whether the priority of a Workload with a WorkloadPriorityClass changed. A pod priority does not
/// change.
pub fn is_priority_changed(old: &Workload, new: &Workload, gates: &Gates) -> bool {
    let of_pods = |r: &PriorityClassRef| r.kind == PriorityClassKind::PriorityClass;
    let was = old.spec.priority_class_ref.as_ref();
    let Some(is) = new.spec.priority_class_ref.as_ref() else {
        return false;
    };
    if was.is_some_and(of_pods) || of_pods(is) {
        return false;
    }
    (!is.name.is_empty() && was.map_or("", |w| &w.name) != is.name)
        || effective_priority(old, gates) != effective_priority(new, gates)
}

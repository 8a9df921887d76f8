//! Checks that a lab that starts from an imported cluster decides as the cluster did.

use std::collections::BTreeMap;

use kueue_lab_api::constants as c;
use kueue_lab_api::constants::quota_reserved as q;
use kueue_lab_import::Bundle;
use kueue_lab_json::ValueExt;
use serde_json::Value;

use super::cluster_state::ClusterState;
use super::effects::{Effect, EffectKind, effects, missing_workloads, workload_effect};
use super::plan_error::PlanError;
use super::plan_preset::{copy, settled};
use super::workload_state::{WorkloadPhase, WorkloadState};

/// The differences of the decisions of a lab that starts from the imported objects, and Workloads that it does
/// not have.
///
/// # Errors
/// [`PlanError`]: a lab does not start from the objects.
pub fn check_import(bundle: &Bundle) -> Result<Vec<Effect>, PlanError> {
    // No preset takes part.
    let folder = tempfile::tempdir().map_err(PlanError::Folder)?;
    let lab = copy(bundle, folder.path(), settled)??;
    Ok(differences(&bundle.objects, &lab))
}

/// The differences of the state of a lab from imported objects.
fn differences(objects: &[Value], lab: &ClusterState) -> Vec<Effect> {
    let cluster = ClusterState::of_objects(objects);
    let mut differences = effects(&cluster, lab);
    // The cluster has not evaluated those behind the head of a StrictFIFO queue, and its conditions are about all
    // Pods of a Workload that can be admitted with fewer.
    differences.retain(|effect| match effect.kind {
        EffectKind::Never => is_never_by_condition(effect, lab),
        EffectKind::Possible => !is_never_by_condition(effect, lab),
        _ => true,
    });
    // Nor does it say which ClusterQueues are in a cycle of cohorts.
    differences.retain(|effect| effect.kind != EffectKind::QueueBlocked);
    differences.extend(missing_workloads(&cluster, lab));
    differences.extend(other_reasons(&cluster, lab));
    differences.extend(moved(objects, lab));
    differences.sort_by(|a, b| (a.kind, &a.object).cmp(&(b.kind, &b.object)));
    differences
}

fn is_never_by_condition(effect: &Effect, lab: &ClusterState) -> bool {
    let workload = effect.object.strip_prefix("Workload/");
    let state = workload.and_then(|key| lab.workloads.get(key));
    state.is_some_and(|state| state.never_by_condition)
}

/// Workloads that wait for another reason in the lab.
fn other_reasons(cluster: &ClusterState, lab: &ClusterState) -> Vec<Effect> {
    let pairs = lab.workloads.iter().filter_map(|(key, new)| {
        let old = cluster.workloads.get(key)?;
        (old.uid == new.uid).then_some((old, new))
    });
    pairs
        .filter(|(old, new)| waits_otherwise(old, new))
        .map(|(old, new)| {
            let text = format!("{} instead of {}", new.waits_for, old.waits_for);
            workload_effect(new, EffectKind::OtherReason, &new.waiting_reason, text)
        })
        .collect()
}

fn waits_otherwise(old: &WorkloadState, new: &WorkloadState) -> bool {
    let is_pending = |state: &WorkloadState| {
        state.phase == WorkloadPhase::Pending && !state.waiting_reason.is_empty()
    };
    // A Workload that can never be admitted is another difference.
    if !is_pending(old) || !is_pending(new) || old.never != new.never {
        return false;
    }
    match old.waiting_reason == new.waiting_reason {
        true => without_numbers(&old.waits_for) != without_numbers(&new.waits_for),
        false => {
            // Older versions of Kueue have no other reason.
            ![&old.waiting_reason, &new.waiting_reason].contains(&&q::PENDING.to_owned())
        }
    }
}

/// A message without its amounts: they are those of the last evaluation.
fn without_numbers(message: &str) -> String {
    let is_of_word = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_');
    let mut text = String::new();
    let mut rest = message;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c| is_of_word(c) != is_of_word(first));
        let (word, left) = rest.split_at(end.unwrap_or(rest.len()));
        text.push_str(match first.is_ascii_digit() {
            true => "#",
            false => word,
        });
        rest = left;
    }
    text
}

/// Workloads whose position in the lab is not the one by priority and creation. Those that were evicted are
/// ordered by other times, and so are those of queues with admission fair sharing by their usage.
fn moved(objects: &[Value], lab: &ClusterState) -> Vec<Effect> {
    let is_evicted = |workload: &Value| workload.condition(c::EVICTED).is_some();
    let shares_by_usage: Vec<&str> = objects
        .iter()
        .filter(|o| o.text("/kind") == "ClusterQueue" && o.has("/spec/admissionScope"))
        .map(|queue| queue.name())
        .collect();
    let workloads: BTreeMap<&str, &Value> = objects
        .iter()
        .filter(|o| o.text("/kind") == "Workload" && !is_evicted(o))
        .map(|workload| (workload.text("/metadata/uid"), workload))
        .collect();
    let mut queues: BTreeMap<&str, Vec<(&WorkloadState, &str)>> = BTreeMap::new();
    for state in lab.workloads.values() {
        let Some(workload) = workloads.get(state.uid.as_str()) else {
            continue;
        };
        let queue = state.cluster_queue.as_str();
        let has_priority = workload.int("/spec/priority") == state.priority;
        if state.position.is_some() && has_priority && !shares_by_usage.contains(&queue) {
            let created = workload.text("/metadata/creationTimestamp");
            queues.entry(queue).or_default().push((state, created));
        }
    }
    let mut moved = Vec::new();
    for waiting in queues.values_mut() {
        waiting.sort_by_key(|(state, _)| state.position);
        let mut expected = waiting.clone();
        expected.sort_by(|(a, a_created), (b, b_created)| {
            (b.priority, a_created).cmp(&(a.priority, b_created))
        });
        for ((state, _), (before, _)) in waiting.iter().zip(&expected) {
            if state.key != before.key {
                let text = format!("it is where {} was by priority and creation", before.key);
                moved.push(workload_effect(state, EffectKind::Moved, "", text));
            }
        }
    }
    moved
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn workload(name: &str, created: &str, reason: &str, message: &str) -> Value {
        json!({
            "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
            "metadata": {"name": name, "namespace": "a", "uid": name, "creationTimestamp": created},
            "status": {"conditions": [{"type": "QuotaReserved", "status": "False",
                "reason": reason, "message": message}]},
        })
    }

    fn found(cluster: &[Value], lab: &ClusterState) -> Vec<(EffectKind, String)> {
        let all = differences(cluster, lab).into_iter();
        all.map(|effect| (effect.kind, effect.object)).collect()
    }

    #[test]
    fn missing_workloads_and_other_reasons_are_differences() {
        let time = "2026-01-01T00:00:00Z";
        let wait = |name: &str, reason: &str, message: &str| workload(name, time, reason, message);
        let cluster = [
            wait("gone", "WaitingForQuota", ""),
            wait(
                "amount",
                "WaitingForQuota",
                "2 more of cpu needed (3Gi) in spot-1",
            ),
            wait("message", "WaitingForQuota", "2 more of cpu in spot"),
            wait("reason", "WaitingForQuota", "no quota"),
            wait("old", "Pending", "no quota"),
        ];
        let lab = ClusterState::of_objects(&[
            wait(
                "amount",
                "WaitingForQuota",
                "1 more of cpu needed (5Gi) in spot-1",
            ),
            wait("message", "WaitingForQuota", "2 more of cpu in plain"),
            wait("reason", "OnHold", "the queue is stopped"),
            wait("old", "WaitingForQuota", "insufficient quota"),
            wait("new", "WaitingForQuota", "no quota"),
        ]);
        let other = |name: &str| (EffectKind::OtherReason, format!("Workload/a/{name}"));
        assert_eq!(
            found(&cluster, &lab),
            [
                (EffectKind::Missing, "Workload/a/gone".to_owned()),
                other("message"),
                other("reason"),
            ]
        );
    }

    #[test]
    fn a_condition_that_the_lab_has_as_well_is_no_difference() {
        let exceeds = workload("wl", "2026-01-01T00:00:00Z", q::EXCEEDS_MAX_QUOTA, "9 > 6");
        let cluster = [exceeds];
        let mut lab = ClusterState::of_objects(&cluster);
        // With fewer Pods it can be admitted.
        lab.workloads.get_mut("a/wl").unwrap().never = false;
        assert_eq!(found(&cluster, &lab), []);
        let other = workload("wl", "2026-01-01T00:00:00Z", "WaitingForQuota", "");
        let possible = (EffectKind::Possible, "Workload/a/wl".to_owned());
        assert_eq!(
            found(&cluster, &ClusterState::of_objects(&[other])),
            [possible]
        );
    }

    #[test]
    fn another_order_is_a_difference() {
        let at = |name: &str, second: u8| {
            let created = format!("2026-01-01T00:00:0{second}Z");
            workload(name, &created, "WaitingForQuota", "no quota")
        };
        let cluster = [at("x", 1), at("y", 1), at("z", 2)];
        let mut lab = ClusterState::of_objects(&cluster);
        let mut order = |names: [&str; 3]| {
            for (index, name) in names.into_iter().enumerate() {
                let state = lab.workloads.get_mut(&format!("a/{name}")).unwrap();
                state.position = Some(index + 1);
            }
            found(&cluster, &lab)
        };
        assert_eq!(order(["y", "x", "z"]), []);
        let moved = |name: &str| (EffectKind::Moved, format!("Workload/a/{name}"));
        assert_eq!(order(["x", "z", "y"]), [moved("y"), moved("z")]);
    }
}

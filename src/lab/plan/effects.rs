//! The effects of a change on Workloads and queues: the difference of two states.

use std::collections::BTreeMap;
use std::fmt;

use kueue_lab_json::ValueExt;
use kueue_lab_reason::preemptor_uid;
use serde::Serialize;
use serde_json::Value;

use super::cluster_state::ClusterState;
use super::eviction::EvictionReason;
use super::workload_state::{WorkloadPhase, WorkloadState};

/// The kind of an effect on a Workload or a queue, the most serious first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum EffectKind {
    /// A Workload is deleted.
    Missing,
    /// A queue becomes inactive.
    QueueInactive,
    /// A ClusterQueue can admit no Workloads, although it is active.
    QueueBlocked,
    /// A Workload is preempted or evicted.
    Evicted,
    /// A Workload becomes one that can never be admitted.
    Never,
    /// A Workload is not admitted that would be without the change.
    NotAdmitted,
    /// A Workload is created, such as that of a job that Kueue manages only after the change.
    Created,
    /// A Workload is admitted.
    Admitted,
    /// A Workload has quota and waits for admission checks.
    QuotaReserved,
    /// A Workload is admitted with other flavors.
    OtherFlavors,
    /// A Workload can be admitted again.
    Possible,
    /// A queue becomes active.
    QueueActive,
    /// A ClusterQueue can admit Workloads again.
    QueueUnblocked,
    /// A Workload waits for another reason.
    OtherReason,
    /// A Workload moves in its queue.
    Moved,
}

impl fmt::Display for EffectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Missing => "does not exist any more",
            Self::QueueInactive => "becomes inactive",
            Self::QueueBlocked => "can admit no Workloads",
            Self::Evicted => "is evicted",
            Self::Never => "can never be admitted",
            Self::NotAdmitted => "is not admitted",
            Self::Created => "is created",
            Self::Admitted => "is admitted",
            Self::QuotaReserved => "has quota",
            Self::OtherFlavors => "has other flavors",
            Self::Possible => "can be admitted again",
            Self::QueueActive => "becomes active",
            Self::QueueUnblocked => "can admit Workloads again",
            Self::OtherReason => "waits for another reason",
            Self::Moved => "moves in its queue",
        })
    }
}

/// An effect on a Workload or a queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Effect {
    /// The kind.
    pub kind: EffectKind,
    /// `Workload/namespace/name`, `ClusterQueue/name` or `LocalQueue/namespace/name`.
    pub object: String,
    /// The job of the Workload, such as `Job train`; empty without one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub job: String,
    /// Its ClusterQueue; empty for queues.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cluster_queue: String,
    /// Its priority.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<i64>,
    /// The reason as Kueue names it, such as `InCohortReclamation`; empty if it has none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The Workload that preempts it; empty if none does.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub by: String,
    /// The preemption candidates with their outcomes: of the Workload that preempts it, or of one that waits, its own;
    /// empty without any.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub candidates: String,
    /// Details: flavors, positions or the message of the condition.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// The differences of the state `after` a change from the state `without` it.
pub fn effects(without: &ClusterState, after: &ClusterState) -> Vec<Effect> {
    let names: BTreeMap<&str, &str> = after
        .workloads
        .values()
        .map(|workload| (workload.uid.as_str(), workload.key.as_str()))
        .collect();
    let mut effects = queue_effects(without, after);
    effects.extend(blocked_queues(without, after));
    for (key, new) in &after.workloads {
        let Some(old) = without.workloads.get(key).filter(|old| old.uid == new.uid) else {
            continue;
        };
        workload_effects(old, new, &names, &mut effects);
    }
    effects.sort_by(|a, b| (a.kind, &a.object).cmp(&(b.kind, &b.object)));
    effects
}

/// The Workloads of a state that do not exist `after` a change, but for those that have ended.
pub(crate) fn missing_workloads(before: &ClusterState, after: &ClusterState) -> Vec<Effect> {
    let exists = |state: &WorkloadState| {
        let new = after.workloads.get(&state.key);
        new.is_some_and(|new| new.uid == state.uid)
    };
    let states = before.workloads.values();
    states
        .filter(|state| state.phase != WorkloadPhase::Finished && !exists(state))
        .map(|state| workload_effect(state, EffectKind::Missing, "", String::new()))
        .collect()
}

/// The Workloads that exist only `after` a change, for example of jobs that Kueue does not manage without it.
/// Those that also appear `without` it, such as of a job whose Pod is replaced, can have other names: as many
/// of a ClusterQueue as are only there do not count.
pub(crate) fn created_workloads(
    before: &ClusterState,
    without: &ClusterState,
    after: &ClusterState,
) -> Vec<Effect> {
    let mut other_names: BTreeMap<&str, usize> = BTreeMap::new();
    for (key, state) in &without.workloads {
        if !after.workloads.contains_key(key) && !before.workloads.contains_key(key) {
            *other_names.entry(&state.cluster_queue).or_default() += 1;
        }
    }
    let mut created = Vec::new();
    for (key, state) in &after.workloads {
        if without.workloads.contains_key(key) || before.workloads.contains_key(key) {
            continue;
        }
        match other_names.get_mut(state.cluster_queue.as_str()) {
            Some(left) if *left > 0 => *left -= 1,
            _ => {
                let message = phase_text(state);
                created.push(workload_effect(state, EffectKind::Created, "", message));
            }
        }
    }
    created
}

/// The phase of a new Workload as a message.
fn phase_text(state: &WorkloadState) -> String {
    match (state.phase, state.waits_for.as_str()) {
        (WorkloadPhase::Finished, _) => "it is finished".to_owned(),
        (WorkloadPhase::Admitted, _) => format!("it is admitted: {}", state.flavors),
        (WorkloadPhase::QuotaReserved, _) => format!("it has quota: {}", quota_text(state)),
        (WorkloadPhase::Pending, "") => "it waits, and its job is suspended".to_owned(),
        (WorkloadPhase::Pending, reason) => {
            format!("it waits, and its job is suspended: {reason}")
        }
    }
}

/// The flavors of a Workload with quota, and the checks that it waits for.
fn quota_text(state: &WorkloadState) -> String {
    format!("{}; {}", state.flavors, waits_for_checks(state))
}

fn waits_for_checks(state: &WorkloadState) -> String {
    match state.waiting_checks.as_slice() {
        [] => "not admitted yet".to_owned(),
        [check] => format!("waits for check {check}"),
        checks => format!("waits for checks {}", checks.join(", ")),
    }
}

/// An effect on a Workload that no other one causes.
pub(crate) fn workload_effect(
    state: &WorkloadState,
    kind: EffectKind,
    reason: &str,
    message: String,
) -> Effect {
    Effect {
        kind,
        object: format!("Workload/{}", state.key),
        job: state.job.clone(),
        cluster_queue: state.cluster_queue.clone(),
        priority: Some(state.priority),
        reason: reason.to_owned(),
        by: String::new(),
        candidates: match kind {
            EffectKind::Missing | EffectKind::Moved => String::new(),
            _ => state.candidates.clone(),
        },
        message,
    }
}

fn workload_effects(
    old: &WorkloadState,
    new: &WorkloadState,
    names: &BTreeMap<&str, &str>,
    effects: &mut Vec<Effect>,
) {
    let effect = |kind, reason: &str, by: String, message: String| Effect {
        by,
        ..workload_effect(new, kind, reason, message)
    };
    let count = |state: &WorkloadState| state.evictions.values().sum::<i64>();
    let is_evicted = count(new) > count(old);
    if is_evicted {
        let EvictionReason { reason, message } = new.eviction.last(&old.evictions, &new.evictions);
        let by = preemptor(&message, names);
        let after = match new.phase {
            WorkloadPhase::Admitted => {
                format!("{message}; it is admitted again with {}", new.flavors)
            }
            WorkloadPhase::QuotaReserved => {
                format!("{message}; it has quota again: {}", quota_text(new))
            }
            WorkloadPhase::Pending | WorkloadPhase::Finished => message,
        };
        let candidates = match preemptor_uid(&after) {
            Some(_) => new.preempted_among.clone(),
            None => String::new(),
        };
        effects.push(Effect {
            candidates,
            ..effect(EffectKind::Evicted, &reason, by, after)
        });
    }
    if new.never && !old.never {
        effects.push(effect(
            EffectKind::Never,
            "",
            String::new(),
            new.waits_for.clone(),
        ));
    } else if old.never && !new.never && new.phase == WorkloadPhase::Pending {
        effects.push(effect(
            EffectKind::Possible,
            "",
            String::new(),
            new.waits_for.clone(),
        ));
    }
    effects.extend(phase_effect(old, new, is_evicted));
    if let (Some(before), Some(now)) = (old.position, new.position)
        && (before != now || old.cluster_queue != new.cluster_queue)
    {
        let text = match old.cluster_queue == new.cluster_queue {
            true => format!("position {before} -> {now}"),
            false => format!(
                "position {before} in {} -> position {now} in {}",
                old.cluster_queue, new.cluster_queue
            ),
        };
        effects.push(effect(EffectKind::Moved, "", String::new(), text));
    }
}

/// A Workload that is in another phase than without the change, or has other flavors or checks.
fn phase_effect(old: &WorkloadState, new: &WorkloadState, is_evicted: bool) -> Option<Effect> {
    use WorkloadPhase::{Admitted, Finished, Pending, QuotaReserved};
    let (kind, message) = match (old.phase, new.phase) {
        (Pending | QuotaReserved, Admitted) => (EffectKind::Admitted, new.flavors.clone()),
        (Pending, QuotaReserved) => (EffectKind::QuotaReserved, quota_text(new)),
        // The eviction says the rest.
        _ if is_evicted => return None,
        (Admitted | QuotaReserved, Pending) => (EffectKind::NotAdmitted, new.waits_for.clone()),
        (Admitted, QuotaReserved) => {
            let text = format!("it has quota: {}", quota_text(new));
            (EffectKind::NotAdmitted, text)
        }
        (Admitted, Admitted) | (QuotaReserved, QuotaReserved) if old.flavors != new.flavors => {
            let text = format!("{} instead of {}", new.flavors, old.flavors);
            (EffectKind::OtherFlavors, text)
        }
        (QuotaReserved, QuotaReserved) if old.waiting_checks != new.waiting_checks => {
            (EffectKind::OtherReason, waits_for_checks(new))
        }
        (Finished | Pending | Admitted | QuotaReserved, _) => return None,
    };
    Some(workload_effect(new, kind, "", message))
}

/// The Workload whose uid a message about a preemption names.
fn preemptor(message: &str, names: &BTreeMap<&str, &str>) -> String {
    preemptor_uid(message)
        .and_then(|uid| names.get(uid))
        .map_or_else(String::new, |name| (*name).to_owned())
}

/// Queues that become active or inactive.
fn queue_effects(without: &ClusterState, after: &ClusterState) -> Vec<Effect> {
    let mut effects = Vec::new();
    for (key, queue) in after.queues() {
        let Some(new) = queue.condition("Active") else {
            continue;
        };
        let old = without
            .objects
            .get(key)
            .and_then(|queue| queue.condition("Active"));
        let is_active = |condition: &Value| condition.text("/status") == "True";
        let kind = match (old.is_none_or(is_active), is_active(new)) {
            (true, false) => EffectKind::QueueInactive,
            (false, true) => EffectKind::QueueActive,
            _ => continue,
        };
        effects.push(Effect {
            kind,
            object: key.to_string(),
            job: String::new(),
            cluster_queue: String::new(),
            priority: None,
            reason: new.text("/reason").to_owned(),
            by: String::new(),
            candidates: String::new(),
            message: new.text("/message").to_owned(),
        });
    }
    effects
}

/// Active ClusterQueues that the engine excludes or includes again.
fn blocked_queues(without: &ClusterState, after: &ClusterState) -> Vec<Effect> {
    let effect = |queue: &str, kind, message: &str| Effect {
        kind,
        object: format!("ClusterQueue/{queue}"),
        job: String::new(),
        cluster_queue: String::new(),
        priority: None,
        reason: String::new(),
        by: String::new(),
        candidates: String::new(),
        message: message.to_owned(),
    };
    let (old, new) = (&without.blocked_queues, &after.blocked_queues);
    let blocked = new.iter().filter(|(queue, _)| !old.contains_key(*queue));
    let blocked = blocked.map(|(queue, why)| effect(queue, EffectKind::QueueBlocked, why));
    let unblocked = old.keys().filter(|queue| !new.contains_key(*queue));
    let unblocked = unblocked.filter(|queue| after.has_cluster_queue(queue));
    let unblocked = unblocked.map(|queue| effect(queue, EffectKind::QueueUnblocked, ""));
    blocked.chain(unblocked).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn workload(uid: &str, conditions: &[&str], checks: &Value) -> Value {
        let true_ = |type_: &&str| json!({"type": type_, "status": "True"});
        json!({
            "kind": "Workload",
            "metadata": {"name": "wl", "namespace": "a", "uid": uid},
            "status": {
                "conditions": conditions.iter().map(true_).collect::<Vec<_>>(),
                "admission": {"clusterQueue": "q", "podSetAssignments": [{"flavors": {"cpu": "f"}}]},
                "admissionChecks": checks,
            },
        })
    }

    fn lines(old: &ClusterState, new: &ClusterState) -> Vec<(EffectKind, String)> {
        let all = effects(old, new).into_iter();
        all.map(|effect| (effect.kind, effect.message)).collect()
    }

    #[test]
    fn a_workload_that_waits_for_checks_is_not_admitted() {
        let state = |conditions: &[&str], checks: Value| {
            ClusterState::of_objects(&[workload("u", conditions, &checks)])
        };
        let pending = state(&[], json!([]));
        let checks =
            json!([{"name": "manual", "state": "Pending"}, {"name": "ok", "state": "Ready"}]);
        let reserved = state(&["QuotaReserved"], checks);
        let admitted = state(&["QuotaReserved", "Admitted"], json!([]));
        let quota = "q: f; waits for check manual".to_owned();
        assert_eq!(
            lines(&pending, &reserved),
            [(EffectKind::QuotaReserved, quota.clone())]
        );
        assert_eq!(
            lines(&reserved, &admitted),
            [(EffectKind::Admitted, "q: f".to_owned())]
        );
        assert_eq!(
            lines(&admitted, &reserved),
            [(EffectKind::NotAdmitted, format!("it has quota: {quota}"))]
        );
    }

    #[test]
    fn a_new_workload_is_an_effect_of_the_change() {
        let none = ClusterState::default();
        let new = ClusterState::of_objects(&[workload("u", &[], &json!([]))]);
        let created = |before: &ClusterState, without: &ClusterState| {
            let all = created_workloads(before, without, &new).into_iter();
            all.map(|effect| (effect.kind, effect.object))
                .collect::<Vec<_>>()
        };
        let expected = (EffectKind::Created, "Workload/a/wl".to_owned());
        assert_eq!(created(&none, &none), [expected]);
        assert_eq!(created(&none, &new), []);
        // One of the same ClusterQueue that is created anyway, with another name.
        let mut other = workload("o", &[], &json!([]));
        other["metadata"]["name"] = "other".into();
        assert_eq!(created(&none, &ClusterState::of_objects(&[other])), []);
    }

    #[test]
    fn positions_name_the_queue_that_a_workload_leaves() {
        let at = |queue: &str, position: usize| {
            let mut state = ClusterState::of_objects(&[workload("u", &[], &json!([]))]);
            let workload = state.workloads.get_mut("a/wl").unwrap();
            workload.cluster_queue = queue.to_owned();
            workload.position = Some(position);
            state
        };
        let moved = |text: &str| (EffectKind::Moved, text.to_owned());
        assert_eq!(lines(&at("a", 2), &at("a", 3)), [moved("position 2 -> 3")]);
        assert_eq!(
            lines(&at("a", 2), &at("b", 2)),
            [moved("position 2 in a -> position 2 in b")]
        );
    }

    #[test]
    fn queues_in_a_cohort_cycle_can_admit_no_workloads() {
        let state = |blocked: &[&str]| {
            let queue = json!({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue",
                "metadata": {"name": "q"}});
            let mut state = ClusterState::of_objects(&[queue]);
            let blocked = blocked
                .iter()
                .map(|queue| ((*queue).to_owned(), "why".to_owned()));
            state.blocked_queues = blocked.collect();
            state
        };
        assert_eq!(
            lines(&state(&[]), &state(&["q"])),
            [(EffectKind::QueueBlocked, "why".to_owned())]
        );
        assert_eq!(
            lines(&state(&["q"]), &state(&[])),
            [(EffectKind::QueueUnblocked, String::new())]
        );
        assert_eq!(lines(&state(&["deleted"]), &state(&[])), []);
    }
}

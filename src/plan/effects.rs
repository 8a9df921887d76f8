//! The effects of a change on Workloads and queues: the difference of two states.

use std::collections::BTreeMap;
use std::fmt;

use kueue_lab_api::preemption_message::preemptor_uid;
use kueue_lab_json::ValueExt;
use serde::Serialize;
use serde_json::Value;

use super::cluster_state::{ClusterState, kind_of};
use super::workload_state::{WorkloadPhase, WorkloadState};

/// What happens to a Workload or a queue, the most serious first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum EffectKind {
    /// A Workload does not exist any more.
    Missing,
    /// A queue becomes inactive.
    QueueInactive,
    /// A Workload is preempted or evicted.
    Evicted,
    /// A Workload can never be admitted any more.
    Never,
    /// A Workload is not admitted that would be without the change.
    NotAdmitted,
    /// A Workload is admitted.
    Admitted,
    /// A Workload is admitted with other flavors.
    OtherFlavors,
    /// A Workload can be admitted again.
    Possible,
    /// A queue becomes active.
    QueueActive,
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
            Self::Evicted => "is evicted",
            Self::Never => "can never be admitted",
            Self::NotAdmitted => "is not admitted",
            Self::Admitted => "is admitted",
            Self::OtherFlavors => "has other flavors",
            Self::Possible => "can be admitted again",
            Self::QueueActive => "becomes active",
            Self::OtherReason => "waits for another reason",
            Self::Moved => "moves in its queue",
        })
    }
}

/// An effect on a Workload or a queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Effect {
    /// What happens.
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
    let has_quota =
        |phase| phase == WorkloadPhase::Admitted || phase == WorkloadPhase::QuotaReserved;
    if is_evicted {
        let (reason, message) = new.last_eviction.clone().unwrap_or_default();
        let by = preemptor(&message, names);
        let after = match has_quota(new.phase) {
            true => format!("{message}; it is admitted again with {}", new.flavors),
            false => message,
        };
        effects.push(effect(EffectKind::Evicted, &reason, by, after));
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
    match (has_quota(old.phase), has_quota(new.phase)) {
        (false, true) if old.phase == WorkloadPhase::Pending => {
            effects.push(effect(
                EffectKind::Admitted,
                "",
                String::new(),
                new.flavors.clone(),
            ));
        }
        (true, false) if new.phase == WorkloadPhase::Pending && !is_evicted => {
            let why = new.waits_for.clone();
            effects.push(effect(EffectKind::NotAdmitted, "", String::new(), why));
        }
        (true, true) if old.flavors != new.flavors && !is_evicted => {
            let text = format!("{} instead of {}", new.flavors, old.flavors);
            effects.push(effect(EffectKind::OtherFlavors, "", String::new(), text));
        }
        _ => {}
    }
    if let (Some(before), Some(now)) = (old.position, new.position)
        && (before != now || old.cluster_queue != new.cluster_queue)
    {
        let queue = match old.cluster_queue == new.cluster_queue {
            true => String::new(),
            false => format!(" of {}, before of {}", new.cluster_queue, old.cluster_queue),
        };
        let text = format!("position {before} -> {now}{queue}");
        effects.push(effect(EffectKind::Moved, "", String::new(), text));
    }
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
        let Some(new) = active_condition(queue) else {
            continue;
        };
        let old = without.objects.get(key).and_then(active_condition);
        let is_active = |condition: &Value| condition.text("/status") == "True";
        let kind = match (old.is_none_or(is_active), is_active(new)) {
            (true, false) => EffectKind::QueueInactive,
            (false, true) => EffectKind::QueueActive,
            _ => continue,
        };
        let (rank, namespace, name) = key;
        effects.push(Effect {
            kind,
            object: match namespace.as_str() {
                "" => format!("{}/{name}", kind_of(*rank)),
                namespace => format!("{}/{namespace}/{name}", kind_of(*rank)),
            },
            job: String::new(),
            cluster_queue: String::new(),
            priority: None,
            reason: new.text("/reason").to_owned(),
            by: String::new(),
            message: new.text("/message").to_owned(),
        });
    }
    effects
}

fn active_condition(queue: &Value) -> Option<&Value> {
    let mut conditions = queue.list("/status/conditions").iter();
    conditions.find(|condition| condition.text("/type") == "Active")
}

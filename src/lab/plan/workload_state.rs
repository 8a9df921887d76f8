//! [`WorkloadState`]: the state of a Workload that a plan compares.

use std::collections::BTreeMap;

use kueue_lab_api::constants as c;
use kueue_lab_api::constants::quota_reserved as q;
use kueue_lab_engine::engine::{Explanation, PendingVerdictKind};
use kueue_lab_json::ValueExt;
use serde::Serialize;
use serde_json::Value;

use super::eviction::EvictionConditions;

/// The phase of a Workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum WorkloadPhase {
    /// It waits.
    Pending,
    /// It has quota and waits for admission checks.
    QuotaReserved,
    /// It runs.
    Admitted,
    /// It has ended.
    Finished,
}

/// The state of a Workload that a plan compares.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadState {
    /// `namespace/name`.
    pub key: String,
    /// Its uid.
    pub uid: String,
    /// Its job, such as `Job train`; empty without one.
    pub job: String,
    /// Its ClusterQueue; empty if its LocalQueue has none.
    pub cluster_queue: String,
    /// Its priority.
    pub priority: i64,
    /// Its phase.
    pub phase: WorkloadPhase,
    /// The ClusterQueue and the flavors that it has; empty while it waits.
    pub flavors: String,
    /// Its position among the pending Workloads of its ClusterQueue, from 1.
    pub position: Option<usize>,
    /// The message of the condition of a pending Workload, or the reason that it can never be admitted; or empty.
    pub waits_for: String,
    /// The reason of that condition; empty if it does not wait.
    pub waiting_reason: String,
    /// Whether it can never be admitted without a change.
    pub never: bool,
    /// Whether its condition says so. Kueue does not evaluate a Workload behind the head of a StrictFIFO queue.
    #[serde(skip)]
    pub(crate) never_by_condition: bool,
    /// The preemption candidates of a pending Workload with their outcomes; empty without any.
    pub candidates: String,
    /// The candidates among which it was preempted last; empty if it was not, or its Event has expired.
    #[serde(skip)]
    pub(crate) preempted_among: String,
    /// The admission checks that it waits for with quota.
    pub waiting_checks: Vec<String>,
    /// How often it was evicted, by reason.
    pub evictions: BTreeMap<String, i64>,
    /// Its conditions about evictions.
    #[serde(skip)]
    pub(crate) eviction: EvictionConditions,
}

impl WorkloadState {
    /// The state of a Workload, with the decision of the engine.
    pub(crate) fn new(workload: &Value, explanation: Option<&Explanation>) -> Self {
        let condition = |type_: &str| {
            let conditions = workload.list("/status/conditions").iter();
            conditions
                .filter(|c| c.text("/type") == type_)
                .find(|c| !c.text("/status").is_empty())
        };
        let is_true = |type_: &str| condition(type_).is_some_and(|c| c.text("/status") == "True");
        let phase = match () {
            () if is_true(c::FINISHED) => WorkloadPhase::Finished,
            () if is_true(c::ADMITTED) => WorkloadPhase::Admitted,
            () if is_true(c::QUOTA_RESERVED) => WorkloadPhase::QuotaReserved,
            () => WorkloadPhase::Pending,
        };
        let is_pending = phase == WorkloadPhase::Pending;
        let waits = condition(c::QUOTA_RESERVED).filter(|_| is_pending);
        let reason = waits.map_or("", |c| c.text("/reason"));
        let never_by_condition = is_pending
            && matches!(
                reason,
                q::EXCEEDS_MAX_QUOTA | q::NO_MATCHING_FLAVOR | q::MISCONFIGURED
            );
        let verdict = explanation.and_then(|e| e.verdict.as_ref());
        let never = verdict.filter(|verdict| verdict.kind == PendingVerdictKind::Never);
        let owner = workload.list("/metadata/ownerReferences").first();
        Self {
            key: format!(
                "{}/{}",
                workload.text("/metadata/namespace"),
                workload.name()
            ),
            uid: workload.text("/metadata/uid").to_owned(),
            job: owner.map_or_else(String::new, |o| {
                format!("{} {}", o.text("/kind"), o.text("/name"))
            }),
            cluster_queue: explanation
                .and_then(|e| e.cluster_queue.as_deref())
                .unwrap_or_default()
                .to_owned(),
            priority: explanation.map_or_else(|| workload.int("/spec/priority"), |e| e.priority),
            phase,
            flavors: match phase {
                WorkloadPhase::Admitted | WorkloadPhase::QuotaReserved => flavors(workload),
                WorkloadPhase::Pending | WorkloadPhase::Finished => String::new(),
            },
            position: explanation
                .and_then(|e| e.position)
                .filter(|_| is_pending)
                .map(|position| position + 1),
            waits_for: match never {
                Some(verdict) if !never_by_condition => verdict.text(),
                _ => waits.map_or_else(String::new, |c| c.text("/message").to_owned()),
            },
            waiting_reason: reason.to_owned(),
            never: match explanation {
                Some(_) => never.is_some(),
                None => never_by_condition,
            },
            never_by_condition,
            candidates: explanation
                .filter(|_| is_pending)
                .and_then(|explanation| explanation.now.as_ref()?.candidates_text())
                .unwrap_or_default(),
            preempted_among: String::new(),
            waiting_checks: match phase {
                WorkloadPhase::QuotaReserved => waiting_checks(workload),
                _ => Vec::new(),
            },
            evictions: evictions(workload),
            eviction: EvictionConditions::of(workload),
        }
    }
}

/// `queue: flavor, flavor`.
fn flavors(workload: &Value) -> String {
    let queue = workload.text("/status/admission/clusterQueue");
    let assignments = workload.list("/status/admission/podSetAssignments").iter();
    let mut names: Vec<&str> = assignments
        .flat_map(|assignment| assignment.entries("/flavors"))
        .filter_map(|(_, flavor)| flavor.as_str())
        .collect();
    names.sort_unstable();
    names.dedup();
    format!("{queue}: {}", names.join(", "))
}

/// The names of the admission checks that are not ready.
fn waiting_checks(workload: &Value) -> Vec<String> {
    let checks = workload.list("/status/admissionChecks").iter();
    let waiting = checks.filter(|check| check.text("/state") != "Ready");
    waiting
        .map(|check| check.text("/name").to_owned())
        .collect()
}

/// The numbers of evictions by reason and underlying cause.
fn evictions(workload: &Value) -> BTreeMap<String, i64> {
    let mut counts = BTreeMap::new();
    for eviction in workload.list("/status/schedulingStats/evictions") {
        let cause = eviction.text("/underlyingCause");
        let reason = match cause {
            "" => eviction.text("/reason").to_owned(),
            cause => format!("{} ({cause})", eviction.text("/reason")),
        };
        *counts.entry(reason).or_default() += eviction.int("/count");
    }
    counts
}

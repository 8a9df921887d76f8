//! The reason of the state of a workload, one line.
//!
//! "Never" is distinguished from "not now": a workload that cannot be admitted as it is must not look
//! like one that waits for quota.

use super::pending_reason::pending_reason;
use super::{WorkloadRow, WorkloadState};
use crate::model::derived::DerivedData;
use crate::model::{ClusterData, Row};
use crate::text::{ShortTexts, human_duration};
use kueue_lab_api::constants::{ADMITTED, EVICTED, FINISHED, PODS_READY, evicted};
use kueue_lab_api::v1beta2::CheckState;
use kueue_lab_reason::{PendingReason, PendingVerdictKind};

/// What kind of reason it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReasonKind {
    /// Cannot be admitted unless the workload or the queue is changed.
    Never,
    /// On hold until a user or controller releases it.
    OnHold,
    /// Waits for quota or checks.
    Waiting,
    /// Runs or finished as expected.
    Healthy,
    /// Failed, evicted or unhealthy.
    Unhealthy,
}

impl ReasonKind {
    /// The prefix of the text.
    pub(crate) fn prefix(self) -> &'static str {
        match self {
            ReasonKind::Never => "never: ",
            ReasonKind::OnHold => "held: ",
            ReasonKind::Waiting => "waits: ",
            ReasonKind::Healthy | ReasonKind::Unhealthy => "",
        }
    }
}

/// The reason of a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StatusReason {
    /// Its kind.
    pub kind: ReasonKind,
    /// A short text.
    pub text: String,
}

impl StatusReason {
    fn new(kind: ReasonKind, text: impl Into<String>) -> Self {
        Self {
            kind,
            text: text.into(),
        }
    }

    /// That of a pending workload, with the end of its text.
    fn pending(reason: &PendingReason, end: &str) -> Self {
        let kind = match reason.kind() {
            PendingVerdictKind::Never => ReasonKind::Never,
            PendingVerdictKind::Held => ReasonKind::OnHold,
            PendingVerdictKind::Waits => ReasonKind::Waiting,
        };
        Self::new(kind, format!("{}{end}", reason.text(&ShortTexts)))
    }

    /// Prefix and text.
    pub(crate) fn line(&self) -> String {
        format!("{}{}", self.kind.prefix(), self.text)
    }
}

/// The reason of the state of a workload.
pub(crate) fn status_reason(
    wl: &WorkloadRow,
    data: &ClusterData,
    derived: &DerivedData,
) -> StatusReason {
    match wl.state() {
        WorkloadState::Pending => pending_status(wl, data, derived),
        WorkloadState::QuotaReserved => quota_reserved_reason(wl),
        WorkloadState::Admitted => admitted_reason(wl, derived),
        WorkloadState::Evicted => evicted_reason(wl, data),
        WorkloadState::Inactive => match wl.conditions.when_true(EVICTED) {
            Some(c) => StatusReason::new(ReasonKind::OnHold, format!("deactivated; {}", c.message)),
            None => StatusReason::new(ReasonKind::OnHold, "spec.active is false"),
        },
        WorkloadState::Finished | WorkloadState::Failed => {
            let end = wl.conditions.when_true(FINISHED);
            let (reason, message) =
                end.map_or(("", ""), |c| (c.reason.as_str(), c.message.as_str()));
            let kind = if wl.state() == WorkloadState::Failed {
                ReasonKind::Unhealthy
            } else {
                ReasonKind::Healthy
            };
            StatusReason::new(kind, if message.is_empty() { reason } else { message })
        }
    }
}

/// Why a workload is pending.
fn pending_status(wl: &WorkloadRow, data: &ClusterData, derived: &DerivedData) -> StatusReason {
    let reason = pending_reason(wl, data, derived);
    let as_equivalent = match &reason {
        PendingReason::NotEvaluated { position: Some(_) } => {
            equivalent_workload_ahead(wl, data, derived)
        }
        _ => None,
    };
    match as_equivalent {
        Some((other, reason)) => StatusReason::pending(&reason, &format!(" (as {other})")),
        None => StatusReason::pending(&reason, ""),
    }
}

/// The most workloads ahead that are compared.
const MAX_COMPARED: usize = 64;

/// A workload ahead in the queue with the same pod sets that does not fit, and why. Kueue skips
/// equivalent workloads without a condition (scheduling equivalence hashing).
fn equivalent_workload_ahead<'a>(
    wl: &WorkloadRow,
    data: &'a ClusterData,
    derived: &DerivedData,
) -> Option<(&'a str, PendingReason)> {
    let queue = &data.local_queues.get(&wl.queue_key)?.cluster_queue;
    let pending = derived.pending_workloads_of(queue).iter();
    let ahead = pending.take_while(|key| *key != wl.key());
    ahead
        .take(MAX_COMPARED)
        .filter_map(|key| data.workloads.get(key))
        .filter(|other| other.priority == wl.priority && other.pod_sets == wl.pod_sets)
        .find_map(|other| {
            let reason = pending_reason(other, data, derived);
            let is_short = matches!(
                reason,
                PendingReason::NeverFits { .. } | PendingReason::Insufficient { .. }
            );
            is_short.then_some((other.key().name.as_str(), reason))
        })
}

/// Why a workload with a quota reservation is not admitted.
fn quota_reserved_reason(wl: &WorkloadRow) -> StatusReason {
    let open = wl
        .admission_checks
        .iter()
        .filter(|c| c.state != CheckState::Ready);
    let mut texts: Vec<String> = open
        .map(|c| match c.message.as_str() {
            "" => format!("check {} is {}", c.name, c.state),
            message => format!("check {} is {}: {message}", c.name, c.state),
        })
        .collect();
    let later = |a: &super::AdmissionRow| a.pod_sets.iter().any(|s| s.delayed_topology_request);
    if texts.is_empty() && wl.admission.as_ref().is_some_and(later) {
        texts.push("topology assignment delayed until its nodes exist (second pass)".to_owned());
    }
    if texts.is_empty() {
        let cond = wl.conditions.when_false(ADMITTED);
        texts.push(cond.map_or_else(|| "not admitted yet".to_owned(), |c| c.message.clone()));
    }
    StatusReason::new(ReasonKind::Waiting, texts.join("; "))
}

/// The health of an admitted workload.
fn admitted_reason(wl: &WorkloadRow, derived: &DerivedData) -> StatusReason {
    let pods = derived.pods_of(wl.key());
    let wanted = wl.pod_count();
    let flavors = flavors(wl);
    match wl.conditions.get(PODS_READY) {
        Some(c) if c.status == "True" => {
            StatusReason::new(ReasonKind::Healthy, format!("running on {flavors}"))
        }
        Some(c) if c.reason == kueue_lab_api::constants::pods_ready::WAIT_FOR_RECOVERY => {
            StatusReason::new(ReasonKind::Unhealthy, c.message.clone())
        }
        _ if pods.unschedulable > 0 => StatusReason::new(
            ReasonKind::Unhealthy,
            format!(
                "{} of {wanted} pods find no node; {flavors}",
                pods.unschedulable
            ),
        ),
        _ => StatusReason::new(
            ReasonKind::Healthy,
            format!("starting {}/{wanted} on {flavors}", pods.ready),
        ),
    }
}

/// The cause of an eviction.
fn evicted_reason(wl: &WorkloadRow, data: &ClusterData) -> StatusReason {
    let Some(cond) = wl.conditions.when_true(EVICTED) else {
        return StatusReason::new(ReasonKind::Unhealthy, "evicted");
    };
    let who = match cond.reason.as_str() {
        evicted::PREEMPTED => {
            let by = data
                .evictions
                .latest_of(&wl.meta.uid)
                .and_then(|e| e.preemptor.as_ref());
            by.map_or_else(
                || "preempted".to_owned(),
                |p| format!("preempted by {}", p.display_name()),
            )
        }
        _ => cond.message.clone(),
    };
    let stage = if wl.holds_quota() {
        "; its pods terminate".to_owned()
    } else {
        match wl.requeue_at {
            Some(at) if at > data.now => {
                let left = at.duration_since(data.now).as_secs();
                format!("; requeued in {}", human_duration(left))
            }
            _ => String::new(),
        }
    };
    StatusReason::new(ReasonKind::Unhealthy, format!("{who}{stage}"))
}

/// The assigned flavors, without duplicates.
pub(super) fn flavors(wl: &WorkloadRow) -> String {
    let mut names: Vec<&str> = wl
        .admission
        .iter()
        .flat_map(|a| &a.pod_sets)
        .flat_map(|s| s.flavors.values().map(String::as_str))
        .collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() {
        "no flavor".to_owned()
    } else {
        names.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::model::ObjectKey;
    use crate::model::import::import_objects;

    fn workload(name: &str, second: u32, cpu: &str, condition: Option<&str>) -> Value {
        let condition = condition.map(|message| {
            json!({"type": "QuotaReserved", "status": "False", "reason": "WaitingForQuota",
                "message": message, "lastTransitionTime": "2026-03-02T12:00:30Z"})
        });
        json!({
            "kind": "Workload",
            "metadata": {"namespace": "ns", "name": name, "uid": name,
                "creationTimestamp": format!("2026-03-02T12:00:{second:02}Z")},
            "spec": {"queueName": "lq", "podSets": [{"name": "main", "count": 1, "template": {"spec":
                {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}}}]},
            "status": {"conditions": condition.as_slice()},
        })
    }

    #[test]
    fn a_bypassed_workload_has_the_message_of_its_equivalence_class() {
        let message = "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor f, 3 more needed";
        let bypassed =
            "Bypassed scheduling evaluation because an equivalent workload recently failed";
        let objects = [
            json!({"kind": "ClusterQueue", "metadata": {"name": "cq"}, "spec": {}}),
            json!({"kind": "LocalQueue", "metadata": {"namespace": "ns", "name": "lq"},
                "spec": {"clusterQueue": "cq"}}),
            workload("first", 1, "6", Some(message)),
            workload("like", 2, "6", None),
            workload("other", 3, "2", None),
            workload("bypassed", 4, "6", Some(bypassed)),
        ];
        let mut data = ClusterData::default();
        for update in import_objects(objects).unwrap() {
            data.apply(update);
        }
        let mut derived = DerivedData::default();
        derived.refresh(&data);
        let line = |name: &str| {
            let wl = data.workloads.get(&ObjectKey::new("ns", name)).unwrap();
            status_reason(wl, &data, &derived).line()
        };
        assert_eq!(line("first"), "waits: 3 more cpu in f");
        assert_eq!(line("like"), "waits: 3 more cpu in f (as first)");
        assert_eq!(line("bypassed"), "waits: 3 more cpu in f (as first)");
        assert_eq!(line("other"), "waits: not evaluated yet, position 3");
    }
}

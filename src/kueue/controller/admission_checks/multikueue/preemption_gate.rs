//! Orchestrated preemption: the copies of a Workload may preempt one cluster after another.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::workload_group::WorkloadGroup;
use crate::jobs::error::JobError;
use kueue_lab_api::config::Feature;
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::{PreemptionGatePosition, PreemptionGateState, Workload};
use kueue_lab_engine::status;
use kueue_lab_engine::workload::predicates;

/// The time for which a cluster may preempt before the next one may.
const SINGLE_CLUSTER_PREEMPTION_TIMEOUT: Duration = Duration::from_secs(5 * 60);

/// Opens the gate of the copy that has waited for preemption for longest, unless another one was
/// opened shortly before. Returns when the next gate may be opened; zero if none waits.
///
/// # Errors
/// The copy cannot be written.
pub(super) async fn open_preemption_gate(
    group: &mut WorkloadGroup<'_>,
) -> Result<Duration, JobError> {
    let settings = &group.mk.shared.settings;
    if !settings.enabled(Feature::MultiKueueOrchestratedPreemption) {
        return Ok(Duration::ZERO);
    }
    let now = group.mk.shared.now();
    let remotes = group.remotes.iter();
    let remotes = remotes.filter_map(|(cluster, wl)| Some((cluster.as_str(), wl.as_ref()?)));
    let (cluster, requeue_after) = workload_to_open_preemption_gate(remotes, now);
    let cluster = cluster.map(str::to_owned);
    if let Some(cluster) = cluster
        && let Some(remote) = group.remote(&cluster)
    {
        let mut opened = remote.clone();
        if open_gate(&mut opened, now) {
            group.update_remote_status(&cluster, &opened).await?;
        }
    }
    Ok(requeue_after)
}

fn multikueue_gate(wl: &Workload) -> Option<&PreemptionGateState> {
    let mut gates = wl.status.preemption_gates.iter();
    gates.find(|gate| gate.name == c::MULTI_KUEUE_PREEMPTION_GATE)
}

fn workload_to_open_preemption_gate<'a>(
    remotes: impl Iterator<Item = (&'a str, &'a Workload)>,
    now: Timestamp,
) -> (Option<&'a str>, Duration) {
    let mut last_opened: Option<Timestamp> = None;
    let mut first_blocked: Option<(Timestamp, &str)> = None;
    for (cluster, wl) in remotes {
        match multikueue_gate(wl).filter(|gate| gate.position == PreemptionGatePosition::Open) {
            Some(gate) => {
                let opened = gate.last_transition_time.as_ref().map(|time| time.0);
                last_opened = last_opened.max(opened);
            }
            None => {
                let blocked = predicates::true_condition(wl, c::BLOCKED_ON_PREEMPTION_GATES);
                let since = blocked.map(|condition| condition.last_transition_time.0);
                if let Some(since) = since
                    && first_blocked.is_none_or(|(first, _)| since < first)
                {
                    first_blocked = Some((since, cluster));
                }
            }
        }
    }
    let timeout = SINGLE_CLUSTER_PREEMPTION_TIMEOUT;
    let Some((_, cluster)) = first_blocked else {
        return (None, Duration::ZERO);
    };
    let remaining = last_opened.and_then(|opened| {
        let timeout = SignedDuration::try_from(timeout).ok()?;
        Duration::try_from(timeout - now.duration_since(opened)).ok()
    });
    match remaining.filter(|remaining| !remaining.is_zero()) {
        Some(remaining) => (None, remaining),
        None => (Some(cluster), timeout),
    }
}

/// Opens the gate of MultiKueue; false if the spec has none.
fn open_gate(wl: &mut Workload, now: Timestamp) -> bool {
    let name = c::MULTI_KUEUE_PREEMPTION_GATE;
    if wl
        .spec
        .preemption_gates
        .iter()
        .all(|gate| gate.name != name)
    {
        return false;
    }
    status::open_preemption_gate(wl, name, now);
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn blocked(since: &str) -> Workload {
        serde_json::from_value(json!({
            "metadata": {"name": "w"}, "spec": {"podSets": []},
            "status": {"conditions": [{
                "type": "BlockedOnPreemptionGates", "status": "True", "reason": "PreemptionGated",
                "message": "", "lastTransitionTime": since,
            }]},
        }))
        .unwrap()
    }

    fn opened(at: &str) -> Workload {
        serde_json::from_value(json!({
            "metadata": {"name": "w"}, "spec": {"podSets": []},
            "status": {"preemptionGates": [{
                "name": "kueue.x-k8s.io/multikueue", "position": "Open", "lastTransitionTime": at,
            }]},
        }))
        .unwrap()
    }

    #[test]
    fn one_cluster_after_another_may_preempt() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let now = at("2026-03-02T12:10:00Z");
        let (a, b) = (
            blocked("2026-03-02T12:02:00Z"),
            blocked("2026-03-02T12:01:00Z"),
        );
        let timeout = SINGLE_CLUSTER_PREEMPTION_TIMEOUT;
        let waiting = [("a", &a), ("b", &b)];
        assert_eq!(
            workload_to_open_preemption_gate(waiting.into_iter(), now),
            (Some("b"), timeout)
        );
        let b = opened("2026-03-02T12:06:00Z");
        let waiting = [("a", &a), ("b", &b)];
        assert_eq!(
            workload_to_open_preemption_gate(waiting.into_iter(), now),
            (None, Duration::from_secs(60))
        );
        let later = at("2026-03-02T12:11:00Z");
        assert_eq!(
            workload_to_open_preemption_gate(waiting.into_iter(), later),
            (Some("a"), timeout)
        );
        let none = [("b", &b)];
        assert_eq!(
            workload_to_open_preemption_gate(none.into_iter(), now),
            (None, Duration::ZERO)
        );
    }
}

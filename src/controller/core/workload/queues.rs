//! What follows for a Workload when its queues stop and start, and when it is gated.

use std::sync::Arc;

use super::{Queues, set_requeued};
use crate::Shared;
use crate::patch::{self, Insist};
use kueue_lab_admission::messages::EventType;
use kueue_lab_admission::status::{Eviction, unreserve_quota};
use kueue_lab_admission::workload::predicates;
use kueue_lab_api::constants as c;
use kueue_lab_api::constants::quota_reserved as q;
use kueue_lab_api::v1beta2::{StopPolicy, Workload};

fn stopped_by(wl: &Workload, reason: &str) -> bool {
    predicates::false_condition(wl, c::REQUEUED).is_some_and(|cond| cond.reason == reason)
}

/// Whether a Workload is out of its queue because that was stopped.
pub(super) fn is_drained(wl: &Workload) -> bool {
    stopped_by(wl, c::evicted::LOCAL_QUEUE_STOPPED)
        || stopped_by(wl, c::evicted::CLUSTER_QUEUE_STOPPED)
}

/// Says that a Workload is queued again because its queue runs again. True when it was said.
pub(super) async fn restarted(
    shared: &Shared,
    wl: &Arc<Workload>,
    queues: &Queues,
) -> kube::Result<bool> {
    let runs = queues.local.is_some() && queues.is_local_active();
    let cluster = queues.cluster.as_ref();
    let news = if runs && stopped_by(wl, c::evicted::LOCAL_QUEUE_STOPPED) {
        let message = "The LocalQueue was restarted after being stopped";
        (c::requeued::LOCAL_QUEUE_RESTARTED, message)
    } else if cluster.is_some_and(|cq| cq.spec.stop_policy() == StopPolicy::None)
        && stopped_by(wl, c::evicted::CLUSTER_QUEUE_STOPPED)
    {
        let message = "The ClusterQueue was restarted after being stopped";
        (c::requeued::CLUSTER_QUEUE_RESTARTED, message)
    } else {
        return Ok(false);
    };
    let now = shared.now();
    patch::admission_status(shared, wl, Insist::Strict, |wl| {
        set_requeued(wl, news.0, news.1, true, now)
    })
    .await?;
    Ok(true)
}

/// Says why a Workload has no quota.
async fn unreserve(
    shared: &Shared,
    wl: &Workload,
    reason: &str,
    message: &str,
) -> kube::Result<()> {
    let gates = shared.engine().config().gates.clone();
    let now = shared.now();
    patch::admission_status(shared, wl, Insist::Strict, |wl| {
        unreserve_quota(wl, reason, message, now, &gates)
    })
    .await?;
    Ok(())
}

/// The reason, or the one of old where reasons are not told apart.
fn reason(shared: &Shared, granular: &'static str, of_old: &'static str) -> &'static str {
    if shared
        .engine()
        .config()
        .gates
        .unadmitted_workloads_observability
    {
        granular
    } else {
        of_old
    }
}

/// Says that an annotation holds a Workload back, or no longer does. True when it was said.
pub(super) async fn gated(shared: &Shared, wl: &Arc<Workload>) -> kube::Result<bool> {
    let gates = shared.engine().config().gates.clone();
    let has_gate = predicates::has_admission_gate(wl, &gates);
    let on = gates.admission_gated_by;
    let said = wl
        .condition(c::QUOTA_RESERVED)
        .is_some_and(|cond| cond.reason == q::ADMISSION_GATED);
    if !on || has_gate == said {
        return Ok(false);
    }
    if has_gate {
        let by = predicates::annotation(wl, c::ADMISSION_GATED_BY_ANNOTATION).unwrap_or_default();
        let message = format!("Admission is gated by: {by}");
        unreserve(shared, wl, q::ADMISSION_GATED, &message).await?;
        let message = format!("Workload admission is gated by: {by}");
        super::tell(
            shared,
            wl,
            EventType::Normal,
            c::event::ADMISSION_GATED,
            message,
        );
    } else {
        let reason = reason(shared, q::PENDING_EVALUATION, q::PENDING);
        let message = "AdmissionGatedBy cleared, waiting for quota reservation";
        unreserve(shared, wl, reason, message).await?;
        let message = "Admission gate cleared, workload is now admissible";
        super::tell(
            shared,
            wl,
            EventType::Normal,
            c::event::ADMISSION_GATE_CLEARED,
            message,
        );
    }
    Ok(true)
}

/// Evicts a Workload with quota whose queues are stopped or gone; one that is not admitted yet just
/// loses its quota. True when something was done.
pub(super) async fn stopped(
    shared: &Shared,
    wl: &Arc<Workload>,
    queues: &Queues,
) -> kube::Result<bool> {
    let local = queues.local.as_ref();
    let policy = local.map_or(StopPolicy::None, |lq| lq.spec.stop_policy());
    let there = local.is_some_and(|lq| lq.metadata.deletion_timestamp.is_none());
    let of_local = Stopped {
        policy,
        there,
        what: format!("LocalQueue {}", wl.spec.queue_name),
        reason: c::evicted::LOCAL_QUEUE_STOPPED,
        message: "The LocalQueue is stopped",
    };
    if of_local.act(shared, wl).await? {
        return Ok(true);
    }
    let cluster = queues.cluster.as_ref();
    let policy = cluster.map_or(StopPolicy::None, |cq| cq.spec.stop_policy());
    let there = cluster.is_some_and(|cq| cq.metadata.deletion_timestamp.is_none());
    let of_cluster = Stopped {
        policy,
        there,
        what: format!(
            "ClusterQueue {}",
            queues.name.as_deref().unwrap_or_default()
        ),
        reason: c::evicted::CLUSTER_QUEUE_STOPPED,
        message: "The ClusterQueue is stopped",
    };
    of_cluster.act(shared, wl).await
}

/// A queue, as far as it may be stopped or gone.
struct Stopped {
    policy: StopPolicy,
    there: bool,
    what: String,
    reason: &'static str,
    message: &'static str,
}

impl Stopped {
    async fn act(&self, shared: &Shared, wl: &Arc<Workload>) -> kube::Result<bool> {
        if predicates::is_admitted(wl) {
            if self.policy != StopPolicy::HoldAndDrain || predicates::is_evicted(wl) {
                return Ok(false);
            }
            let eviction = Eviction::new(self.reason, self.message);
            super::evict(shared, wl, &eviction, |_| {}).await?;
            return Ok(true);
        }
        if !self.there {
            let reason = reason(shared, q::MISCONFIGURED, q::INADMISSIBLE);
            let message = format!("{} is terminating or missing", self.what);
            unreserve(shared, wl, reason, &message).await?;
            return Ok(true);
        }
        if self.policy != StopPolicy::None {
            let reason = reason(shared, q::SUSPENDED, q::INADMISSIBLE);
            let message = format!("{} is stopped", self.what);
            unreserve(shared, wl, reason, &message).await?;
            return Ok(true);
        }
        Ok(false)
    }
}

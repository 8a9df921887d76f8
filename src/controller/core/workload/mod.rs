//! Workloads: everything that happens to one apart from scheduling. Backoff and requeueing, checks,
//! deactivation, stopped queues, waiting for pods, time limits, retention.
//!
//! One look at a Workload does the first thing that is due; what it writes makes it look again.

mod active;
mod checks;
mod devices;
mod evict;
mod limits;
mod over;
mod queues;
mod variants;

use std::sync::Arc;
use std::time::Duration;

use crate::Shared;
use crate::events::Telling;
use crate::informers::{BY_CLUSTER_QUEUE, BY_QUEUE};
use crate::patch::{self, Insist};
use kueue_lab_admission::messages::EventType;
use kueue_lab_admission::status::{condition, set_condition, sync_admitted};
use kueue_lab_admission::workload::predicates;
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::{ClusterQueue, LocalQueue, StopPolicy, Workload};
use kueue_lab_runtime::{Change, ObjectKey, Outcome, WorkQueue};

use devices::Counted;
pub use evict::evict;

const WORKERS: usize = 10;
/// How much later than the others some Workloads of a queue that stopped or runs again are looked at.
const AFTER_OTHERS: Duration = Duration::from_millis(10);

pub(super) fn start(shared: &Shared) {
    let queue = WorkQueue::new(&shared.ctx);
    let told = queue.clone();
    shared.informers.workloads.subscribe(move |change| {
        let (Change::Added(wl) | Change::Updated { new: wl, .. } | Change::Deleted(wl)) = change;
        told.add(ObjectKey::of(wl.as_ref()));
    });
    follow_queues(shared, &queue);
    devices::follow(shared, &queue);
    let s = shared.clone();
    queue.run(&shared.ctx, "workload", WORKERS, move |key| {
        let shared = s.clone();
        async move { reconcile(&shared, &key).await }
    });
}

/// Looks at Workloads again when their queues come, go, stop or start.
fn follow_queues(shared: &Shared, queue: &WorkQueue<ObjectKey>) {
    let (told, s) = (queue.clone(), shared.clone());
    shared.informers.local_queues.subscribe(move |change| {
        let lq = match change {
            Change::Updated { old, new }
                if new.metadata.deletion_timestamp.is_none()
                    && old.spec.stop_policy == new.spec.stop_policy =>
            {
                return;
            }
            Change::Added(lq) | Change::Updated { new: lq, .. } | Change::Deleted(lq) => lq,
        };
        add_all(&s, lq, &told);
    });
    let (told, s) = (queue.clone(), shared.clone());
    shared.informers.cluster_queues.subscribe(move |change| {
        let cq = match change {
            Change::Updated { old, new } if !concerns_workloads(old, new) => return,
            Change::Added(cq) | Change::Updated { new: cq, .. } | Change::Deleted(cq) => cq,
        };
        let name = ObjectKey::of(cq.as_ref()).name;
        for lq in s.informers.local_queues.by(BY_CLUSTER_QUEUE, &name) {
            add_all(&s, &lq, &told);
        }
    });
}

fn concerns_workloads(old: &ClusterQueue, new: &ClusterQueue) -> bool {
    new.metadata.deletion_timestamp.is_some()
        || old.spec.admission_checks_strategy != new.spec.admission_checks_strategy
        || old.spec.stop_policy != new.spec.stop_policy
}

fn add_all(shared: &Shared, lq: &LocalQueue, queue: &WorkQueue<ObjectKey>) {
    let key = ObjectKey::of(lq);
    let index = format!("{}/{}", key.namespace, key.name);
    let workloads = shared.informers.workloads.by(BY_QUEUE, &index);
    // Kueue looks at them in no order, and the first one written has quota given out. So those that were
    // drained come after those that wait, unless they are more.
    let drained = workloads.iter().filter(|wl| queues::is_drained(wl)).count();
    for wl in &workloads {
        let key = ObjectKey::of(wl.as_ref());
        match queues::is_drained(wl) && drained <= workloads.len() / 2 {
            true => queue.add_after(key, AFTER_OTHERS),
            false => queue.add(key),
        }
    }
}

/// The queues of a Workload.
struct Queues {
    local: Option<Arc<LocalQueue>>,
    /// The name of the ClusterQueue, as the queues know it.
    name: Option<Arc<str>>,
    cluster: Option<Arc<ClusterQueue>>,
}

impl Queues {
    fn of(shared: &Shared, wl: &Workload) -> Self {
        let key = ObjectKey::new(predicates::namespace(wl), &wl.spec.queue_name);
        let engine = shared.engine();
        let behind = engine
            .cluster_queue_of(wl)
            .map(|(name, exists)| (name.clone(), exists));
        drop(engine);
        let cluster = |name: &str| {
            shared
                .informers
                .cluster_queues
                .get(&ObjectKey::cluster(name))
        };
        Self {
            local: shared.informers.local_queues.get(&key),
            cluster: behind
                .as_ref()
                .filter(|(_, exists)| *exists)
                .and_then(|(n, _)| cluster(n)),
            name: behind.map(|(name, _)| name),
        }
    }

    fn is_local_active(&self) -> bool {
        self.local
            .as_ref()
            .is_none_or(|lq| lq.spec.stop_policy() == StopPolicy::None)
    }
}

async fn reconcile(shared: &Shared, key: &ObjectKey) -> kube::Result<Outcome> {
    let Some(wl) = shared.informers.workloads.get(key) else {
        return Ok(Outcome::Done);
    };
    match patch::ignore_not_found(look(shared, wl).await)? {
        Some(outcome) => Ok(outcome),
        None => Ok(Outcome::Done),
    }
}

/// Does the first thing that is due.
async fn look(shared: &Shared, wl: Arc<Workload>) -> kube::Result<Outcome> {
    let Some(wl) = over::orphaned(shared, wl).await? else {
        return Ok(Outcome::Done);
    };
    if variants::mark_parent(shared, &wl).await? {
        return Ok(Outcome::Done);
    }
    if let Some(outcome) = over::finished(shared, &wl).await? {
        return Ok(outcome);
    }
    if checks::set_requeue_time(shared, &wl).await? {
        return Ok(Outcome::Done);
    }
    let wl = match devices::count(shared, wl).await? {
        Counted::Further(wl) => wl,
        Counted::Stop(outcome) => return Ok(outcome),
    };
    let settled = if wl.spec.is_active() {
        active::activate(shared, &wl).await?
    } else {
        active::deactivate(shared, &wl).await?
    };
    if let Some(outcome) = settled {
        return Ok(outcome);
    }
    let queues = Queues::of(shared, &wl);
    if queues::restarted(shared, &wl, &queues).await?
        || queues::gated(shared, &wl).await?
        || checks::sync(shared, &wl, &queues).await?
    {
        return Ok(Outcome::Done);
    }
    let wl = unadmitted(shared, wl).await?;
    if !predicates::has_quota_reservation(&wl) {
        return Ok(Outcome::Done);
    }
    if checks::evict_failed(shared, &wl).await? || queues::stopped(shared, &wl, &queues).await? {
        return Ok(Outcome::Done);
    }
    let pods = limits::pods_ready(shared, &wl).await?;
    let time = limits::execution_time(shared, &wl).await?;
    let next = [pods, time].into_iter().flatten().min();
    Ok(next.map_or(Outcome::Done, Outcome::After))
}

/// Brings QuotaReserved, as long as it is false, and Admitted up to date.
async fn unadmitted(shared: &Shared, wl: Arc<Workload>) -> kube::Result<Arc<Workload>> {
    if predicates::is_admitted(&wl) {
        return Ok(wl);
    }
    let now = shared.now();
    let (why, gates) = {
        let engine = shared.engine();
        let waits = !predicates::has_quota_reservation(&wl);
        let why = waits.then(|| engine.unreserved_condition(&wl)).flatten();
        (why, engine.config().gates.clone())
    };
    let written = patch::admission_status(shared, &wl, Insist::Strict, |wl| {
        let mut changed = false;
        if let Some((reason, message)) = why {
            let cond = condition(wl, c::QUOTA_RESERVED, false, &reason, message, now);
            changed |= set_condition(&mut wl.status.conditions, cond);
        }
        changed | sync_admitted(wl, now, &gates)
    })
    .await?;
    let Some(written) = written else {
        return Ok(wl);
    };
    if predicates::is_admitted(&written)
        && let Some(reserved) = written.condition(c::QUOTA_RESERVED)
        && let Some(admission) = &written.status.admission
    {
        let waited = now
            .duration_since(reserved.last_transition_time.0)
            .as_secs_f64();
        let message = format!(
            "Admitted by ClusterQueue {}, wait time since reservation was {waited:.0}s",
            admission.cluster_queue
        );
        tell(
            shared,
            &written,
            EventType::Normal,
            c::event::ADMITTED,
            message,
        );
    }
    Ok(written)
}

/// Sets the Requeued condition. True when that changed anything.
fn set_requeued(
    wl: &mut Workload,
    reason: &str,
    message: &str,
    status: bool,
    now: jiff::Timestamp,
) -> bool {
    let cond = condition(wl, c::REQUEUED, status, reason, message, now);
    set_condition(&mut wl.status.conditions, cond)
}

fn tell(
    shared: &Shared,
    wl: &Workload,
    type_: EventType,
    reason: &str,
    message: impl Into<String>,
) {
    let telling = Telling::new(c::WORKLOAD_CONTROLLER, type_, reason, message);
    shared.recorder.tell(wl, telling);
}

//! Workloads that use devices of dynamic resource allocation: counted before they are queued, or
//! told why that cannot be done.

use std::sync::Arc;
use std::time::Duration;

use super::set_requeued;
use crate::Shared;
use crate::patch::{self, Insist};
use kueue_lab_admission::devices::{names_claims, requests_extended};
use kueue_lab_admission::status::unreserve_quota;
use kueue_lab_admission::workload::predicates::{self, Status};
use kueue_lab_api::constants as c;
use kueue_lab_api::constants::quota_reserved as q;
use kueue_lab_api::field::{FieldErrorKind, aggregate};
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_runtime::{Change, ObjectKey, Outcome, WorkQueue};

/// Workloads are looked at so long after a DeviceClass changed.
const AFTER_CLASS: Duration = Duration::from_secs(1);

/// Looks at pending Workloads again whose devices may count differently now.
pub(super) fn follow(shared: &Shared, queue: &WorkQueue<ObjectKey>) {
    let (told, s) = (queue.clone(), shared.clone());
    shared.informers.limit_ranges.subscribe(move |change| {
        let (Change::Added(range) | Change::Updated { new: range, .. } | Change::Deleted(range)) =
            change;
        let namespace = ObjectKey::of(range.as_ref()).namespace;
        recount(&s, &told, |wl| predicates::namespace(wl) == &*namespace);
    });
    let (told, s) = (queue.clone(), shared.clone());
    shared.informers.runtime_classes.subscribe(move |change| {
        let (Change::Added(class) | Change::Updated { new: class, .. } | Change::Deleted(class)) =
            change;
        let name = class.metadata.name.as_deref();
        recount(&s, &told, |wl| {
            let specs = wl.spec.pod_sets.iter();
            let mut specs = specs.filter_map(|set| set.template.spec.as_ref());
            specs.any(|spec| spec.runtime_class_name.as_deref() == name)
        });
    });
    let Some(devices) = &shared.informers.devices else {
        return;
    };
    let (told, s) = (queue.clone(), shared.clone());
    devices.classes.subscribe(move |change| {
        let versions = match change {
            Change::Updated { old, new } => vec![old, new],
            Change::Added(class) | Change::Deleted(class) => vec![class],
        };
        let names = versions.iter();
        let names = names.filter_map(|class| class.spec.extended_resource_name.as_deref());
        for name in names.filter(|name| !name.is_empty()) {
            for wl in pending(&s).filter(|wl| requests_extended(wl, name)) {
                told.add_after(ObjectKey::of(wl.as_ref()), AFTER_CLASS);
            }
        }
    });
}

fn pending(shared: &Shared) -> impl Iterator<Item = Arc<Workload>> {
    let all = shared.informers.workloads.list().into_iter();
    all.filter(|wl| predicates::status(wl) == Status::Pending)
}

fn recount(shared: &Shared, queue: &WorkQueue<ObjectKey>, concerns: impl Fn(&Workload) -> bool) {
    for wl in pending(shared).filter(|wl| concerns(wl)) {
        if shared.engine().waits_for_devices(&wl) {
            queue.add(ObjectKey::of(wl.as_ref()));
        }
    }
}

/// What becomes of a Workload after its devices were counted.
pub(super) enum Counted {
    /// Everything else that is due.
    Further(Arc<Workload>),
    /// Nothing else.
    Stop(Outcome),
}

/// Counts the devices of a pending Workload and queues it, or says why that cannot be done.
pub(super) async fn count(shared: &Shared, wl: Arc<Workload>) -> kube::Result<Counted> {
    let concerned = predicates::status(&wl) == Status::Pending;
    if !concerned || !shared.engine().waits_for_devices(&wl) {
        return Ok(Counted::Further(wl));
    }
    if !shared.engine().config().gates.kueue_dra_integration {
        let message =
            "Workload uses DRA resources but the KueueDRAIntegration feature gate is not enabled";
        refuse(shared, &wl, message, message, Requeued::Always).await?;
        return Ok(Counted::Stop(Outcome::Done));
    }
    if names_claims(&wl) {
        let message = "KueueDRAIntegration feature does not support use of resource claims";
        let requeued = "DRA resource claims not supported";
        refuse(shared, &wl, message, requeued, Requeued::WithNews).await?;
        return Ok(Counted::Stop(Outcome::Done));
    }
    let counted = shared.engine().count_devices(&wl);
    let counted = match counted {
        Ok(counted) => counted,
        Err(errors) => {
            let message = aggregate(&errors);
            tracing::debug!(workload = %predicates::key(&wl), message, "devices not counted");
            refuse(shared, &wl, &message, &message, Requeued::WithNews).await?;
            let passing = errors.iter().any(|e| e.kind == FieldErrorKind::Internal);
            return Ok(Counted::Stop(match passing {
                true => Outcome::Retry,
                false => Outcome::Done,
            }));
        }
    };
    let wl = accept(shared, wl).await?;
    let now = shared.now();
    let queued = shared.changing(|engine| {
        if !predicates::is_admissible(&wl, &engine.config().gates) {
            return Ok(());
        }
        engine.queue_with_devices(&wl, counted.as_ref(), now)
    });
    match queued {
        Ok(()) => Ok(Counted::Further(wl)),
        // Its queue is not there yet.
        Err(_) => Ok(Counted::Stop(Outcome::Retry)),
    }
}

/// When the Requeued condition is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Requeued {
    Always,
    /// Where something else is to be said too.
    WithNews,
}

/// Says that a Workload cannot be admitted, and that it is not queued.
async fn refuse(
    shared: &Shared,
    wl: &Workload,
    message: &str,
    requeued: &str,
    when: Requeued,
) -> kube::Result<()> {
    let gates = shared.engine().config().gates.clone();
    let reason = match gates.unadmitted_workloads_observability {
        true => q::MISCONFIGURED,
        false => q::INADMISSIBLE,
    };
    let now = shared.now();
    patch::admission_status(shared, wl, Insist::Strict, |wl| {
        let news = unreserve_quota(wl, reason, message, now, &gates);
        let with = when == Requeued::Always || news;
        let requeued = with && set_requeued(wl, q::INADMISSIBLE, requeued, false, now);
        news || requeued
    })
    .await?;
    Ok(())
}

/// The Workload without what was said against it. It is written where its devices could not be
/// counted before; otherwise whoever writes next leaves it out.
async fn accept(shared: &Shared, wl: Arc<Workload>) -> kube::Result<Arc<Workload>> {
    let said = [c::QUOTA_RESERVED, c::REQUEUED]
        .into_iter()
        .any(|type_| predicates::false_condition(&wl, type_).is_some());
    if !said {
        return Ok(wl);
    }
    let refused = predicates::false_condition(&wl, c::REQUEUED)
        .is_some_and(|cond| cond.reason == q::INADMISSIBLE);
    let clear = |wl: &mut Workload| {
        wl.status.conditions.retain(|cond| {
            cond.status != "False" || ![c::QUOTA_RESERVED, c::REQUEUED].contains(&&*cond.type_)
        });
        true
    };
    if refused {
        let written = patch::admission_status(shared, &wl, Insist::Strict, clear).await?;
        return Ok(written.unwrap_or(wl));
    }
    let mut cleared = Workload::clone(&wl);
    clear(&mut cleared);
    Ok(Arc::new(cleared))
}

//! Carrying what happens to variants over to the Workload they are variants of, and back.

use std::sync::Arc;

use super::family::Family;
use super::{holds, is_leaving, renew};
use crate::Shared;
use crate::patch::{self, Insist};
use kueue_lab_admission::status::{
    condition, finish, reserve_quota, set_condition, unreserve_quota,
};
use kueue_lab_admission::workload::predicates;
use kueue_lab_api::constants as c;
use kueue_lab_api::constants::quota_reserved as q;
use kueue_lab_api::v1beta2::Workload;

/// Evicts the Workload of an evicted variant, and takes the variant's quota once the Workload has
/// lost its own. True when that has to be waited for.
pub(super) async fn carry_eviction(shared: &Shared, family: &mut Family) -> kube::Result<bool> {
    let Some(i) = family.variants.iter().position(|wl| is_leaving(wl)) else {
        return Ok(false);
    };
    if !predicates::has_quota_reservation(&family.parent) {
        clear_admission(shared, &mut family.variants[i]).await?;
        return Ok(false);
    }
    if !predicates::is_evicted(&family.parent) {
        let message = "Admitted variant was evicted";
        evict(shared, &family.parent, "VariantEvicted", message).await?;
    }
    Ok(true)
}

async fn evict(shared: &Shared, wl: &Workload, reason: &str, message: &str) -> kube::Result<()> {
    let now = shared.now();
    patch::admission_status(shared, wl, Insist::Strict, |wl| {
        let cond = condition(wl, c::EVICTED, true, reason, message, now);
        set_condition(&mut wl.status.conditions, cond)
    })
    .await?;
    Ok(())
}

/// Takes the quota of an evicted variant.
pub(super) async fn clear_admission(shared: &Shared, wl: &mut Arc<Workload>) -> kube::Result<()> {
    let Some(evicted) = wl.condition(c::EVICTED).cloned() else {
        return Ok(());
    };
    let requeued = [c::evicted::PREEMPTED, c::evicted::NODE_FAILURES].contains(&&*evicted.reason);
    let gates = shared.engine().config().gates.clone();
    let reason = match gates.unadmitted_workloads_observability {
        true => q::PENDING_EVALUATION,
        false => q::PENDING,
    };
    let now = shared.now();
    let written = patch::admission_status(shared, wl, Insist::Strict, |wl| {
        let (why, message) = (&*evicted.reason, &*evicted.message);
        let cond = condition(wl, c::REQUEUED, requeued, why, message, now);
        let changed = set_condition(&mut wl.status.conditions, cond);
        unreserve_quota(wl, reason, message, now, &gates) || changed
    })
    .await?;
    renew(wl, written);
    Ok(())
}

/// Admits the Workload where one of its variants is, evicts it where none is any more, and lets
/// variants know of its pods and its end.
pub(super) async fn carry_admission(shared: &Shared, family: &mut Family) -> kube::Result<()> {
    if let Some(finished) = predicates::true_condition(&family.parent, c::FINISHED).cloned() {
        let now = shared.now();
        for wl in &mut family.variants {
            let written = patch::admission_status(shared, wl, Insist::Strict, |wl| {
                finish(wl, &finished.reason, &finished.message, now)
            });
            let written = patch::ignore_not_found(written.await)?.flatten();
            renew(wl, written);
        }
        return Ok(());
    }
    let admitted = family.variants.iter().position(|wl| holds(wl, c::ADMITTED));
    let is_admitted = predicates::is_admitted(&family.parent);
    let Some(i) = admitted else {
        if is_admitted {
            let message = "No variant is running";
            evict(shared, &family.parent, "ConcurrentAdmission", message).await?;
        }
        return Ok(());
    };
    let now = shared.now();
    if let Some(ready) = family.parent.condition(c::PODS_READY).cloned() {
        let variant = &mut family.variants[i];
        let written = patch::admission_status(shared, variant, Insist::Strict, |wl| {
            set_condition(&mut wl.status.conditions, ready)
        })
        .await?;
        renew(variant, written);
    }
    let variant = family.variants[i].clone();
    let Some(admission) = variant.status.admission.clone().filter(|_| !is_admitted) else {
        return Ok(());
    };
    let written = patch::admission_status(shared, &family.parent, Insist::Strict, |wl| {
        reserve_quota(wl, admission, now);
        let message = format!("The variant {} is admitted", predicates::name(&variant));
        let cond = condition(wl, c::ADMITTED, true, c::ADMITTED, message, now);
        set_condition(&mut wl.status.conditions, cond);
        true
    })
    .await?;
    renew(&mut family.parent, written);
    Ok(())
}

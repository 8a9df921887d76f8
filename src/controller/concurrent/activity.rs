//! Which variants go on trying once one of them is admitted.

use std::sync::Arc;

use super::family::Family;
use super::{is_leaving, quoted, renew, status, tell};
use crate::Shared;
use crate::core::write;
use crate::patch;
use kueue_lab_admission::workload::predicates;
use kueue_lab_api::constants::event;
use kueue_lab_api::v1beta2::{ConcurrentAdmissionMigrationMode as Mode, Workload};

/// Deactivates the variants that are not to be admitted any more.
pub(super) async fn put_to_sleep(shared: &Shared, family: &mut Family) -> kube::Result<()> {
    if !family.parent.spec.is_active() {
        let why = format!("Parent Workload {} not active", quoted(&family.parent));
        return set_all(shared, family, false, &why, |_, _| true).await;
    }
    let Some(admitted) = family.admitted().cloned() else {
        return Ok(());
    };
    let other = |wl: &Workload| predicates::name(wl) != predicates::name(&admitted);
    let name = quoted(&admitted);
    match family.mode() {
        Mode::RetainFirstAdmission => {
            let why = format!("RetainFirstAdmission: another Variant {name} is admitted");
            set_all(shared, family, false, &why, |_, wl| other(wl)).await
        }
        Mode::TryPreferredFlavors => {
            if let Some((last, at)) = family.last_acceptable() {
                let why = format!(
                    "being below lastAcceptableFlavor: {last:?} and another Variant admitted {name}"
                );
                set_all(shared, family, false, &why, |f, wl| {
                    other(wl) && f.rank(wl) > at
                })
                .await?;
            }
            let why = format!("being lower priority than admitted Variant {name}");
            let at = family.rank(&admitted);
            set_all(shared, family, false, &why, |f, wl| f.rank(wl) > at).await
        }
    }
}

/// Activates or deactivates the variants that `which` picks. What is put to sleep on its way out
/// gives its admission back.
async fn set_all(
    shared: &Shared,
    family: &mut Family,
    active: bool,
    why: &str,
    which: impl Fn(&Family, &Workload) -> bool,
) -> kube::Result<()> {
    let (done, reason) = match active {
        true => ("activated", event::ACTIVATED_VARIANT),
        false => ("deactivated", event::DEACTIVATED_VARIANT),
    };
    for i in 0..family.variants.len() {
        let wl = family.variants[i].clone();
        if !which(family, &wl) {
            continue;
        }
        let message = format!("Variant Workload {done} due to {why}");
        let written = set_active(shared, &wl, active, reason, message).await?;
        renew(&mut family.variants[i], written);
        if !active && is_leaving(&family.variants[i]) {
            status::clear_admission(shared, &mut family.variants[i]).await?;
        }
    }
    Ok(())
}

/// Activates the variants that may be admitted: all as long as none is, otherwise those that the
/// Workload would rather be at.
pub(super) async fn wake(shared: &Shared, family: &mut Family) -> kube::Result<()> {
    if !family.parent.spec.is_active() {
        return Ok(());
    }
    let Some(admitted) = family.admitted().cloned() else {
        let why = "no other Variant being admitted";
        return set_all(shared, family, true, why, |_, _| true).await;
    };
    if family.mode() == Mode::RetainFirstAdmission {
        return Ok(());
    }
    let name = quoted(&admitted);
    let better = family.rank(&admitted);
    let (why, last) = match family.last_acceptable() {
        Some((last, at)) => (
            format!(
                "being at least lastAcceptableFlavor: {last:?} and higher priority than admitted Variant {name}"
            ),
            at,
        ),
        None => (
            format!("being higher priority than admitted Variant {name}"),
            usize::MAX,
        ),
    };
    set_all(shared, family, true, &why, |f, wl| {
        f.rank(wl) <= last && f.rank(wl) < better
    })
    .await
}

/// Activates or deactivates a Workload; nothing when it is so already.
async fn set_active(
    shared: &Shared,
    wl: &Workload,
    active: bool,
    reason: &str,
    message: String,
) -> kube::Result<Option<Arc<Workload>>> {
    if wl.spec.is_active() == active {
        return Ok(None);
    }
    let mut changed = wl.clone();
    changed.spec.active = Some(active);
    let api = patch::workloads(shared, predicates::namespace(wl));
    let written = write::update(&api, &changed).await?;
    shared.informers.workloads.observe(written.clone());
    tell(shared, &written, reason, message);
    Ok(Some(written))
}

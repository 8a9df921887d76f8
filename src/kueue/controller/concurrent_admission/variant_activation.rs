//! Activation of variants after one of them is admitted.

use std::sync::Arc;

use super::controller::{is_evicted_with_quota, quoted, record_event, replace_if_written};
use super::sync_status;
use super::variant_family::VariantFamily;
use crate::ControllerContext;
use crate::update;
use crate::workload_patching;
use kueue_lab_api::constants::event;
use kueue_lab_api::v1beta2::{ConcurrentAdmissionMigrationMode as Mode, Workload};
use kueue_lab_engine::workload::predicates;

/// Deactivates the variants that must not be admitted any more.
pub(super) async fn deactivate_variants(
    shared: &ControllerContext,
    family: &mut VariantFamily,
) -> kube::Result<()> {
    if !family.parent.spec.is_active() {
        let cause = format!("Parent Workload {} not active", quoted(&family.parent));
        return set_matching_variants_active(shared, family, false, &cause, |_, _| true).await;
    }
    let Some(admitted) = family.admitted_variant().cloned() else {
        return Ok(());
    };
    let other = |wl: &Workload| predicates::name(wl) != predicates::name(&admitted);
    let name = quoted(&admitted);
    match family.migration_mode() {
        Mode::RetainFirstAdmission => {
            let cause = format!("RetainFirstAdmission: another Variant {name} is admitted");
            set_matching_variants_active(shared, family, false, &cause, |_, wl| other(wl)).await
        }
        Mode::TryPreferredFlavors => {
            if let Some((last, at)) = family.last_acceptable_flavor() {
                let cause = format!(
                    "being below lastAcceptableFlavor: {last:?} and another Variant admitted {name}"
                );
                set_matching_variants_active(shared, family, false, &cause, |f, wl| {
                    other(wl) && f.flavor_order(wl) > at
                })
                .await?;
            }
            let cause = format!("being lower priority than admitted Variant {name}");
            let at = family.flavor_order(&admitted);
            set_matching_variants_active(shared, family, false, &cause, |f, wl| {
                f.flavor_order(wl) > at
            })
            .await
        }
    }
}

/// Sets `spec.active` of the variants selected by `is_selected`. A deactivated variant that is evicted
/// loses its admission.
async fn set_matching_variants_active(
    shared: &ControllerContext,
    family: &mut VariantFamily,
    active: bool,
    cause: &str,
    is_selected: impl Fn(&VariantFamily, &Workload) -> bool,
) -> kube::Result<()> {
    let (done, reason) = match active {
        true => ("activated", event::ACTIVATED_VARIANT),
        false => ("deactivated", event::DEACTIVATED_VARIANT),
    };
    for i in 0..family.variants.len() {
        let wl = family.variants[i].clone();
        if !is_selected(family, &wl) {
            continue;
        }
        let message = format!("Variant Workload {done} due to {cause}");
        let written = set_active(shared, &wl, active, reason, message).await?;
        replace_if_written(&mut family.variants[i], written);
        if !active && is_evicted_with_quota(&family.variants[i]) {
            sync_status::clear_workload_admission(shared, &mut family.variants[i]).await?;
        }
    }
    Ok(())
}

/// Activates the variants that may be admitted: all while none is, then those with a preferred
/// flavor.
pub(super) async fn activate_variants(
    shared: &ControllerContext,
    family: &mut VariantFamily,
) -> kube::Result<()> {
    if !family.parent.spec.is_active() {
        return Ok(());
    }
    let Some(admitted) = family.admitted_variant().cloned() else {
        let cause = "no other Variant being admitted";
        return set_matching_variants_active(shared, family, true, cause, |_, _| true).await;
    };
    if family.migration_mode() == Mode::RetainFirstAdmission {
        return Ok(());
    }
    let name = quoted(&admitted);
    let better = family.flavor_order(&admitted);
    let (cause, last) = match family.last_acceptable_flavor() {
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
    set_matching_variants_active(shared, family, true, &cause, |f, wl| {
        f.flavor_order(wl) <= last && f.flavor_order(wl) < better
    })
    .await
}

/// Sets `spec.active` of a Workload, if it differs.
async fn set_active(
    shared: &ControllerContext,
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
    let api = workload_patching::workload_api(shared, predicates::namespace(wl));
    let written = update::update(&api, &changed).await?;
    shared.informers.workloads.observe_write(written.clone());
    record_event(shared, &written, reason, message);
    Ok(Some(written))
}

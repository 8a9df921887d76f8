//! The preemption gates of variants: one variant at a time may preempt, in the order of flavors.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::controller::{is_admissible, quoted, record_event, replace_if_written};
use super::variant_family::VariantFamily;
use crate::ControllerContext;
use crate::workload_patching::{self, StatusApplyMode};
use kueue_lab_api::constants::{self as c, event};
use kueue_lab_api::v1beta2::{PreemptionGatePosition, PreemptionGateState, Workload};
use kueue_lab_engine::status::open_preemption_gate;

/// The time without an admission after which the next gate is opened.
const PREEMPTION_TIMEOUT: Duration = Duration::from_secs(5 * 60);

/// The time at which the gate of a variant was opened; None while it is closed.
fn gate_opened_at(wl: &Workload) -> Option<Timestamp> {
    let gates = wl.status.preemption_gates.iter();
    let mut open = gates.filter(|gate| {
        gate.name == c::CONCURRENT_ADMISSION_PREEMPTION_GATE
            && gate.position == PreemptionGatePosition::Open
    });
    let since = |gate: &PreemptionGateState| gate.last_transition_time.as_ref().map(|t| t.0);
    open.next().map(|gate| since(gate).unwrap_or_default())
}

/// The first variant blocked on its preemption gate. None while an earlier variant has not been
/// evaluated: it may fit without preemption.
fn first_candidate_variant(shared: &ControllerContext, family: &VariantFamily) -> Option<usize> {
    for (i, wl) in family.variants.iter().enumerate() {
        if !is_admissible(shared, wl) || gate_opened_at(wl).is_some() {
            continue;
        }
        if wl.is_condition_true(c::BLOCKED_ON_PREEMPTION_GATES) {
            return Some(i);
        }
        // Not evaluated yet.
        wl.condition(c::QUOTA_RESERVED)?;
    }
    None
}

/// Opens the gate of the next candidate; returns the time until the next reconciliation.
pub(super) async fn open_next_preemption_gate(
    shared: &ControllerContext,
    family: &mut VariantFamily,
) -> kube::Result<Option<Duration>> {
    let Some(i) = first_candidate_variant(shared, family) else {
        return Ok(None);
    };
    let admissible = family.variants.iter();
    let admissible = admissible.filter(|wl| is_admissible(shared, wl));
    let now = shared.now();
    if let Some(last) = admissible.filter_map(|wl| gate_opened_at(wl)).max() {
        let timeout = SignedDuration::try_from(PREEMPTION_TIMEOUT).unwrap_or(SignedDuration::MAX);
        let remaining = timeout - now.duration_since(last);
        if remaining > SignedDuration::ZERO {
            return Ok(Some(remaining.unsigned_abs()));
        }
    }
    let wl = &mut family.variants[i];
    let written =
        workload_patching::patch_admission_status(shared, wl, StatusApplyMode::Strict, |wl| {
            open_preemption_gate(wl, c::CONCURRENT_ADMISSION_PREEMPTION_GATE, now);
            true
        })
        .await?;
    replace_if_written(wl, written);
    let message = format!("Opened preemption gate for variant workload {}", quoted(wl));
    record_event(shared, wl, event::PREEMPTION_UNGATED_VARIANT, message);
    Ok(Some(PREEMPTION_TIMEOUT))
}

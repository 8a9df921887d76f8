//! Which variant may preempt: one at a time, best flavor first, each for a while.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::family::Family;
use super::{holds, is_admissible, quoted, renew, tell};
use crate::Shared;
use crate::patch::{self, Insist};
use kueue_lab_api::constants::{self as c, event};
use kueue_lab_api::v1beta2::{PreemptionGatePosition, PreemptionGateState, Workload};

/// How long a variant has to be admitted by preemption before the next one may try as well.
const TURN: Duration = Duration::from_secs(5 * 60);

/// When the gate of a variant was opened; none while it is closed.
fn opened(wl: &Workload) -> Option<Timestamp> {
    let gates = wl.status.preemption_gates.iter();
    let mut open = gates.filter(|gate| {
        gate.name == c::CONCURRENT_ADMISSION_PREEMPTION_GATE
            && gate.position == PreemptionGatePosition::Open
    });
    let since = |gate: &PreemptionGateState| gate.last_transition_time.as_ref().map(|t| t.0);
    open.next().map(|gate| since(gate).unwrap_or_default())
}

/// The first variant in line that waits for its gate. None as long as one before it was not looked
/// at: it may do without preemption.
fn next_in_line(shared: &Shared, family: &Family) -> Option<usize> {
    for (i, wl) in family.variants.iter().enumerate() {
        if !is_admissible(shared, wl) || opened(wl).is_some() {
            continue;
        }
        if holds(wl, c::BLOCKED_ON_PREEMPTION_GATES) {
            return Some(i);
        }
        // Not looked at yet.
        wl.condition(c::QUOTA_RESERVED)?;
    }
    None
}

/// Opens the gate of the variant whose turn it is; gives when to look again.
pub(super) async fn let_one(
    shared: &Shared,
    family: &mut Family,
) -> kube::Result<Option<Duration>> {
    let Some(i) = next_in_line(shared, family) else {
        return Ok(None);
    };
    let trying = family.variants.iter();
    let trying = trying.filter(|wl| is_admissible(shared, wl));
    let now = shared.now();
    if let Some(last) = trying.filter_map(|wl| opened(wl)).max() {
        let turn = SignedDuration::try_from(TURN).unwrap_or(SignedDuration::MAX);
        let left = turn - now.duration_since(last);
        if left > SignedDuration::ZERO {
            return Ok(Some(left.unsigned_abs()));
        }
    }
    let wl = &mut family.variants[i];
    let written = patch::admission_status(shared, wl, Insist::Strict, |wl| {
        open(wl, now);
        true
    })
    .await?;
    renew(wl, written);
    let message = format!("Opened preemption gate for variant workload {}", quoted(wl));
    tell(shared, wl, event::PREEMPTION_UNGATED_VARIANT, message);
    Ok(Some(TURN))
}

fn open(wl: &mut Workload, now: Timestamp) {
    let name = c::CONCURRENT_ADMISSION_PREEMPTION_GATE;
    let gates = &mut wl.status.preemption_gates;
    gates.retain(|gate| gate.name != name);
    gates.push(PreemptionGateState {
        name: name.to_owned(),
        position: PreemptionGatePosition::Open,
        last_transition_time: Some(Time(now)),
    });
}

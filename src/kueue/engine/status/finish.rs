//! The Finished condition.

use jiff::Timestamp;

use super::conditions::condition;
use crate::workload::predicates;
use kueue_lab_api::conditions::set_condition;
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::Workload;

/// Sets the Finished condition. True unless it was finished.
pub fn finish(wl: &mut Workload, reason: &str, message: &str, now: Timestamp) -> bool {
    if predicates::is_finished(wl) {
        return false;
    }
    let cond = condition(wl, c::FINISHED, true, reason, message, now);
    set_condition(&mut wl.status.conditions, cond)
}

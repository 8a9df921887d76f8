//! The Active condition of an AdmissionCheck.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

use crate::ControllerContext;
use crate::enqueue_request::enqueue_request_for_object;
use crate::update::post_params;
use kueue_lab_api::conditions::find_condition;
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::AdmissionCheck;
use kueue_lab_controller_runtime::api_errors::ignore_not_found;
use kueue_lab_controller_runtime::{Api, ObjectKey, WorkQueue};
use kueue_lab_engine::status::set_condition;

/// The status of the condition, if it is set.
fn active_status(check: &AdmissionCheck) -> Option<&str> {
    Some(&find_condition(&check.status.conditions, c::ACTIVE)?.status)
}

/// A queue of AdmissionChecks, to which each change of one is added.
pub(super) fn admission_check_queue(shared: &ControllerContext) -> WorkQueue<ObjectKey> {
    let queue = WorkQueue::new(&shared.ctx);
    enqueue_request_for_object(&shared.informers.admission_checks, &queue);
    queue
}

/// Sets the condition, unless its status is the same.
///
/// # Errors
/// The status cannot be written.
pub(super) async fn set_active_condition(
    shared: &ControllerContext,
    check: &AdmissionCheck,
    (status, reason): (&str, &str),
    message: String,
) -> kube::Result<()> {
    match active_status(check) == Some(status) {
        true => Ok(()),
        false => write_active_condition(shared, check, (status, reason), message).await,
    }
}

/// Sets the condition.
///
/// # Errors
/// The status cannot be written.
pub(super) async fn write_active_condition(
    shared: &ControllerContext,
    check: &AdmissionCheck,
    (status, reason): (&str, &str),
    message: String,
) -> kube::Result<()> {
    let mut after = check.clone();
    let condition = Condition {
        type_: c::ACTIVE.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message,
        last_transition_time: Time(shared.now()),
        observed_generation: check.metadata.generation,
    };
    set_condition(&mut after.status.conditions, condition);
    let api = Api::<AdmissionCheck>::all(shared.ctx.client.clone());
    let name = ObjectKey::of(check).name;
    let written = api.replace_status(&name, &post_params(), &after).await;
    if let Some(written) = ignore_not_found(written)? {
        let checks = &shared.informers.admission_checks;
        checks.observe_write(Arc::new(written));
    }
    Ok(())
}

//! The AdmissionCheck reconciler of provisioning: sets Active according to whether the
//! ProvisioningRequestConfig exists.

use std::sync::Arc;

use crate::ControllerContext;
use crate::admission_checks::active_condition::{admission_check_queue, set_active_condition};
use crate::admission_checks::parameters_reference::{BadParametersRef, config_name};
use kueue_lab_api::constants as c;
use kueue_lab_api::constants::active::BAD_PARAMETERS_REF;
use kueue_lab_api::v1beta2::{AdmissionCheck, ProvisioningRequestConfig};
use kueue_lab_controller_runtime::{ObjectKey, ReconcileResult};

fn config_from_reference(
    shared: &ControllerContext,
    check: &AdmissionCheck,
) -> Result<Arc<ProvisioningRequestConfig>, BadParametersRef> {
    let kind = c::PROVISIONING_REQUEST_CONFIG_KIND;
    let name = config_name(check.spec.parameters.as_ref(), kind)?;
    let config = shared
        .informers
        .provisioning_request_configs
        .get(&ObjectKey::cluster(name));
    config.ok_or_else(|| BadParametersRef::NotFound(kind, name.to_owned()))
}

/// The ProvisioningRequestConfig of an AdmissionCheck.
pub(super) fn config_for_check(
    shared: &ControllerContext,
    check: &str,
) -> Result<Arc<ProvisioningRequestConfig>, BadParametersRef> {
    let known = shared
        .informers
        .admission_checks
        .get(&ObjectKey::cluster(check));
    let check =
        known.ok_or_else(|| BadParametersRef::NotFound("AdmissionCheck", check.to_owned()))?;
    config_from_reference(shared, &check)
}

/// The provisioning checks that reference a ProvisioningRequestConfig.
pub(super) fn checks_using_config(shared: &ControllerContext, config: &str) -> Vec<String> {
    let checks = shared.informers.admission_checks.list().into_iter();
    let users = checks.filter(|check| {
        check.spec.controller_name == c::PROVISIONING_REQUEST_CONTROLLER
            && config_name(
                check.spec.parameters.as_ref(),
                c::PROVISIONING_REQUEST_CONFIG_KIND,
            )
            .is_ok_and(|name| name == config)
    });
    users
        .filter_map(|check| check.metadata.name.clone())
        .collect()
}

/// Starts the reconciler of the Active condition.
pub(super) fn start(shared: &ControllerContext) {
    let queue = admission_check_queue(shared);
    let (queue_handle, s) = (queue.clone(), shared.clone());
    shared
        .informers
        .provisioning_request_configs
        .add_event_handler(move |change| {
            let config = change.object();
            for check in checks_using_config(&s, &ObjectKey::of(config.as_ref()).name) {
                queue_handle.add(ObjectKey::cluster(check));
            }
        });
    let s = shared.clone();
    queue.run(&shared.ctx, "provisioning-check", 1, move |key| {
        let shared = s.clone();
        async move { reconcile(&shared, &key).await }
    });
}

async fn reconcile(shared: &ControllerContext, key: &ObjectKey) -> kube::Result<ReconcileResult> {
    let Some(check) = shared.informers.admission_checks.get(key) else {
        return Ok(ReconcileResult::Done);
    };
    if check.spec.controller_name != c::PROVISIONING_REQUEST_CONTROLLER {
        return Ok(ReconcileResult::Done);
    }
    let (status, reason, message) = match config_from_reference(shared, &check) {
        Ok(_) => (
            "True",
            c::ACTIVE,
            "The admission check is active".to_owned(),
        ),
        Err(error) => ("False", BAD_PARAMETERS_REF, error.to_string()),
    };
    set_active_condition(shared, &check, (status, reason), message).await?;
    Ok(ReconcileResult::Done)
}

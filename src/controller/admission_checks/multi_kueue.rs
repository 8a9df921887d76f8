//! AdmissionChecks of MultiKueue, which is not implemented: their Active condition states so.

use super::active_condition::{active_status, admission_check_queue, set_active_condition};
use crate::ControllerContext;
use kueue_lab_api::constants as c;
use kueue_lab_runtime::{ObjectKey, ReconcileResult};

/// The reason of the Active condition.
const NOT_IMPLEMENTED: &str = "NotImplemented";
const MESSAGE: &str = "MultiKueue is not implemented; ClusterQueues with this check stay inactive";

/// Starts the reconciler of the Active condition.
pub(super) fn start(shared: &ControllerContext) {
    let queue = admission_check_queue(shared);
    let s = shared.clone();
    queue.run(&shared.ctx, "multikueue-check", 1, move |key| {
        let shared = s.clone();
        async move { reconcile(&shared, &key).await }
    });
}

async fn reconcile(shared: &ControllerContext, key: &ObjectKey) -> kube::Result<ReconcileResult> {
    let check = shared.informers.admission_checks.get(key);
    let unset = check.filter(|check| {
        check.spec.controller_name == c::MULTI_KUEUE_CONTROLLER && active_status(check).is_none()
    });
    if let Some(check) = unset {
        tracing::warn!("AdmissionCheck {}: {MESSAGE}", key.name);
        let status = ("False", NOT_IMPLEMENTED);
        set_active_condition(shared, &check, status, MESSAGE.to_owned()).await?;
    }
    Ok(ReconcileResult::Done)
}

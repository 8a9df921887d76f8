//! Waits for the binding conditions of devices before a pod is bound: their driver sets them in the
//! status of the claim, when a device is attached to the node for example.

use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use k8s_openapi::api::resource::v1::{
    AllocatedDeviceStatus, DeviceRequestAllocationResult, ResourceClaim,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::PodInfo;
use super::bind_claims::BindClaimsError;
use super::run::Scheduler;
use kueue_lab_component_helpers::conditions::find_true_condition;
use kueue_lab_controller_runtime::ObjectKey;
use kueue_lab_controller_utils::event_recorder::NewEvent;
use kueue_lab_controller_utils::resource_claims::allocation;

/// How often the conditions are read.
const POLL_INTERVAL: Duration = Duration::from_secs(5);
/// How long a pod waits for the conditions.
const BINDING_TIMEOUT: SignedDuration = SignedDuration::from_secs(600);

/// The devices of a claim with binding conditions.
fn conditional_devices(
    claim: &ResourceClaim,
) -> impl Iterator<Item = &DeviceRequestAllocationResult> {
    let results = allocation(claim).and_then(|a| a.devices.as_ref()?.results.as_ref());
    let results = results.into_iter().flatten();
    results.filter(|result| !conditions(result).is_empty())
}

fn conditions(result: &DeviceRequestAllocationResult) -> &[String] {
    result.binding_conditions.as_deref().unwrap_or_default()
}

/// The status of an allocated device, as its driver reports it.
fn device_status<'a>(
    claim: &'a ResourceClaim,
    result: &DeviceRequestAllocationResult,
) -> Option<&'a AllocatedDeviceStatus> {
    let devices = claim.status.as_ref()?.devices.as_ref()?;
    devices.iter().find(|device| {
        (&device.driver, &device.pool, &device.device)
            == (&result.driver, &result.pool, &result.device)
            && device.share_id == result.share_id
    })
}

fn true_condition<'a>(status: &'a AllocatedDeviceStatus, type_: &str) -> Option<&'a Condition> {
    find_true_condition(status.conditions.as_deref()?, type_)
}

/// Whether all devices of a claim are ready.
///
/// # Errors
/// A failure condition.
fn is_ready(claim: &ResourceClaim) -> Result<bool, BindClaimsError> {
    let mut ready = true;
    for result in conditional_devices(claim) {
        let Some(status) = device_status(claim, result) else {
            ready = false;
            continue;
        };
        for failure in result.binding_failure_conditions.iter().flatten() {
            if let Some(condition) = true_condition(status, failure) {
                return Err(BindClaimsError::BindingFailed {
                    claim: ObjectKey::of(claim),
                    reason: condition.reason.clone(),
                    message: condition.message.clone(),
                });
            }
        }
        let mut wanted = conditions(result).iter();
        ready &= wanted.all(|type_| true_condition(status, type_).is_some());
    }
    Ok(ready)
}

impl Scheduler {
    /// Waits until the devices of the claims of a pod are ready. Otherwise their allocations are removed, so
    /// that the next attempt may choose other devices.
    ///
    /// # Errors
    /// A device cannot be bound, or is not in time.
    pub(super) async fn wait_for_binding_conditions(
        &self,
        pod: &PodInfo,
        keys: &[ObjectKey],
        node: &str,
    ) -> Result<(), BindClaimsError> {
        let current = || -> Vec<Arc<ResourceClaim>> {
            let state = self.state.lock();
            keys.iter().filter_map(|key| state.dra.claim(key)).collect()
        };
        let has_conditions = |claim: &&Arc<ResourceClaim>| {
            let mut devices = conditional_devices(claim);
            devices.next().is_some()
        };
        if !current().iter().any(|claim| has_conditions(&claim)) {
            return Ok(());
        }
        let message = format!("waiting for binding conditions for device on node {node}");
        let event = NewEvent::normal("BindingConditionsPending", message);
        self.record_event(pod, "Scheduling", event);
        let clock = &self.context.clock;
        let started = clock.now();
        let failure = loop {
            let claims = current();
            let ready = claims.iter().map(|claim| is_ready(claim));
            match ready.collect::<Result<Vec<bool>, BindClaimsError>>() {
                Err(failure) => break failure,
                Ok(ready) if ready.iter().all(|ready| *ready) => return Ok(()),
                Ok(_) if clock.now().duration_since(started) >= BINDING_TIMEOUT => {
                    break BindClaimsError::BindingTimeout;
                }
                Ok(_) => clock.sleep(POLL_INTERVAL).await,
            }
        };
        for claim in current().iter().filter(has_conditions) {
            self.deallocate_claim(claim.clone()).await;
        }
        Err(failure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn ready(conditions: Value) -> Result<bool, String> {
        let claim = json!({
            "metadata": {"namespace": "ns", "name": "c"},
            "status": {
                "allocation": {"devices": {"results": [{
                    "request": "r", "driver": "d", "pool": "p", "device": "x",
                    "bindingConditions": ["Attached"], "bindingFailureConditions": ["Failed"],
                }]}},
                "devices": [{"driver": "d", "pool": "p", "device": "x", "conditions": conditions}],
            },
        });
        is_ready(&serde_json::from_value(claim).unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn all_conditions_and_no_failure_are_needed() {
        let condition = |type_: &str, status: &str| json!({"type": type_, "status": status, "reason": "R", "message": "m", "lastTransitionTime": "2026-03-02T12:00:00Z"});
        assert_eq!(ready(json!([])), Ok(false));
        assert_eq!(ready(json!([condition("Attached", "False")])), Ok(false));
        assert_eq!(ready(json!([condition("Attached", "True")])), Ok(true));
        assert_eq!(
            ready(json!([
                condition("Attached", "True"),
                condition("Failed", "True")
            ])),
            Err("claim ns/c binding failed: reason=R, message=\"m\"".to_owned())
        );
    }
}

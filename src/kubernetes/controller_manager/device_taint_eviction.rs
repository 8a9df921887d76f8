//! The device taint eviction controller: deletes pods with allocated devices whose NoExecute taints their
//! claims do not tolerate, at once or when `tolerationSeconds` have passed since the taint was added.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::resource::v1::{
    DeviceRequestAllocationResult, DeviceTaint, ResourceClaim, ResourceSlice,
};

use kueue_lab_component_helpers::toleration::tolerates_device_taint;
use kueue_lab_controller_runtime::{Context, Informer, ObjectKey, ReconcileResult, WorkQueue};
use kueue_lab_controller_utils::event_recorder::{EventRecorder, NewEvent};
use kueue_lab_controller_utils::pod_eviction::{Eviction, add_condition_and_delete_pod};
use kueue_lab_controller_utils::resource_claims::{
    ResourceClaimInformers, allocation, reserved_for,
};

/// Starts the controller.
pub fn start(context: &Context, pods: &Informer<Pod>, informers: &ResourceClaimInformers) {
    let queue: WorkQueue<ObjectKey> = WorkQueue::new(context);
    let wake = queue.clone();
    informers
        .claims
        .add_event_handler(move |change| wake.add(ObjectKey::of(&**change.object())));
    let (wake, claims) = (queue.clone(), informers.claims.clone());
    informers.slices.add_event_handler(move |change| {
        let slice = change.object();
        if no_execute_taints(slice).next().is_none() {
            return;
        }
        for claim in claims.list() {
            if results(&claim).any(|result| is_of_pool(slice, result)) {
                wake.add(ObjectKey::of(&*claim));
            }
        }
    });
    let controller = Arc::new(DeviceTaintEviction {
        context: context.clone(),
        pods: pods.clone(),
        informers: informers.clone(),
        recorder: EventRecorder::new(context, "device-taint-eviction-controller"),
    });
    queue.run(context, "device-taint-eviction", 1, move |key| {
        let controller = controller.clone();
        async move { controller.reconcile(&key).await }
    });
}

struct DeviceTaintEviction {
    context: Context,
    pods: Informer<Pod>,
    informers: ResourceClaimInformers,
    recorder: EventRecorder,
}

fn results(claim: &ResourceClaim) -> impl Iterator<Item = &DeviceRequestAllocationResult> {
    let results = allocation(claim).and_then(|a| a.devices.as_ref()?.results.as_ref());
    results.into_iter().flatten()
}

fn is_of_pool(slice: &ResourceSlice, result: &DeviceRequestAllocationResult) -> bool {
    slice.spec.driver == result.driver && slice.spec.pool.name == result.pool
}

/// The taints of devices with the names of these devices.
fn no_execute_taints(slice: &ResourceSlice) -> impl Iterator<Item = (&str, &DeviceTaint)> {
    let devices = slice.spec.devices.iter().flatten();
    devices.flat_map(|device| {
        let taints = device.taints.iter().flatten();
        let taints = taints.filter(|taint| taint.effect == "NoExecute");
        taints.map(|taint| (&*device.name, taint))
    })
}

/// The time of the eviction because of a taint of a device; None if it is tolerated for ever.
fn eviction_time(result: &DeviceRequestAllocationResult, taint: &DeviceTaint) -> Option<Timestamp> {
    let added = taint.time_added.as_ref().map(|time| time.0);
    let added = added.unwrap_or(Timestamp::MIN);
    let tolerations = result.tolerations.iter().flatten();
    let mut tolerations = tolerations
        .filter(|t| tolerates_device_taint(t, taint))
        .peekable();
    if tolerations.peek().is_none() {
        return Some(added);
    }
    let seconds = tolerations.filter_map(|toleration| toleration.toleration_seconds);
    let shortest = SignedDuration::from_secs(seconds.min()?.max(0));
    Some(added.checked_add(shortest).unwrap_or(Timestamp::MAX))
}

impl DeviceTaintEviction {
    async fn reconcile(&self, key: &ObjectKey) -> kube::Result<ReconcileResult> {
        let Some(claim) = self.informers.claims.get(key) else {
            return Ok(ReconcileResult::Done);
        };
        let Some(at) = self.eviction_time(&claim) else {
            return Ok(ReconcileResult::Done);
        };
        let remaining = at.duration_since(self.context.clock.now());
        if let Some(remaining) = Duration::try_from(remaining).ok().filter(|r| !r.is_zero()) {
            return Ok(ReconcileResult::RequeueAfter(remaining));
        }
        for consumer in reserved_for(&claim) {
            let pod = ObjectKey::new(&*key.namespace, &*consumer.name);
            let pod = self.pods.get(&pod);
            let evicted = pod.filter(|pod| {
                pod.metadata.uid.as_deref() == Some(&*consumer.uid)
                    && pod.metadata.deletion_timestamp.is_none()
            });
            if let Some(pod) = evicted {
                self.evict(&pod).await?;
            }
        }
        Ok(ReconcileResult::Done)
    }

    /// The time of the first device of a claim.
    fn eviction_time(&self, claim: &ResourceClaim) -> Option<Timestamp> {
        let used: Vec<_> = results(claim).collect();
        if used.is_empty() {
            return None;
        }
        let slices = self.informers.slices.list();
        let times = used.into_iter().flat_map(|result| {
            let of_pool = slices.iter().filter(|slice| is_of_pool(slice, result));
            let taints = of_pool.flat_map(|slice| no_execute_taints(slice));
            let taints = taints.filter(|(device, _)| *device == result.device);
            taints.filter_map(|(_, taint)| eviction_time(result, taint))
        });
        times.min()
    }

    async fn evict(&self, pod: &Pod) -> kube::Result<()> {
        let eviction = Eviction {
            event: NewEvent::normal("DeviceTaintManagerEviction", "Marking for deletion"),
            reason: "DeletionByDeviceTaintManager",
            message: "Device Taint manager: deleting due to NoExecute taint",
        };
        let (context, pods) = (&self.context, &self.pods);
        add_condition_and_delete_pod(context, pods, &self.recorder, pod, eviction).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_shortest_toleration_counts_from_the_time_of_the_taint() {
        let taint =
            json!({"key": "unhealthy", "effect": "NoExecute", "timeAdded": "2026-03-02T12:00:00Z"});
        let taint: DeviceTaint = serde_json::from_value(taint).unwrap();
        let time = |tolerations: serde_json::Value| {
            let result = json!({"request": "r", "driver": "d", "pool": "p", "device": "x", "tolerations": tolerations});
            let result = serde_json::from_value(result).unwrap();
            eviction_time(&result, &taint).map(|time| time.to_string())
        };
        assert_eq!(time(json!([])).as_deref(), Some("2026-03-02T12:00:00Z"));
        let exists = json!({"key": "unhealthy", "operator": "Exists"});
        assert_eq!(time(json!([exists])), None);
        let mut limited = exists.clone();
        limited["tolerationSeconds"] = json!(30);
        assert_eq!(
            time(json!([exists, limited])).as_deref(),
            Some("2026-03-02T12:00:30Z")
        );
    }
}

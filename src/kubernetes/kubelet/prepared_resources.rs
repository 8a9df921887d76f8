//! The devices of new pods: a pod starts when its ResourceClaims are reserved for it.

use k8s_openapi::api::core::v1::{Node, Pod};

use super::pod_workers::Shared;
use kueue_lab_controller_runtime::ObjectKey;
use kueue_lab_controller_utils::resource_claims;

impl Shared {
    /// Whether the ResourceClaims of a new pod are reserved for it. If not, the watch of claims
    /// delivers the pod again.
    pub(super) fn resources_are_prepared(&self, key: &ObjectKey, pod: &Pod, node: &Node) -> bool {
        let Some(claims) = &self.claims else {
            return true;
        };
        let has_started = pod.status.as_ref().is_some_and(|s| s.start_time.is_some());
        if has_started || !resource_claims::has_claims(pod) {
            return true;
        }
        let uid = pod.metadata.uid.as_deref().unwrap_or_default();
        let known = self.simulated_pods.lock();
        if known.get(key).is_some_and(|run| run.uid == uid) {
            return true;
        }
        drop(known);
        let prepared = resource_claims::are_prepared(pod, claims);
        if let Err(error) = &prepared {
            let message = format!("Failed to prepare dynamic resources: {error}");
            self.record_event(pod, node, None, "FailedPrepareDynamicResources", message);
        }
        prepared.is_ok()
    }
}

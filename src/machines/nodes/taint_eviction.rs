//! Taint-based eviction: deletes pods that do not tolerate a NoExecute taint of their node.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Node, Pod, Taint};
use kube::ResourceExt;
use kube::api::{DeleteParams, Preconditions};
use kueue_lab_runtime::Api;
use serde_json::json;

use super::node_lifecycle::NodeLifecycleController;
use kueue_lab_runtime::ObjectKey;

/// Until when a pod tolerates a taint; `None` for an unlimited toleration.
fn toleration_expiry(pod: &Pod, taint: &Taint, now: Timestamp) -> Option<Timestamp> {
    let tolerations = pod.spec.as_ref().and_then(|s| s.tolerations.as_ref());
    let since = taint.time_added.as_ref().map_or(now, |t| t.0);
    let limits: Vec<Option<i64>> = tolerations
        .into_iter()
        .flatten()
        .filter(|t| crate::scheduler::tolerates(t, taint))
        .map(|t| t.toleration_seconds)
        .collect();
    if limits.is_empty() {
        return Some(now);
    }
    let shortest = limits.into_iter().flatten().min()?;
    let time = SignedDuration::from_secs(shortest.max(0));
    Some(since.checked_add(time).unwrap_or(Timestamp::MAX))
}

impl NodeLifecycleController {
    /// Deletes the pods whose toleration of a NoExecute taint has ended; returns when the next one
    /// ends.
    pub(super) async fn evict_pods(
        &self,
        node: &Node,
        now: Timestamp,
    ) -> kube::Result<Option<Timestamp>> {
        let taints = node.spec.as_ref().and_then(|s| s.taints.as_ref());
        let executing: Vec<&Taint> = taints
            .into_iter()
            .flatten()
            .filter(|t| t.effect == "NoExecute")
            .collect();
        let mut next: Option<Timestamp> = None;
        for pod in self.pods.by_index("node", &node.name_any()) {
            if pod.metadata.deletion_timestamp.is_some() {
                continue;
            }
            let Some(at) = executing
                .iter()
                .filter_map(|t| toleration_expiry(&pod, t, now))
                .min()
            else {
                continue;
            };
            if at <= now {
                self.delete(&pod).await?;
            } else {
                next = Some(next.map_or(at, |n| n.min(at)));
            }
        }
        Ok(next)
    }

    async fn delete(&self, pod: &Pod) -> kube::Result<()> {
        let patch = json!({"metadata": {"uid": pod.uid()}, "status": {"conditions": [{
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "DeletionByTaintManager",
            "message": "Taint manager: deleting due to NoExecute taint",
            "lastTransitionTime": self.clock.time(),
        }]}});
        self.patch_pod(pod, patch).await;
        let key = ObjectKey::of(pod);
        self.record_event(
            pod,
            "TaintManagerEviction",
            format!("Marking for deletion Pod {key}"),
        );
        let api: Api<Pod> = Api::namespaced(self.client.clone(), &key.namespace);
        let params = DeleteParams {
            preconditions: Some(Preconditions {
                uid: pod.uid(),
                resource_version: None,
            }),
            ..DeleteParams::default()
        };
        match api.delete(&key.name, &params).await {
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
            other => other.map(drop),
        }
    }
}

//! The pod garbage collector: deletes orphaned pods of deleted nodes, terminating pods that were
//! never scheduled, and the oldest terminated pods beyond a threshold.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::ResourceExt;
use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use serde_json::json;

use crate::workload_controllers::SharedInformers;
use kueue_lab_controller_runtime::api_errors::{is_conflict, is_not_found};
use kueue_lab_controller_runtime::{
    Api, Change, Context, Informer, ObjectKey, ReconcileResult, WorkQueue,
};
use kueue_lab_controller_utils::control_plane_node::CONTROL_PLANE_NODE;
use kueue_lab_controller_utils::pods;

const WORKERS: usize = 5;
/// How long a node may be missing before its pods are deleted.
const QUARANTINE_TIME: Duration = Duration::from_secs(40);

/// How often terminating pods without a node are collected.
const GC_CHECK_PERIOD: SignedDuration = SignedDuration::from_secs(20);

/// How many terminated pods are kept.
const TERMINATED_POD_THRESHOLD: usize = 12_500;
/// Batch period for terminated pods.
const TERMINATED_CHECK_DELAY: Duration = Duration::from_secs(20);

/// Starts the collector in the tasks of `context`.
pub(super) fn start(context: &Context, shared: &SharedInformers) {
    let queue: WorkQueue<ObjectKey> = WorkQueue::new(context);
    let nodes = shared.nodes.clone();
    let surplus: WorkQueue<()> = WorkQueue::new(context);
    let (on_pod, known, count) = (queue.clone(), nodes.clone(), surplus.clone());
    let clock = context.clock.clone();
    let first = clock.now();
    shared.pods.add_event_handler(move |change| {
        if let Change::Added(pod) | Change::Updated { new: pod, .. } = change {
            if pods::is_terminal(pod) {
                count.add_after((), TERMINATED_CHECK_DELAY);
            }
            match pods::node_of(pod) {
                // It has no Node object.
                Some(CONTROL_PLANE_NODE) => {}
                Some(node) if known.get(&ObjectKey::cluster(node)).is_none() => {
                    on_pod.add_after(ObjectKey::of(pod.as_ref()), QUARANTINE_TIME);
                }
                None if pods::is_deleting(pod) => {
                    on_pod.add_at(
                        ObjectKey::of(pod.as_ref()),
                        next_gc_check(first, clock.now()),
                    );
                }
                _ => {}
            }
        }
    });
    let (on_node, all) = (queue.clone(), shared.pods.clone());
    nodes.add_event_handler(move |change| {
        if let Change::Deleted(node) = change {
            for pod in all.by_index(pods::ON_NODE, &node.name_any()) {
                on_node.add_after(ObjectKey::of(pod.as_ref()), QUARANTINE_TIME);
            }
        }
    });
    let collector = Arc::new(PodGcController {
        client: context.client.clone(),
        clock: context.clock.clone(),
        nodes,
        pods: shared.pods.clone(),
    });
    let run = context.clone();
    context.tasks.spawn("pod-gc", async move {
        collector.nodes.wait_for_cache_sync().await;
        collector.pods.wait_for_cache_sync().await;
        let terminated_pod_collector = collector.clone();
        surplus.run(&run, "pod-gc", 1, move |()| {
            let terminated_pod_collector = terminated_pod_collector.clone();
            async move {
                terminated_pod_collector
                    .gc_terminated(TERMINATED_POD_THRESHOLD)
                    .await
            }
        });
        queue.run(&run, "pod-gc", WORKERS, move |key| {
            let collector = collector.clone();
            async move { collector.gc_pod(&key).await }
        });
    });
}

/// The first check at or after `now`, when the first of all was at `first`.
fn next_gc_check(first: Timestamp, now: Timestamp) -> Timestamp {
    let elapsed = now.duration_since(first).as_millis().max(0);
    let period = GC_CHECK_PERIOD.as_millis();
    let remaining = (period - elapsed % period) % period;
    let remaining = SignedDuration::from_millis(i64::try_from(remaining).unwrap_or_default());
    now.saturating_add(remaining).unwrap_or(now)
}

struct PodGcController {
    client: kube::Client,
    clock: kueue_lab_clock::Clock,
    nodes: Informer<Node>,
    pods: Informer<Pod>,
}

impl PodGcController {
    async fn gc_pod(&self, key: &ObjectKey) -> Result<ReconcileResult, kube::Error> {
        let Some(pod) = self.pods.get(key) else {
            return Ok(ReconcileResult::Done);
        };
        let given_up = match pods::node_of(&pod) {
            Some(node) => self.is_node_gone(node).await?,
            None => pods::is_deleting(&pod),
        };
        if !given_up {
            return Ok(ReconcileResult::Done);
        }
        match self.mark_failed_and_delete(&pod).await {
            Err(error) if is_not_found(&error) || is_conflict(&error) => Ok(ReconcileResult::Done),
            Err(error) => Err(error),
            Ok(()) => Ok(ReconcileResult::Done),
        }
    }

    /// Deletes the oldest terminated pods beyond `most`.
    async fn gc_terminated(&self, most: usize) -> Result<ReconcileResult, kube::Error> {
        let mut ended = self.pods.by_index(pods::ENDED, "");
        ended.retain(|pod| !pods::is_deleting(pod));
        let surplus = ended.len().saturating_sub(most);
        if surplus == 0 {
            return Ok(ReconcileResult::Done);
        }
        ended.sort_by_key(|pod| (pods::created(pod.as_ref()), pod.name_any()));
        for pod in ended.iter().take(surplus) {
            match self.mark_failed_and_delete(pod).await {
                Err(error) if !is_not_found(&error) && !is_conflict(&error) => return Err(error),
                _ => {}
            }
        }
        Ok(ReconcileResult::Done)
    }

    async fn is_node_gone(&self, node: &str) -> Result<bool, kube::Error> {
        if self.nodes.get(&ObjectKey::cluster(node)).is_some() {
            return Ok(false);
        }
        // The watch may lag behind: ask the server.
        let api: Api<Node> = Api::all(self.client.clone());
        Ok(api.get_opt(node).await?.is_none())
    }

    async fn mark_failed_and_delete(&self, pod: &Pod) -> Result<(), kube::Error> {
        let namespace = pod.namespace().unwrap_or_default();
        let api: Api<Pod> = Api::namespaced(self.client.clone(), &namespace);
        let name = pod.name_any();
        if !pods::is_terminal(pod) {
            // Mark the pod as failed first, with the reason, as upstream does.
            let mut status = json!({"phase": "Failed"});
            if pods::node_of(pod).is_some() {
                status["conditions"] = json!([{
                    "type": "DisruptionTarget",
                    "status": "True",
                    "reason": "DeletionByPodGC",
                    "message": "PodGC: node no longer exists",
                    "lastTransitionTime": self.clock.time(),
                }]);
            }
            let patch = Patch::Strategic(json!({"metadata": {"uid": pod.uid()}, "status": status}));
            api.patch_status(&name, &PatchParams::default(), &patch)
                .await?;
        }
        let params = DeleteParams {
            grace_period_seconds: Some(0),
            preconditions: Some(Preconditions {
                uid: pod.uid(),
                resource_version: None,
            }),
            ..DeleteParams::default()
        };
        api.delete(&name, &params).await.map(|_| ())
    }
}

//! The node lifecycle controller: nodes whose Lease is not renewed become Unknown, and nodes that
//! are not Ready are tainted.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Node, Pod, Taint};
use kube::api::{Patch, PatchParams};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};

use super::node_health::NodeHealthMap;
use super::node_lease;
use kueue_lab_clock::Clock;
use kueue_lab_controller_runtime::{Api, Context, Informer, ObjectKey, ReconcileResult, WorkQueue};
use kueue_lab_controller_utils::event_recorder::{EventRecorder, NewEvent};

/// The taint of a node with `Ready: False`.
pub(super) const NOT_READY: &str = "node.kubernetes.io/not-ready";
/// The taint of a node with `Ready: Unknown`.
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";
/// Seconds after its creation within which a kubelet has to report the status of a node.
const NODE_STARTUP_GRACE_PERIOD: i64 = 60;
/// The conditions that a kubelet reports.
const KUBELET_CONDITIONS: [&str; 4] = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"];
/// How many nodes are reconciled concurrently.
const WORKERS: usize = 4;

struct NodeLifecycleController {
    client: Client,
    clock: Clock,
    nodes: Informer<Node>,
    pods: Informer<Pod>,
    leases: Informer<Lease>,
    health: Arc<NodeHealthMap>,
    recorder: EventRecorder,
}

/// Starts the controller; `pods` must have an index `node`.
pub fn start(context: &Context, nodes: &Informer<Node>, pods: &Informer<Pod>) {
    let leases = Api::namespaced(context.client.clone(), node_lease::NAMESPACE);
    let lifecycle = Arc::new(NodeLifecycleController {
        client: context.client.clone(),
        clock: context.clock.clone(),
        nodes: nodes.clone(),
        pods: pods.clone(),
        leases: Informer::builder(leases).start(context),
        health: Arc::default(),
        recorder: EventRecorder::new(context, "node-controller"),
    });
    let queue: WorkQueue<String> = WorkQueue::new(context);
    let (wake, health) = (queue.clone(), lifecycle.health.clone());
    let clock = context.clock.clone();
    lifecycle.leases.add_event_handler(move |change| {
        if health.observe(change, clock.now()) {
            wake.add(change.object().name_any());
        }
    });
    let wake = queue.clone();
    nodes.add_event_handler(move |change| wake.add(change.object().name_any()));
    queue.run(context, "node-lifecycle", WORKERS, move |name| {
        let lifecycle = lifecycle.clone();
        async move {
            lifecycle.leases.wait_for_cache_sync().await;
            lifecycle.reconcile(&name).await
        }
    });
}

impl NodeLifecycleController {
    async fn reconcile(&self, name: &str) -> kube::Result<ReconcileResult> {
        let Some(node) = self.nodes.get(&ObjectKey::cluster(name)) else {
            return Ok(ReconcileResult::Done);
        };
        let now = self.clock.now();
        let Some(status) = ready(&node) else {
            return self.reconcile_never_updated(&node, now).await;
        };
        let grace_period_end = self.health.grace_period_end(name);
        let is_overdue = grace_period_end.is_some_and(|at| at <= now);
        if is_overdue && status != "Unknown" {
            // The watch may lag behind: check the Lease on the server first.
            let api: Api<Lease> = Api::namespaced(self.client.clone(), node_lease::NAMESPACE);
            let lease = api.get_opt(name).await?;
            if lease.is_some_and(|lease| self.health.is_outdated(&lease)) {
                return Ok(ReconcileResult::Requeue);
            }
            self.mark_node_unknown(&node).await?;
            return Ok(ReconcileResult::Requeue);
        }
        if let Some(taints) = self.taints(&node, status) {
            self.write_taints(&node, taints).await?;
            return Ok(ReconcileResult::Requeue);
        }
        Ok(match grace_period_end.filter(|at| *at > now) {
            Some(at) => requeue_at(at, now),
            None => ReconcileResult::Done,
        })
    }

    /// Handles a node whose status no kubelet has reported: it keeps its taints, such as not-ready of
    /// its creation, until the startup grace period ends.
    async fn reconcile_never_updated(
        &self,
        node: &Node,
        now: Timestamp,
    ) -> kube::Result<ReconcileResult> {
        let created = node.metadata.creation_timestamp.as_ref().map(|t| t.0);
        let grace = SignedDuration::from_secs(NODE_STARTUP_GRACE_PERIOD);
        let end = created.and_then(|created| created.checked_add(grace).ok());
        if let Some(end) = end.filter(|end| *end > now) {
            return Ok(requeue_at(end, now));
        }
        let unknown = KUBELET_CONDITIONS.map(|condition| {
            json!({
                "type": condition,
                "status": "Unknown",
                "reason": "NodeStatusNeverUpdated",
                "message": "Kubelet never posted node status.",
                "lastHeartbeatTime": node.metadata.creation_timestamp,
                "lastTransitionTime": self.clock.time(),
            })
        });
        let node = self.patch_conditions(node, &unknown).await?;
        self.nodes.observe_write(Arc::new(node));
        Ok(ReconcileResult::Requeue)
    }

    async fn patch_conditions(&self, node: &Node, conditions: &[Value]) -> kube::Result<Node> {
        let api: Api<Node> = Api::all(self.client.clone());
        let patch = json!({"status": {"conditions": conditions}});
        let (params, patch) = (PatchParams::default(), Patch::Strategic(&patch));
        api.patch_status(&node.name_any(), &params, &patch).await
    }

    /// Sets all conditions of an unreachable node to Unknown.
    async fn mark_node_unknown(&self, node: &Node) -> kube::Result<()> {
        let time = self.clock.time();
        let conditions = node.status.as_ref().and_then(|s| s.conditions.as_ref());
        let unknown: Vec<Value> = conditions
            .into_iter()
            .flatten()
            .filter(|c| c.status != "Unknown")
            .map(|c| {
                json!({
                    "type": c.type_,
                    "status": "Unknown",
                    "reason": "NodeStatusUnknown",
                    "message": "Kubelet stopped posting node status.",
                    "lastTransitionTime": time,
                })
            })
            .collect();
        let node = self.patch_conditions(node, &unknown).await?;
        let name = node.name_any();
        self.record_event(
            &node,
            "NodeNotReady",
            format!("Node {name} status is now: NodeNotReady"),
        );
        self.nodes.observe_write(Arc::new(node));
        for pod in self.pods.by_index("node", &name) {
            self.mark_pod_not_ready(&pod).await;
        }
        Ok(())
    }

    /// Sets a pod on an unreachable node to not Ready.
    async fn mark_pod_not_ready(&self, pod: &Pod) {
        let conditions = pod.status.as_ref().and_then(|s| s.conditions.as_ref());
        let mut all = conditions.into_iter().flatten();
        if !all.any(|c| c.type_ == "Ready" && c.status == "True") {
            return;
        }
        let patch = json!({"metadata": {"uid": pod.uid()}, "status": {"conditions": [{
            "type": "Ready", "status": "False", "lastTransitionTime": self.clock.time(),
        }]}});
        self.patch_pod(pod, patch).await;
        self.record_event(pod, "NodeNotReady", "Node is not ready".into());
    }

    /// The desired taints of the node, if they differ from the current ones.
    fn taints(&self, node: &Node, status: &str) -> Option<Vec<Taint>> {
        let key = match status {
            "True" => None,
            "False" => Some(NOT_READY),
            _ => Some(UNREACHABLE),
        };
        let current = node.spec.as_ref().and_then(|s| s.taints.clone());
        let current = current.unwrap_or_default();
        let (ours, mut wanted): (Vec<Taint>, Vec<Taint>) = current
            .into_iter()
            .partition(|t| t.key == NOT_READY || t.key == UNREACHABLE);
        let effects = ["NoSchedule", "NoExecute"];
        let up_to_date = match key {
            None => ours.is_empty(),
            Some(key) => {
                ours.len() == 2
                    && effects
                        .iter()
                        .all(|e| ours.iter().any(|t| t.key == key && t.effect == *e))
            }
        };
        if up_to_date {
            return None;
        }
        wanted.extend(key.into_iter().flat_map(|key| {
            effects.map(|effect| Taint {
                key: key.into(),
                effect: effect.into(),
                value: None,
                time_added: (effect == "NoExecute").then(|| self.clock.time()),
            })
        }));
        Some(wanted)
    }

    async fn write_taints(&self, node: &Node, taints: Vec<Taint>) -> kube::Result<()> {
        let api: Api<Node> = Api::all(self.client.clone());
        let patch = json!({
            "metadata": {"resourceVersion": node.resource_version()},
            "spec": {"taints": taints},
        });
        let patched = api
            .patch(
                &node.name_any(),
                &PatchParams::default(),
                &Patch::Merge(&patch),
            )
            .await?;
        self.nodes.observe_write(Arc::new(patched));
        Ok(())
    }

    async fn patch_pod(&self, pod: &Pod, patch: Value) {
        let key = ObjectKey::of(pod);
        let api: Api<Pod> = Api::namespaced(self.client.clone(), &key.namespace);
        let params = PatchParams::default();
        match api
            .patch_status(&key.name, &params, &Patch::Strategic(&patch))
            .await
        {
            Ok(pod) => self.pods.observe_write(Arc::new(pod)),
            Err(error) => tracing::debug!(pod = %key, %error, "a pod's status was not written"),
        }
    }

    fn record_event<K: kube::Resource<DynamicType = ()>>(
        &self,
        object: &K,
        reason: &'static str,
        message: String,
    ) {
        let event = match reason {
            "NodeNotReady" if object.namespace().is_some() => NewEvent::warning(reason, message),
            _ => NewEvent::normal(reason, message),
        };
        self.recorder.event(object, event);
    }
}

/// Requeues at a time after `now`.
fn requeue_at(at: Timestamp, now: Timestamp) -> ReconcileResult {
    let remaining = Duration::try_from(at.duration_since(now)).unwrap_or_default();
    ReconcileResult::RequeueAfter(remaining.max(Duration::from_millis(1)))
}

fn ready(node: &Node) -> Option<&str> {
    let conditions = node.status.as_ref()?.conditions.as_ref()?;
    let ready = conditions.iter().find(|c| c.type_ == "Ready");
    ready.map(|c| c.status.as_str())
}

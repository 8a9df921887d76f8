//! The taint eviction controller: deletes pods that do not tolerate a NoExecute taint of their node, at once
//! or when their `tolerationSeconds` have passed.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Node, Pod, Taint, Toleration};
use kube::ResourceExt;
use parking_lot::Mutex;

use kueue_lab_component_helpers::toleration::{ComparisonOperators, tolerates_taint};
use kueue_lab_controller_runtime::{
    Change, Context, Informer, ObjectKey, ReconcileResult, WorkQueue,
};
use kueue_lab_controller_utils::event_recorder::{EventRecorder, NewEvent};
use kueue_lab_controller_utils::pod_eviction::{Eviction, add_condition_and_delete_pod};
use kueue_lab_controller_utils::pods::node_of;

/// How many pods are reconciled concurrently.
const WORKERS: usize = 8;

/// Starts the controller; `pods` must have an index `node`.
pub fn start(context: &Context, nodes: &Informer<Node>, pods: &Informer<Pod>) {
    let controller = Arc::new(TaintEvictionController {
        context: context.clone(),
        nodes: nodes.clone(),
        pods: pods.clone(),
        recorder: EventRecorder::new(context, "taint-eviction-controller"),
        scheduled_evictions: Mutex::new(HashMap::new()),
    });
    let queue: WorkQueue<ObjectKey> = WorkQueue::new(context);
    let (wake, all_pods) = (queue.clone(), pods.clone());
    nodes.add_event_handler(move |change| {
        let changed = match change {
            Change::Added(node) => no_execute_taints(node).next().is_some(),
            Change::Updated { old, new } => !no_execute_taints(old).eq(no_execute_taints(new)),
            Change::Deleted(_) => true,
        };
        if changed {
            let on_node = all_pods.by_index("node", &change.object().name_any());
            on_node
                .iter()
                .for_each(|pod| wake.add(ObjectKey::of(pod.as_ref())));
        }
    });
    let wake = queue.clone();
    pods.add_event_handler(move |change| {
        let relevant = match change {
            Change::Updated { old, new } => {
                node_of(old) != node_of(new) || tolerations(old).ne(tolerations(new))
            }
            Change::Added(_) | Change::Deleted(_) => true,
        };
        if relevant && node_of(change.object()).is_some() {
            wake.add(ObjectKey::of(change.object().as_ref()));
        }
    });
    queue.run(context, "taint-eviction", WORKERS, move |key| {
        let controller = controller.clone();
        async move { controller.reconcile(&key).await }
    });
}

struct TaintEvictionController {
    context: Context,
    nodes: Informer<Node>,
    pods: Informer<Pod>,
    recorder: EventRecorder,
    /// When the tolerations of pods end.
    scheduled_evictions: Mutex<HashMap<ObjectKey, Timestamp>>,
}

fn no_execute_taints(node: &Node) -> impl Iterator<Item = &Taint> {
    let taints = node.spec.as_ref().and_then(|s| s.taints.as_ref());
    let taints = taints.into_iter().flatten();
    taints.filter(|taint| taint.effect == "NoExecute")
}

fn tolerations(pod: &Pod) -> impl Iterator<Item = &Toleration> {
    let tolerations = pod.spec.as_ref().and_then(|s| s.tolerations.as_ref());
    tolerations.into_iter().flatten()
}

/// How long a pod tolerates some taints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TolerationTime {
    /// Some taint is not tolerated.
    None,
    /// The shortest `tolerationSeconds` of the tolerations that apply.
    Limited(SignedDuration),
    /// No toleration that applies is limited.
    Unlimited,
}

fn toleration_time(pod: &Pod, taints: &[&Taint]) -> TolerationTime {
    let mut shortest: Option<i64> = None;
    for taint in taints {
        let mut tolerated = false;
        let disabled = ComparisonOperators::Disabled;
        let tolerating = |toleration: &&Toleration| tolerates_taint(toleration, taint, disabled);
        for toleration in tolerations(pod).filter(tolerating) {
            tolerated = true;
            let seconds = toleration.toleration_seconds.map(|s| s.max(0));
            shortest = [shortest, seconds].into_iter().flatten().min();
        }
        if !tolerated {
            return TolerationTime::None;
        }
    }
    shortest.map_or(TolerationTime::Unlimited, |seconds| {
        TolerationTime::Limited(SignedDuration::from_secs(seconds))
    })
}

impl TaintEvictionController {
    async fn reconcile(&self, key: &ObjectKey) -> kube::Result<ReconcileResult> {
        let pod = self.pods.get(key);
        let pod = pod.filter(|pod| pod.metadata.deletion_timestamp.is_none());
        let node = pod.as_deref().and_then(node_of);
        let node = node.and_then(|node| self.nodes.get(&ObjectKey::cluster(node)));
        let (Some(pod), Some(node)) = (pod, node) else {
            self.cancel_scheduled_eviction(key, None);
            return Ok(ReconcileResult::Done);
        };
        let taints: Vec<&Taint> = no_execute_taints(&node).collect();
        match toleration_time(&pod, &taints) {
            TolerationTime::Unlimited => self.cancel_scheduled_eviction(key, Some(&pod)),
            TolerationTime::None => {
                self.cancel_scheduled_eviction(key, None);
                self.evict(&pod).await?;
            }
            TolerationTime::Limited(time) => {
                let now = self.context.clock.now();
                let end = now.checked_add(time).unwrap_or(Timestamp::MAX);
                // An eviction that is scheduled keeps its time.
                let end = *self
                    .scheduled_evictions
                    .lock()
                    .entry(key.clone())
                    .or_insert(end);
                if end > now {
                    let remaining = Duration::try_from(end.duration_since(now)).unwrap_or_default();
                    return Ok(ReconcileResult::RequeueAfter(
                        remaining.max(Duration::from_millis(1)),
                    ));
                }
                self.cancel_scheduled_eviction(key, None);
                self.evict(&pod).await?;
            }
        }
        Ok(ReconcileResult::Done)
    }

    /// Cancels the eviction of a pod, with an Event if `pod` is given.
    fn cancel_scheduled_eviction(&self, key: &ObjectKey, pod: Option<&Pod>) {
        let was_scheduled = self.scheduled_evictions.lock().remove(key).is_some();
        if let Some(pod) = pod.filter(|_| was_scheduled) {
            let message = format!("Cancelling deletion of Pod {key}");
            let event = NewEvent::normal("TaintManagerEviction", message);
            self.recorder.event(pod, event);
        }
    }

    async fn evict(&self, pod: &Pod) -> kube::Result<()> {
        let message = format!("Marking for deletion Pod {}", ObjectKey::of(pod));
        let eviction = Eviction {
            event: NewEvent::normal("TaintManagerEviction", message),
            reason: "DeletionByTaintManager",
            message: "Taint manager: deleting due to NoExecute taint",
        };
        let (context, pods) = (&self.context, &self.pods);
        add_condition_and_delete_pod(context, pods, &self.recorder, pod, eviction).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod(tolerations: serde_json::Value) -> Pod {
        let pod = json!({"metadata": {"name": "p"},
            "spec": {"nodeName": "n", "containers": [], "tolerations": tolerations}});
        serde_json::from_value(pod).unwrap_or_default()
    }

    fn taint(key: &str) -> Taint {
        Taint {
            key: key.to_owned(),
            effect: "NoExecute".to_owned(),
            ..Taint::default()
        }
    }

    #[test]
    fn every_taint_must_be_tolerated_and_the_shortest_time_counts() {
        let (a, b) = (taint("a"), taint("b"));
        let both = [&a, &b];
        let exists = |key: &str| json!({"key": key, "operator": "Exists"});
        let limited = |key: &str, seconds: i64| json!({"key": key, "operator": "Exists", "tolerationSeconds": seconds});
        let seconds = |s: i64| TolerationTime::Limited(SignedDuration::from_secs(s));
        let time = |tolerations, taints: &[&Taint]| toleration_time(&pod(tolerations), taints);
        assert_eq!(time(json!([]), &[]), TolerationTime::Unlimited);
        assert_eq!(time(json!([exists("a")]), &both), TolerationTime::None);
        assert_eq!(
            time(json!([exists("a"), exists("b")]), &both),
            TolerationTime::Unlimited
        );
        assert_eq!(
            time(json!([limited("a", 9), exists("b")]), &both),
            seconds(9)
        );
        assert_eq!(
            time(json!([limited("a", 9), limited("b", -1)]), &both),
            seconds(0)
        );
    }
}

//! Removes pods that nobody else will: those on nodes that are gone, those that were to be deleted
//! and never got a node, and the oldest of very many that ran to their end.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use kube::{Api, ResourceExt};
use serde_json::json;

use crate::workloads::{Shared, pods};
use kueue_lab_runtime::refusals::{is_conflict, is_not_found};
use kueue_lab_runtime::{Change, Context, Informer, ObjectKey, Outcome, WorkQueue};

const WORKERS: usize = 5;
/// How long a node may be missing before its pods are given up.
const QUARANTINE: Duration = Duration::from_secs(40);

/// How often it is looked for pods that were to be deleted and never got a node.
const ROUND: SignedDuration = SignedDuration::from_secs(20);

/// How many pods that ran to their end are kept.
const MOST_ENDED: usize = 12_500;
/// How long ended pods are gathered before they are counted.
const GATHER: Duration = Duration::from_secs(20);

/// Starts the collector in the tasks of `context`.
pub fn start(context: &Context, shared: &Shared) {
    let queue: WorkQueue<ObjectKey> = WorkQueue::new(context);
    let nodes = shared.nodes.clone();
    let surplus: WorkQueue<()> = WorkQueue::new(context);
    let (on_pod, known, count) = (queue.clone(), nodes.clone(), surplus.clone());
    let clock = context.clock.clone();
    let first = clock.now();
    shared.pods.subscribe(move |change| {
        if let Change::Added(pod) | Change::Updated { new: pod, .. } = change {
            if pods::is_terminal(pod) {
                count.add_after((), GATHER);
            }
            match pods::node_of(pod) {
                Some(node) if known.get(&ObjectKey::cluster(node)).is_none() => {
                    on_pod.add_after(ObjectKey::of(pod.as_ref()), QUARANTINE);
                }
                None if pods::is_deleting(pod) => {
                    on_pod.add_at(ObjectKey::of(pod.as_ref()), next_round(first, clock.now()));
                }
                _ => {}
            }
        }
    });
    let (on_node, all) = (queue.clone(), shared.pods.clone());
    nodes.subscribe(move |change| {
        if let Change::Deleted(node) = change {
            for pod in all.by(pods::ON_NODE, &node.name_any()) {
                on_node.add_after(ObjectKey::of(pod.as_ref()), QUARANTINE);
            }
        }
    });
    let collector = Arc::new(Collector {
        client: context.client.clone(),
        now: context.clock.clone(),
        nodes,
        pods: shared.pods.clone(),
    });
    let run = context.clone();
    context.tasks.spawn("pod-gc", async move {
        collector.nodes.synced().await;
        collector.pods.synced().await;
        let thin = collector.clone();
        surplus.run(&run, "pod-gc", 1, move |()| {
            let thin = thin.clone();
            async move { thin.thin_out(MOST_ENDED).await }
        });
        queue.run(&run, "pod-gc", WORKERS, move |key| {
            let collector = collector.clone();
            async move { collector.look(&key).await }
        });
    });
}

/// The first round at `now` or after it, when the first of all was at `first`.
fn next_round(first: Timestamp, now: Timestamp) -> Timestamp {
    let passed = now.duration_since(first).as_millis().max(0);
    let round = ROUND.as_millis();
    let left = (round - passed % round) % round;
    let left = SignedDuration::from_millis(i64::try_from(left).unwrap_or_default());
    now.saturating_add(left).unwrap_or(now)
}

struct Collector {
    client: kube::Client,
    now: kueue_lab_clock::Clock,
    nodes: Informer<Node>,
    pods: Informer<Pod>,
}

impl Collector {
    async fn look(&self, key: &ObjectKey) -> Result<Outcome, kube::Error> {
        let Some(pod) = self.pods.get(key) else {
            return Ok(Outcome::Done);
        };
        let given_up = match pods::node_of(&pod) {
            Some(node) => self.is_gone(node).await?,
            None => pods::is_deleting(&pod),
        };
        if !given_up {
            return Ok(Outcome::Done);
        }
        match self.remove(&pod).await {
            Err(error) if is_not_found(&error) || is_conflict(&error) => Ok(Outcome::Done),
            Err(error) => Err(error),
            Ok(()) => Ok(Outcome::Done),
        }
    }

    /// Deletes the oldest ended pods beyond `most`.
    async fn thin_out(&self, most: usize) -> Result<Outcome, kube::Error> {
        let mut ended = self.pods.by(pods::ENDED, "");
        ended.retain(|pod| !pods::is_deleting(pod));
        let surplus = ended.len().saturating_sub(most);
        if surplus == 0 {
            return Ok(Outcome::Done);
        }
        ended.sort_by_key(|pod| (pods::created(pod.as_ref()), pod.name_any()));
        for pod in ended.iter().take(surplus) {
            match self.remove(pod).await {
                Err(error) if !is_not_found(&error) && !is_conflict(&error) => return Err(error),
                _ => {}
            }
        }
        Ok(Outcome::Done)
    }

    async fn is_gone(&self, node: &str) -> Result<bool, kube::Error> {
        if self.nodes.get(&ObjectKey::cluster(node)).is_some() {
            return Ok(false);
        }
        // The watch may lag behind.
        let api: Api<Node> = Api::all(self.client.clone());
        Ok(api.get_opt(node).await?.is_none())
    }

    async fn remove(&self, pod: &Pod) -> Result<(), kube::Error> {
        let namespace = pod.namespace().unwrap_or_default();
        let api: Api<Pod> = Api::namespaced(self.client.clone(), &namespace);
        let name = pod.name_any();
        if !pods::is_terminal(pod) {
            // Whoever counts the pod is to see that it failed, and why.
            let mut status = json!({"phase": "Failed"});
            if pods::node_of(pod).is_some() {
                status["conditions"] = json!([{
                    "type": "DisruptionTarget",
                    "status": "True",
                    "reason": "DeletionByPodGC",
                    "message": "PodGC: node no longer exists",
                    "lastTransitionTime": self.now.time(),
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

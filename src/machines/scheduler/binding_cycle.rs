//! Feeds the scheduler's picture from watches and carries out what it decides.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Pod, PodCondition};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;
use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::{Notify, Semaphore};

use super::schedule_one::{SchedulerState, SchedulingDecision};
use super::{NAME, PodInfo};
use crate::event_recorder::{EventRecorder, NewEvent};
use kueue_lab_runtime::{Api, Change, Context, Informer, ObjectKey};

/// How many decisions are being written to the cluster at a time.
const WRITES: usize = 32;
/// How many decisions are made before others get a turn.
const TURN: usize = 64;
/// How long a pod whose binding failed waits.
const BINDING_RETRY_DELAY: Duration = Duration::from_secs(1);

struct Scheduler {
    context: Context,
    pods: Informer<Pod>,
    recorder: EventRecorder,
    state: Mutex<SchedulerState>,
    wake: Notify,
    writes: Arc<Semaphore>,
}

/// Starts the scheduler.
pub fn start(context: &Context, pods: &Informer<Pod>, nodes: &Informer<Node>) {
    let scheduler = Arc::new(Scheduler {
        context: context.clone(),
        pods: pods.clone(),
        recorder: EventRecorder::new(context, NAME),
        state: Mutex::default(),
        wake: Notify::new(),
        writes: Arc::new(Semaphore::new(WRITES)),
    });
    let told = scheduler.clone();
    nodes.add_event_handler(move |change| {
        let name = change.object().name_any();
        let node = match change {
            Change::Deleted(_) => None,
            other => Some(other.object().clone()),
        };
        told.state.lock().update_node(&name, node);
        told.wake.notify_one();
    });
    let told = scheduler.clone();
    pods.add_event_handler(move |change| {
        let mut state = told.state.lock();
        match change {
            Change::Deleted(pod) => state.delete_pod(&ObjectKey::of(&**pod)),
            other => state.update_pod(other.object().clone()),
        }
        drop(state);
        told.wake.notify_one();
    });
    let (pods, nodes) = (pods.clone(), nodes.clone());
    context.tasks.spawn("scheduler", async move {
        nodes.wait_for_cache_sync().await;
        pods.wait_for_cache_sync().await;
        scheduler.run().await;
    });
}

impl Scheduler {
    async fn run(self: Arc<Self>) {
        let mut turn = 0;
        loop {
            let decision = self.state.lock().next();
            match decision {
                Some(decision) => {
                    self.apply_decision(decision);
                    turn += 1;
                    if turn % TURN == 0 {
                        tokio::task::yield_now().await;
                    }
                }
                None => self.wake.notified().await,
            }
        }
    }

    fn apply_decision(self: &Arc<Self>, decision: SchedulingDecision) {
        match decision {
            SchedulingDecision::Bind { pod, node } => {
                self.spawn(move |this| async move { this.bind(pod, node).await });
            }
            SchedulingDecision::Unschedulable { pods, message } => {
                for pod in pods {
                    let message = message.clone();
                    self.spawn(move |this| async move {
                        this.handle_scheduling_failure(&pod, &message, None).await;
                    });
                }
            }
            SchedulingDecision::Preempt {
                pod,
                node,
                victims,
                message,
            } => self.spawn(move |this| async move {
                for victim in victims {
                    this.evict_victim(&victim, &pod, &node).await;
                }
                this.handle_scheduling_failure(&pod, &message, Some(&node))
                    .await;
            }),
        }
    }

    fn spawn<F>(self: &Arc<Self>, write: impl FnOnce(Arc<Self>) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let writes = self.writes.clone();
        let write = write(self.clone());
        self.context.tasks.spawn("scheduler-write", async move {
            // Never closed.
            let Ok(_permit) = writes.acquire().await else {
                return;
            };
            write.await;
        });
    }

    fn api(&self, pod: &PodInfo) -> Api<Pod> {
        Api::namespaced(self.context.client.clone(), &pod.key.namespace)
    }

    async fn bind(&self, pod: Arc<PodInfo>, node: String) {
        let ObjectKey { namespace, name } = &pod.key;
        let binding = json!({
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": name, "namespace": namespace, "uid": pod.uid()},
            "target": {"kind": "Node", "name": node},
        });
        let path = format!("/api/v1/namespaces/{namespace}/pods/{name}/binding");
        let request = http::Request::post(path)
            .header("content-type", "application/json")
            .body(binding.to_string().into_bytes());
        let outcome = match request {
            Ok(request) => self.context.client.request::<Value>(request).await,
            Err(error) => Err(kube::Error::HttpError(error)),
        };
        match outcome {
            Ok(_) => {
                let message = format!("Successfully assigned {} to {node}", pod.key);
                self.record_event(&pod, "Binding", NewEvent::normal("Scheduled", message));
            }
            Err(error) => {
                tracing::debug!(pod = %pod.key, node, %error, "a binding was refused");
                if !matches!(&error, kube::Error::Api(status) if status.code == 404) {
                    self.context.clock.sleep(BINDING_RETRY_DELAY).await;
                }
                self.state.lock().binding_failed(&pod);
                // The pod may have gone or changed meanwhile.
                match self.pods.get(&pod.key) {
                    Some(now) => self.state.lock().update_pod(now),
                    None => self.state.lock().delete_pod(&pod.key),
                }
                self.wake.notify_one();
            }
        }
    }

    /// Tells a pod that there is no node for it, and which one there will be.
    async fn handle_scheduling_failure(
        &self,
        pod: &PodInfo,
        message: &str,
        nominated: Option<&str>,
    ) {
        let note = NewEvent::warning("FailedScheduling", message);
        self.record_event(pod, "Scheduling", note);
        let old = condition(&pod.pod, "PodScheduled");
        let same = old.is_some_and(|c| {
            c.status == "False"
                && c.reason.as_deref() == Some("Unschedulable")
                && c.message.as_deref() == Some(message)
        });
        if same && nominated.is_none() {
            return;
        }
        let since = old
            .filter(|c| c.status == "False")
            .and_then(|c| c.last_transition_time.clone());
        let mut patch = json!({
            "metadata": {"uid": pod.uid()},
            "status": {"conditions": [{
                "type": "PodScheduled",
                "status": "False",
                "reason": "Unschedulable",
                "message": message,
                "lastProbeTime": null,
                "lastTransitionTime": since.unwrap_or_else(|| self.time()),
            }]},
        });
        if let Some(node) = nominated {
            patch["status"]["nominatedNodeName"] = node.into();
        }
        self.patch_status(pod, patch).await;
    }

    async fn evict_victim(&self, victim: &PodInfo, preemptor: &PodInfo, node: &str) {
        if victim.terminating() {
            return;
        }
        self.patch_status(
            victim,
            json!({
                "metadata": {"uid": victim.uid()},
                "status": {"conditions": [{
                    "type": "DisruptionTarget",
                    "status": "True",
                    "reason": "PreemptionByScheduler",
                    "message": format!("{NAME}: preempting to accommodate a higher priority pod"),
                    "lastProbeTime": null,
                    "lastTransitionTime": self.time(),
                }]},
            }),
        )
        .await;
        let params = DeleteParams {
            preconditions: Some(Preconditions {
                uid: Some(victim.uid().to_string()),
                resource_version: None,
            }),
            ..DeleteParams::default()
        };
        match self.api(victim).delete(&victim.key.name, &params).await {
            Ok(_) => {
                let message = format!("Preempted by pod {} on node {node}", preemptor.uid());
                self.record_event(victim, "Preempting", NewEvent::normal("Preempted", message));
            }
            Err(error) => {
                tracing::debug!(pod = %victim.key, %error, "a victim could not be deleted");
            }
        }
    }

    async fn patch_status(&self, pod: &PodInfo, patch: Value) {
        let params = PatchParams::default();
        let patched = self
            .api(pod)
            .patch_status(&pod.key.name, &params, &Patch::Strategic(&patch))
            .await;
        match patched {
            Ok(pod) => self.pods.observe_write(Arc::new(pod)),
            Err(error) => {
                tracing::debug!(pod = %pod.key, %error, "a pod's status could not be written");
            }
        }
    }

    /// Tells about a pod what was done, as users of the newer Events API do.
    fn record_event(&self, pod: &PodInfo, action: &'static str, note: NewEvent) {
        let action = Some(action);
        self.recorder.event(&*pod.pod, NewEvent { action, ..note });
    }

    fn time(&self) -> Time {
        self.context.clock.time()
    }
}

fn condition<'a>(pod: &'a Pod, kind: &str) -> Option<&'a PodCondition> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    conditions.iter().find(|c| c.type_ == kind)
}

//! Feeds the scheduler's picture from watches and carries out what it decides.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Pod, PodCondition};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, Patch, PatchParams, Preconditions};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::{Notify, Semaphore};

use super::state::{Decision, State};
use super::{NAME, PodInfo};
use crate::recorder::{Note, Recorder};
use kueue_lab_runtime::{Change, Context, Informer, ObjectKey};

/// How many decisions are being written to the cluster at a time.
const WRITES: usize = 32;
/// How many decisions are made before others get a turn.
const TURN: usize = 64;
/// How long a pod whose binding failed waits.
const AGAIN: Duration = Duration::from_secs(1);

struct Scheduler {
    context: Context,
    pods: Informer<Pod>,
    recorder: Recorder,
    state: Mutex<State>,
    wake: Notify,
    writes: Arc<Semaphore>,
}

/// Starts the scheduler.
pub fn start(context: &Context, pods: &Informer<Pod>, nodes: &Informer<Node>) {
    let scheduler = Arc::new(Scheduler {
        context: context.clone(),
        pods: pods.clone(),
        recorder: Recorder::new(context, NAME),
        state: Mutex::default(),
        wake: Notify::new(),
        writes: Arc::new(Semaphore::new(WRITES)),
    });
    let told = scheduler.clone();
    nodes.subscribe(move |change| {
        let name = change.object().name_any();
        let node = match change {
            Change::Deleted(_) => None,
            other => Some(other.object().clone()),
        };
        told.state.lock().node(&name, node);
        told.wake.notify_one();
    });
    let told = scheduler.clone();
    pods.subscribe(move |change| {
        let mut state = told.state.lock();
        match change {
            Change::Deleted(pod) => state.pod_gone(&ObjectKey::of(&**pod)),
            other => state.pod(other.object().clone()),
        }
        drop(state);
        told.wake.notify_one();
    });
    let (pods, nodes) = (pods.clone(), nodes.clone());
    context.tasks.spawn("scheduler", async move {
        nodes.synced().await;
        pods.synced().await;
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
                    self.carry_out(decision);
                    turn += 1;
                    if turn % TURN == 0 {
                        tokio::task::yield_now().await;
                    }
                }
                None => self.wake.notified().await,
            }
        }
    }

    fn carry_out(self: &Arc<Self>, decision: Decision) {
        match decision {
            Decision::Bind { pod, node } => {
                self.spawn(move |this| async move { this.bind(pod, node).await });
            }
            Decision::Unschedulable { pods, message } => {
                for pod in pods {
                    let message = message.clone();
                    self.spawn(move |this| async move {
                        this.unschedulable(&pod, &message, None).await;
                    });
                }
            }
            Decision::Preempt {
                pod,
                node,
                victims,
                message,
            } => self.spawn(move |this| async move {
                for victim in victims {
                    this.evict(&victim, &pod, &node).await;
                }
                this.unschedulable(&pod, &message, Some(&node)).await;
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
                self.report(&pod, "Binding", Note::normal("Scheduled", message));
            }
            Err(error) => {
                tracing::debug!(pod = %pod.key, node, %error, "a binding was refused");
                if !matches!(&error, kube::Error::Api(status) if status.code == 404) {
                    self.context.clock.sleep(AGAIN).await;
                }
                self.state.lock().binding_failed(&pod);
                // The pod may have gone or changed meanwhile.
                match self.pods.get(&pod.key) {
                    Some(now) => self.state.lock().pod(now),
                    None => self.state.lock().pod_gone(&pod.key),
                }
                self.wake.notify_one();
            }
        }
    }

    /// Tells a pod that there is no node for it, and which one there will be.
    async fn unschedulable(&self, pod: &PodInfo, message: &str, nominated: Option<&str>) {
        let note = Note::warning("FailedScheduling", message);
        self.report(pod, "Scheduling", note);
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

    async fn evict(&self, victim: &PodInfo, preemptor: &PodInfo, node: &str) {
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
                self.report(victim, "Preempting", Note::normal("Preempted", message));
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
            Ok(pod) => self.pods.observe(Arc::new(pod)),
            Err(error) => {
                tracing::debug!(pod = %pod.key, %error, "a pod's status could not be written");
            }
        }
    }

    /// Tells about a pod what was done, as users of the newer Events API do.
    fn report(&self, pod: &PodInfo, action: &'static str, note: Note) {
        let action = Some(action);
        self.recorder.note(&*pod.pod, Note { action, ..note });
    }

    fn time(&self) -> Time {
        self.context.clock.time()
    }
}

fn condition<'a>(pod: &'a Pod, kind: &str) -> Option<&'a PodCondition> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    conditions.iter().find(|c| c.type_ == kind)
}

//! The binding cycle: writes bindings, scheduling failures and preemptions to the cluster.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use kueue_lab_controller_runtime::Api;
use serde_json::{Value, json};

use super::dynamic_resources::ClaimToBind;
use super::run::Scheduler;
use super::{NAME, PodInfo};
use kueue_lab_controller_runtime::ObjectKey;
use kueue_lab_controller_runtime::api_errors::is_not_found;
use kueue_lab_controller_utils::event_recorder::NewEvent;
use kueue_lab_controller_utils::pods::condition;

/// The reason of pods that fit no node.
pub(super) const UNSCHEDULABLE: &str = "Unschedulable";
/// The reason of pods whose scheduling failed with an error.
pub(super) const SCHEDULER_ERROR: &str = "SchedulerError";
/// Delay before a pod whose binding failed is retried.
const BINDING_RETRY_DELAY: Duration = Duration::from_secs(1);

impl Scheduler {
    fn api(&self, pod: &PodInfo) -> Api<Pod> {
        Api::namespaced(self.context.client.clone(), &pod.key.namespace)
    }

    pub(super) async fn bind(&self, pod: Arc<PodInfo>, node: String, claims: Vec<ClaimToBind>) {
        if let Err(error) = self.bind_claims(&pod, &claims, &node).await {
            let message = format!("running PreBind plugin \"DynamicResources\": {error}");
            self.handle_scheduling_failure(&pod, SCHEDULER_ERROR, &message, None)
                .await;
            self.context.clock.sleep(BINDING_RETRY_DELAY).await;
            self.requeue(&pod);
            return;
        }
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
                tracing::debug!(pod = %pod.key, node, %error, "a binding was rejected");
                if !is_not_found(&error) {
                    self.context.clock.sleep(BINDING_RETRY_DELAY).await;
                }
                self.requeue(&pod);
            }
        }
    }

    /// Queues a pod again whose binding failed.
    fn requeue(&self, pod: &Arc<PodInfo>) {
        self.state.lock().binding_failed(pod);
        // The pod may have been deleted or changed in the meantime.
        match self.pods.get(&pod.key) {
            Some(now) => self.state.lock().update_pod(now),
            None => self.state.lock().delete_pod(&pod.key),
        }
        self.wake.notify_one();
    }

    /// Records a scheduling failure in the pod's condition, and the nominated node.
    pub(super) async fn handle_scheduling_failure(
        &self,
        pod: &PodInfo,
        reason: &str,
        message: &str,
        nominated: Option<&str>,
    ) {
        let event = NewEvent::warning("FailedScheduling", message);
        self.record_event(pod, "Scheduling", event);
        let old = condition(&pod.pod, "PodScheduled");
        let same = old.is_some_and(|c| {
            c.status == "False"
                && c.reason.as_deref() == Some(reason)
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
                "reason": reason,
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

    pub(super) async fn evict_victim(&self, victim: &PodInfo, preemptor: &PodInfo, node: &str) {
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
                tracing::debug!(pod = %victim.key, %error, "a preemption victim was not deleted");
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
                tracing::debug!(pod = %pod.key, %error, "a pod's status was not written");
            }
        }
    }

    /// Records an events.k8s.io Event about a pod.
    pub(super) fn record_event(&self, pod: &PodInfo, action: &'static str, event: NewEvent) {
        let action = Some(action);
        self.recorder.event(&*pod.pod, NewEvent { action, ..event });
    }

    fn time(&self) -> Time {
        self.context.clock.time()
    }
}

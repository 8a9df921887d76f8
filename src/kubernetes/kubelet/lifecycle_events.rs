//! Events of the kubelet for the containers of a pod.

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::ResourceExt;

use super::pod_workers::Shared;
use super::simulated_container::{ContainerPhase, ContainerRole};
use super::simulated_pod::{PodLifecycleEvent, SimulatedPod};
use kueue_lab_controller_runtime::object_reference;
use kueue_lab_controller_utils::event_recorder::NewEvent;

impl Shared {
    /// Records Events and container instances of lifecycle changes.
    pub(super) fn record_lifecycle_events(
        &self,
        pod: &Pod,
        node: &Node,
        run: &SimulatedPod,
        events: &[PodLifecycleEvent],
    ) {
        for event in events {
            match *event {
                PodLifecycleEvent::Started(index) => {
                    let container = &run.containers[index];
                    let since = match &container.phase {
                        ContainerPhase::Running { since, .. } => *since,
                        ContainerPhase::Terminated(ended) => ended.started,
                        _ => run.started,
                    };
                    let program = container.program.clone();
                    self.logs
                        .container_started(&run.uid, &container.name, program, since);
                    let image = &container.image;
                    let pulled = format!(
                        "Container image \"{image}\" already present on machine and can be accessed by the pod"
                    );
                    self.record_container_event(pod, node, run, index, "Pulled", pulled);
                    self.record_container_event(
                        pod,
                        node,
                        run,
                        index,
                        "Created",
                        "Container created".into(),
                    );
                    self.record_container_event(
                        pod,
                        node,
                        run,
                        index,
                        "Started",
                        "Container started".into(),
                    );
                }
                PodLifecycleEvent::Killing(index) => {
                    let text = format!("Stopping container {}", run.containers[index].name);
                    self.record_container_event(pod, node, run, index, "Killing", text);
                }
                PodLifecycleEvent::BackOff(index) => {
                    let text = format!(
                        "Back-off restarting failed container {} in pod {}_{}({})",
                        run.containers[index].name,
                        pod.name_any(),
                        pod.namespace().unwrap_or_default(),
                        run.uid
                    );
                    self.record_container_event(pod, node, run, index, "BackOff", text);
                }
                PodLifecycleEvent::DeadlineExceeded => self.record_event(
                    pod,
                    node,
                    None,
                    "DeadlineExceeded",
                    "Pod was active on the node longer than the specified deadline".into(),
                ),
            }
        }
        for container in &run.containers {
            let ended = match &container.phase {
                ContainerPhase::Terminated(ended) => Some(ended.finished),
                ContainerPhase::BackOff(_) => {
                    container.last_termination.as_ref().map(|e| e.finished)
                }
                _ => None,
            };
            if let Some(at) = ended {
                self.logs
                    .container_terminated(&run.uid, &container.name, at);
            }
        }
    }

    fn record_container_event(
        &self,
        pod: &Pod,
        node: &Node,
        run: &SimulatedPod,
        index: usize,
        reason: &'static str,
        message: String,
    ) {
        let container = &run.containers[index];
        let list = match container.role {
            ContainerRole::Main => "containers",
            ContainerRole::Ephemeral => "ephemeralContainers",
            ContainerRole::Init | ContainerRole::Sidecar => "initContainers",
        };
        let path = format!("spec.{list}{{{}}}", container.name);
        self.record_event(pod, node, Some(path), reason, message);
    }

    pub(super) fn record_event(
        &self,
        pod: &Pod,
        node: &Node,
        path: Option<String>,
        reason: &'static str,
        message: String,
    ) {
        let mut about = object_reference(pod);
        about.field_path = path;
        let event = match reason {
            "BackOff" | "FailedPrepareDynamicResources" => NewEvent::warning(reason, message),
            _ => NewEvent::normal(reason, message),
        };
        let recorder = self
            .recorder
            .with_component("kubelet", Some(&node.name_any()));
        recorder.event_for_reference(about, event);
    }
}

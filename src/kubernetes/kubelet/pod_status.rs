//! The PodStatus of a simulated pod, with the kubelet's reasons and messages.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{
    ContainerState, ContainerStateRunning, ContainerStateTerminated, ContainerStateWaiting,
    ContainerStatus, Pod, PodCondition,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::running_instance::image_name;
use super::simulated_container::{ContainerPhase, ContainerRole, SimulatedContainer, Termination};
use super::simulated_pod::SimulatedPod;
use kueue_lab_clock::whole_seconds;
use kueue_lab_controller_runtime::ObjectKey;

/// The change of the pod's status as a strategic merge patch; `None` if there is none.
pub(super) fn status_patch(
    pod: &Pod,
    run: &SimulatedPod,
    host: &str,
    now: Timestamp,
) -> Option<Value> {
    let old = pod.status.clone().unwrap_or_default();
    let phase = run.phase(pod);
    let mut status = serde_json::Map::new();
    if old.phase.as_deref() != Some(phase) {
        status.insert("phase".into(), phase.into());
    }
    if old.start_time.is_none() {
        status.insert("startTime".into(), json!(time(run.started)));
    }
    if old.host_ip.is_none() && !host.is_empty() {
        status.insert("hostIP".into(), host.into());
        status.insert("hostIPs".into(), json!([{"ip": host}]));
    }
    if !run.ip.is_empty() && now >= run.sandbox_ready_at && old.pod_ip.as_deref() != Some(&run.ip) {
        status.insert("podIP".into(), run.ip.clone().into());
        status.insert("podIPs".into(), json!([{"ip": run.ip}]));
    }
    if run.deadline_exceeded && old.reason.is_none() {
        status.insert("reason".into(), "DeadlineExceeded".into());
        let message = "Pod was active on the node longer than the specified deadline";
        status.insert("message".into(), message.into());
    }
    let init = [ContainerRole::Init, ContainerRole::Sidecar];
    let (main, ephemeral) = ([ContainerRole::Main], [ContainerRole::Ephemeral]);
    for (field, roles, known) in [
        (
            "initContainerStatuses",
            &init[..],
            &old.init_container_statuses,
        ),
        ("containerStatuses", &main, &old.container_statuses),
        (
            "ephemeralContainerStatuses",
            &ephemeral,
            &old.ephemeral_container_statuses,
        ),
    ] {
        let containers = run.containers.iter();
        let new: Vec<ContainerStatus> = containers
            .filter(|c| roles.contains(&c.role))
            .map(|c| container_status(c, pod, run, now))
            .collect();
        if !new.is_empty() && known.as_ref() != Some(&new) {
            status.insert(field.into(), json!(new));
        }
    }
    let conditions = changed_conditions(pod, run, phase, now);
    if !conditions.is_empty() {
        status.insert("conditions".into(), Value::Array(conditions));
    }
    if status.is_empty() {
        return None;
    }
    let metadata = json!({
        "uid": pod.metadata.uid,
        // Optimistic lock: a terminal status written by others must not be overwritten.
        "resourceVersion": pod.metadata.resource_version,
    });
    Some(json!({"metadata": metadata, "status": status}))
}

/// The annotation of pods whose main containers do not get ready, with the value `false`.
pub const READY_ANNOTATION: &str = "kueue-lab.dev/ready";

fn time(at: Timestamp) -> Time {
    Time(whole_seconds(at))
}

fn digest(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    hash.finalize().iter().map(|b| format!("{b:02x}")).collect()
}

fn container_id(pod: &Pod, container: &SimulatedContainer, restarts: i32) -> String {
    let uid = pod.metadata.uid.as_deref().unwrap_or_default();
    let id = digest(&[uid, &container.name, &restarts.to_string()]);
    format!("containerd://{id}")
}

fn terminated(
    pod: &Pod,
    container: &SimulatedContainer,
    ended: &Termination,
    restarts: i32,
) -> ContainerState {
    let reason = if ended.exit_code == 0 {
        "Completed"
    } else {
        "Error"
    };
    ContainerState {
        terminated: Some(ContainerStateTerminated {
            container_id: Some(container_id(pod, container, restarts)),
            exit_code: ended.exit_code,
            reason: Some(reason.into()),
            started_at: Some(time(ended.started)),
            finished_at: Some(time(ended.finished)),
            ..ContainerStateTerminated::default()
        }),
        ..ContainerState::default()
    }
}

fn waiting(reason: &str, message: Option<String>) -> ContainerState {
    ContainerState {
        waiting: Some(ContainerStateWaiting {
            reason: Some(reason.into()),
            message,
        }),
        ..ContainerState::default()
    }
}

fn container_status(
    container: &SimulatedContainer,
    pod: &Pod,
    run: &SimulatedPod,
    now: Timestamp,
) -> ContainerStatus {
    let state = match &container.phase {
        ContainerPhase::Waiting
            if run.is_initialized() || container.role != ContainerRole::Main =>
        {
            let inits = run.containers.iter().any(|c| c.role != ContainerRole::Main);
            let reason = if inits && container.role != ContainerRole::Main {
                "PodInitializing"
            } else {
                "ContainerCreating"
            };
            waiting(reason, None)
        }
        ContainerPhase::Waiting => waiting("PodInitializing", None),
        ContainerPhase::BackOff(_) => {
            let message = format!(
                "back-off {} restarting failed container={} pod={}_{}({})",
                kueue_lab_duration::Duration::from(container.restart_delay()),
                container.name,
                pod.name_any(),
                ObjectKey::of(pod).namespace,
                run.uid,
            );
            waiting("CrashLoopBackOff", Some(message))
        }
        ContainerPhase::Running { since, .. } => ContainerState {
            running: Some(ContainerStateRunning {
                started_at: Some(time(*since)),
            }),
            ..ContainerState::default()
        },
        ContainerPhase::Terminated(ended) => terminated(pod, container, ended, container.restarts),
    };
    let current = match &container.phase {
        ContainerPhase::BackOff(_)
        | ContainerPhase::Running { .. }
        | ContainerPhase::Terminated(_) => Some(container_id(pod, container, container.restarts)),
        ContainerPhase::Waiting => None,
    };
    let before = match container.phase {
        // The failed instance is the current one until the next starts.
        ContainerPhase::BackOff(_) => container.restarts,
        _ => container.restarts - 1,
    };
    let last = container.last_termination.as_ref();
    let id = current.as_ref().map(|_| {
        let hash = digest(&[&container.image]);
        format!(
            "docker.io/library/{}@sha256:{hash}",
            image_name(&container.image)
        )
    });
    ContainerStatus {
        name: container.name.clone(),
        image: container.image.clone(),
        image_id: id.unwrap_or_default(),
        container_id: current,
        ready: is_ready(container, pod, now),
        started: Some(container.is_running()),
        restart_count: container.restarts,
        state: Some(state),
        last_state: Some(
            last.map(|ended| terminated(pod, container, ended, before))
                .unwrap_or_default(),
        ),
        ..ContainerStatus::default()
    }
}

/// Whether a container is ready, and the pod is not annotated otherwise.
fn is_ready(container: &SimulatedContainer, pod: &Pod, now: Timestamp) -> bool {
    let annotations = pod.metadata.annotations.as_ref();
    let annotation = annotations.and_then(|annotations| annotations.get(READY_ANNOTATION));
    let is_held = annotation.is_some_and(|value| value == "false");
    container.is_ready(now) && !(is_held && container.role == ContainerRole::Main)
}

/// Type, whether it holds, reason, message.
type ConditionTuple = (&'static str, bool, Option<&'static str>, Option<String>);

fn pod_conditions(
    pod: &Pod,
    run: &SimulatedPod,
    phase: &str,
    now: Timestamp,
) -> Vec<ConditionTuple> {
    let terminal_reason = match phase {
        "Succeeded" => Some("PodCompleted"),
        "Failed" => Some("PodFailed"),
        _ => None,
    };
    let unready =
        |roles: &[ContainerRole], unready: &dyn Fn(&SimulatedContainer) -> bool| -> Vec<String> {
            let all = run.containers.iter().filter(|c| roles.contains(&c.role));
            all.filter(|c| unready(c)).map(|c| c.name.clone()).collect()
        };
    let incomplete = unready(
        &[ContainerRole::Init, ContainerRole::Sidecar],
        &|c| match c.role {
            ContainerRole::Init => {
                !matches!(&c.phase, ContainerPhase::Terminated(e) if e.exit_code == 0)
            }
            _ => matches!(c.phase, ContainerPhase::Waiting),
        },
    );
    let initialised: ConditionTuple = if incomplete.is_empty() {
        let reason = (phase == "Succeeded").then_some("PodCompleted");
        ("Initialized", true, reason, None)
    } else {
        let message = format!(
            "containers with incomplete status: [{}]",
            incomplete.join(" ")
        );
        (
            "Initialized",
            false,
            Some("ContainersNotInitialized"),
            Some(message),
        )
    };
    let unready_containers = unready(&[ContainerRole::Sidecar, ContainerRole::Main], &|c| {
        !is_ready(c, pod, now)
    });
    let containers: ConditionTuple = match (terminal_reason, unready_containers.is_empty()) {
        (Some(reason), _) => ("ContainersReady", false, Some(reason), None),
        (None, true) => ("ContainersReady", true, None, None),
        (None, false) => {
            let message = format!(
                "containers with unready status: [{}]",
                unready_containers.join(" ")
            );
            (
                "ContainersReady",
                false,
                Some("ContainersNotReady"),
                Some(message),
            )
        }
    };
    let ready: ConditionTuple = match readiness_gate_message(pod) {
        Some(message) if containers.1 => (
            "Ready",
            false,
            Some("ReadinessGatesNotReady"),
            Some(message),
        ),
        _ => ("Ready", containers.1, containers.2, containers.3.clone()),
    };
    let network = now >= run.sandbox_ready_at && terminal_reason.is_none();
    vec![
        ("PodReadyToStartContainers", network, None, None),
        initialised,
        ready,
        containers,
    ]
}

/// The message for the readiness gates that are not True.
fn readiness_gate_message(pod: &Pod) -> Option<String> {
    let gates = pod.spec.as_ref()?.readiness_gates.as_ref()?;
    let conditions = pod.status.as_ref().and_then(|s| s.conditions.as_ref());
    let messages: Vec<String> = gates
        .iter()
        .filter_map(|gate| {
            let kind = &gate.condition_type;
            let condition = conditions.into_iter().flatten().find(|c| c.type_ == *kind);
            match condition {
                Some(c) if c.status == "True" => None,
                Some(_) => Some(format!(
                    "the status of pod readiness gate \"{kind}\" is not \"True\", but {}",
                    condition.map_or("", |c| &c.status)
                )),
                None => Some(format!(
                    "corresponding condition of pod readiness gate \"{kind}\" does not exist."
                )),
            }
        })
        .collect();
    (!messages.is_empty()).then(|| messages.join(", "))
}

/// The conditions that have to change.
fn changed_conditions(pod: &Pod, run: &SimulatedPod, phase: &str, now: Timestamp) -> Vec<Value> {
    let known = pod.status.as_ref().and_then(|s| s.conditions.as_ref());
    let known = |kind: &str| -> Option<&PodCondition> {
        known.into_iter().flatten().find(|c| c.type_ == kind)
    };
    pod_conditions(pod, run, phase, now)
        .into_iter()
        .filter_map(|(kind, holds, reason, message)| {
            let status = if holds { "True" } else { "False" };
            let old = known(kind);
            let same = old.is_some_and(|c| {
                c.status == status
                    && c.reason.as_deref().filter(|r| !r.is_empty()) == reason
                    && c.message.as_deref().filter(|m| !m.is_empty()) == message.as_deref()
            });
            if same {
                return None;
            }
            let since = old
                .filter(|c| c.status == status)
                .and_then(|c| c.last_transition_time.clone());
            // Explicit nulls remove reason and message of the previous condition.
            Some(json!({
                "type": kind,
                "status": status,
                "reason": reason,
                "message": message,
                "lastProbeTime": null,
                "lastTransitionTime": since.unwrap_or_else(|| time(now)),
            }))
        })
        .collect()
}

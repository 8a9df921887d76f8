//! The state machine of one container.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Container, Pod};

use super::container_program::container_program;
use super::container_runtime::ContainerRuntime;
use super::control_plane::ContainerProcess;
use super::crash_loop_backoff::crash_loop_backoff;
use kueue_lab_component_helpers::resource::is_restartable_init_container;
use kueue_lab_container_program::Program;

/// The exit code of containers that ended while no kubelet ran.
const LOST_EXIT_CODE: i32 = 255;

/// The role of a container in its pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ContainerRole {
    /// An init container: runs to completion before the next one starts.
    Init,
    /// A sidecar: starts in the order of init containers and keeps running.
    Sidecar,
    /// A main container.
    Main,
    /// A container that was added to debug the running pod.
    Ephemeral,
}

/// The state of a container.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ContainerPhase {
    /// Not started yet.
    Waiting,
    /// Exited; restarts at that time.
    BackOff(Timestamp),
    /// Running; with its exit, if it has one.
    Running {
        since: Timestamp,
        ready: Timestamp,
        ends: Option<(Timestamp, i32)>,
    },
    /// Exited and not restarted.
    Terminated(Termination),
}

/// How a container terminated.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Termination {
    pub(super) started: Timestamp,
    pub(super) finished: Timestamp,
    pub(super) exit_code: i32,
}

/// A container.
#[derive(Clone, Debug)]
pub(super) struct SimulatedContainer {
    pub(super) name: String,
    pub(super) image: String,
    pub(super) role: ContainerRole,
    pub(super) program: Arc<Program>,
    /// The process of a control plane container.
    pub(super) process: Option<Arc<dyn ContainerProcess>>,
    pub(super) phase: ContainerPhase,
    pub(super) restarts: i32,
    pub(super) last_termination: Option<Termination>,
    /// Delay of readiness after the start.
    readiness_delay: Duration,
    /// Duration of its preStop hook.
    pub(super) pre_stop: Duration,
}

impl SimulatedContainer {
    pub(super) fn new(
        runtime: &dyn ContainerRuntime,
        container: &Container,
        pod: &Pod,
        role: ContainerRole,
    ) -> Self {
        let seconds = |n: i64| Duration::from_secs(u64::try_from(n).unwrap_or(0));
        let probe = container.readiness_probe.as_ref();
        let delay = probe.and_then(|p| p.initial_delay_seconds).unwrap_or(0);
        let hook = container
            .lifecycle
            .as_ref()
            .and_then(|l| l.pre_stop.as_ref()?.sleep.as_ref());
        Self {
            name: container.name.clone(),
            image: container.image.clone().unwrap_or_default(),
            role,
            program: Arc::new(container_program(
                runtime,
                container,
                pod,
                role == ContainerRole::Main,
            )),
            process: None,
            phase: ContainerPhase::Waiting,
            restarts: 0,
            last_termination: None,
            readiness_delay: seconds(delay.into()),
            pre_stop: seconds(hook.map_or(0, |s| s.seconds)),
        }
    }

    /// The containers of a pod, init containers first.
    pub(super) fn all(runtime: &dyn ContainerRuntime, pod: &Pod) -> Vec<Self> {
        let Some(spec) = &pod.spec else {
            return Vec::new();
        };
        let init = spec.init_containers.iter().flatten().map(|c| {
            let role = if is_restartable_init_container(c) {
                ContainerRole::Sidecar
            } else {
                ContainerRole::Init
            };
            Self::new(runtime, c, pod, role)
        });
        let main = spec.containers.iter();
        let mut all: Vec<Self> = init
            .chain(main.map(|c| Self::new(runtime, c, pod, ContainerRole::Main)))
            .collect();
        Self::add_ephemeral(runtime, &mut all, pod);
        all
    }

    /// Adds the ephemeral containers of a pod that are not in `containers` yet.
    pub(super) fn add_ephemeral(
        runtime: &dyn ContainerRuntime,
        containers: &mut Vec<Self>,
        pod: &Pod,
    ) {
        for container in ephemeral_containers(pod) {
            if !containers.iter().any(|known| known.name == container.name) {
                containers.push(Self::new(
                    runtime,
                    &container,
                    pod,
                    ContainerRole::Ephemeral,
                ));
            }
        }
    }

    /// Restarts a container that was restored as running and whose process ended with an earlier run of
    /// the lab.
    pub(super) fn restart_lost_process(&mut self, now: Timestamp) {
        if let (ContainerPhase::Running { since, .. }, Some(_)) = (&self.phase, &self.process) {
            self.last_termination = Some(Termination {
                started: *since,
                finished: now,
                exit_code: LOST_EXIT_CODE,
            });
            self.phase = ContainerPhase::BackOff(now);
        }
    }

    pub(super) fn start(&mut self, now: Timestamp) {
        if matches!(self.phase, ContainerPhase::BackOff(_)) {
            self.restarts = self.restarts.saturating_add(1);
        }
        if let Some(process) = &self.process {
            self.program = Arc::new(process.start());
        }
        self.set_running(now);
    }

    /// Restores a container that has been running since `start`.
    pub(super) fn set_running(&mut self, since: Timestamp) {
        let end = self.program.end();
        self.phase = ContainerPhase::Running {
            since,
            ready: after(since, self.readiness_delay),
            ends: end.map(|(at, code)| (after(since, at), code)),
        };
    }

    /// Terminates a running container that has reached its end.
    pub(super) fn finish_if_due(&mut self, now: Timestamp) -> bool {
        match self.phase {
            ContainerPhase::Running {
                since,
                ends: Some((finished, code)),
                ..
            } if finished <= now => {
                self.phase = ContainerPhase::Terminated(Termination {
                    started: since,
                    finished,
                    exit_code: code,
                });
                true
            }
            _ => false,
        }
    }

    /// Schedules the restart of an exited container with increasing delay.
    pub(super) fn back_off(&mut self) {
        let ContainerPhase::Terminated(ended) = &self.phase else {
            return;
        };
        let ended = ended.clone();
        let ran = ended.finished.duration_since(ended.started).unsigned_abs();
        let delay = crash_loop_backoff(self.restarts, ran);
        self.phase = ContainerPhase::BackOff(after(ended.finished, delay));
        self.last_termination = Some(ended);
    }

    /// The restart delay, for the message.
    pub(super) fn restart_delay(&self) -> Duration {
        let last = self.last_termination.as_ref();
        let ran = last.map(|e| e.finished.duration_since(e.started).unsigned_abs());
        crash_loop_backoff(self.restarts, ran.unwrap_or_default())
    }

    /// Makes a running container terminate at `at` at the latest, as by a signal.
    pub(super) fn terminate_by(&mut self, at: Timestamp, code: i32) {
        if let ContainerPhase::Running { ends, .. } = &mut self.phase
            && ends.is_none_or(|(natural, _)| natural > at)
        {
            *ends = Some((at, code));
        }
    }

    pub(super) fn is_running(&self) -> bool {
        matches!(self.phase, ContainerPhase::Running { .. })
    }

    pub(super) fn is_ready(&self, now: Timestamp) -> bool {
        match &self.phase {
            ContainerPhase::Running { ready, .. } => {
                *ready <= now && self.process.as_ref().is_none_or(|p| p.is_ready())
            }
            ContainerPhase::Terminated(ended) => {
                self.role == ContainerRole::Init && ended.exit_code == 0
            }
            _ => false,
        }
    }

    /// When its state changes next.
    pub(super) fn next(&self, now: Timestamp) -> Option<Timestamp> {
        match &self.phase {
            ContainerPhase::BackOff(at) => Some(*at),
            ContainerPhase::Running { ready, ends, .. } => {
                let end = ends.map(|(at, _)| at);
                let ready = Some(*ready).filter(|at| *at > now);
                ready.into_iter().chain(end).min()
            }
            _ => None,
        }
    }
}

/// The ephemeral containers of a pod, which have the fields of other containers.
pub(super) fn ephemeral_containers(pod: &Pod) -> Vec<Container> {
    let spec = pod.spec.iter();
    let all = spec.flat_map(|spec| spec.ephemeral_containers.iter().flatten());
    let containers = all.filter_map(|container| {
        let value = serde_json::to_value(container).ok()?;
        serde_json::from_value(value).ok()
    });
    containers.collect()
}

/// `at` plus a duration, saturating.
pub(super) fn after(at: Timestamp, time: Duration) -> Timestamp {
    SignedDuration::try_from(time)
        .ok()
        .and_then(|time| at.checked_add(time).ok())
        .unwrap_or(Timestamp::MAX)
}

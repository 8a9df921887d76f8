//! One container of a pod over time.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Container, Pod};

use super::program::Program;
use crate::resources::is_sidecar;

/// The first delay of a container that keeps failing; it doubles every time.
const INITIAL_BACKOFF: Duration = Duration::from_secs(10);
/// The longest delay.
const MAX_BACKOFF: Duration = Duration::from_secs(300);
/// A container that ran this long is not thought to keep failing.
const BACKOFF_RESET_AFTER: Duration = Duration::from_secs(600);

/// What part a container plays in its pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ContainerRole {
    /// Runs to its end before the next one starts.
    Init,
    /// Starts in the order of init containers and keeps running.
    Sidecar,
    /// What the pod is for.
    Main,
}

/// How a container is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ContainerPhase {
    /// Not started yet.
    Waiting,
    /// Ended, and will start again at that moment.
    BackOff(Timestamp),
    /// Runs; the end is known in advance where there is one.
    Running {
        since: Timestamp,
        ready: Timestamp,
        ends: Option<(Timestamp, i32)>,
    },
    /// Ended for good.
    Terminated(Termination),
}

/// How a container ended.
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
    pub(super) phase: ContainerPhase,
    pub(super) restarts: i32,
    pub(super) last_termination: Option<Termination>,
    /// How long after its start it says it is ready.
    readiness_delay: Duration,
    /// How long its preStop hook takes.
    pub(super) pre_stop: Duration,
}

impl SimulatedContainer {
    pub(super) fn new(container: &Container, pod: &Pod, role: ContainerRole) -> Self {
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
            program: Arc::new(Program::of(container, pod, role == ContainerRole::Main)),
            phase: ContainerPhase::Waiting,
            restarts: 0,
            last_termination: None,
            readiness_delay: seconds(delay.into()),
            pre_stop: seconds(hook.map_or(0, |s| s.seconds)),
        }
    }

    /// The containers of a pod, those that initialise first.
    pub(super) fn all(pod: &Pod) -> Vec<Self> {
        let Some(spec) = &pod.spec else {
            return Vec::new();
        };
        let init = spec.init_containers.iter().flatten().map(|c| {
            let role = if is_sidecar(c) {
                ContainerRole::Sidecar
            } else {
                ContainerRole::Init
            };
            Self::new(c, pod, role)
        });
        let main = spec.containers.iter();
        init.chain(main.map(|c| Self::new(c, pod, ContainerRole::Main)))
            .collect()
    }

    pub(super) fn start(&mut self, now: Timestamp) {
        if matches!(self.phase, ContainerPhase::BackOff(_)) {
            self.restarts = self.restarts.saturating_add(1);
        }
        self.set_running(now);
    }

    /// Takes up a container that has been running since a moment.
    pub(super) fn set_running(&mut self, since: Timestamp) {
        let end = self.program.end();
        self.phase = ContainerPhase::Running {
            since,
            ready: after(since, self.readiness_delay),
            ends: end.map(|(at, code)| (after(since, at), code)),
        };
    }

    /// Ends a running container whose time has come.
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

    /// Plans to start an ended container again, later each time.
    pub(super) fn back_off(&mut self) {
        let ContainerPhase::Terminated(ended) = &self.phase else {
            return;
        };
        let ended = ended.clone();
        let ran = ended.finished.duration_since(ended.started).unsigned_abs();
        let delay = self.delay(ran);
        self.phase = ContainerPhase::BackOff(after(ended.finished, delay));
        self.last_termination = Some(ended);
    }

    fn delay(&self, ran: Duration) -> Duration {
        let doublings = u32::try_from(self.restarts - 1).unwrap_or(0).min(16);
        if self.restarts == 0 || ran > BACKOFF_RESET_AFTER {
            Duration::ZERO
        } else {
            (INITIAL_BACKOFF * 2u32.pow(doublings)).min(MAX_BACKOFF)
        }
    }

    /// How long it waits before it starts again, as the message says it.
    pub(super) fn restart_delay(&self) -> Duration {
        let last = self.last_termination.as_ref();
        let ran = last.map(|e| e.finished.duration_since(e.started).unsigned_abs());
        self.delay(ran.unwrap_or_default())
    }

    /// Makes a running container end at `at` at the latest, as if by a signal.
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
            ContainerPhase::Running { ready, .. } => *ready <= now,
            ContainerPhase::Terminated(ended) => {
                self.role == ContainerRole::Init && ended.exit_code == 0
            }
            _ => false,
        }
    }

    /// When something happens to it by itself.
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

/// A moment later than another, or the last there is.
pub(super) fn after(at: Timestamp, time: Duration) -> Timestamp {
    SignedDuration::try_from(time)
        .ok()
        .and_then(|time| at.checked_add(time).ok())
        .unwrap_or(Timestamp::MAX)
}

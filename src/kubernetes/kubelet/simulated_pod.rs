//! The state machine of one pod: container starts, exits and restarts, and the resulting phase. A
//! function of the pod, its history and the current time.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ContainerState, ContainerStatus, Pod};

use super::container_runtime::ContainerRuntime;
use super::simulated_container::{
    ContainerPhase, ContainerRole, SimulatedContainer, Termination, after,
};

/// How long containers take to stop after SIGTERM.
const TERMINATION_DELAY: Duration = Duration::from_millis(300);
/// The exit code of a process terminated by SIGTERM.
const SIGTERM_EXIT_CODE: i32 = 143;

/// A lifecycle change worth an Event; containers by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PodLifecycleEvent {
    Started(usize),
    Killing(usize),
    BackOff(usize),
    DeadlineExceeded,
}

/// A pod on its node.
#[derive(Clone, Debug)]
pub(super) struct SimulatedPod {
    runtime: Arc<dyn ContainerRuntime>,
    pub(super) uid: String,
    /// When the kubelet started the pod.
    pub(super) started: Timestamp,
    /// When its sandbox is ready and containers can start.
    pub(super) sandbox_ready_at: Timestamp,
    pub(super) containers: Vec<SimulatedContainer>,
    /// Whether it is being stopped.
    pub(super) terminating: bool,
    /// Whether `activeDeadlineSeconds` is exceeded.
    pub(super) deadline_exceeded: bool,
    pub(super) ip: String,
    pub(super) cidr: String,
}

impl SimulatedPod {
    /// A newly bound pod; its sandbox takes `startup`.
    pub(super) fn new(
        runtime: &Arc<dyn ContainerRuntime>,
        pod: &Pod,
        now: Timestamp,
        startup: Duration,
    ) -> Self {
        Self {
            runtime: runtime.clone(),
            uid: pod.metadata.uid.clone().unwrap_or_default(),
            started: now,
            sandbox_ready_at: after(now, startup),
            containers: SimulatedContainer::all(&**runtime, pod),
            terminating: false,
            deadline_exceeded: false,
            ip: String::new(),
            cidr: String::new(),
        }
    }

    /// A pod that ran before this process, restored from its status.
    pub(super) fn from_status(
        runtime: &Arc<dyn ContainerRuntime>,
        pod: &Pod,
        now: Timestamp,
    ) -> Self {
        let status = pod.status.clone().unwrap_or_default();
        let started = status.start_time.map_or(now, |t| t.0);
        let mut run = Self::new(runtime, pod, started, Duration::ZERO);
        run.ip = status.pod_ip.unwrap_or_default();
        let statuses = status.init_container_statuses.into_iter().flatten();
        let all: Vec<ContainerStatus> = statuses
            .chain(status.container_statuses.into_iter().flatten())
            .chain(status.ephemeral_container_statuses.into_iter().flatten())
            .collect();
        for container in &mut run.containers {
            if let Some(status) = all.iter().find(|s| s.name == container.name) {
                container.restarts = status.restart_count;
                container.last_termination = status.last_state.as_ref().and_then(ended);
                restore_container(container, status);
            }
        }
        run
    }

    fn policy<'a>(&self, pod: &'a Pod) -> &'a str {
        let spec = pod.spec.as_ref();
        spec.and_then(|s| s.restart_policy.as_deref())
            .unwrap_or("Always")
    }

    /// Applies all changes that were due until `now`.
    pub(super) fn advance(&mut self, pod: &Pod, now: Timestamp) -> Vec<PodLifecycleEvent> {
        let mut events = Vec::new();
        SimulatedContainer::add_ephemeral(&*self.runtime, &mut self.containers, pod);
        self.check_termination(pod, now, &mut events);
        // Each round terminates or starts a container; one started at a past time may terminate in
        // the next round.
        for _ in 0..1_000 {
            let mut changed = false;
            for container in &mut self.containers {
                changed |= container.finish_if_due(now);
            }
            if !self.terminating && now >= self.sandbox_ready_at {
                changed |= self.start_containers(pod, now, &mut events);
            }
            if !changed {
                break;
            }
        }
        events
    }

    /// Stops the pod when it is being deleted or its deadline is exceeded.
    fn check_termination(
        &mut self,
        pod: &Pod,
        now: Timestamp,
        events: &mut Vec<PodLifecycleEvent>,
    ) {
        if self.terminating {
            return;
        }
        let deleted_at = pod.metadata.deletion_timestamp.as_ref().map(|t| t.0);
        if deleted_at.is_none() {
            match self.deadline(pod) {
                Some(deadline) if deadline <= now && !self.has_ended(pod) => {
                    self.deadline_exceeded = true;
                    events.push(PodLifecycleEvent::DeadlineExceeded);
                }
                _ => return,
            }
        }
        self.terminating = true;
        let latest = deleted_at.unwrap_or(Timestamp::MAX).max(now);
        for (index, container) in self.containers.iter_mut().enumerate() {
            container.finish_if_due(now);
            if container.is_running() {
                events.push(PodLifecycleEvent::Killing(index));
                let at = after(now, TERMINATION_DELAY + container.pre_stop).min(latest);
                container.terminate_by(at, SIGTERM_EXIT_CODE);
            }
        }
    }

    /// Starts containers that may start; returns whether there were any.
    fn start_containers(
        &mut self,
        pod: &Pod,
        now: Timestamp,
        events: &mut Vec<PodLifecycleEvent>,
    ) -> bool {
        let policy = self.policy(pod);
        let mut changed = false;
        for index in 0..self.containers.len() {
            let role = self.containers[index].role;
            if self.is_work_done(policy) {
                break;
            }
            let container = &mut self.containers[index];
            match &container.phase {
                ContainerPhase::Waiting => {
                    container.start(now);
                    events.push(PodLifecycleEvent::Started(index));
                    changed = true;
                }
                ContainerPhase::BackOff(at) if *at <= now => {
                    container.start(now);
                    events.push(PodLifecycleEvent::Started(index));
                    changed = true;
                }
                ContainerPhase::Terminated(ended) if restarts(role, policy, ended.exit_code) => {
                    container.back_off();
                    if !container.restart_delay().is_zero() {
                        events.push(PodLifecycleEvent::BackOff(index));
                    }
                    changed = true;
                }
                _ => {}
            }
            // An init container blocks all that come after it.
            let done = match (&self.containers[index].phase, role) {
                (ContainerPhase::Terminated(ended), ContainerRole::Init) => ended.exit_code == 0,
                (_, ContainerRole::Init) => false,
                (phase, ContainerRole::Sidecar) => matches!(phase, ContainerPhase::Running { .. }),
                (_, ContainerRole::Main | ContainerRole::Ephemeral) => true,
            };
            if !done {
                break;
            }
        }
        if self.is_work_done(policy) {
            for (index, container) in self.containers.iter_mut().enumerate() {
                let helps = container.role != ContainerRole::Main && container.is_running();
                if helps
                    && container
                        .next(now)
                        .is_none_or(|at| at > after(now, TERMINATION_DELAY))
                {
                    events.push(PodLifecycleEvent::Killing(index));
                    container.terminate_by(after(now, TERMINATION_DELAY), 0);
                    changed = true;
                }
            }
        }
        changed
    }

    /// Whether only sidecars are left.
    fn is_work_done(&self, policy: &str) -> bool {
        self.main_containers_done(policy) || self.init_failed(policy)
    }

    /// Whether every main container has terminated.
    fn main_containers_done(&self, policy: &str) -> bool {
        let over = |c: &SimulatedContainer| match &c.phase {
            ContainerPhase::Terminated(ended) => !restarts(c.role, policy, ended.exit_code),
            _ => false,
        };
        self.main_containers().all(over)
    }

    fn main_containers(&self) -> impl Iterator<Item = &SimulatedContainer> {
        self.containers
            .iter()
            .filter(|c| c.role == ContainerRole::Main)
    }

    /// Whether an init container has failed and is not restarted.
    fn init_failed(&self, policy: &str) -> bool {
        self.containers.iter().any(|c| {
            let failed =
                matches!(&c.phase, ContainerPhase::Terminated(ended) if ended.exit_code != 0);
            c.role == ContainerRole::Init && failed && policy == "Never"
        })
    }

    /// Whether all init containers have completed or, as sidecars, started.
    pub(super) fn is_initialized(&self) -> bool {
        self.containers.iter().all(|c| match c.role {
            ContainerRole::Init => {
                matches!(&c.phase, ContainerPhase::Terminated(ended) if ended.exit_code == 0)
            }
            ContainerRole::Sidecar => !matches!(c.phase, ContainerPhase::Waiting),
            ContainerRole::Main | ContainerRole::Ephemeral => true,
        })
    }

    /// The phase of the pod, as the kubelet derives it from the containers.
    pub(super) fn phase(&self, pod: &Pod) -> &'static str {
        let policy = self.policy(pod);
        let running = self.containers.iter().any(SimulatedContainer::is_running);
        if self.deadline_exceeded {
            return "Failed";
        }
        if self.terminating && !running {
            let clean = |c: &SimulatedContainer| matches!(&c.phase, ContainerPhase::Terminated(e) if e.exit_code == 0);
            return if self.main_containers().all(clean) {
                "Succeeded"
            } else {
                "Failed"
            };
        }
        if self.init_failed(policy) {
            return if running { "Pending" } else { "Failed" };
        }
        if !self.is_initialized() {
            return "Pending";
        }
        if self.main_containers_done(policy) && !running {
            let failed = |c: &SimulatedContainer| matches!(&c.phase, ContainerPhase::Terminated(e) if e.exit_code != 0);
            return if self.main_containers().any(failed) {
                "Failed"
            } else {
                "Succeeded"
            };
        }
        if self
            .main_containers()
            .any(|c| matches!(c.phase, ContainerPhase::Waiting))
        {
            return "Pending";
        }
        "Running"
    }

    /// Whether no container runs or will run.
    pub(super) fn has_ended(&self, pod: &Pod) -> bool {
        let running = self.containers.iter().any(SimulatedContainer::is_running);
        !running && matches!(self.phase(pod), "Succeeded" | "Failed")
    }

    fn deadline(&self, pod: &Pod) -> Option<Timestamp> {
        let seconds = pod.spec.as_ref()?.active_deadline_seconds?;
        let time = Duration::from_secs(u64::try_from(seconds).ok()?);
        Some(after(self.started, time))
    }

    /// When its state changes next.
    pub(super) fn next(&self, pod: &Pod, now: Timestamp) -> Option<Timestamp> {
        if self.has_ended(pod) {
            return None;
        }
        let containers = self.containers.iter().filter_map(|c| c.next(now));
        let sandbox = Some(self.sandbox_ready_at).filter(|at| *at > now);
        let deadline = self.deadline(pod).filter(|_| !self.terminating);
        containers.chain(sandbox).chain(deadline).min()
    }
}

/// Whether a container that exited with `exit_code` is restarted.
fn restarts(role: ContainerRole, policy: &str, code: i32) -> bool {
    match (role, policy) {
        (ContainerRole::Sidecar, _) => true,
        (ContainerRole::Init, "Never") => false,
        (ContainerRole::Init, _) => code != 0,
        (ContainerRole::Main, "Always") => true,
        (ContainerRole::Main, "OnFailure") => code != 0,
        (ContainerRole::Main | ContainerRole::Ephemeral, _) => false,
    }
}

fn ended(state: &ContainerState) -> Option<Termination> {
    let terminated = state.terminated.as_ref()?;
    let finished = terminated.finished_at.as_ref().map(|t| t.0)?;
    Some(Termination {
        started: terminated.started_at.as_ref().map_or(finished, |t| t.0),
        finished,
        exit_code: terminated.exit_code,
    })
}

fn restore_container(container: &mut SimulatedContainer, status: &ContainerStatus) {
    let Some(state) = &status.state else {
        return;
    };
    if let Some(ended) = ended(state) {
        container.phase = ContainerPhase::Terminated(ended);
    } else if let Some(since) = state.running.as_ref().and_then(|r| r.started_at.as_ref()) {
        container.set_running(since.0);
    } else if let Some(last) = &container.last_termination {
        container.phase = ContainerPhase::BackOff(after(last.finished, container.restart_delay()));
    }
}

#[cfg(test)]
mod tests {
    use super::super::shell_runtime::ShellRuntime;
    use super::*;
    use serde_json::{Value, json};

    fn runtime() -> Arc<dyn ContainerRuntime> {
        Arc::new(ShellRuntime)
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_000_000 + seconds).unwrap()
    }

    fn pod(spec: Value) -> Pod {
        serde_json::from_value(json!({"metadata": {"name": "p", "uid": "u"}, "spec": spec}))
            .unwrap()
    }

    fn shell(name: &str, script: &str) -> Value {
        json!({"name": name, "command": ["sh", "-c", script]})
    }

    /// Advances a pod from one change to the next: times in seconds, and phases.
    fn phase_changes(pod: &Pod, until: i64) -> Vec<(i64, &'static str, i32)> {
        let mut run = SimulatedPod::new(&runtime(), pod, at(0), Duration::from_secs(1));
        let (mut now, mut seen) = (at(0), Vec::new());
        loop {
            run.advance(pod, now);
            let restarts = run.containers.iter().map(|c| c.restarts).sum();
            let step = (now.as_second() - 1_000_000, run.phase(pod), restarts);
            if seen.last().map(|s: &(i64, &str, i32)| (s.1, s.2)) != Some((step.1, step.2)) {
                seen.push(step);
            }
            match run.next(pod, now) {
                Some(next) if next <= at(until) => now = next,
                _ => return seen,
            }
        }
    }

    #[test]
    fn a_container_starts_runs_and_ends() {
        let pod = pod(json!({"restartPolicy": "Never", "containers": [shell("c", "sleep 30")]}));
        assert_eq!(
            phase_changes(&pod, 1_000),
            [(0, "Pending", 0), (1, "Running", 0), (31, "Succeeded", 0)]
        );
    }

    #[test]
    fn failing_containers_back_off() {
        let spec =
            json!({"restartPolicy": "OnFailure", "containers": [shell("c", "sleep 5; exit 1")]});
        assert_eq!(
            phase_changes(&pod(spec), 60),
            [
                (0, "Pending", 0),
                (1, "Running", 0),
                (6, "Running", 1),
                (21, "Running", 2),
                (46, "Running", 3),
            ]
        );
    }

    #[test]
    fn init_containers_run_in_order_and_sidecars_keep_running() {
        let mut sidecar = shell("s", "sleep infinity");
        sidecar["restartPolicy"] = "Always".into();
        let pod = pod(json!({
            "restartPolicy": "Never",
            "initContainers": [shell("a", "sleep 3"), sidecar, shell("b", "sleep 4")],
            "containers": [shell("c", "sleep 10; exit 2")],
        }));
        assert_eq!(
            phase_changes(&pod, 1_000),
            [(0, "Pending", 0), (8, "Running", 0), (18, "Failed", 0)]
        );
    }

    #[test]
    fn a_failing_init_container_fails_a_pod_that_never_restarts() {
        let pod = pod(json!({
            "restartPolicy": "Never",
            "initContainers": [shell("a", "sleep 3; false")],
            "containers": [shell("c", "sleep 10")],
        }));
        assert_eq!(
            phase_changes(&pod, 1_000),
            [(0, "Pending", 0), (4, "Failed", 0)]
        );
    }

    #[test]
    fn active_deadline_fails_a_pod() {
        let pod = pod(
            json!({"restartPolicy": "Never", "activeDeadlineSeconds": 20,
            "containers": [shell("c", "sleep 100")]}),
        );
        assert_eq!(
            phase_changes(&pod, 1_000),
            [(0, "Pending", 0), (1, "Running", 0), (20, "Failed", 0)]
        );
    }

    #[test]
    fn deletion_stops_containers_within_the_grace_period() {
        let mut pod = pod(json!({"restartPolicy": "Never",
            "containers": [shell("c", "sleep 100")]}));
        let mut run = SimulatedPod::new(&runtime(), &pod, at(0), Duration::ZERO);
        run.advance(&pod, at(0));
        let deletion = k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(at(40));
        pod.metadata.deletion_timestamp = Some(deletion);
        assert_eq!(run.advance(&pod, at(10)), [PodLifecycleEvent::Killing(0)]);
        assert_eq!(run.phase(&pod), "Running");
        let next = run.next(&pod, at(10)).unwrap();
        assert!(next > at(10) && next < at(12));
        run.advance(&pod, next);
        assert!(run.has_ended(&pod));
        assert_eq!(run.phase(&pod), "Failed");
    }
}

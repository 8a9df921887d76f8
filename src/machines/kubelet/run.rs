//! One pod over time: which container starts, ends and restarts when, and what that makes of the
//! pod. A function of the pod, its past and `now`.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ContainerState, ContainerStatus, Pod};

use super::container::{ContainerRun, Ended, Phase, Role, after};

/// How long containers take to stop after they were asked to.
const STOPS_AFTER: Duration = Duration::from_millis(300);
/// The exit code of a process that ended by SIGTERM.
const TERMINATED: i32 = 143;

/// Something worth an Event; containers by their place in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Happening {
    Started(usize),
    Killing(usize),
    BackOff(usize),
    DeadlineExceeded,
}

/// A pod on its node.
#[derive(Clone, Debug)]
pub(super) struct PodRun {
    pub(super) uid: String,
    /// When the kubelet took the pod up.
    pub(super) started: Timestamp,
    /// When its network is there and containers can start.
    pub(super) sandbox: Timestamp,
    pub(super) containers: Vec<ContainerRun>,
    /// It was told to stop.
    pub(super) stopping: bool,
    /// It ran longer than it may.
    pub(super) overdue: bool,
    pub(super) ip: String,
    pub(super) cidr: String,
}

impl PodRun {
    /// A pod that was just bound; its network takes `startup` to be there.
    pub(super) fn new(pod: &Pod, now: Timestamp, startup: Duration) -> Self {
        Self {
            uid: pod.metadata.uid.clone().unwrap_or_default(),
            started: now,
            sandbox: after(now, startup),
            containers: ContainerRun::all(pod),
            stopping: false,
            overdue: false,
            ip: String::new(),
            cidr: String::new(),
        }
    }

    /// A pod that somebody ran before, by what its status says.
    pub(super) fn resume(pod: &Pod, now: Timestamp) -> Self {
        let status = pod.status.clone().unwrap_or_default();
        let started = status.start_time.map_or(now, |t| t.0);
        let mut run = Self::new(pod, started, Duration::ZERO);
        run.ip = status.pod_ip.unwrap_or_default();
        let statuses = status.init_container_statuses.into_iter().flatten();
        let all: Vec<ContainerStatus> = statuses
            .chain(status.container_statuses.into_iter().flatten())
            .collect();
        for container in &mut run.containers {
            if let Some(status) = all.iter().find(|s| s.name == container.name) {
                container.restarts = status.restart_count;
                container.last = status.last_state.as_ref().and_then(ended);
                take_up(container, status);
            }
        }
        run
    }

    fn policy<'a>(&self, pod: &'a Pod) -> &'a str {
        let spec = pod.spec.as_ref();
        spec.and_then(|s| s.restart_policy.as_deref())
            .unwrap_or("Always")
    }

    /// Lets everything happen that was due until `now`.
    pub(super) fn advance(&mut self, pod: &Pod, now: Timestamp) -> Vec<Happening> {
        let mut happened = Vec::new();
        self.check_stop(pod, now, &mut happened);
        // Each round ends or starts something, and a round that starts something at a moment that
        // has passed may see it end at once.
        for _ in 0..1_000 {
            let mut changed = false;
            for container in &mut self.containers {
                changed |= container.finish_if_due(now);
            }
            if !self.stopping && now >= self.sandbox {
                changed |= self.proceed(pod, now, &mut happened);
            }
            if !changed {
                break;
            }
        }
        happened
    }

    /// Stops the pod when it is being deleted or has run too long.
    fn check_stop(&mut self, pod: &Pod, now: Timestamp, happened: &mut Vec<Happening>) {
        if self.stopping {
            return;
        }
        let leaving = pod.metadata.deletion_timestamp.as_ref().map(|t| t.0);
        if leaving.is_none() {
            match self.deadline(pod) {
                Some(deadline) if deadline <= now && !self.has_ended(pod) => {
                    self.overdue = true;
                    happened.push(Happening::DeadlineExceeded);
                }
                _ => return,
            }
        }
        self.stopping = true;
        let latest = leaving.unwrap_or(Timestamp::MAX).max(now);
        for (index, container) in self.containers.iter_mut().enumerate() {
            container.finish_if_due(now);
            if container.is_running() {
                happened.push(Happening::Killing(index));
                let at = after(now, STOPS_AFTER + container.farewell).min(latest);
                container.end_by(at, TERMINATED);
            }
        }
    }

    /// Starts what may start now; whether there was anything.
    fn proceed(&mut self, pod: &Pod, now: Timestamp, happened: &mut Vec<Happening>) -> bool {
        let policy = self.policy(pod);
        let mut changed = false;
        for index in 0..self.containers.len() {
            let role = self.containers[index].role;
            if self.work_over(policy) {
                break;
            }
            let container = &mut self.containers[index];
            match &container.phase {
                Phase::Waiting => {
                    container.start(now);
                    happened.push(Happening::Started(index));
                    changed = true;
                }
                Phase::BackOff(at) if *at <= now => {
                    container.start(now);
                    happened.push(Happening::Started(index));
                    changed = true;
                }
                Phase::Ended(ended) if restarts(role, policy, ended.code) => {
                    container.back_off();
                    if !container.waits().is_zero() {
                        happened.push(Happening::BackOff(index));
                    }
                    changed = true;
                }
                _ => {}
            }
            // An init container holds up all that come after it.
            let done = match (&self.containers[index].phase, role) {
                (Phase::Ended(ended), Role::Init) => ended.code == 0,
                (_, Role::Init) => false,
                (phase, Role::Sidecar) => matches!(phase, Phase::Running { .. }),
                (_, Role::Main) => true,
            };
            if !done {
                break;
            }
        }
        if self.work_over(policy) {
            for (index, container) in self.containers.iter_mut().enumerate() {
                let sidecar = container.role == Role::Sidecar && container.is_running();
                if sidecar
                    && container
                        .next(now)
                        .is_none_or(|at| at > after(now, STOPS_AFTER))
                {
                    happened.push(Happening::Killing(index));
                    container.end_by(after(now, STOPS_AFTER), 0);
                    changed = true;
                }
            }
        }
        changed
    }

    /// Whether there is nothing left to start, and sidecars have nobody to help.
    fn work_over(&self, policy: &str) -> bool {
        self.mains_over(policy) || self.init_failed(policy)
    }

    /// Whether every main container has ended for good.
    fn mains_over(&self, policy: &str) -> bool {
        let over = |c: &ContainerRun| match &c.phase {
            Phase::Ended(ended) => !restarts(c.role, policy, ended.code),
            _ => false,
        };
        self.mains().all(over)
    }

    fn mains(&self) -> impl Iterator<Item = &ContainerRun> {
        self.containers.iter().filter(|c| c.role == Role::Main)
    }

    /// Whether an init container has failed that does not restart.
    fn init_failed(&self, policy: &str) -> bool {
        self.containers.iter().any(|c| {
            let failed = matches!(&c.phase, Phase::Ended(ended) if ended.code != 0);
            c.role == Role::Init && failed && policy == "Never"
        })
    }

    /// Whether all init containers have done their part.
    pub(super) fn initialised(&self) -> bool {
        self.containers.iter().all(|c| match c.role {
            Role::Init => matches!(&c.phase, Phase::Ended(ended) if ended.code == 0),
            Role::Sidecar => !matches!(c.phase, Phase::Waiting),
            Role::Main => true,
        })
    }

    /// The phase of the pod, as the kubelet derives it from the containers.
    pub(super) fn phase(&self, pod: &Pod) -> &'static str {
        let policy = self.policy(pod);
        let running = self.containers.iter().any(ContainerRun::is_running);
        if self.overdue {
            return "Failed";
        }
        if self.stopping && !running {
            let clean = |c: &ContainerRun| matches!(&c.phase, Phase::Ended(e) if e.code == 0);
            return if self.mains().all(clean) {
                "Succeeded"
            } else {
                "Failed"
            };
        }
        if self.init_failed(policy) {
            return if running { "Pending" } else { "Failed" };
        }
        if !self.initialised() {
            return "Pending";
        }
        if self.mains_over(policy) && !running {
            let failed = |c: &ContainerRun| matches!(&c.phase, Phase::Ended(e) if e.code != 0);
            return if self.mains().any(failed) {
                "Failed"
            } else {
                "Succeeded"
            };
        }
        if self.mains().any(|c| matches!(c.phase, Phase::Waiting)) {
            return "Pending";
        }
        "Running"
    }

    /// Whether nothing runs and nothing will.
    pub(super) fn has_ended(&self, pod: &Pod) -> bool {
        let running = self.containers.iter().any(ContainerRun::is_running);
        !running && matches!(self.phase(pod), "Succeeded" | "Failed")
    }

    fn deadline(&self, pod: &Pod) -> Option<Timestamp> {
        let seconds = pod.spec.as_ref()?.active_deadline_seconds?;
        let time = Duration::from_secs(u64::try_from(seconds).ok()?);
        Some(after(self.started, time))
    }

    /// When something happens by itself.
    pub(super) fn next(&self, pod: &Pod, now: Timestamp) -> Option<Timestamp> {
        if self.has_ended(pod) {
            return None;
        }
        let containers = self.containers.iter().filter_map(|c| c.next(now));
        let sandbox = Some(self.sandbox).filter(|at| *at > now);
        let deadline = self.deadline(pod).filter(|_| !self.stopping);
        containers.chain(sandbox).chain(deadline).min()
    }
}

/// Whether a container that ended with `code` is started again.
fn restarts(role: Role, policy: &str, code: i32) -> bool {
    match (role, policy) {
        (Role::Sidecar, _) => true,
        (Role::Init, "Never") => false,
        (Role::Init, _) => code != 0,
        (Role::Main, "Always") => true,
        (Role::Main, "OnFailure") => code != 0,
        (Role::Main, _) => false,
    }
}

fn ended(state: &ContainerState) -> Option<Ended> {
    let terminated = state.terminated.as_ref()?;
    let finished = terminated.finished_at.as_ref().map(|t| t.0)?;
    Some(Ended {
        started: terminated.started_at.as_ref().map_or(finished, |t| t.0),
        finished,
        code: terminated.exit_code,
    })
}

fn take_up(container: &mut ContainerRun, status: &ContainerStatus) {
    let Some(state) = &status.state else {
        return;
    };
    if let Some(ended) = ended(state) {
        container.phase = Phase::Ended(ended);
    } else if let Some(since) = state.running.as_ref().and_then(|r| r.started_at.as_ref()) {
        container.run_since(since.0);
    } else if let Some(last) = &container.last {
        container.phase = Phase::BackOff(after(last.finished, container.waits()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

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

    /// Follows a pod from deadline to deadline: the seconds and phases it goes through.
    fn story(pod: &Pod, until: i64) -> Vec<(i64, &'static str, i32)> {
        let mut run = PodRun::new(pod, at(0), Duration::from_secs(1));
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
            story(&pod, 1_000),
            [(0, "Pending", 0), (1, "Running", 0), (31, "Succeeded", 0)]
        );
    }

    #[test]
    fn failing_containers_restart_later_each_time() {
        let spec =
            json!({"restartPolicy": "OnFailure", "containers": [shell("c", "sleep 5; exit 1")]});
        assert_eq!(
            story(&pod(spec), 60),
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
    fn init_containers_go_one_by_one_and_sidecars_stay() {
        let mut sidecar = shell("s", "sleep infinity");
        sidecar["restartPolicy"] = "Always".into();
        let pod = pod(json!({
            "restartPolicy": "Never",
            "initContainers": [shell("a", "sleep 3"), sidecar, shell("b", "sleep 4")],
            "containers": [shell("c", "sleep 10; exit 2")],
        }));
        assert_eq!(
            story(&pod, 1_000),
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
        assert_eq!(story(&pod, 1_000), [(0, "Pending", 0), (4, "Failed", 0)]);
    }

    #[test]
    fn a_deadline_ends_a_pod() {
        let pod = pod(
            json!({"restartPolicy": "Never", "activeDeadlineSeconds": 20,
            "containers": [shell("c", "sleep 100")]}),
        );
        assert_eq!(
            story(&pod, 1_000),
            [(0, "Pending", 0), (1, "Running", 0), (20, "Failed", 0)]
        );
    }

    #[test]
    fn deletion_stops_containers_within_the_grace_period() {
        let mut pod = pod(json!({"restartPolicy": "Never",
            "containers": [shell("c", "sleep 100")]}));
        let mut run = PodRun::new(&pod, at(0), Duration::ZERO);
        run.advance(&pod, at(0));
        let deletion = k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(at(40));
        pod.metadata.deletion_timestamp = Some(deletion);
        assert_eq!(run.advance(&pod, at(10)), [Happening::Killing(0)]);
        assert_eq!(run.phase(&pod), "Running");
        let next = run.next(&pod, at(10)).unwrap();
        assert!(next > at(10) && next < at(12));
        run.advance(&pod, next);
        assert!(run.has_ended(&pod));
        assert_eq!(run.phase(&pod), "Failed");
    }
}

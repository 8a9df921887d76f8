//! The simulated program of a container: its output, duration and exit code, derived from its
//! command without running it.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Container, Pod};
use kube::ResourceExt;

use super::shell;
use super::wrapped_command::{WrappedCommand, wrapped_command};

/// Annotation: the duration of each main container of the pod, such as `30s` or `5m`.
pub(super) const RUN_FOR: &str = "kueue-lab.dev/run-for";
/// Annotation: the exit code of each main container of the pod.
pub(super) const EXIT_CODE: &str = "kueue-lab.dev/exit-code";
/// The annotation of other fake kubelets: seconds or a duration.
const DURATION_ANNOTATION: &str = "example.com/duration";
/// KWOK's annotation for the duration of a pod.
const KWOK_DELAY_ANNOTATION: &str = "pod-complete.stage.kwok.x-k8s.io/delay";
/// Duration of a container in a pod that should complete, if none is given.
pub(super) const DEFAULT_DURATION: Duration = Duration::from_secs(30);
/// Maximum length of a chain of containers that wait for each other.
const CHAIN: usize = 64;
/// Maximum number of steps; a longer program runs forever.
const STEPS: usize = 100_000;

/// One step of a program.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Prints a line.
    Print(String),
    /// Waits.
    Wait(Duration),
    /// Runs forever.
    Hang,
    /// Repeats these steps.
    Loop(Vec<Step>),
    /// Exits with this code.
    Exit(i32),
}

/// The steps of a container from start to exit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    steps: Vec<Step>,
}

/// An event of a program, with its time after the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProgramEvent<'a> {
    /// It printed a line.
    Line(Duration, &'a str),
    /// It exited with this code.
    Exit(Duration, i32),
}

impl Program {
    /// A program of these steps; it exits with 0 after the last.
    pub fn new(steps: Vec<Step>) -> Self {
        Self { steps }
    }

    /// The program of a container. If its duration is not known, it runs forever if `endless`,
    /// otherwise for [`DEFAULT_DURATION`].
    pub fn of(container: &Container, pod: &Pod, main: bool) -> Self {
        let restarts = pod
            .spec
            .as_ref()
            .and_then(|s| s.restart_policy.as_deref())
            .unwrap_or("Always");
        let mut program = Self::of_command(container, pod, restarts == "Always" && main);
        if !main {
            return program;
        }
        let annotation = |name: &str| pod.annotations().get(name).map(|v| v.trim());
        let time = [RUN_FOR, DURATION_ANNOTATION, KWOK_DELAY_ANNOTATION]
            .iter()
            .find_map(|name| shell::duration(annotation(name)?));
        let code = annotation(EXIT_CODE).and_then(|code| code.parse::<i32>().ok());
        if time.is_some() || code.is_some() {
            program = program.overridden(time, code);
        }
        program
    }

    fn of_command(container: &Container, pod: &Pod, endless: bool) -> Self {
        Self::of_wrapped(container, pod, endless, CHAIN)
            .unwrap_or_else(|| Self::of_words(container, pod, endless))
    }

    /// The program of a container that an operator's executable starts.
    fn of_wrapped(container: &Container, pod: &Pod, endless: bool, chain: usize) -> Option<Self> {
        let chain = chain.checked_sub(1)?;
        let other = |container: &Container| {
            Self::of_wrapped(container, pod, endless, chain)
                .unwrap_or_else(|| Self::of_words(container, pod, endless))
        };
        let wait = |container: &Container| match other(container).end() {
            Some((time, code)) => (Step::Wait(time), code),
            None => (Step::Hang, 0),
        };
        Some(Self::new(match wrapped_command(container, pod)? {
            WrappedCommand::Setup => vec![],
            WrappedCommand::WaitFor(other) => vec![wait(other).0],
            WrappedCommand::Run {
                after,
                words,
                ignores_failure,
            } => {
                let mut inner = container.clone();
                let (command, args) = words.split_at(words.len().min(1));
                let owned = |words: &[&str]| words.iter().map(|w| (*w).to_owned()).collect();
                inner.command = Some(owned(command)).filter(|words: &Vec<_>| !words.is_empty());
                inner.args = Some(owned(args));
                let mut steps = Self::of_words(&inner, pod, endless).steps;
                if ignores_failure {
                    steps.retain(|step| !matches!(step, Step::Exit(_)));
                }
                match after.map(wait) {
                    None => steps,
                    Some((step, 0)) => std::iter::once(step).chain(steps).collect(),
                    Some((step, _)) => vec![step, Step::Exit(1)],
                }
            }
        }))
    }

    /// The program of a command without such an executable.
    fn of_words(container: &Container, pod: &Pod, endless: bool) -> Self {
        let words: Vec<&str> = container
            .command
            .iter()
            .flatten()
            .chain(container.args.iter().flatten())
            .map(String::as_str)
            .collect();
        let environment = shell::environment(container, pod);
        if container.command.as_ref().is_none_or(Vec::is_empty)
            && let Some(steps) = of_image(container, &words)
        {
            return Self::new(steps);
        }
        if let Some(steps) = shell::steps(&words, &environment) {
            return Self::new(steps);
        }
        Self::new(vec![if endless {
            Step::Hang
        } else {
            Step::Wait(DEFAULT_DURATION)
        }])
    }

    /// The same output with another duration or exit code.
    fn overridden(self, time: Option<Duration>, code: Option<i32>) -> Self {
        let own = self.end();
        let until = time.or(own.map(|(at, _)| at)).unwrap_or(DEFAULT_DURATION);
        let code = code.or(own.map(|(_, code)| code)).unwrap_or(0);
        let mut steps = Vec::new();
        let mut at = Duration::ZERO;
        for event in self.events().take(STEPS) {
            match event {
                ProgramEvent::Line(then, line) if then <= until => {
                    steps.push(Step::Wait(then - at));
                    steps.push(Step::Print(line.to_string()));
                    at = then;
                }
                _ => break,
            }
        }
        steps.push(Step::Wait(until - at));
        steps.push(Step::Exit(code));
        Self::new(steps)
    }

    /// When and how the program exits; `None` if it never does.
    pub fn end(&self) -> Option<(Duration, i32)> {
        self.events().find_map(|event| match event {
            ProgramEvent::Exit(at, code) => Some((at, code)),
            ProgramEvent::Line(..) => None,
        })
    }

    /// The events of the program, in order.
    pub fn events(&self) -> ProgramEvents<'_> {
        ProgramEvents {
            stack: vec![(&self.steps, 0, false)],
            at: Duration::ZERO,
            budget: STEPS,
        }
    }
}

/// Iterator over the events of a program.
pub struct ProgramEvents<'a> {
    stack: Vec<(&'a [Step], usize, bool)>,
    at: Duration,
    budget: usize,
}

impl<'a> Iterator for ProgramEvents<'a> {
    type Item = ProgramEvent<'a>;

    fn next(&mut self) -> Option<ProgramEvent<'a>> {
        loop {
            self.budget = self.budget.checked_sub(1)?;
            let (steps, next, endless) = self.stack.last_mut()?;
            let Some(step) = steps.get(*next) else {
                if *endless {
                    *next = 0;
                    continue;
                }
                self.stack.clear();
                return Some(ProgramEvent::Exit(self.at, 0));
            };
            *next += 1;
            match step {
                Step::Print(line) => return Some(ProgramEvent::Line(self.at, line)),
                Step::Wait(time) => self.at = self.at.saturating_add(*time),
                Step::Hang => self.stack.clear(),
                Step::Loop(body) => self.stack.push((body, 0, true)),
                Step::Exit(code) => {
                    self.stack.clear();
                    return Some(ProgramEvent::Exit(self.at, *code));
                }
            }
        }
    }
}

/// The program of a well-known image with these arguments and no command.
fn of_image(container: &Container, args: &[&str]) -> Option<Vec<Step>> {
    let image = container.image.as_deref().unwrap_or_default();
    let name = image.split('@').next().unwrap_or_default();
    let name = name.rsplit('/').next().unwrap_or_default();
    let name = name.split(':').next().unwrap_or_default();
    match (name, args) {
        ("sleep", [time, ..]) => shell::duration(time).map(|t| vec![Step::Wait(t)]),
        ("agnhost", ["entrypoint-tester", ..]) => Some(vec![]),
        ("agnhost", ["pause", ..] | []) => Some(vec![Step::Hang]),
        ("agnhost", ["netexec" | "serve-hostname" | "test-webserver", ..]) => {
            Some(vec![Step::Hang])
        }
        ("pause" | "nginx" | "httpd" | "redis" | "postgres" | "mysql", []) => {
            Some(vec![Step::Hang])
        }
        ("hello-world", []) => Some(vec![Step::Print("Hello from Docker!".into())]),
        // Their shell exits at the end of stdin, which is empty without a terminal.
        ("busybox" | "alpine" | "ubuntu" | "debian" | "bash", []) => Some(vec![]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn program(pod: serde_json::Value) -> Program {
        let pod: Pod = serde_json::from_value(pod).unwrap();
        let container = pod.spec.as_ref().unwrap().containers[0].clone();
        Program::of(&container, &pod, true)
    }

    fn end(policy: &str, container: serde_json::Value) -> Option<(u64, i32)> {
        let pod = json!({"spec": {"restartPolicy": policy, "containers": [container]}});
        program(pod).end().map(|(at, code)| (at.as_secs(), code))
    }

    #[test]
    fn duration_is_derived_from_the_command() {
        for (container, expected) in [
            (json!({"command": ["sleep", "300"]}), Some((300, 0))),
            (
                json!({"command": ["/bin/sleep"], "args": ["5m"]}),
                Some((300, 0)),
            ),
            (json!({"args": ["sleep", "infinity"]}), None),
            (
                json!({"command": ["sh", "-c", "echo hi; sleep 30; exit 3"]}),
                Some((30, 3)),
            ),
            (
                json!({"command": ["/bin/bash", "-c", "--"], "args": ["trap : TERM INT; sleep infinity & wait"]}),
                None,
            ),
            (
                json!({"image": "gcr.io/k8s-staging-perf-tests/sleep:v0.1.0", "args": ["10s"]}),
                Some((10, 0)),
            ),
            (json!({"image": "example.com/train"}), Some((30, 0))),
            (json!({"command": ["false"]}), Some((0, 1))),
        ] {
            assert_eq!(end("Never", container.clone()), expected, "{container}");
        }
        assert_eq!(end("Always", json!({"image": "example.com/serve"})), None);
    }

    #[test]
    fn steps_of_tekton_run_one_after_the_other() {
        let step = |index: usize, script: &str| {
            let mut args = vec![];
            if index > 0 {
                args = vec![
                    "-wait_file".to_owned(),
                    format!("/tekton/run/{}/out", index - 1),
                ];
            }
            args.extend(["-post_file".to_owned(), format!("/tekton/run/{index}/out")]);
            args.extend(["-entrypoint", "sh", "--", "-c", script].map(str::to_owned));
            json!({"name": format!("step-{index}"), "command": ["/tekton/bin/entrypoint"], "args": args})
        };
        let ends = |scripts: &[&str]| -> Vec<Option<(u64, i32)>> {
            let steps = scripts
                .iter()
                .enumerate()
                .map(|(index, script)| step(index, script));
            let steps: Vec<_> = steps.collect();
            let pod = json!({"spec": {"restartPolicy": "Never", "containers": steps}});
            let pod: Pod = serde_json::from_value(pod).unwrap();
            let containers = pod.spec.as_ref().unwrap().containers.iter();
            let ends = containers.map(|container| Program::of(container, &pod, true).end());
            ends.map(|end| end.map(|(at, code)| (at.as_secs(), code)))
                .collect()
        };
        assert_eq!(
            ends(&["sleep 5", "sleep 7", "true"]),
            [Some((5, 0)), Some((12, 0)), Some((12, 0))]
        );
        assert_eq!(
            ends(&["sleep 5; exit 3", "sleep 7"]),
            [Some((5, 3)), Some((5, 1))]
        );
        assert_eq!(ends(&["sleep infinity", "true"]), [None, None]);
    }

    #[test]
    fn the_executor_of_argo_waits_for_the_main_container() {
        let pod: Pod = serde_json::from_value(json!({"spec": {
            "restartPolicy": "Never",
            "containers": [
                {"name": "wait", "command": ["argoexec", "wait"]},
                {"name": "main", "command": ["/var/run/argo/argoexec", "emissary", "--", "sleep"],
                 "args": ["9"]},
            ],
        }}))
        .unwrap();
        for container in &pod.spec.as_ref().unwrap().containers {
            let end = Program::of(container, &pod, true).end();
            assert_eq!(end, Some((Duration::from_secs(9), 0)), "{}", container.name);
        }
    }

    #[test]
    fn annotations_override_the_command() {
        let pod = |annotations: serde_json::Value| {
            json!({"metadata": {"annotations": annotations}, "spec": {"restartPolicy": "Never",
                "containers": [{"command": ["sh", "-c", "echo a; sleep 5; echo b; sleep 100000"]}]}})
        };
        let end = |annotations| program(pod(annotations)).end().unwrap();
        assert_eq!(end(json!({RUN_FOR: "7s"})), (Duration::from_secs(7), 0));
        assert_eq!(
            end(json!({"example.com/duration": "1000000"})),
            (Duration::from_secs(1_000_000), 0)
        );
        let failing = program(pod(json!({RUN_FOR: "3s", EXIT_CODE: "4"})));
        let events: Vec<ProgramEvent<'_>> = failing.events().collect();
        assert_eq!(
            events,
            [
                ProgramEvent::Line(Duration::ZERO, "a"),
                ProgramEvent::Exit(Duration::from_secs(3), 4)
            ]
        );
    }

    #[test]
    fn an_endless_loop_uses_constant_memory() {
        let program = Program::new(vec![Step::Loop(vec![
            Step::Print("tick".into()),
            Step::Wait(Duration::from_secs(1)),
        ])]);
        assert_eq!(program.end(), None);
        let third = program.events().nth(2);
        assert_eq!(
            third,
            Some(ProgramEvent::Line(Duration::from_secs(2), "tick"))
        );
    }
}

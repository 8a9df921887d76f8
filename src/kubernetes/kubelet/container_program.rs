//! The simulated program of a container, derived from its command without running it.

use k8s_openapi::api::core::v1::{Container, Pod};
use kube::ResourceExt;
use kueue_lab_container_program::{DEFAULT_DURATION, Program, Step, duration};

use super::container_runtime::ContainerRuntime;
use super::environment::environment;
use super::running_instance::image_name;
use super::wrapped_command::{WrappedCommand, wrapped_command};

/// Annotation: the duration of each main container of the pod, such as `30s` or `5m`.
const RUN_FOR: &str = "kueue-lab.dev/run-for";
/// Annotation: the exit code of each main container of the pod.
const EXIT_CODE: &str = "kueue-lab.dev/exit-code";
/// The annotation of other fake kubelets: seconds or a duration.
const DURATION_ANNOTATION: &str = "example.com/duration";
/// KWOK's annotation for the duration of a pod.
const KWOK_DELAY_ANNOTATION: &str = "pod-complete.stage.kwok.x-k8s.io/delay";

/// Images whose default command is a shell.
const SHELL_IMAGES: [&str; 5] = ["busybox", "alpine", "ubuntu", "debian", "bash"];

/// The names of shells.
const SHELL_NAMES: [&str; 4] = ["sh", "bash", "ash", "dash"];

/// Maximum length of a chain of containers that wait for each other.
const CHAIN: usize = 64;

/// The program of a container. If its duration is not known, it runs forever if `endless`,
/// otherwise for [`DEFAULT_DURATION`].
pub fn container_program(
    runtime: &dyn ContainerRuntime,
    container: &Container,
    pod: &Pod,
    main: bool,
) -> Program {
    let restarts = pod
        .spec
        .as_ref()
        .and_then(|s| s.restart_policy.as_deref())
        .unwrap_or("Always");
    let mut program = of_command(runtime, container, pod, restarts == "Always" && main);
    if !main {
        return program;
    }
    let annotation = |name: &str| pod.annotations().get(name).map(|v| v.trim());
    let time = [RUN_FOR, DURATION_ANNOTATION, KWOK_DELAY_ANNOTATION]
        .iter()
        .find_map(|name| duration(annotation(name)?));
    let code = annotation(EXIT_CODE).and_then(|code| code.parse::<i32>().ok());
    if time.is_some() || code.is_some() {
        program = program.overridden(time, code);
    }
    program
}

/// The command of a container with `stdin` whose main process is a shell that reads commands.
pub(super) fn interactive_shell(container: &Container) -> Option<Vec<String>> {
    if container.stdin != Some(true) {
        return None;
    }
    let command = container.command.iter().flatten();
    let words: Vec<String> = command
        .chain(container.args.iter().flatten())
        .cloned()
        .collect();
    let image = image_name(container.image.as_deref().unwrap_or_default());
    let is_shell = |word: &str| SHELL_NAMES.contains(&word.rsplit('/').next().unwrap_or_default());
    match &words[..] {
        [] => SHELL_IMAGES.contains(&image).then(|| vec!["sh".to_owned()]),
        [program, options @ ..] => {
            let is_interactive = options
                .iter()
                .all(|o| matches!(o.as_str(), "-i" | "-l" | "-il"));
            (is_shell(program) && is_interactive).then_some(words)
        }
    }
}

fn of_command(
    runtime: &dyn ContainerRuntime,
    container: &Container,
    pod: &Pod,
    endless: bool,
) -> Program {
    of_wrapped(runtime, container, pod, endless, CHAIN)
        .unwrap_or_else(|| of_words(runtime, container, pod, endless))
}

/// The program of a container that an operator's executable starts.
fn of_wrapped(
    runtime: &dyn ContainerRuntime,
    container: &Container,
    pod: &Pod,
    endless: bool,
    chain: usize,
) -> Option<Program> {
    let chain = chain.checked_sub(1)?;
    let other = |container: &Container| {
        of_wrapped(runtime, container, pod, endless, chain)
            .unwrap_or_else(|| of_words(runtime, container, pod, endless))
    };
    let wait = |container: &Container| match other(container).end() {
        Some((time, code)) => (Step::Wait(time), code),
        None => (Step::Hang, 0),
    };
    Some(Program::new(match wrapped_command(container, pod)? {
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
            let mut steps = of_words(runtime, &inner, pod, endless).into_steps();
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
fn of_words(
    runtime: &dyn ContainerRuntime,
    container: &Container,
    pod: &Pod,
    endless: bool,
) -> Program {
    let words: Vec<&str> = container
        .command
        .iter()
        .flatten()
        .chain(container.args.iter().flatten())
        .map(String::as_str)
        .collect();
    if interactive_shell(container).is_some() {
        return Program::new(vec![Step::Hang]);
    }
    let environment = environment(container, pod);
    if container.command.as_ref().is_none_or(Vec::is_empty)
        && let Some(steps) = of_image(container, &words)
    {
        return Program::new(steps);
    }
    let image = container.image.as_deref().unwrap_or_default();
    if let Some(steps) = runtime.steps(&words, &environment, image, container_count(pod)) {
        return Program::new(steps);
    }
    Program::new(vec![if endless {
        Step::Hang
    } else {
        Step::Wait(DEFAULT_DURATION)
    }])
}

/// The number of containers of a pod.
fn container_count(pod: &Pod) -> usize {
    pod.spec.as_ref().map_or(0, |spec| {
        let init = spec.init_containers.as_ref().map_or(0, Vec::len);
        let ephemeral = spec.ephemeral_containers.as_ref().map_or(0, Vec::len);
        init + spec.containers.len() + ephemeral
    })
}

/// The program of a well-known image with these arguments and no command.
fn of_image(container: &Container, args: &[&str]) -> Option<Vec<Step>> {
    let image = container.image.as_deref().unwrap_or_default();
    match (image_name(image), args) {
        ("sleep", [time, ..]) => duration(time).map(|t| vec![Step::Wait(t)]),
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
        (name, []) if SHELL_IMAGES.contains(&name) => Some(vec![]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::shell_runtime::ShellRuntime;
    use super::*;
    use kueue_lab_container_program::ProgramEvent;
    use serde_json::json;

    fn program(pod: serde_json::Value) -> Program {
        let pod: Pod = serde_json::from_value(pod).unwrap();
        let container = pod.spec.as_ref().unwrap().containers[0].clone();
        container_program(&ShellRuntime, &container, &pod, true)
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
            let ends = containers
                .map(|container| container_program(&ShellRuntime, container, &pod, true).end());
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
            let end = container_program(&ShellRuntime, container, &pod, true).end();
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
}

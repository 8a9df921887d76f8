//! The container runtime of a lab without simulated containers: durations and output of simple commands.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use http::StatusCode;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kueue_lab_container_program::{Step, duration};
use kueue_lab_streaming::remote_command::StartError;

use super::container_runtime::{Container, ContainerRuntime};
use super::pod_workers::Kubelet;
use super::running_instance::RunningInstance;

/// Knows `sleep`, `echo`, `true`, `false`, `exit` and sequences of them; executes no commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SimpleRuntime;

/// The steps of a command without expansions; `None` if it is not known.
fn command(words: &[&str]) -> Option<Vec<Step>> {
    let (program, arguments) = words.split_first()?;
    Some(match program.rsplit('/').next()? {
        "sleep" => match arguments {
            ["infinity" | "inf"] => vec![Step::Hang],
            [time] => vec![Step::Wait(duration(time)?)],
            _ => return None,
        },
        "echo" => vec![Step::Print(arguments.join(" "))],
        "true" | ":" => vec![],
        "false" => vec![Step::Exit(1)],
        "exit" => match arguments {
            [] => vec![Step::Exit(0)],
            [code] => vec![Step::Exit(code.parse().ok()?)],
            _ => return None,
        },
        "sh" | "bash" => match arguments {
            ["-c", script] | ["-c", "--", script] => sequence(script)?,
            _ => return None,
        },
        _ => return None,
    })
}

/// The steps of a sequence of commands; `None` if it has other constructs, or a failure that does not end it.
fn sequence(script: &str) -> Option<Vec<Step>> {
    if script.contains([
        '$', '`', '|', '\'', '"', '\\', '(', '{', '<', '>', '*', '?', '#',
    ]) {
        return None;
    }
    let script = script.replace("&&", "\n").replace(';', "\n");
    if script.contains('&') {
        return None;
    }
    let commands = script
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty());
    let mut steps = Vec::new();
    for line in commands {
        let words: Vec<&str> = line.split_whitespace().collect();
        steps.extend(command(&words)?);
        if words[0] == "false" {
            break;
        }
    }
    Some(steps)
}

#[async_trait]
impl ContainerRuntime for SimpleRuntime {
    fn steps(
        &self,
        words: &[&str],
        _environment: &BTreeMap<String, String>,
        _image: &str,
        _containers: usize,
    ) -> Option<Vec<Step>> {
        command(words)
    }

    async fn container(
        &self,
        _kubelet: &Kubelet,
        _instance: &RunningInstance,
    ) -> Result<Arc<dyn Container>, StartError> {
        Err(StartError {
            status: StatusCode::NOT_IMPLEMENTED,
            message: "this kueue-lab was built without the feature containers, so no commands are executed in containers"
                .into(),
        })
    }

    fn pod_changed(&self, _pod: &Pod, _now: Timestamp) {}

    fn remove_pod(&self, _uid: &str) {}
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn simple_commands_have_a_duration_and_output() {
        let steps = |words: &[&str]| SimpleRuntime.steps(words, &BTreeMap::new(), "", 1);
        let wait = |seconds| Step::Wait(Duration::from_secs(seconds));
        assert_eq!(steps(&["/bin/sleep", "5m"]), Some(vec![wait(300)]));
        assert_eq!(steps(&["sleep", "infinity"]), Some(vec![Step::Hang]));
        assert_eq!(
            steps(&["sh", "-c", "echo hi you; sleep 30 && exit 3"]),
            Some(vec![Step::Print("hi you".into()), wait(30), Step::Exit(3)])
        );
        assert_eq!(steps(&["sh", "-c", "for i in 1 2; do echo $i; done"]), None);
        assert_eq!(steps(&["python", "train.py"]), None);
    }
}

//! The simulated run of a task's commands: their duration and exit code, as bash would run them on the
//! head node.

use std::time::Duration;

use kueue_lab_container::{Environment, steps};
use kueue_lab_container_program::{DEFAULT_DURATION, Program, Step};

use crate::Task;

/// The simulated run of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SimulatedRun {
    /// The duration; `None` if they do not end.
    pub duration: Option<Duration>,
    /// The exit code.
    pub exit_code: u8,
}

impl SimulatedRun {
    /// Derives the run from `setup` and `run` of a task. Commands that neither wait nor fail take
    /// [`DEFAULT_DURATION`].
    pub(crate) fn of(task: &Task) -> Self {
        let mut duration = Duration::ZERO;
        for script in [&task.setup, &task.run].into_iter().flatten() {
            let Some((takes, code)) = program(script, task).end() else {
                return Self {
                    duration: None,
                    exit_code: 0,
                };
            };
            duration = duration.saturating_add(takes);
            if code != 0 {
                return Self {
                    duration: Some(duration),
                    // As the status of a process.
                    exit_code: u8::try_from(code & 0xff).unwrap_or(1),
                };
            }
        }
        if duration.is_zero() {
            duration = DEFAULT_DURATION;
        }
        Self {
            duration: Some(duration),
            exit_code: 0,
        }
    }
}

/// The programs of a task on one node.
pub(crate) struct NodeCommands {
    /// Of its `setup`.
    pub setup: Option<Program>,
    /// Of its `run`.
    pub run: Option<Program>,
}

/// The programs of a task on the node with this rank and hostname.
pub(crate) fn node_commands(task: &Task, rank: usize, hostname: &str) -> NodeCommands {
    let program = |script: &Option<String>| {
        let script = script.as_ref()?;
        Some(node_program(script, task, rank, hostname))
    };
    NodeCommands {
        setup: program(&task.setup),
        run: program(&task.run),
    }
}

/// The program of a script on the head node.
fn program(script: &str, task: &Task) -> Program {
    node_program(script, task, 0, "")
}

fn node_program(script: &str, task: &Task, rank: usize, hostname: &str) -> Program {
    let mut environment: Environment = task.envs.clone();
    for (name, value) in [
        ("SKYPILOT_NODE_RANK", rank.to_string()),
        ("SKYPILOT_NUM_NODES", task.num_nodes.to_string()),
        ("HOSTNAME", hostname.to_owned()),
    ] {
        environment.insert(name.to_owned(), value);
    }
    let unknown = || vec![Step::Wait(DEFAULT_DURATION)];
    Program::new(steps(&["bash", "-c", script], &environment).unwrap_or_else(unknown))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_of(setup: Option<&str>, run: Option<&str>) -> (Option<u64>, u8) {
        let task = Task {
            setup: setup.map(str::to_owned),
            run: run.map(str::to_owned),
            envs: Environment::from([("SECONDS_EACH".to_owned(), "2".to_owned())]),
            ..Task::parse("resources: {cpus: 1}\n").unwrap()
        };
        let run = SimulatedRun::of(&task);
        (run.duration.map(|t| t.as_secs()), run.exit_code)
    }

    fn run(script: &str) -> (Option<u64>, u8) {
        run_of(None, Some(script))
    }

    #[test]
    fn sleeps_add_up_and_exit_ends_the_run() {
        let default = Some(DEFAULT_DURATION.as_secs());
        assert_eq!(run("echo hello; sleep 600"), (Some(600), 0));
        assert_eq!(
            run("sleep 1m\nsleep 5 && echo done # sleep 9"),
            (Some(65), 0)
        );
        assert_eq!(run("sleep 10\nexit 3\nsleep 10"), (Some(10), 3));
        assert_eq!(run("false"), (Some(0), 1));
        assert_eq!(run("sleep infinity"), (None, 0));
        assert_eq!(run("nvidia-smi"), (default, 0));
        assert_eq!(run("# sleep 600\necho"), (default, 0));
        assert_eq!(run_of(Some("sleep 4"), Some("sleep 3")), (Some(7), 0));
        assert_eq!(run_of(Some("exit 2"), Some("sleep 3")), (Some(0), 2));
        assert_eq!(run_of(None, None), (default, 0));
    }

    #[test]
    fn loops_run_as_in_bash() {
        let hundred =
            "echo hello\nfor i in {1..100}; do\n  echo \"hello world: $i\"\n  sleep 1\ndone\n";
        assert_eq!(run(hundred), (Some(100), 0));
        assert_eq!(
            run("for ((i=0; i<5; i++)); do sleep $SECONDS_EACH; done"),
            (Some(10), 0)
        );
        assert_eq!(run("while true; do sleep 1; done"), (None, 0));
        assert_eq!(run("[ $SKYPILOT_NODE_RANK = 0 ] && sleep 8"), (Some(8), 0));
    }
}

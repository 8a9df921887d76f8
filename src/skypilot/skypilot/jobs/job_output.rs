//! The output of the commands of a managed job.

use jiff::Timestamp;
use kueue_lab_container_program::{Program, ProgramEvent};
use std::time::Duration;

use crate::simulated_run::{self, NodeCommands};
use crate::{ClusterPlan, Task};

/// The first process identifier on a node.
const FIRST_PID: usize = 2000;

/// The output of the commands on one cluster of a job.
pub(super) struct JobOutput {
    /// The number of recoveries before the launch of the cluster.
    attempt: u32,
    started: Timestamp,
    /// The end of the commands, or the loss of the cluster.
    ended: Option<Timestamp>,
    num_nodes: usize,
    processes: Vec<Process>,
}

/// A process on a node.
struct Process {
    /// The label of its lines.
    label: String,
    /// Its start, after that of the job.
    start: Duration,
    program: Program,
}

impl JobOutput {
    /// The output of commands that start now.
    pub(super) fn new(task: &Task, cluster: &ClusterPlan, attempt: u32, now: Timestamp) -> Self {
        let name = task.name.as_deref().unwrap_or("sky-cmd");
        let mut processes = Vec::new();
        let hosts = &cluster.pod_names;
        for (rank, host) in hosts.iter().enumerate() {
            let pid = FIRST_PID + rank;
            let run = match (hosts.len(), rank) {
                (1, _) => format!("({name}, pid={pid})"),
                (_, 0) => format!("(head, rank=0, pid={pid})"),
                _ => format!("(worker{rank}, rank={rank}, pid={pid})"),
            };
            let NodeCommands {
                setup,
                run: program,
            } = simulated_run::node_commands(task, rank, host);
            let mut start = Duration::ZERO;
            if let Some(setup) = setup {
                let end = setup.end();
                processes.push(Process {
                    label: format!("(setup pid={pid})"),
                    start,
                    program: setup,
                });
                match end {
                    Some((at, 0)) => start = at,
                    _ => continue,
                }
            }
            processes.extend(program.map(|program| Process {
                label: run,
                start,
                program,
            }));
        }
        Self {
            attempt,
            started: now,
            ended: None,
            num_nodes: hosts.len(),
            processes,
        }
    }

    pub(super) fn attempt(&self) -> u32 {
        self.attempt
    }

    /// The commands have ended, or their cluster is lost.
    pub(super) fn end(&mut self, now: Timestamp) {
        self.ended.get_or_insert(now);
    }

    /// The lines until `now`.
    pub(super) fn text(&self, now: Timestamp) -> String {
        let elapsed = self.ended.unwrap_or(now).duration_since(self.started);
        let elapsed = Duration::try_from(elapsed).unwrap_or_default();
        let mut lines: Vec<(Duration, &str, &str)> = Vec::new();
        for process in &self.processes {
            let events = process.program.events().map_while(|event| match event {
                ProgramEvent::Line(at, line) => Some((at.saturating_add(process.start), line)),
                ProgramEvent::Exit(..) => None,
            });
            let shown = events.take_while(|(at, _)| *at <= elapsed);
            lines.extend(shown.map(|(at, line)| (at, process.label.as_str(), line)));
        }
        // The order of the lines of a process stays.
        lines.sort_by_key(|(at, _, _)| *at);
        let plural = if self.num_nodes == 1 { "" } else { "s" };
        let mut text = format!(
            "├── Waiting for task resources on {} node{plural}.\n└── Job started. Streaming logs... \
             (Ctrl-C to exit log streaming; job will not be killed)\n",
            self.num_nodes
        );
        for (_, label, line) in lines {
            text.push_str(&format!("{label} {line}\n"));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_fixtures::planned;
    use jiff::SignedDuration;

    fn output(task: &str) -> JobOutput {
        let cluster = planned(task, "train-1", "{}");
        let task = Task::parse(task).unwrap();
        JobOutput::new(&task, &cluster, 0, Timestamp::UNIX_EPOCH)
    }

    fn lines(output: &JobOutput, seconds: i64) -> Vec<String> {
        let now = Timestamp::UNIX_EPOCH + SignedDuration::from_secs(seconds);
        let text = output.text(now);
        text.lines().skip(2).map(str::to_owned).collect()
    }

    #[test]
    fn lines_appear_when_the_commands_print_them() {
        let task = "name: t\nresources: {cpus: 1}\nsetup: sleep 5\nrun: 'echo on $(hostname); sleep 10; echo end'\n";
        let mut output = output(task);
        assert!(lines(&output, 4).is_empty());
        let first = "(t, pid=2000) on train-1-5c1e7a9b-head";
        assert_eq!(lines(&output, 14), [first]);
        assert_eq!(lines(&output, 15), [first, "(t, pid=2000) end"]);
        // A lost cluster prints nothing more.
        output.end(Timestamp::UNIX_EPOCH + SignedDuration::from_secs(9));
        assert_eq!(lines(&output, 100), [first]);
    }

    #[test]
    fn every_node_prints() {
        let task = "name: t\nnum_nodes: 2\nresources: {cpus: 1}\nrun: 'echo $SKYPILOT_NODE_RANK of $SKYPILOT_NUM_NODES; exit 1'\n";
        let expected = [
            "(head, rank=0, pid=2000) 0 of 2",
            "(worker1, rank=1, pid=2001) 1 of 2",
        ];
        assert_eq!(lines(&output(task), 1), expected);
    }

    #[test]
    fn a_setup_that_fails_is_the_end() {
        let task = "resources: {cpus: 1}\nsetup: 'echo setup; exit 3'\nrun: echo never\n";
        assert_eq!(lines(&output(task), 60), ["(setup pid=2000) setup"]);
    }
}

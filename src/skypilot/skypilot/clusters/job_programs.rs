//! The Python programs for a job that run on the head of a cluster, with the functions of `sky.skylet`.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::{Value, json};

use crate::Task;

/// The modules of all programs.
const IMPORTS: &str =
    "import sys\nfrom sky import exceptions\nfrom sky.skylet import job_lib, log_lib\n";

/// A job in the queue of a cluster.
pub(super) struct QueuedJob<'a> {
    pub(super) id: u64,
    pub(super) name: &'a str,
    /// Where its logs are.
    pub(super) log_dir: &'a str,
    /// The display name of the cluster.
    pub(super) cluster: &'a str,
    /// IP addresses of the nodes it runs on, that of the head first.
    pub(super) ips: &'a [String],
    pub(super) task: &'a Task,
}

/// Adds a job and prints its number and the directory of its logs, one a line.
pub(super) fn add_job(name: &str, user_hash: &str, timestamp: &str, resources: &str) -> String {
    let [name, user, time, resources] = [name, user_hash, timestamp, resources].map(literal);
    format!(
        "{IMPORTS}result = job_lib.add_job({name}, {user}, {time}, {resources}, metadata='{{}}')\n\
         print(result[0])\nprint(result[1])\n"
    )
}

/// Queues a job whose driver is the file `driver`.
pub(super) fn queue_job(id: u64, driver: &str, log_dir: &str) -> String {
    let command = format!("python3 -u {driver} > {log_dir}/run.log 2>&1");
    let command = literal(&command);
    format!("{IMPORTS}job_lib.scheduler.queue({id}, {command})\n")
}

/// Prints the log of a job, by default of the newest one; ends with SkyPilot's exit code for its state.
pub(super) fn tail_logs(id: Option<u64>, follow: bool) -> String {
    let id = id.map_or("job_lib.get_latest_job_id()".to_owned(), |id| {
        id.to_string()
    });
    let follow = if follow { "True" } else { "False" };
    format!(
        "{IMPORTS}job_id = {id}\n\
         log_dir = job_lib.get_log_dir_for_job(job_id)\n\
         log_lib.tail_logs(job_id=job_id, log_dir=log_dir, managed_job_id=None, follow={follow}, tail=0)\n\
         sys.exit(exceptions.JobExitCode.from_job_status(job_lib.get_status(job_id)))\n"
    )
}

impl QueuedJob<'_> {
    /// The driver: it waits for the resources, and runs `setup` and `run` of the task on every node.
    pub(super) fn driver(&self) -> String {
        let (id, nodes) = (self.id, self.ips.len());
        let gpus = self.task.gpus_per_node();
        let bundle = match gpus {
            0 => "{'CPU': 0.5}".to_owned(),
            gpus => format!("{{'CPU': 0.5, 'GPU': {gpus}}}"),
        };
        let plural = if nodes == 1 { "" } else { "s" };
        let mut program = format!(
            "{IMPORTS}import ray\nimport ray.util as ray_util\n\
             def get_or_fail(futures, pg):\n    pass\n\
             def run_bash_command_with_log_and_return_pid(command):\n    return None\n\
             run_bash_command_with_log_and_return_pid = ray.remote(run_bash_command_with_log_and_return_pid)\n\
             ray.init(address='auto')\n\
             job_lib.set_status({id}, job_lib.JobStatus.PENDING)\n\
             pg = ray_util.placement_group([{bundle} for _ in range({nodes})], 'STRICT_SPREAD')\n\
             print('Waiting for task resources on {nodes} node{plural}.', flush=True)\n\
             ray.get(pg.ready())\n"
        );
        if let Some(setup) = &self.task.setup {
            let _ = writeln!(
                program,
                "job_lib.set_status({id}, job_lib.JobStatus.SETTING_UP)"
            );
            self.run_on_nodes(&mut program, "setup", setup);
            self.exit_on_failure(&mut program, "FAILED_SETUP", "Job setup");
        }
        let _ = writeln!(program, "job_lib.set_job_started({id})");
        let _ = writeln!(program, "job_lib.scheduler.schedule_step()");
        if let Some(run) = &self.task.run {
            self.run_on_nodes(&mut program, "run", run);
            self.exit_on_failure(&mut program, "FAILED", &format!("Job {id}"));
        }
        let _ = writeln!(
            program,
            "job_lib.set_status({id}, job_lib.JobStatus.SUCCEEDED)"
        );
        program
    }

    /// Runs a script on every node and waits for its exit codes. The resources of the placement group are
    /// those of `run`.
    fn run_on_nodes(&self, program: &mut String, phase: &str, script: &str) {
        let group = if phase == "setup" { "setup_pg" } else { "pg" };
        if phase == "setup" {
            let nodes = self.ips.len();
            let _ = writeln!(
                program,
                "setup_pg = ray_util.placement_group([{{'CPU': 0.0001}} for _ in range({nodes})])"
            );
        }
        let _ = writeln!(program, "futures = []");
        for rank in 0..self.ips.len() {
            let name = literal(&self.process_name(phase, rank));
            let gpus = if phase == "setup" {
                0
            } else {
                self.task.gpus_per_node()
            };
            let environment = json!(self.environment(rank));
            let log = literal(&format!("{}/{phase}-{rank}.log", self.log_dir));
            let script = literal(script);
            let _ = writeln!(
                program,
                "futures.append(run_bash_command_with_log_and_return_pid.options(name={name}, num_gpus={gpus}.0, \
                 scheduling_strategy=ray.util.scheduling_strategies.PlacementGroupSchedulingStrategy(\
                 placement_group={group}, placement_group_bundle_index={rank})).remote(\
                 {script}, {log}, env_vars={environment}, stream_logs=True))"
            );
        }
        let _ = writeln!(program, "codes, pids = get_or_fail(futures, {group})");
    }

    /// Ends the program with a status of the job if a process of a phase has failed.
    fn exit_on_failure(&self, program: &mut String, status: &str, failed: &str) {
        let id = self.id;
        let _ = writeln!(
            program,
            "if sum(codes) != 0:\n    \
             job_lib.set_exit_codes({id}, codes)\n    \
             job_lib.set_status({id}, job_lib.JobStatus.{status})\n    \
             print('ERROR: {failed} failed with return codes:', codes)\n    \
             sys.exit(1)"
        );
    }

    /// The name of a process in the log.
    fn process_name(&self, phase: &str, rank: usize) -> String {
        match (phase, self.ips.len(), rank) {
            ("setup", _, _) => "setup".into(),
            (_, 1, _) => format!("{},", self.name),
            (_, _, 0) => "head, rank=0,".into(),
            (_, _, rank) => format!("worker{rank}, rank={rank},"),
        }
    }

    /// The variables of a task's processes.
    fn environment(&self, rank: usize) -> BTreeMap<&str, String> {
        let envs = self.task.envs.iter();
        let mut environment: BTreeMap<&str, String> = envs
            .map(|(name, value)| (name.as_str(), value.clone()))
            .collect();
        environment.extend([
            ("SKYPILOT_NODE_RANK", rank.to_string()),
            ("SKYPILOT_NODE_IPS", self.ips.join("\n")),
            ("SKYPILOT_NUM_NODES", self.ips.len().to_string()),
            (
                "SKYPILOT_NUM_GPUS_PER_NODE",
                self.task.gpus_per_node().to_string(),
            ),
            (
                "SKYPILOT_TASK_ID",
                format!("sky-{}_{}-{}", self.cluster, self.name, self.id),
            ),
        ]);
        environment
    }
}

/// A string of Python; JSON's strings are also Python's.
fn literal(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn driver(task: &str, ips: &[&str]) -> String {
        let ips: Vec<String> = ips.iter().map(|ip| (*ip).to_owned()).collect();
        QueuedJob {
            id: 3,
            name: "train",
            log_dir: "~/sky_logs/3-train",
            cluster: "c",
            ips: &ips,
            task: &Task::parse(task).unwrap(),
        }
        .driver()
    }

    #[test]
    fn every_node_has_its_rank_and_the_gpus_of_the_task() {
        let task = "resources: {accelerators: 'H100:4'}\nenvs: {A: \"it's\"}\nrun: echo \"$A\"\n";
        let program = driver(task, &["10.0.0.1", "10.0.0.2"]);
        assert!(program.contains("[{'CPU': 0.5, 'GPU': 4} for _ in range(2)]"));
        assert!(program.contains("on 2 nodes."));
        for (rank, name) in ["head, rank=0,", "worker1, rank=1,"]
            .into_iter()
            .enumerate()
        {
            assert!(program.contains(&format!("name=\"{name}\", num_gpus=4.0")));
            assert!(program.contains(&format!("\"SKYPILOT_NODE_RANK\":\"{rank}\"")));
        }
        assert!(program.contains(r#"remote("echo \"$A\"", "#), "{program}");
        assert!(program.contains(r#""A":"it's""#));
        assert!(program.contains(r#""SKYPILOT_NODE_IPS":"10.0.0.1\n10.0.0.2""#));
        assert!(!program.contains("SETTING_UP"));
    }

    #[test]
    fn setup_precedes_the_run_and_uses_no_gpus() {
        let program = driver(
            "setup: pip install x\nresources: {accelerators: T4}\n",
            &["10.0.0.1"],
        );
        assert!(program.contains("name=\"setup\", num_gpus=0.0"));
        assert!(!program.contains("run-0.log"));
        assert!(program.ends_with("job_lib.set_status(3, job_lib.JobStatus.SUCCEEDED)\n"));
    }

    #[test]
    fn the_newest_job_is_the_default() {
        assert!(tail_logs(None, true).contains("job_id = job_lib.get_latest_job_id()\n"));
        assert!(tail_logs(Some(2), false).contains("job_id = 2\n"));
    }
}

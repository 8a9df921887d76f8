//! Commands of SkyPilot's client in the containers of a cluster.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response};
use jiff::Timestamp;
use kueue_lab_container::filesystem::{FileSystem, StorageBudget, base_image};
use kueue_lab_container::{
    Container, ContainerConfig, ContainerProcess, ExecStreams, Gpu, RequestError, System, programs,
};
use tokio::sync::mpsc;

use crate::{JobsController, Node, Nodes, Runtime, install, program_names};

/// A system with a clock that tokio's clock drives.
struct TestSystem {
    started: tokio::time::Instant,
}

#[async_trait]
impl System for TestSystem {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH + self.started.elapsed()
    }

    async fn sleep(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    async fn request(&self, _request: Request<Bytes>) -> Result<Response<Bytes>, RequestError> {
        Err(RequestError::EmptyReply)
    }

    async fn resolve(&self, _host: &str) -> Vec<IpAddr> {
        Vec::new()
    }

    fn gpus(&self) -> Vec<Gpu> {
        vec![Gpu::default(); 2]
    }

    fn cpus(&self) -> u64 {
        4
    }

    fn main_process(&self) -> ContainerProcess {
        ContainerProcess {
            command: vec!["bash".into()],
            started: self.now(),
        }
    }

    fn signal(&self, _signal: i32) {}

    fn random(&self) -> u64 {
        1 << 40
    }
}

/// The nodes of the test's cluster.
#[derive(Clone, Default)]
struct TestNodes {
    nodes: Arc<OnceLock<Vec<Node>>>,
    jobs_controller: Option<Arc<dyn JobsController>>,
}

#[async_trait]
impl Nodes for TestNodes {
    async fn nodes(&self) -> Vec<Node> {
        self.nodes.get().cloned().unwrap_or_default()
    }

    fn namespace(&self) -> &str {
        "default"
    }

    fn jobs_controller(&self) -> Option<Arc<dyn JobsController>> {
        self.jobs_controller.clone()
    }
}

/// The containers of a cluster with this number of nodes, the head first.
fn cluster(count: usize) -> Vec<Arc<Container>> {
    cluster_with(count, None)
}

/// As [`cluster`], with a controller of managed jobs.
pub(crate) fn cluster_with(
    count: usize,
    jobs_controller: Option<Arc<dyn JobsController>>,
) -> Vec<Arc<Container>> {
    let nodes = TestNodes {
        nodes: Arc::default(),
        jobs_controller,
    };
    let container = |number: usize| {
        let started = tokio::time::Instant::now();
        let system = Arc::new(TestSystem { started });
        let names = programs(false, true).chain(program_names());
        let tree = base_image(names, StorageBudget::new(32 << 20), system.now());
        let files = FileSystem::new(tree);
        install(&files, system.now());
        Container::new(ContainerConfig {
            hostname: format!("node-{number}"),
            environment: BTreeMap::new(),
            working_dir: "/".into(),
            is_busybox: false,
            files,
            system,
            programs: crate::programs(&Runtime::new(Box::new(nodes.clone()))),
        })
    };
    let containers: Vec<_> = (0..count).map(container).collect();
    let node = |(number, container): (usize, &Arc<Container>)| Node {
        ip: format!("10.0.0.{number}"),
        container: container.clone(),
    };
    let _ = nodes
        .nodes
        .set(containers.iter().enumerate().map(node).collect());
    containers
}

/// The exit code and the output of a command on both streams.
pub(crate) async fn bash(container: &Arc<Container>, script: &str) -> (i32, String) {
    let (sender, mut receiver) = mpsc::channel::<Bytes>(4);
    let streams = ExecStreams {
        stdin: None,
        stdout: Some(sender.clone()),
        stderr: Some(sender),
        terminal: None,
    };
    let words = ["/bin/bash", "--login", "-c", script].map(str::to_owned);
    let read = async {
        let mut all = Vec::new();
        while let Some(data) = receiver.recv().await {
            all.extend_from_slice(&data);
        }
        String::from_utf8(all).unwrap()
    };
    let (code, output) = tokio::join!(container.exec(&words, streams), read);
    (code.unwrap(), output)
}

/// Runs a program that imports the job table and the logs.
async fn python(container: &Arc<Container>, program: &str) -> (i32, String) {
    let path = "/tmp/program.py";
    let imports = "import sys\nfrom sky import exceptions\nfrom sky.skylet import job_lib, log_lib, constants\n";
    let program = format!("{imports}{program}");
    container
        .write_file(path, program.as_bytes(), false)
        .unwrap();
    bash(container, &format!("python3 -u {path}")).await
}

/// A driver that runs `setup` and `run` on `nodes` nodes, with GPUs on each.
fn driver(id: i64, setup: Option<&str>, run: &str, nodes: usize, gpus: u32) -> String {
    let ips: Vec<String> = (0..nodes).map(|n| format!("'10.0.0.{n}'")).collect();
    let setup = match setup {
        None => String::new(),
        Some(setup) => format!(
            "job_lib.set_status({id}, job_lib.JobStatus.SETTING_UP)\n\
             setup_pg = ray.util.placement_group([{{'CPU': 0.0001}} for _ in range({nodes})])\n\
             workers = [run_bash_command_with_log_and_return_pid.options(name='setup', \
             scheduling_strategy=ray.util.scheduling_strategies.PlacementGroupSchedulingStrategy(placement_group=setup_pg, placement_group_bundle_index=i))\
             .remote({setup:?}, '~/sky_logs/setup.log', env_vars={{}}) for i in range({nodes})]\n\
             codes, pids = get_or_fail(workers, setup_pg)\n\
             if sum(codes) != 0:\n    job_lib.set_status({id}, job_lib.JobStatus.FAILED_SETUP)\n    sys.exit(1)\n"
        ),
    };
    format!(
        "import sys\nimport ray\nimport ray.util as ray_util\nfrom sky.skylet import job_lib\n\
         def get_or_fail(futures, pg):\n    pass\n\
         def run_bash_command_with_log_and_return_pid(command):\n    return None\n\
         run_bash_command_with_log_and_return_pid = ray.remote(run_bash_command_with_log_and_return_pid)\n\
         ray.init(address='auto')\n\
         job_lib.set_status({id}, job_lib.JobStatus.PENDING)\n\
         pg = ray_util.placement_group([{{'CPU': 0.5, 'GPU': {gpus}}} for _ in range({nodes})], 'STRICT_SPREAD')\n\
         print('Waiting for task resources on {nodes} node.', flush=True)\n\
         ray.get(pg.ready())\n\
         {setup}job_lib.set_job_started({id})\n\
         job_lib.scheduler.schedule_step()\n\
         @ray.remote\ndef check_ip():\n    return ray.util.get_node_ip_address()\n\
         ips = ray.get([check_ip.options(num_cpus=0.5, scheduling_strategy=ray.util.scheduling_strategies.PlacementGroupSchedulingStrategy(placement_group=pg, placement_group_bundle_index=i)).remote() for i in range(pg.bundle_count)])\n\
         known = {{ip: i for i, ip in enumerate([{}])}}\n\
         futures = []\n\
         for i, ip in enumerate(ips):\n    \
             futures.append(run_bash_command_with_log_and_return_pid.options(name=f'rank={{known[ip]}},', num_gpus={gpus}.0, scheduling_strategy=ray.util.scheduling_strategies.PlacementGroupSchedulingStrategy(placement_group=pg, placement_group_bundle_index=i)).remote({run:?}, '~/sky_logs/run.log', env_vars={{'RANK': i, 'QUOTE': 'it\\'s'}}, stream_logs=True))\n\
         returncodes, _ = get_or_fail(futures, pg)\n\
         if sum(returncodes) != 0:\n    \
             job_lib.set_exit_codes({id}, returncodes)\n    \
             job_lib.set_status({id}, job_lib.JobStatus.FAILED)\n    \
             print('codes', returncodes)\n    sys.exit(1)\n\
         else:\n    job_lib.set_status({id}, job_lib.JobStatus.SUCCEEDED)\n",
        ips.join(", ")
    )
}

/// Adds a job with a driver, as the client does. Returns its number.
async fn submit(
    head: &Arc<Container>,
    setup: Option<&str>,
    run: &str,
    nodes: usize,
    gpus: u32,
) -> i64 {
    let add = "result = job_lib.add_job('train', 'user', 'sky-time', '1x', metadata='{}')\nprint('Job ID: ' + str(result[0]))\nprint('Log Dir: ' + str(result[1]))";
    let (code, output) = python(head, add).await;
    assert_eq!(code, 0, "{output}");
    let id: i64 = output.lines().next().unwrap()["Job ID: ".len()..]
        .parse()
        .unwrap();
    assert!(
        output.ends_with(&format!("Log Dir: ~/sky_logs/{id}-train\n")),
        "{output}"
    );
    let path = format!("/root/.sky/sky_app/sky_job_{id}");
    let program = driver(id, setup, run, nodes, gpus);
    head.write_file(&path, program.as_bytes(), false).unwrap();
    let log = format!("~/sky_logs/{id}-train");
    let queue = format!(
        "job_lib.scheduler.queue({id}, 'echo \"SKYPILOT_JOB_ID <{id}>\" && python3 -u {path} > {log}/run.log 2>&1')"
    );
    let (code, output) = bash(head, &format!("mkdir -p {log} && touch {log}/run.log")).await;
    assert_eq!(code, 0, "{output}");
    let (code, output) = python(head, &queue).await;
    assert_eq!(code, 0, "{output}");
    id
}

/// The log of a job to its end, and the exit code for its state.
async fn logs(head: &Arc<Container>, id: i64) -> (i32, String) {
    let program = format!(
        "log_lib.tail_logs(job_id={id}, log_dir=job_lib.get_log_dir_for_job({id}), managed_job_id=None, follow=True, tail=0)\n\
         status = job_lib.get_status({id})\n\
         sys.exit(exceptions.JobExitCode.from_job_status(status))"
    );
    let (code, output) = python(head, &program).await;
    // Without colors and process identifiers.
    let mut plain = String::new();
    for (at, part) in output.split('\x1b').enumerate() {
        let part = match at {
            0 => part,
            _ => part.split_once('m').map_or("", |(_, rest)| rest),
        };
        plain.push_str(part);
    }
    let pid = |text: &str| {
        text.split(" pid=")
            .map(|p| p.trim_start_matches(char::is_numeric).to_owned())
            .collect::<Vec<_>>()
            .join(" pid=")
    };
    (code, pid(&plain))
}

#[tokio::test(start_paused = true)]
async fn a_job_runs_its_setup_and_its_commands() {
    let nodes = cluster(1);
    let run = "unset X; for i in 1 2; do sleep 30; echo \"$QUOTE $i\"; done; echo $CUDA_VISIBLE_DEVICES; pwd";
    let id = submit(&nodes[0], Some("echo in setup"), run, 1, 2).await;
    let (code, log) = logs(&nodes[0], id).await;
    let expected = "Waiting for task resources on 1 node.\n\
        (setup pid=) in setup\n\
        (rank=0, pid=) it's 1\n(rank=0, pid=) it's 2\n(rank=0, pid=) 0,1\n\
        (rank=0, pid=) /root/sky_workdir\n\
        ✓ Job finished (status: SUCCEEDED).\n";
    assert_eq!((code, log.as_str()), (0, expected));
}

#[tokio::test(start_paused = true)]
async fn exit_codes_decide_the_state() {
    let nodes = cluster(1);
    for (setup, run, state, codes) in [
        (None, "exit 3", "FAILED", "[3]"),
        (Some("exit 4"), "true", "FAILED_SETUP", "None"),
        (None, "nonsense || true", "SUCCEEDED", "None"),
    ] {
        let id = submit(&nodes[0], setup, run, 1, 0).await;
        let (code, log) = logs(&nodes[0], id).await;
        assert_eq!(code, if state == "SUCCEEDED" { 0 } else { 100 }, "{log}");
        assert!(log.contains(&format!("(status: {state})")), "{log}");
        let (_, exit_codes) =
            python(&nodes[0], &format!("print(job_lib.get_exit_codes({id}))")).await;
        assert_eq!(exit_codes, format!("{codes}\n"));
    }
}

#[tokio::test(start_paused = true)]
async fn all_nodes_run_the_commands_and_a_failure_ends_the_others() {
    let nodes = cluster(2);
    let id = submit(&nodes[0], None, "echo rank $RANK on $HOSTNAME", 2, 0).await;
    let (code, log) = logs(&nodes[0], id).await;
    assert_eq!(code, 0, "{log}");
    for line in [
        "(rank=0, pid=) rank 0 on node-0",
        "(rank=1, pid=, ip=10.0.0.1) rank 1 on node-1",
    ] {
        assert!(log.contains(line), "{log}");
    }
    let run = "if [ $RANK = 1 ]; then sleep 5; exit 9; fi; sleep 100000";
    let id = submit(&nodes[0], None, run, 2, 0).await;
    let (_, log) = logs(&nodes[0], id).await;
    assert!(log.contains("codes [137, 9]"), "{log}");
}

#[tokio::test(start_paused = true)]
async fn jobs_wait_for_gpus_and_can_be_cancelled() {
    let nodes = cluster(1);
    let first = submit(&nodes[0], None, "sleep 100000", 1, 2).await;
    let second = submit(&nodes[0], None, "echo second", 1, 1).await;
    let third = submit(&nodes[0], None, "echo third", 1, 0).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    let queue = "print(job_lib.dump_job_queue(None, False))";
    let (_, output) = python(&nodes[0], queue).await;
    let json = output.trim().strip_prefix("<sky-payload>").unwrap();
    let json = json.strip_suffix("</sky-payload>").unwrap();
    let jobs: serde_json::Value = serde_json::from_str(json).unwrap();
    let states: Vec<(i64, &str)> = jobs
        .as_array()
        .unwrap()
        .iter()
        .map(|job| {
            (
                job["job_id"].as_i64().unwrap(),
                job["status"].as_str().unwrap(),
            )
        })
        .collect();
    // The second job waits for GPUs, and the third one for its turn.
    assert_eq!(
        states,
        [(third, "PENDING"), (second, "PENDING"), (first, "RUNNING")]
    );
    assert_eq!(jobs[0]["log_path"], "~/sky_logs/sky-time");

    let cancel =
        format!("print(job_lib.cancel_jobs_encoded_results(jobs=[{first}], cancel_all=False))");
    let (_, output) = python(&nodes[0], &cancel).await;
    assert_eq!(output.trim(), "<sky-payload>[1]</sky-payload>");
    assert_eq!(logs(&nodes[0], first).await.0, 103);
    for (id, line) in [(second, ") second\n"), (third, ") third\n")] {
        let (code, log) = logs(&nodes[0], id).await;
        assert_eq!(code, 0, "{log}");
        assert!(log.contains(line), "{log}");
    }
    let program = "print(job_lib.get_statuses_payload([1, 9]))";
    let (_, output) = python(&nodes[0], program).await;
    assert_eq!(
        output.trim(),
        "<sky-payload>{\"1\":\"CANCELLED\",\"9\":null}</sky-payload>"
    );
}

#[tokio::test(start_paused = true)]
async fn a_job_ends_with_its_container() {
    let nodes = cluster(1);
    let id = submit(&nodes[0], None, "sleep 5; touch /tmp/late", 1, 0).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    nodes[0].stop();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(!nodes[0].exists("/tmp/late"));
    let (_, status) = python(&nodes[0], &format!("print(job_lib.get_status({id}))")).await;
    assert_eq!(status, "RUNNING\n");
}

#[tokio::test]
async fn the_runtime_is_installed() {
    let nodes = cluster(2);
    let (code, output) = bash(&nodes[0], "env -u PYTHONPATH -C $HOME ~/.local/bin/uv pip list | grep skypilot; source ~/skypilot-runtime/bin/activate; $(cat ~/.sky/python_path) $(cat ~/.sky/ray_path) status").await;
    assert_eq!(code, 0, "{output}");
    assert!(output.starts_with("skypilot   0.14.1\n"), "{output}");
    assert_eq!(output.matches(" 1 node_").count(), 2, "{output}");
    let dump = "python3 -c 'import json, os; d = os.path.expanduser(os.environ.get(\"NONE\", \"~\")); json.dump({\"ray_port\":6380}, open(os.path.join(d, \".sky/ray_port.json\"), \"w\", encoding=\"utf-8\"))' && cat ~/.sky/ray_port.json";
    assert_eq!(
        bash(&nodes[0], dump).await,
        (0, "{\"ray_port\":6380}".into())
    );
}

#[tokio::test]
async fn the_error_names_features_that_are_not_simulated() {
    let nodes = cluster(1);
    for (command, expected) in [
        (
            "python3 -c 'import numpy; numpy.zeros(3)'",
            "numpy.zeros is not supported",
        ),
        (
            "python3 -c 'from sky.skylet import job_lib; job_lib.other()'",
            "job_lib.other is not supported",
        ),
        (
            "python3 -m http.client",
            "module http.client is not simulated",
        ),
        (
            "python3 -c 'from sky.jobs import utils; utils.dump_managed_job_queue()'",
            "the jobs controller runs on the embedded cluster only",
        ),
        ("python3 /tmp/none.py", "No such file or directory"),
        ("uv sync", "uv sync is not simulated"),
    ] {
        let (code, output) = bash(&nodes[0], command).await;
        assert_ne!(code, 0);
        assert!(output.contains(expected), "{output}");
    }
}

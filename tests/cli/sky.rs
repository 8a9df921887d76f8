//! `kueue-lab sky`: clusters on a running lab.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::{Duration, Instant};

use kueue_lab_testing::assert_parts;

use crate::work_dir::{RunningLab, WorkDir};

/// The exit code, stdout and stderr of `kueue-lab sky`.
fn sky(dir: &WorkDir, args: &[&str]) -> (Option<i32>, String, String) {
    let args: Vec<&str> = ["sky"].iter().chain(args).copied().collect();
    let output = dir.command(&args).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

/// Waits until the line of a cluster in `sky status` has these columns.
fn wait_for_status(dir: &WorkDir, cluster: &str, columns: &[&str]) {
    let mut last = String::new();
    for _ in 0..300 {
        last = sky(dir, &["status"]).1;
        let line = last.lines().find(|line| line.starts_with(cluster));
        if line.is_some_and(|line| columns.iter().all(|column| line.contains(column))) {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("no {cluster} with {columns:?} in {last}");
}

#[test]
fn timeouts_of_a_launch_are_in_lab_time() {
    let dir = WorkDir::new();
    let lab = RunningLab::start(dir.command(&["up", "--headless", "--speed", "120"]));
    let queue = "kubernetes: {kueue: {local_queue_name: user-queue, admission_timeout: 600}}\n";
    dir.write(".sky/config.yaml", queue);
    dir.write("task.yaml", "resources: {cpus: 6}\n");
    let (code, _, error) = sky(&dir, &["launch", "-y", "-c", "train", "task.yaml"]);
    assert_eq!(code, Some(0), "{error}");
    // The quota is in use.
    let started = Instant::now();
    let (code, _, error) = sky(&dir, &["launch", "-y", "-c", "late", "task.yaml"]);
    assert_eq!(code, Some(1), "{error}");
    let expected = "The queue has not admitted the Pods";
    assert!(error.contains(expected), "{error}");
    let waited = started.elapsed();
    assert!(waited < Duration::from_secs(300), "{waited:?}");
    lab.signal("-TERM");
    lab.wait();
}

#[test]
fn clusters_are_launched_listed_and_deleted() {
    let dir = WorkDir::new();
    let lab = RunningLab::start(dir.command(&["up", "--headless"]));
    let queue = "kubernetes: {kueue: {local_queue_name: user-queue, admission_timeout: 2}}\n";
    dir.write(".sky/config.yaml", queue);
    dir.write("task.yaml", "resources: {cpus: 6}\n");
    let (code, table, _) = sky(&dir, &["status"]);
    assert_eq!(
        (code, table.as_str()),
        (Some(0), "Clusters\nNo existing clusters.\n")
    );

    let launch = ["launch", "-y", "-c", "train"];
    let (code, _, error) = sky(&dir, &[&launch[..], &["task.yaml"]].concat());
    assert_eq!(code, Some(0), "{error}");
    assert!(error.contains("✓ Cluster launched: train\n"), "{error}");
    let (_, table, _) = sky(&dir, &["status", "train"]);
    let mut lines = table.lines().skip(1);
    let head: Vec<&str> = lines.next().unwrap().split_whitespace().collect();
    let columns = [
        "NAME",
        "INFRA",
        "RESOURCES",
        "STATUS",
        "AUTOSTOP",
        "LAUNCHED",
    ];
    assert_eq!(head, columns);
    let line = lines.next().unwrap();
    assert!(line.starts_with("train  Kubernetes ("), "{line}");
    assert!(line.contains("  1x(cpus=6, mem=6, ...)  UP  "), "{line}");

    // The quota is in use: the Pods stay gated, and are deleted after the timeout.
    let (code, _, error) = sky(&dir, &["launch", "-c", "late", "task.yaml"]);
    assert_eq!(code, Some(1), "{error}");
    assert!(
        error.contains("Launching (waiting for queue admission)\n"),
        "{error}"
    );
    let expected = "cannot launch the cluster \"late\", its Pods are deleted: Timed out while waiting for nodes to start.";
    assert!(error.contains(expected), "{error}");
    assert!(!sky(&dir, &["status"]).1.contains("late"));

    // The clusters of managed jobs are not listed.
    let (code, _, error) = sky(
        &dir,
        &["jobs", "launch", "-n", "job", "--cpus", "1", "sleep 9999"],
    );
    assert_eq!(code, Some(0), "{error}");
    let (code, _, error) = sky(
        &dir,
        &[
            "launch",
            "-c",
            "pair",
            "--num-nodes",
            "2",
            "--cpus",
            "1",
            "true",
        ],
    );
    assert_eq!(code, Some(0), "{error}");
    wait_for_status(&dir, "pair", &["2x(cpus=1, mem=1, ...)", "UP"]);
    assert!(!sky(&dir, &["status"]).1.contains("job-1"));

    for (args, expected) in [
        (
            &["launch", "-c", "1a", "task.yaml"][..],
            "\"1a\" is not a name",
        ),
        (
            &["launch", "--cpus", "6000", "task.yaml"],
            "task.yaml: no node is large enough",
        ),
        (
            &["launch", "-c", "pair", "task.yaml"],
            "the number of nodes of the cluster \"pair\" is 2",
        ),
        (&["launch"], "the task is missing"),
        (&["status", "none"], "there is no cluster \"none\""),
        (&["down", "train", "none"], "there is no cluster \"none\""),
    ] {
        let (code, _, error) = sky(&dir, args);
        assert_eq!(code, Some(2), "{args:?}: {error}");
        assert!(error.contains(expected), "{args:?}: {error}");
    }

    let (code, deleted, _) = sky(&dir, &["down", "-y", "train", "pair"]);
    assert_eq!(code, Some(0));
    assert_eq!(
        deleted,
        "Terminating cluster pair...done.\nTerminating cluster train...done.\n"
    );
    assert_eq!(
        sky(&dir, &["status"]).1,
        "Clusters\nNo existing clusters.\n"
    );
    assert_eq!(sky(&dir, &["down", "-a"]).1, "No existing clusters.\n");
    assert!(
        sky(&dir, &["jobs", "queue"]).1.contains("job"),
        "the job remains"
    );
    lab.signal("-TERM");
    lab.wait();
}

#[test]
fn jobs_run_in_the_containers_of_a_cluster() {
    let dir = WorkDir::new();
    let lab = RunningLab::start(dir.command(&["up", "--headless"]));
    let queue = "kubernetes: {kueue: {local_queue_name: user-queue}}\n";
    dir.write(".sky/config.yaml", queue);
    let task = "\
name: greet
num_nodes: 2
resources: {cpus: 1}
envs: {GREETING: hello}
setup: echo setting up
run: echo \"$GREETING $SKYPILOT_NODE_RANK of $SKYPILOT_NUM_NODES on $(hostname)\"
";
    dir.write("task.yaml", task);
    let launch = [
        "launch",
        "-c",
        "pair",
        "--env",
        "GREETING=it's",
        "task.yaml",
    ];
    let (code, log, error) = sky(&dir, &launch);
    assert_eq!(code, Some(0), "{log}{error}");
    for rank in [
        "it's 0 of 2 on pair-5c1e7a9b-head",
        "it's 1 of 2 on pair-5c1e7a9b-worker1",
    ] {
        let parts = [
            "Job submitted, ID: 1\n",
            "Waiting for task resources on 2 nodes.\n",
            "setting up\n",
            rank,
            "Job finished (status: SUCCEEDED)",
        ];
        assert_parts(&log, &parts);
    }

    let (code, log, error) = sky(&dir, &["exec", "pair", "-n", "bad", "echo failing; exit 7"]);
    assert_eq!(code, Some(100), "{error}");
    assert_parts(
        &log,
        &[
            "ID: 2\n",
            "(bad, pid=",
            "failing\n",
            "[7]",
            "(status: FAILED)",
        ],
    );
    assert!(
        error.contains("job 2 on the cluster \"pair\" has failed"),
        "{error}"
    );

    // The setup of a file is not run by exec; a detached job continues.
    let (code, log, _) = sky(&dir, &["exec", "-d", "pair", "task.yaml"]);
    assert_eq!((code, log.as_str()), (Some(0), "Job submitted, ID: 3\n"));
    let (code, log, _) = sky(&dir, &["logs", "pair"]);
    assert_eq!(code, Some(0));
    assert_parts(&log, &["hello 0 of 2 on", "(status: SUCCEEDED)"]);
    assert!(!log.contains("setting up"), "{log}");
    let (code, log, _) = sky(&dir, &["logs", "pair", "1"]);
    assert_eq!(code, Some(0));
    assert_parts(&log, &["setting up\n", "it's", "(status: SUCCEEDED)"]);
    let (code, log, _) = sky(&dir, &["exec", "-d", "pair", "sleep 9999"]);
    assert_eq!((code, log.as_str()), (Some(0), "Job submitted, ID: 4\n"));
    let (code, log, _) = sky(&dir, &["logs", "--no-follow", "pair", "4"]);
    assert_eq!(code, Some(0));
    assert!(!log.contains("Job finished"), "{log}");

    for (args, expected) in [
        (
            &["logs", "pair", "9"][..],
            "there is no such job on the cluster \"pair\"",
        ),
        (&["logs", "none"], "there is no cluster \"none\""),
        (&["exec", "none", "true"], "there is no cluster \"none\""),
        (&["exec", "pair"], "the task is missing"),
        (
            &["exec", "pair", "--num-nodes", "3", "true"],
            "and num_nodes of the task is 3",
        ),
        (
            &["exec", "pair", "--gpus", "H100:1", "true"],
            "have 0 GPUs, and the task needs 1",
        ),
        (
            &["exec", "pair", "-n", "a b", "true"],
            "\"a b\" is not a name",
        ),
    ] {
        let (code, _, error) = sky(&dir, args);
        assert_eq!(code, Some(2), "{args:?}: {error}");
        assert!(error.contains(expected), "{args:?}: {error}");
    }

    // A job is lost with its Pods while its log is followed.
    let mut follow = dir.command(&["sky", "logs", "pair", "4"]);
    let mut follow = follow
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut log = BufReader::new(follow.stdout.take().unwrap());
    log.read_line(&mut line).unwrap();
    assert_eq!(line, "Waiting for task resources on 1 node.\n");
    assert_eq!(sky(&dir, &["down", "pair"]).0, Some(0));
    let ended = follow.wait_with_output().unwrap();
    let error = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(1), "{error}");
    let expected = "job 4 is lost with the cluster \"pair\" (";
    assert!(error.contains(expected), "{error}");
    lab.signal("-TERM");
    lab.wait();
}

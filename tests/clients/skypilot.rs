//! SkyPilot: clusters of `sky launch` and managed jobs of `sky jobs launch`.

use std::time::{Duration, Instant};

use kueue_lab_testing::assert_parts;

use crate::sky_client::Sky;

/// SkyPilot's configuration: every cluster is queued.
const CONFIG: &str = "kubernetes: {kueue: {local_queue_name: sky}}\n";

/// As [`CONFIG`], with the jobs controller in SkyPilot's API server.
const JOBS_CONFIG: &str = "\
kubernetes: {kueue: {local_queue_name: sky}}
jobs: {controller: {consolidation_mode: true}}
";

const LOW: &str = "\
name: low
workdir: work
envs: {GREETING: it's me}
resources: {infra: kubernetes, cpus: 1, labels: {kueue.x-k8s.io/priority-class: low}}
num_nodes: 2
setup: echo setting up
run: |
  for file in *.txt; do echo \"$GREETING $SKYPILOT_NODE_RANK: $(cat $file)\"; done
";

const HIGH: &str = "\
name: high
resources: {infra: kubernetes, cpus: 2, labels: {kueue.x-k8s.io/priority-class: high}}
run: echo on $(hostname)
";

/// A managed job that runs until it is cancelled.
const LONG_JOB: &str = "\
name: low
resources: {infra: kubernetes, cpus: 1, labels: {kueue.x-k8s.io/priority-class: low}}
run: echo started; sleep 100000
";

/// Maximum duration of a change of a managed job, whose controller checks it every 15 seconds.
const JOB_CHANGE: Duration = Duration::from_secs(300);

#[test]
#[ignore = "takes minutes, and installs SkyPilot with some hundred packages; see docs/suite.md"]
fn sky() {
    let files = [
        (".sky/config.yaml", CONFIG),
        ("low.yaml", LOW),
        ("high.yaml", HIGH),
        ("work/a.txt", "from the client"),
    ];
    let Some(sky) = Sky::start(&files) else {
        return;
    };

    let text = sky.run(0, &["check", "kubernetes"]);
    assert_parts(&text, &["Kubernetes: enabled"]);

    // Two nodes as one workload; files, environment, setup and commands of the task.
    let text = sky.run(0, &["launch", "-y", "-c", "low", "low.yaml"]);
    for line in [
        "setting up",
        "it's me 0: from the client",
        "it's me 1: from the client",
    ] {
        assert_parts(&text, &[line, "Job finished (status: SUCCEEDED)"]);
    }
    let workloads = [
        "get",
        "workloads",
        "-o",
        "jsonpath={.items[*].status.admission.podSetAssignments[0].count}",
    ];
    assert_eq!(sky.kubectl(&workloads), "2");

    let text = sky.run(
        100,
        &["exec", "low", "--num-nodes", "1", "echo failing; exit 7"],
    );
    assert_parts(&text, &["failing", "[7]", "Job finished (status: FAILED)"]);
    let text = sky.run(
        0,
        &["exec", "-d", "low", "--num-nodes", "1", "sleep 100000"],
    );
    assert_parts(&text, &["Job submitted, ID: 3"]);
    let text = sky.run(0, &["cancel", "-y", "low", "3"]);
    assert_parts(&text, &["Cancelled job ID(s): 3"]);
    let text = sky.run(0, &["queue", "low"]);
    assert_parts(
        &text,
        &["\n3 ", "CANCELLED", "\n2 ", "FAILED", "\n1 ", "SUCCEEDED"],
    );
    let text = sky.run(0, &["logs", "low", "1"]);
    assert_parts(
        &text,
        &["from the client", "Job finished (status: SUCCEEDED)"],
    );

    // The quota is in use: a cluster of a higher priority preempts the first one.
    let text = sky.run(0, &["launch", "-y", "-c", "high", "high.yaml"]);
    assert_parts(&text, &["on high-", "Job finished (status: SUCCEEDED)"]);
    let events = [
        "get",
        "events",
        "--field-selector",
        "reason=Preempted",
        "-o",
        "name",
    ];
    assert_ne!(sky.kubectl(&events), "");
    let text = sky.run(0, &["status", "--refresh"]);
    assert_parts(&text, &["high", " UP "]);
    assert!(
        !text
            .lines()
            .any(|line| line.starts_with("low ") && line.contains(" UP ")),
        "{text}"
    );

    sky.run(0, &["down", "-y", "high", "low"]);
    assert_eq!(sky.kubectl(&["get", "pods", "-o", "name"]), "");
}

/// Waits until the line of a managed job in `sky jobs queue` has these parts.
fn wait_for_job(sky: &Sky, name: &str, parts: &[&str]) {
    let started = Instant::now();
    loop {
        let text = sky.run(0, &["jobs", "queue"]);
        let line = text.lines().find(|line| line.contains(name));
        if line.is_some_and(|line| parts.iter().all(|part| line.contains(part))) {
            return;
        }
        assert!(started.elapsed() < JOB_CHANGE, "no {parts:?} in {text}");
    }
}

/// A job of a higher priority preempts the first one and finishes; the first one recovers, and is cancelled.
fn preempt_recover_and_cancel(sky: &Sky) {
    sky.run(0, &["jobs", "launch", "-y", "-d", "low.yaml"]);
    wait_for_job(sky, " low ", &[" 0 ", " RUNNING "]);

    let text = sky.run(0, &["jobs", "launch", "-y", "high.yaml"]);
    let parts = ["on high-", "Managed job finished: 2 (status: SUCCEEDED)"];
    assert_parts(&text, &parts);

    wait_for_job(sky, " low ", &[" 1 ", " RUNNING "]);
    let text = sky.run(0, &["jobs", "cancel", "-y", "1"]);
    assert_parts(&text, &["1"]);
    wait_for_job(sky, " low ", &[" CANCELLED "]);
    wait_for_job(sky, " high ", &[" SUCCEEDED "]);
}

#[test]
#[ignore = "takes minutes, and installs SkyPilot with some hundred packages; see docs/suite.md"]
fn sky_jobs() {
    let files = [
        (".sky/config.yaml", JOBS_CONFIG),
        ("skypilot-runtime/bin/activate", ""),
        ("low.yaml", LONG_JOB),
        ("high.yaml", HIGH),
    ];
    let Some(sky) = Sky::start(&files) else {
        return;
    };
    preempt_recover_and_cancel(&sky);
}

/// The jobs controller is a Pod of the cluster.
#[test]
#[ignore = "takes minutes, and installs SkyPilot with some hundred packages; see docs/suite.md"]
fn sky_jobs_with_a_controller_pod() {
    let files = [
        (".sky/config.yaml", CONFIG),
        ("low.yaml", LONG_JOB),
        ("high.yaml", HIGH),
    ];
    let Some(sky) = Sky::start(&files) else {
        return;
    };
    preempt_recover_and_cancel(&sky);
    let pods = sky.kubectl(&["get", "pods", "-o", "name"]);
    assert_parts(&pods, &["pod/sky-jobs-controller-"]);
    assert!(!pods.contains("pod/low-"), "{pods}");
    let text = sky.run(103, &["jobs", "logs", "1"]);
    assert_parts(&text, &["(low, pid=", ") started"]);
    let text = sky.run(103, &["jobs", "logs", "--controller", "1"]);
    assert_parts(
        &text,
        &["PENDING", "STARTING", "RUNNING", "RECOVERING", "RUNNING"],
    );
}

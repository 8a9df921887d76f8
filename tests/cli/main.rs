//! The command line of the binary: output, exit codes and errors.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod explain;
mod held_save;
mod host_files;
mod hostile_clients;
mod import;
mod node_file;
mod plan;
mod recordings;
mod replay;
mod shutdown;
mod simulate;
mod sky;
mod team_queues;
mod work_dir;

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;

use work_dir::{RunningLab, UP_WITH_PRESET, WorkDir};

const VALID_PRESET: &str = "\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: f}
";

fn queue(spec: &str) -> String {
    format!(
        "{VALID_PRESET}---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {{name: q}}
spec:
  namespaceSelector: {{}}
{spec}"
    )
}

fn quota(amount: &str) -> String {
    queue(&format!(
        "  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - name: f
      resources:
      - name: cpu
        nominalQuota: {amount}
"
    ))
}

#[test]
fn help_version_and_completions_are_printed_to_stdout() {
    let dir = WorkDir::new();
    for (args, holds) in [
        (&["--help"][..], "Examples:"),
        (&["up", "--help"], "--preset <NAME>"),
        (&["--version"], "kueue-lab 0."),
        (&["completions", "zsh"], "#compdef kueue-lab"),
        (&["crds"], "name: clusterqueues.kueue.x-k8s.io"),
        (&["demo"], "skypilot-priority-preemption  "),
    ] {
        let output = dir.run(args);
        let out = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        assert!(out.contains(holds), "{args:?} printed {out}");
        assert_eq!(output.stderr, b"", "{args:?}");
    }
}

#[test]
fn usage_errors_are_one_line_and_exit_code_2() {
    let dir = WorkDir::new();
    for (args, expected) in [
        (&["up", "--no-such-flag"][..], "; see kueue-lab up --help"),
        (&["up", "--port", "70000"], "70000"),
        (&["up", "--speed", "0"], "from 0.01 to 10000"),
        (
            &["up", "--headless", "--preset", "nope"],
            "no preset \"nope\"",
        ),
        (
            &["demo", "nope", "--headless"],
            "skypilot-priority-preemption",
        ),
        (&["completions", "tcl"], "tcl"),
        (&["explain", "workload", "w"], "no lab is running"),
        (&["tui", "--context", "nope"], "terminal"),
        (
            &["up", "--controller", "none", "--cluster", "context:x"],
            "--observe",
        ),
        (&["no-such-command"], "no-such-command"),
    ] {
        let printed = dir.run_rejected(args);
        assert!(printed.contains(expected), "{args:?} printed {printed}");
    }
}

#[test]
fn unreadable_folders_and_files_are_reported() {
    let dir = WorkDir::new();
    let printed = dir.run_rejected(&["up", "--headless", "--presets-dir", "nowhere"]);
    assert!(
        printed.contains("cannot read the folder nowhere"),
        "{printed}"
    );
    dir.write("presets/p/q.yaml", VALID_PRESET);
    let with = |flag: &str, file: &str| {
        let mut args = UP_WITH_PRESET.to_vec();
        args.extend([flag, file]);
        dir.run_rejected(&args)
    };
    let printed = with("--nodes", "nowhere.yaml");
    assert!(printed.contains("nowhere.yaml"), "{printed}");
    let printed = with("--config", "nowhere.yaml");
    assert!(printed.contains("nowhere.yaml"), "{printed}");
    let pools = "pools:\n- name: a\n  count: 1\n  resources: {cpu: 8, memory: 64GB}\n";
    let nodes = dir.write("nodes.yaml", pools);
    let printed = with("--nodes", &nodes);
    assert!(
        printed.contains("nodes.yaml:4:") && printed.contains("64GB"),
        "{printed}"
    );
    let config = dir.write(
        "kueue.yaml",
        "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nfairShering: {}\n",
    );
    let printed = with("--config", &config);
    assert!(
        printed.contains("kueue.yaml:3:") && printed.contains("fairShering"),
        "{printed}"
    );
    let args = [&UP_WITH_PRESET[..], &["--config", config.as_str()]].concat();
    let printed = String::from_utf8(dir.run(&args).stderr).unwrap();
    assert!(
        printed.contains("3 | fairShering: {}\n  | ^^^^^^^^^^^"),
        "{printed}"
    );
}

#[test]
fn invalid_presets_are_reported_by_file_line_and_column() {
    let dir = WorkDir::new();
    for (text, at, expected) in [
        ("a: b: c\n".to_owned(), "presets/p/q.yaml:1:", ""),
        (queue("  cohrt: x\n"), "presets/p/q.yaml:10:", "cohrt"),
        (
            "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQue\nmetadata: {name: q}\n"
                .to_owned(),
            "presets/p/q.yaml:",
            "ClusterQue",
        ),
        (
            quota("-1"),
            "presets/p/q.yaml:16:",
            "greater than or equal to 0",
        ),
        (quota("12Gib"), "presets/p/q.yaml:16:", "12Gib"),
    ] {
        let printed = dir.run_with_invalid_preset(&text);
        assert!(
            printed.contains(at) && printed.contains(expected),
            "{text}\nprinted {printed}"
        );
    }
}

#[test]
fn a_port_in_use_is_reported() {
    let dir = WorkDir::new();
    dir.write("presets/p/q.yaml", VALID_PRESET);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let args = [&UP_WITH_PRESET[..], &["--port", &port]].concat();
    let printed = dir.run_rejected(&args);
    assert!(
        printed.contains(&port) && printed.contains("--port"),
        "{printed}"
    );
}

#[test]
fn without_a_terminal_the_lab_runs_until_a_signal() {
    let dir = WorkDir::new();
    // The shipped presets are extracted from the binary, to be edited.
    for signal in ["-INT", "-TERM"] {
        let lab = RunningLab::start(dir.command(&["up"]));
        let state = dir.path(".local/state/kueue-lab");
        assert_eq!(lab.kubeconfig, state.join("kubeconfig"));
        let mode = std::fs::metadata(&lab.kubeconfig).unwrap().permissions();
        assert_eq!(mode.mode() & 0o777, 0o600);
        assert!(state.join("presets/skypilot-priority").is_dir());
        let kubeconfig = lab.kubeconfig.clone();
        lab.signal(signal);
        assert_eq!(lab.wait(), (Some(0), String::new()), "{signal}");
        assert!(
            !kubeconfig.exists(),
            "the kubeconfig remains after the exit"
        );
    }
}

#[test]
fn a_lab_without_a_preset_has_no_queues() {
    let dir = WorkDir::new();
    let lab = RunningLab::start(dir.command(&["up", "--headless", "--preset", "none"]));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let client = lab.client().await;
        for resource in ["resourceflavors", "clusterqueues", "localqueues"] {
            let path = format!("/apis/kueue.x-k8s.io/v1beta2/{resource}");
            let request = http::Request::get(path).body(Vec::new()).unwrap();
            let list: serde_json::Value = client.request(request).await.unwrap();
            assert_eq!(list["items"], serde_json::json!([]), "{resource}");
        }
    });
    lab.signal("-TERM");
    assert_eq!(lab.wait().0, Some(0));
}

#[test]
fn the_preset_need_not_be_named_if_there_is_one() {
    let dir = WorkDir::new();
    dir.write("queues/q.yaml", VALID_PRESET);
    let args = ["up", "--headless", "--presets-dir"];
    let lab = RunningLab::start(dir.command(&[&args[..], &["queues"]].concat()));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let path = "/apis/kueue.x-k8s.io/v1beta2/resourceflavors";
        let request = http::Request::get(path).body(Vec::new()).unwrap();
        let list: serde_json::Value = lab.client().await.request(request).await.unwrap();
        let count = list["items"].as_array().map(Vec::len);
        assert_eq!(count, Some(1), "{list}");
    });
    lab.signal("-TERM");
    assert_eq!(lab.wait().0, Some(0));
    for name in ["a", "b"] {
        dir.write(&format!("several/{name}/q.yaml"), VALID_PRESET);
    }
    let printed = dir.run_rejected(&[&args[..], &["several"]].concat());
    let expected = "choose one of the presets in several with --preset: a, b, or none";
    assert!(printed.contains(expected), "{printed}");
    std::fs::create_dir(dir.path("empty")).unwrap();
    let printed = dir.run_rejected(&[&args[..], &["empty"]].concat());
    assert!(printed.contains("there is no preset in empty"), "{printed}");
}

#[test]
fn feature_gates_of_a_controller_are_checked_first() {
    let dir = WorkDir::new();
    let printed = dir.run_rejected(&["controller", "--feature-gates", "Unknown=true"]);
    assert!(
        printed.contains("--feature-gates: ") && printed.contains("Unknown"),
        "{printed}"
    );
    let config = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nfeatureGates: {PriorityBoost: true}\n";
    dir.write("kueue.yaml", config);
    let gates = ["--feature-gates", "PriorityBoost=false"];
    let printed =
        dir.run_rejected(&[&["controller", "--config", "kueue.yaml"], &gates[..]].concat());
    assert!(printed.contains("cannot both specified"), "{printed}");
}

/// Prefix of the name of the Pod of the lab's controller, which is its identity in leader election.
const POD_PREFIX: &str = "kueue-controller-manager-";

#[test]
fn a_controller_beside_that_of_a_lab_waits_or_is_refused() {
    let dir = WorkDir::new();
    let lab = RunningLab::start(dir.command(&["up", "--headless", "--preset", "none"]));
    let kubeconfig = lab.kubeconfig.display().to_string();
    let controller = [
        "controller",
        "--kubeconfig",
        &kubeconfig,
        "--context",
        "kueue-lab",
        "--no-webhooks",
        "--health",
        "127.0.0.1:0",
    ];
    let refused = dir.run_rejected(&controller);
    assert!(
        refused.contains("already admits workloads on this cluster"),
        "{refused}"
    );
    // In the namespace of the lab's controller it takes part in the same leader election. The Lease is
    // reserved under the name of the Deployment until the Pod of the lab's controller runs.
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let client = lab.client().await;
        let leases: kube::Api<Lease> = kube::Api::namespaced(client, "kueue-system");
        let started = std::time::Instant::now();
        let holder = async || {
            let lease = leases.get_opt("c1f6bfd2.kueue.x-k8s.io").await.unwrap()?;
            lease.spec?.holder_identity
        };
        loop {
            let holder = holder().await;
            if holder.as_deref().is_some_and(|h| h.starts_with(POD_PREFIX)) {
                break;
            }
            assert!(started.elapsed() < Duration::from_secs(60), "{holder:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    let mut command = dir.command(&controller);
    command.args(["--namespace", "kueue-system"]);
    let mut waiting = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let log = BufReader::new(waiting.stderr.take().unwrap());
    let mut lines = log.lines().map(Result::unwrap);
    let waits = lines.find(|line| line.contains("is the leader; waiting"));
    waiting.kill().unwrap();
    waiting.wait().unwrap();
    let waits = waits.unwrap();
    assert!(waits.contains(POD_PREFIX), "{waits}");
}

#[test]
fn two_labs_keep_separate_kubeconfigs() {
    let dir = WorkDir::new();
    let one = RunningLab::start(dir.command(&["up", "--headless"]));
    let other = RunningLab::start(dir.command(&["up", "--headless"]));
    assert_ne!(one.kubeconfig, other.kubeconfig);
    let text = |lab: &RunningLab| std::fs::read_to_string(&lab.kubeconfig).unwrap();
    assert_ne!(text(&one), text(&other));
}

#[test]
fn explaining_an_absent_workload_is_an_error() {
    let dir = WorkDir::new();
    let lab = RunningLab::start(dir.command(&["up", "--headless"]));
    // The running lab is found without its name.
    let output = dir.run(&["explain", "workload", "absent"]);
    let printed = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{printed}");
    assert!(printed.contains("no Workload \"absent\""), "{printed}");
    drop(lab);
}

/// Queues in which one Workload preempts another that is admitted again before it: by fair sharing the
/// preemption is allowed, and by fair sharing the target comes first.
const LOOP_PRESET: &str = "\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: f}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: reclaiming}
spec:
  namespaceSelector: {}
  cohortName: loop
  preemption: {reclaimWithinCohort: Any}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: f, resources: [{name: cpu, nominalQuota: 2}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: borrowing}
spec:
  namespaceSelector: {}
  cohortName: loop
  fairSharing: {weight: 500m}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: f, resources: [{name: cpu, nominalQuota: 5}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: reclaiming, namespace: default}
spec: {clusterQueue: reclaiming}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: borrowing, namespace: default}
spec: {clusterQueue: borrowing}
";

/// A Job that does not end, with two pods or one.
fn job(name: &str, cpu: &str) -> k8s_openapi::api::batch::v1::Job {
    let job = serde_json::json!({
        "metadata": {
            "name": name,
            "labels": {"kueue.x-k8s.io/queue-name": name},
            "annotations": {"kueue.x-k8s.io/job-min-parallelism": "1"},
        },
        "spec": {"parallelism": 2, "completions": 2, "suspend": true, "template": {"spec": {
            "restartPolicy": "Never",
            "containers": [{"name": "c", "image": "busybox", "command": ["sleep", "infinity"],
                "resources": {"requests": {"cpu": cpu}}}],
        }}},
    });
    serde_json::from_value(job).unwrap()
}

#[test]
fn a_preemption_loop_is_named_in_the_log_once_and_by_explain() {
    use k8s_openapi::api::batch::v1::Job;
    use kube::api::{Api, PostParams};

    let dir = WorkDir::new();
    dir.write("presets/p/q.yaml", LOOP_PRESET);
    let config = "apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
fairSharing: {preemptionStrategies: [LessThanOrEqualToFinalShare, LessThanInitialShare]}
";
    dir.write("config.yaml", config);
    let log = std::fs::File::create(dir.path("log")).unwrap();
    let up = [
        "up",
        "--headless",
        "--config=config.yaml",
        "--presets-dir=presets",
        "--preset=p",
    ];
    let lab = RunningLab::start_with_log(dir.command(&up), Stdio::from(log));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let jobs: Api<Job> = Api::default_namespaced(runtime.block_on(lab.client()));
    let create = |name, cpu| {
        let create = async { jobs.create(&PostParams::default(), &job(name, cpu)).await };
        runtime.block_on(create).unwrap();
    };
    let explain = |name: &str| {
        let output = dir.run(&["explain", "workload", name]);
        String::from_utf8(output.stdout).unwrap()
    };
    let explained = |name: &str, text: &str| {
        let start = std::time::Instant::now();
        loop {
            let printed = explain(name);
            if printed.contains(text) {
                return printed;
            }
            assert!(start.elapsed().as_secs() < 120, "{name}: {printed}");
        }
    };
    create("borrowing", "3");
    explained("borrowing", "state     admitted");
    create("reclaiming", "2");
    let printed = explained("reclaiming", "  loop      Workload default/job-reclaiming-");
    assert!(
        printed.contains(" preempts default/job-borrowing-"),
        "{printed}"
    );
    explained("borrowing", "  loop      Workload default/job-reclaiming-");
    let log = std::fs::read_to_string(dir.path("log")).unwrap();
    let named = log.matches("loop of scheduling attempts: Workload default/job-reclaiming-");
    assert_eq!(named.count(), 1, "{log}");
}

#[test]
fn a_kubeconfig_is_written_to_the_requested_path() {
    let dir = WorkDir::new();
    let wanted = dir.path("deep/down/kc");
    let flag = wanted.display().to_string();
    let lab = RunningLab::start(dir.command(&["up", "--headless", "--kubeconfig-out", &flag]));
    assert_eq!(lab.kubeconfig, Path::new(&flag));
    assert!(wanted.is_file());
    lab.signal("-TERM");
    lab.wait();
    assert!(!wanted.exists(), "its cluster is gone");
}

#[test]
fn commands_use_the_second_lab_after_the_end_of_the_first() {
    let dir = WorkDir::new();
    let first = RunningLab::start(dir.command(&["up", "--headless"]));
    let second = RunningLab::start(dir.command(&["up", "--headless"]));
    assert_ne!(first.kubeconfig, second.kubeconfig);
    first.signal("-KILL");
    first.wait();
    let output = dir.run(&["sky", "jobs", "queue"]);
    let printed = String::from_utf8(output.stdout).unwrap();
    assert_eq!(printed, "No in-progress managed jobs.\n");
    second.signal("-TERM");
    second.wait();
    let gone = dir.run_rejected(&["sky", "jobs", "queue"]);
    assert!(gone.starts_with("no cluster found"), "{gone}");
}

#[test]
fn a_workload_is_explained_in_the_namespace_of_the_context() {
    let dir = WorkDir::new();
    let lab = RunningLab::start(dir.command(&["up", "--headless"]));
    let text = std::fs::read_to_string(&lab.kubeconfig).unwrap();
    let mut config: serde_json::Value = serde_yaml::from_str(&text).unwrap();
    config["contexts"][0]["context"]["namespace"] = "team".into();
    let file = dir.write("team.kubeconfig", &config.to_string());
    let explained = |more: &[&str]| {
        let args = ["explain", "workload", "train", "--kubeconfig", &file];
        let args: Vec<&str> = args.iter().chain(more).copied().collect();
        String::from_utf8(dir.run(&args).stderr).unwrap()
    };
    let own = explained(&[]);
    assert!(own.contains("in namespace \"team\""), "{own}");
    let named = explained(&["-n", "other"]);
    assert!(named.contains("in namespace \"other\""), "{named}");
}

#[test]
fn context_is_short_for_a_cluster() {
    let dir = WorkDir::new();
    dir.write(".kube/config", "apiVersion: v1\nkind: Config\n");
    for command in ["up", "down"] {
        let long = dir.run_rejected(&[command, "--cluster", "context:nowhere"]);
        assert!(long.contains("nowhere"), "{long}");
        assert_eq!(dir.run_rejected(&[command, "--context", "nowhere"]), long);
        let both = dir.run_rejected(&[command, "--cluster", "kind", "--context", "nowhere"]);
        assert!(both.contains("cannot be used with"), "{both}");
    }
}

#[test]
fn a_missing_argument_is_named_in_one_sentence() {
    let error = WorkDir::new().run_rejected(&["kubeconfig"]);
    let expected = "the following required arguments were not provided: --as <ROLE>; see kueue-lab kubeconfig --help";
    assert_eq!(error, expected);
}

#[test]
fn managed_jobs_are_launched_listed_and_cancelled() {
    let dir = WorkDir::new();
    let lab = RunningLab::start(dir.command(&["up", "--headless"]));
    let queue =
        "kubernetes: {pod_config: {metadata: {labels: {kueue.x-k8s.io/queue-name: user-queue}}}}\n";
    dir.write(".sky/config.yaml", queue);
    dir.write("task.yaml", "resources: {cpus: 6}\nrun: sleep infinity\n");
    let sky = |args: &[&str]| {
        let args: Vec<&str> = ["sky"].iter().chain(args).copied().collect();
        let output = dir.run(&args);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?}: {error}");
        String::from_utf8(output.stdout).unwrap()
    };
    let until = |text: &str| {
        for _ in 0..300 {
            let table = sky(&["jobs", "queue", "-v"]);
            if table.contains(text) {
                return table;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("no {text:?} in {}", sky(&["jobs", "queue", "-v"]));
    };
    assert_eq!(sky(&["job", "status"]), "No in-progress managed jobs.\n");
    let launched = sky(&["job", "launch", "-n", "first", "task.yaml"]);
    assert_eq!(launched, "Managed job ID: 1 (first)\n");
    until("RUNNING");
    sky(&["jobs", "launch", "-n", "second", "task.yaml"]);
    let table = until("Launching (waiting for queue admission)");
    assert!(table.starts_with("In progress tasks: 1 RUNNING, 1 STARTING\nID  TASK  NAME"));
    let cancelled = sky(&["jobs", "cancel", "-n", "first"]);
    assert_eq!(cancelled, "Cancelling managed job 1 (first)\n");
    until("CANCELLED");
    until("In progress tasks: 1 RUNNING");
    let flags = [
        "--num-nodes",
        "2",
        "--cpus",
        "1",
        "--env",
        "A=1",
        "-y",
        "-d",
    ];
    let command = [&["jobs", "launch", "-n", "third"], &flags[..], &["sleep 1"]].concat();
    sky(&command);
    until("2x[CPU:1]");
    sky(&["jobs", "cancel", "-a"]);
    until("No in-progress managed jobs.");

    let missing = dir.run_rejected(&["sky", "jobs", "cancel", "9"]);
    assert!(
        missing.starts_with("there is no managed job 9"),
        "{missing}"
    );
    dir.write("bad.yaml", "resources: {cpus: x}\n");
    let bad = dir.run_rejected(&["sky", "jobs", "launch", "bad.yaml"]);
    assert!(bad.starts_with("bad.yaml:1:19: cpus"), "{bad}");
    let bad = dir.run_rejected(&["sky", "jobs", "launch", "--gpus", "H100:x", "task.yaml"]);
    let expected = "task.yaml, with the flags of the command: ";
    assert!(bad.starts_with(expected), "{bad}");
    let bad = dir.run_rejected(&["sky", "jobs", "launch"]);
    assert!(bad.starts_with("the task is missing"), "{bad}");
    dir.write(".sky/config.yaml", "kubernetes: 1\n");
    let bad = dir.run_rejected(&["sky", "jobs", "launch", "task.yaml"]);
    assert!(bad.contains("/.sky/config.yaml:1:13: "), "{bad}");
    lab.signal("-TERM");
    lab.wait();
    let gone = dir.run_rejected(&["sky", "jobs", "queue"]);
    assert!(gone.starts_with("no cluster found"), "{gone}");
}

#[test]
fn the_presets_of_a_running_lab_are_listed_and_switched() {
    let dir = WorkDir::new();
    for (file, text) in [
        ("p/one/q.yaml", format!("# Teaches one.\n{}", quota("1"))),
        ("p/two/q.yaml", format!("# Teaches two.\n{}", quota("2"))),
        ("p/wrong/q.yaml", quota("-1")),
    ] {
        std::fs::create_dir_all(dir.path(file).parent().unwrap()).unwrap();
        dir.write(file, &text);
    }
    let folder = dir.path("p").display().to_string();
    let up = [
        "up",
        "--headless",
        "--presets-dir",
        &folder,
        "--preset",
        "one",
    ];
    let lab = RunningLab::start(dir.command(&up));
    let preset = |args: &[&str]| {
        let args: Vec<&str> = ["preset"].iter().chain(args).copied().collect();
        let output = dir.run(&args);
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (
            output.status.code(),
            text(output.stdout),
            text(output.stderr),
        )
    };
    let mut listed = String::new();
    for _ in 0..300 {
        listed = preset(&[]).1;
        if listed.lines().count() == 3 {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    let lines: Vec<_> = listed.lines().collect();
    assert!(lines[0].starts_with("* one    Active: "), "{listed}");
    assert_eq!(lines[1], "  two    Teaches two.");
    let (code, printed, error) = preset(&["two"]);
    assert_eq!(code, Some(0), "{error}");
    assert!(printed.starts_with("preset two is active: "), "{printed}");
    let (code, _, error) = preset(&["wrong"]);
    assert_eq!(code, Some(1));
    assert!(error.contains("wrong/q.yaml:"), "{error}");
    let (code, _, error) = preset(&["nope"]);
    assert_eq!(code, Some(2));
    assert!(
        error.contains("there is no preset \"nope\"; the presets are one, two, wrong"),
        "{error}"
    );
    assert!(preset(&[]).1.contains("* two "));
    lab.signal("-TERM");
    lab.wait();
}

#[test]
fn errors_in_files_have_their_source_line() {
    let dir = WorkDir::new();
    dir.write("scenario.yaml", "steps:\n- sya: x\n  wait: 1s\n");
    dir.write("presets/p/q.yaml", "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: a}\nspec: {namespaceSelectr: {}}\n");
    let up = &UP_WITH_PRESET[..];
    for (args, expected) in [
        (
            &["demo", "./scenario.yaml", "--headless"][..],
            "scenario.yaml:2:3: unknown field \"sya\"; did you mean \"say\"?\n  |\n2 | - sya: x\n  |   ^^^\n",
        ),
        (
            up,
            "presets/p/q.yaml:4:8: ClusterQueue/a: spec.namespaceSelectr: unknown field; did you mean namespaceSelector?\n  |\n4 | spec: {namespaceSelectr: {}}\n  |        ^^^^^^^^^^^^^^^^\n",
        ),
    ] {
        let output = dir.run(args);
        assert_eq!(output.status.code(), Some(2));
        let printed = String::from_utf8(output.stderr).unwrap();
        assert!(printed.contains(expected), "{printed}");
    }
}

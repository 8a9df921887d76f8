//! `kueue-lab demo`: the shipped scenarios pass, and a failing scenario is reported.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::{Command, Output, Stdio};

fn demo(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_kueue-lab"))
        .arg("demo")
        .args(args)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// The timeline of a demo that must pass.
fn run_to_success(name: &str, speed: &[&str]) -> String {
    let args = [&[name, "--headless"], speed].concat();
    let output = demo(&args);
    let out = String::from_utf8(output.stdout).unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{out}\n{err}");
    assert!(out.contains(&format!("{name} passed in ")), "{out}");
    out
}

#[test]
fn a_high_priority_job_preempts_and_the_other_is_readmitted() {
    let out = run_to_success("skypilot-priority-preemption", &[]);
    // In this order, with other lines between them.
    let mut rest = out.as_str();
    for line in [
        "job1 requests 6 of the 9 CPUs",
        "✓ job job1 is RUNNING",
        "job2 requests 6 CPUs at high priority",
        "Preempted to accommodate a workload",
        "✓ job job2 is RUNNING",
        "✓ job job1 is RECOVERING",
        "✓ job job2 is SUCCEEDED",
        "✓ job job1 is RUNNING",
        "✓ job job1 is SUCCEEDED",
    ] {
        let Some((_, after)) = rest.split_once(line) else {
            panic!("{line:?} is missing, or is too early, in\n{out}");
        };
        rest = after;
    }
}

#[test]
fn borrowed_gpus_are_reclaimed() {
    let out = run_to_success("cohort-borrow-and-reclaim", &["--speed", "20"]);
    assert!(
        out.contains("due to reclamation within the cohort"),
        "{out}"
    );
}

#[test]
fn a_failed_scenario_exits_nonzero_and_reports_the_observed_state() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("wrong.yaml");
    let scenario = "\
# A queue that is not there.
preset: skypilot-priority
steps:
- say: there is a second queue
  expect:
  - {object: {kind: ClusterQueue, name: second}, fields: {spec.queueingStrategy: StrictFIFO}, within: 2s}
";
    std::fs::write(&file, scenario).unwrap();
    let output = demo(&[&file.display().to_string(), "--headless"]);
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(
        err.contains("wrong.yaml:4:") && err.contains("second"),
        "{err}"
    );
}

/// The timeout is lab time: 5 s of it are over long before two minutes.
#[test]
fn a_timeout_is_lab_time_at_a_high_speed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("late.yaml");
    let scenario = |within: &str| {
        format!(
            "preset: skypilot-priority\nsteps:\n- jobs: {{name: j, queue: user-queue, namespace: default, requests: {{cpu: 1}}, runs: 2m}}\n  \
             expect:\n  - {{object: {{kind: Job, name: j}}, fields: {{status.succeeded: 1}}, within: {within}}}\n"
        )
    };
    let run = |within: &str| {
        std::fs::write(&file, scenario(within)).unwrap();
        demo(&[&file.display().to_string(), "--headless", "--speed", "60"])
    };
    let output = run("5s");
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(err.contains("status.succeeded=1: not within 5s"), "{err}");
    let output = run("3m");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[test]
fn a_scenario_with_an_unknown_name_is_refused_before_its_first_step() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("typo.yaml");
    let text = "preset: team-cohort\nsteps:\n- say: first\n  wait: 1s\n- jobs: {name: j, namespace: team-a, queue: gpsu, requests: {cpu: 1}}\n";
    std::fs::write(&file, text).unwrap();
    let output = demo(&[&file.display().to_string(), "--headless"]);
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert!(
        err.contains("typo.yaml:5:45: ") && err.contains("did you mean \"team-a/gpus\"?"),
        "{err}"
    );
}

#[test]
fn a_headless_demo_starts_at_a_fixed_whole_second() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("start.yaml");
    let text = "preset: team-cohort\nsteps:\n- jobs: {name: j, namespace: team-a, queue: gpus, requests: {cpu: 1}}\n  expect:\n  - {object: {kind: Workload, name: \"job-j-*\"}, fields: {metadata.creationTimestamp: \"2026-01-01T00:00:*Z\"}}\n";
    std::fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    let run = || {
        let output = demo(&[file, "--headless"]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        output.stdout
    };
    assert_eq!(run(), run());
}

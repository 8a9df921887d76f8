//! `up --record`, `record`, `play` and `up --from` with a recording.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::team_queues::{PRESETS, TeamLab, job, preset};
use crate::work_dir::{RunningLab, WorkDir};

/// A lab that is recorded, at 20 times the speed.
fn recorded_lab(file: &str) -> TeamLab {
    let dir = WorkDir::new();
    dir.write("presets/team/queues.yaml", &preset(4, 0));
    let up = [
        "up",
        "--headless",
        "--speed=20",
        "--presets-dir",
        PRESETS,
        "--preset=team",
        "--record",
        file,
    ];
    let lab = RunningLab::start(dir.command(&up));
    let mut lab = TeamLab::with_lab(lab);
    lab.dir = dir;
    lab
}

/// What a command prints as soon as it contains a text.
fn wait_for(dir: &WorkDir, args: &[&str], text: &str) -> String {
    let start = Instant::now();
    loop {
        let output = dir.run(args);
        let printed = String::from_utf8(output.stdout).unwrap();
        if printed.contains(text) {
            return printed;
        }
        assert!(start.elapsed().as_secs() < 120, "no {text:?} in {printed}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// The names of the Jobs whose Workloads are admitted.
fn admitted(workloads: &Value) -> Vec<String> {
    let items = workloads["items"].as_array().unwrap().iter();
    let is_admitted = |workload: &&Value| {
        let conditions = workload["status"]["conditions"].as_array();
        let mut conditions = conditions.into_iter().flatten();
        conditions.any(|c| c["type"] == "Admitted" && c["status"] == "True")
    };
    let owner = |workload: &Value| {
        workload["metadata"]["ownerReferences"][0]["name"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let mut names: Vec<String> = items.filter(is_admitted).map(owner).collect();
    names.sort();
    names
}

#[test]
fn a_lab_goes_on_from_a_moment_of_a_recording_whose_recorder_was_killed() {
    let lab = recorded_lab("lab.rec");
    lab.admit(job("low", "red", "3", 36000));
    let before = wait_for(&lab.dir, &["play", "lab.rec", "--info"], "1 admissions");
    let end = before
        .lines()
        .find_map(|line| line.strip_prefix("end"))
        .unwrap();
    let time = end
        .split_whitespace()
        .next()
        .unwrap()
        .trim_end_matches(',')
        .to_owned();
    let mut high = job("high", "red", "3", 36000);
    high["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = json!("high");
    lab.admit(high);
    wait_for(&lab.dir, &["play", "lab.rec", "--info"], "1 preemptions");
    assert_eq!(admitted(&lab.workloads()), ["high"]);
    lab.lab.signal("-KILL");
    let output = lab.dir.run(&["play", "lab.rec", "--info"]);
    let info = String::from_utf8(output.stdout).unwrap();
    assert!(
        info.contains("it has no end") || info.contains("it is cut off"),
        "{info}"
    );

    let from_here = |at: &str| {
        let up = [
            "up",
            "--headless",
            "--speed=20",
            "--from",
            "lab.rec",
            "--at",
            at,
        ];
        TeamLab::with_lab(RunningLab::start(lab.dir.command(&up)))
    };
    assert_eq!(admitted(&from_here("end").workloads()), ["high"]);
    let earlier = from_here(&time);
    assert_eq!(admitted(&earlier.workloads()), ["low"]);
    // Another course from here.
    earlier.create(job("other", "red", "2", 36000));
    earlier.wait_for_refusal("other");
    assert_eq!(admitted(&earlier.workloads()), ["low"]);

    // The screens of both moments, the later one reached by keys.
    let screen = |at: &str, keys: &[&str]| {
        let mut args = vec![
            "play",
            "lab.rec",
            "--at",
            at,
            "--picture",
            "screen.txt",
            "--press",
            "2",
        ];
        keys.iter().for_each(|key| args.extend(["--press", key]));
        let output = lab.dir.run(&args);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        std::fs::read_to_string(lab.dir.path("screen.txt")).unwrap()
    };
    let before = screen(&time, &[]);
    assert!(
        before.contains("as of ") && before.contains("job-low-"),
        "{before}"
    );
    assert!(!before.contains("job-high-"), "{before}");
    let preempted = screen(&time, &["}"]);
    assert!(
        preempted.contains("preempted") && preempted.contains("job-high-"),
        "{preempted}"
    );
    let back = screen("end", &["{", ":at ", &time, "enter"]);
    assert!(!back.contains("job-high-"), "{back}");

    let yaml = ["play", "lab.rec", "--at", &time, "-o", "yaml"];
    let output = lab.dir.run(&yaml);
    let yaml = String::from_utf8(output.stdout).unwrap();
    assert!(
        yaml.contains("kind: Bundle") && yaml.contains("name: low"),
        "{yaml}"
    );
    assert!(!yaml.contains("name: high-"), "{yaml}");
    let error = lab
        .dir
        .run_rejected(&["play", "lab.rec", "--at", "100h", "-o", "yaml"]);
    assert!(error.contains("the recording has no moment at"), "{error}");
}

#[test]
fn a_running_lab_is_recorded_by_another_process() {
    let lab = TeamLab::start(4, 0);
    lab.dir.write("taken.rec", "");
    let error = lab.dir.run_rejected(&["record", "taken.rec"]);
    assert!(error.contains("taken.rec exists"), "{error}");
    let mut command = lab.dir.command(&["record", "seen.rec"]);
    let mut recorder = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(recorder.stderr.take().unwrap()).lines();
    let first = said.next().unwrap().unwrap();
    assert!(first.starts_with("recording "), "{first}");
    lab.admit(job("a", "red", "1", 36000));
    wait_for(&lab.dir, &["play", "seen.rec", "--info"], "1 admissions");
    recorder.kill().unwrap();
    recorder.wait().unwrap();
    let info = wait_for(&lab.dir, &["play", "seen.rec", "--info"], "1 admissions");
    assert!(info.contains("note"), "{info}");

    let mut command = lab.dir.command(&["record", "whole.rec", "--for", "1s"]);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let info = wait_for(&lab.dir, &["play", "whole.rec", "--info"], "1 Workload");
    assert!(!info.contains("note"), "{info}");
}

#[test]
fn other_files_are_no_recordings() {
    let dir = WorkDir::new();
    dir.write("queues.yaml", "kind: ClusterQueue\n");
    let error = dir.run_rejected(&["play", "queues.yaml", "--info"]);
    assert!(error.contains("no recording of kueue-lab"), "{error}");
    let error = dir.run_rejected(&["up", "--headless", "--from", "queues.yaml", "--at", "1m"]);
    assert!(error.contains("--at is a moment of a recording"), "{error}");
}

#[test]
fn a_demo_is_recorded_in_less_than_100_kb() {
    let dir = WorkDir::new();
    let presets = concat!(env!("CARGO_MANIFEST_DIR"), "/presets");
    let name = "skypilot-priority-preemption";
    let output = dir.run(&[
        "demo",
        name,
        "--headless",
        "--presets-dir",
        presets,
        "--record",
        "demo.rec",
    ]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let size = std::fs::metadata(dir.path("demo.rec")).unwrap().len();
    assert!(size < 100_000, "{size}");
    let info = wait_for(&dir, &["play", "demo.rec", "--info"], "decisions");
    assert!(
        info.contains("1 preemptions") && !info.contains("note"),
        "{info}"
    );
    let play = [
        "play",
        "demo.rec",
        "--picture",
        "screen.txt",
        "--press",
        "}",
        "--press",
        "3",
    ];
    let output = dir.run(&play);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let screen = std::fs::read_to_string(dir.path("screen.txt")).unwrap();
    assert!(
        screen.contains("as of ") && screen.contains("PREEMPTOR"),
        "{screen}"
    );
}

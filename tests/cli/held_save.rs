//! `up --confirm`: a save that would evict is held until the preset is applied.

use std::process::Stdio;

use serde_json::Value;

use crate::team_queues::{PRESETS, TeamLab, job, preset};
use crate::work_dir::{RunningLab, WorkDir};

const PRESET: &str = "/apis/kueue-lab.dev/v1alpha1/presets/team";

/// A lab that holds saves that evict.
fn start(dir: &WorkDir) -> TeamLab {
    dir.write("presets/team/queues.yaml", &preset(4, 4));
    let folder = ["--presets-dir", PRESETS, "--preset=team"];
    let up = [
        &["up", "--headless", "--confirm", "--speed=20"][..],
        &folder,
    ]
    .concat();
    TeamLab::with_lab(RunningLab::start_with_log(dir.command(&up), Stdio::null()))
}

fn queue(lab: &TeamLab) -> Value {
    lab.get("/apis/kueue.x-k8s.io/v1beta2/clusterqueues/red")
}

#[test]
fn a_held_save_is_applied_by_the_command() {
    let dir = WorkDir::new();
    let lab = start(&dir);
    lab.admit(job("stays", "red", "4", 36000));
    let strategy = "  cohortName: all\n";
    let drain = format!("{strategy}  stopPolicy: HoldAndDrain\n");
    dir.write(
        "presets/team/queues.yaml",
        &preset(4, 4).replacen(strategy, &drain, 1),
    );
    lab.wait_until_found(PRESET, |preset| preset["status"]["state"] == "Held");
    let held = lab.get(PRESET);
    let plan = held["status"]["plan"].as_str().unwrap();
    assert!(plan.contains("is evicted"), "{plan}");
    assert_eq!(queue(&lab)["spec"]["stopPolicy"], "None");
    let apply = || dir.run(&["preset", "team"]);
    let applied = apply();
    assert_eq!(applied.status.code(), Some(0), "{applied:?}");
    assert_eq!(queue(&lab)["spec"]["stopPolicy"], "HoldAndDrain");
    lab.wait_until_found(PRESET, |preset| preset["status"]["state"] == "Active");
    lab.wait_for("stays", "Evicted");

    // The active preset is applied again, or says why not.
    let again = apply();
    assert_eq!(again.status.code(), Some(0), "{again:?}");
    dir.write("presets/team/queues.yaml", "kind: [");
    lab.wait_until_found(PRESET, |preset| preset["status"]["state"] == "Invalid");
    let invalid = apply();
    assert_eq!(invalid.status.code(), Some(1), "{invalid:?}");
    let error = String::from_utf8(invalid.stderr).unwrap();
    assert!(error.contains("team/queues.yaml:1:7: "), "{error}");
}

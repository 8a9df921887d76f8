//! A running lab: views, details, a demo, preset changes, samples.

use std::path::Path;

use super::tmux_pane::{TmuxPane, available};
use super::{lab, up};

#[test]
fn every_view_shows_its_objects() {
    if !available() {
        return;
    }
    let terminal = lab(80, 24, &[]);
    for (key, text) in [
        ("2", "No workloads"),
        ("3", "No evictions yet"),
        ("4", "DEVICES"),
        ("5", "DESCRIPTION OR ERROR"),
        ("6", "6 Events"),
        ("7", "No managed jobs"),
        ("?", "Keys and commands"),
    ] {
        terminal.press(&[key]);
        terminal.wait_for_text(text);
    }
    terminal.escape("Keys and commands");
    terminal.press(&["1"]);
    terminal.wait_for_text("COHORT / QUEUE");
    terminal.press(&["4", "Enter"]);
    terminal.wait_for_text("Allocated resources");
    terminal.press(&["y"]);
    terminal.wait_for_text("apiVersion: v1");
    terminal.escape("apiVersion: v1");
    terminal.wait_for_text("Allocated resources");
    terminal.escape("Allocated resources");
    terminal.press(&["/"]);
    terminal.type_text("no-such-node");
    terminal.press(&["Enter"]);
    terminal.wait_for_text("matches the filter");
    terminal.escape("matches the filter");
    terminal.press(&[":"]);
    terminal.type_text("wl");
    terminal.press(&["Enter"]);
    terminal.wait_for_text("No workloads");
}

#[test]
fn a_sample_is_submitted_admitted_and_deleted() {
    if !available() {
        return;
    }
    let terminal = lab(120, 30, &[]);
    terminal.press(&["s"]);
    terminal.wait_for_text("Submit sample workloads");
    terminal.press(&["Enter", "2"]);
    terminal.wait_until("an admitted workload", |s| {
        s.contains("job-sample-") && s.contains("Admitted")
    });
    terminal.press(&["C-d"]);
    terminal.wait_for_text("Delete Job");
    terminal.press(&["y"]);
    terminal.wait_until("no workload", |s| !s.contains("job-sample-"));
}

#[test]
fn one_key_runs_the_preemption_demo() {
    if !available() {
        return;
    }
    let terminal = TmuxPane::open(120, 40, &up(&super::presets(), ""), &[]);
    terminal.wait_for_text("0/9");
    terminal.press(&["D"]);
    terminal.wait_for_text("0/7 steps  waits for space");
    // Faster than its pace; the pause ends.
    command(&terminal, "speed 20");
    terminal.wait_for_text("1/7 steps  waits for space");
    // The cycle that preempts is shown before it begins.
    command(&terminal, "until preemption");
    terminal.wait_for_text("paused before the cycle of the next preemption");
    let screen = terminal.wait_for_text("preempts default/pod-job1-");
    assert!(!screen.contains("Preempted"), "{screen}");
    terminal.press(&["."]);
    terminal.wait_for_text("paused before the next scheduling cycle");
    terminal.press(&["Space"]);
    for done in 2..7 {
        terminal.wait_for_text(&format!("{done}/7 steps  waits for space"));
        terminal.press(&["Space"]);
    }
    let end = terminal.wait_for_text("esc closes");
    assert!(!end.contains("✗"), "{end}");
    terminal.press(&["3"]);
    let screen = terminal.wait_for_text("InClusterQueue");
    assert!(
        screen.contains("withinClusterQueue: LowerPriority"),
        "{screen}"
    );
}

/// Types a command.
fn command(terminal: &TmuxPane, text: &str) {
    terminal.press(&[":"]);
    terminal.type_text(text);
    terminal.press(&["Enter"]);
}

#[test]
fn the_speed_changes_while_the_lab_runs() {
    if !available() {
        return;
    }
    let terminal = lab(120, 30, &[]);
    terminal.press(&[":"]);
    terminal.type_text("speed 20");
    terminal.press(&["Enter"]);
    terminal.wait_for_text("at 20x");
    // A Job of a minute ends.
    terminal.press(&["s"]);
    terminal.wait_for_text("Submit sample workloads");
    terminal.press(&["Enter", "2"]);
    terminal.wait_until("a finished workload", |s| {
        s.contains("job-sample-") && s.contains("Finished")
    });
    terminal.press(&[":"]);
    terminal.type_text("speed 1");
    terminal.press(&["Enter"]);
    terminal.wait_until("the speed 1", |s| !s.contains("at 20x"));
}

#[test]
fn a_saved_preset_is_shown_and_an_invalid_one_changes_nothing() {
    if !available() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    copy(&super::presets(), folder.path());
    let file = folder
        .path()
        .join("skypilot-priority/10-single-clusterqueue-setup.yaml");
    let good = std::fs::read_to_string(&file).unwrap();
    let more = good.replacen("nominalQuota: 9", "nominalQuota: 12", 1);
    assert_ne!(good, more);

    let terminal = TmuxPane::open(120, 30, &up(folder.path(), ""), &[]);
    terminal.wait_for_text("0/9");
    std::fs::write(&file, &more).unwrap();
    terminal.wait_for_text("0/12");
    std::fs::write(&file, good.replacen("nominalQuota: 9", "nominalQota: 9", 1)).unwrap();
    let screen = terminal.wait_for_text("stays applied");
    assert!(screen.contains("0/12"), "{screen}");
    let place = regex::Regex::new(r"10-single-clusterqueue-setup\.yaml:\d+:\d+").unwrap();
    assert!(place.is_match(&screen), "{screen}");
    assert!(screen.contains("5 Presets!"), "{screen}");
    std::fs::write(&file, &good).unwrap();
    terminal.wait_until("the valid state without an error", |s| {
        s.contains("0/9") && !s.contains("last valid") && !s.contains("Presets!")
    });
    terminal.press(&["p"]);
    terminal.wait_for_text("Switch preset");
    terminal.escape("Switch preset");
    terminal.press(&[":"]);
    terminal.type_text("preset team-cohort");
    terminal.press(&["Enter"]);
    terminal.wait_for_text("cohort ");
}

/// Copies a folder recursively.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

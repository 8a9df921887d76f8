//! Replays random scenarios on a lab in virtual time and compares each step with a recording of upstream
//! Kueue.
//!
//! Scenarios and outcomes are unpacked from `tests/recordings/differential.tar.xz`;
//! `KUEUE_LAB_DIFFERENTIAL` names another folder. By default every sixteenth scenario runs.
//! `KUEUE_LAB_CASE` selects scenarios by parts of their names (`s,f` for all). `KUEUE_LAB_OUTCOMES` names
//! a folder to which outcomes are written in the format of the recordings; `KUEUE_LAB_TRACE` prints every
//! version of every object.
//!
//! A difference in a decision fails the test unless the scenario is listed in `known-gaps.txt`, with the
//! reason; a difference in a message or Event, unless it is listed there or in `message-mismatches.txt`.
//! A listed scenario without a difference fails the test too, so the lists only shrink.

#![expect(
    clippy::unwrap_used,
    reason = "a scenario that cannot be read is to fail the test"
)]

mod compare;
mod object_tracker;
mod observed_state;
mod recording_gaps;
mod replay;
mod scenario_lab;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use kueue_lab_clock::virtual_runtime;
use kueue_lab_testing::recordings;
use parking_lot::Mutex;
use serde_json::Value;

use compare::{Comparison, MessageCounts, compare};

fn directory() -> PathBuf {
    std::env::var_os("KUEUE_LAB_DIFFERENTIAL")
        .map_or_else(|| recordings("differential"), PathBuf::from)
}

/// Scenarios in which a decision differs.
const KNOWN_GAPS: &str = include_str!("known-gaps.txt");
/// Scenarios with equal decisions but different messages or Events.
const MESSAGE_MISMATCHES: &str = include_str!("message-mismatches.txt");

fn scenario_names(text: &str) -> BTreeSet<String> {
    text.lines()
        .map(|line| line.split('#').next().unwrap_or_default().trim())
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect()
}

/// One in this many scenarios runs by default.
const SAMPLE: usize = 16;

/// The names of the selected scenarios.
fn selected_scenarios(directory: &Path) -> Vec<String> {
    let only = std::env::var("KUEUE_LAB_CASE").unwrap_or_default();
    let step = if only.is_empty() { SAMPLE } else { 1 };
    let only: Vec<&str> = only.split(',').collect();
    let files = std::fs::read_dir(directory.join("scenarios")).unwrap();
    let names = files.filter_map(|file| {
        let path = file.unwrap().path();
        let name = path.file_stem()?.to_str()?.to_owned();
        path.extension()
            .is_some_and(|e| e == "yaml")
            .then_some(name)
    });
    let recorded = |name: &String| directory.join(format!("outcomes/{name}.json")).is_file();
    let mut names: Vec<String> = names
        .filter(|name| only.iter().any(|part| name.contains(part)) && recorded(name))
        .collect();
    names.sort();
    names.into_iter().step_by(step).collect()
}

/// Replays a scenario and compares the outcome.
fn run(directory: &Path, name: &str) -> Comparison {
    let read = |path: String| std::fs::read_to_string(directory.join(path)).unwrap();
    let scenario: Value = serde_yaml::from_str(&read(format!("scenarios/{name}.yaml"))).unwrap();
    let kueue: Value = serde_json::from_str(&read(format!("outcomes/{name}.json"))).unwrap();
    let ours = virtual_runtime()
        .unwrap()
        .block_on(replay::replay(directory, &scenario));
    if let Some(out) = std::env::var_os("KUEUE_LAB_OUTCOMES") {
        let text = serde_json::to_string_pretty(&ours).unwrap();
        std::fs::write(Path::new(&out).join(format!("{name}.json")), text).unwrap();
    }
    compare(&kueue, &ours)
}

#[test]
fn scenarios() {
    let directory = directory();
    let names = selected_scenarios(&directory);
    let (next, found) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    let workers = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(name) = names.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let findings = run(&directory, name);
                    found.lock().insert(name.as_str(), findings);
                }
            });
        }
    });
    report(&names, &found.into_inner());
}

/// Prints the differences; panics on unlisted ones and on listed scenarios without any.
fn report(names: &[String], found: &BTreeMap<&str, Comparison>) {
    let (gaps, message_mismatches) = (
        scenario_names(KNOWN_GAPS),
        scenario_names(MESSAGE_MISMATCHES),
    );
    let (mut equal, mut equal_decisions) = (0, 0);
    let (mut unlisted, mut equal_but_listed) = (Vec::new(), Vec::new());
    let mut messages = MessageCounts::default();
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for name in names {
        let findings = &found[name.as_str()];
        messages.total += findings.messages.total;
        messages.equal += findings.messages.equal;
        let Some(first) = findings.differences.first() else {
            equal += 1;
            equal_decisions += 1;
            if gaps.contains(name) || message_mismatches.contains(name) {
                equal_but_listed.push(name);
            }
            continue;
        };
        *kinds.entry(first.kind.as_str()).or_default() += 1;
        println!("{name}: {first}");
        if names.len() < 20 {
            let others = findings.differences[1..].iter();
            others.for_each(|d| println!("    {d}"));
        }
        let decision = first.kind.is_decision();
        equal_decisions += usize::from(!decision);
        if !gaps.contains(name) && (decision || !message_mismatches.contains(name)) {
            unlisted.push(name);
        }
    }
    println!(
        "\n{equal} of {} scenarios equal, {equal_decisions} in every decision; the others by their worst difference: {kinds:?}",
        names.len()
    );
    println!(
        "{} of {} messages and Events equal in steps with equal decisions",
        messages.equal, messages.total
    );
    assert!(
        unlisted.is_empty(),
        "{} unlisted scenarios differ: {unlisted:?}",
        unlisted.len()
    );
    assert!(
        equal_but_listed.is_empty(),
        "{} listed scenarios are equal: {equal_but_listed:?}",
        equal_but_listed.len()
    );
}

//! Replays random scenarios on a lab in virtual time and compares each step with a recording of upstream
//! Kueue.
//!
//! Scenarios and outcomes are unpacked from `tests/recordings/differential.tar.xz` and `differential2.tar.xz`;
//! `KUEUE_LAB_DIFFERENTIAL` names another folder. By default every sixteenth scenario of each set runs.
//! `KUEUE_LAB_CASE` selects scenarios by parts of their names (`s,f,t,w` for all). `KUEUE_LAB_OUTCOMES` names
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

mod as_test_files;
mod compare;
mod further_steps;
mod job_set;
mod object_tracker;
mod observed_objects;
mod observed_state;
mod recorded_set;
mod recording_gaps;
mod replay;
mod scenario_lab;
mod test_file_expectations;
mod test_file_steps;
mod unsettled;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use kueue_lab_clock::virtual_runtime;
use parking_lot::Mutex;

use compare::{Comparison, MessageCounts, compare};
use recorded_set::RecordedSet;

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

/// The selected scenarios of a set.
fn selected_scenarios(set: &RecordedSet) -> Vec<(&RecordedSet, String)> {
    let only = std::env::var("KUEUE_LAB_CASE").unwrap_or_default();
    let step = if only.is_empty() { SAMPLE } else { 1 };
    let only: Vec<&str> = only.split(',').collect();
    let names = set.names().into_iter();
    names
        .filter(|name| only.iter().any(|part| name.contains(part)))
        .step_by(step)
        .map(|name| (set, name))
        .collect()
}

/// Replays a scenario and compares the outcome.
fn run(set: &RecordedSet, name: &str) -> Comparison {
    let scenario = set.scenario(name);
    let ours = virtual_runtime()
        .unwrap()
        .block_on(replay::replay(&set.configuration(&scenario), &scenario));
    if let Some(out) = std::env::var_os("KUEUE_LAB_OUTCOMES") {
        let text = serde_json::to_string_pretty(&ours).unwrap();
        std::fs::write(Path::new(&out).join(format!("{name}.json")), text).unwrap();
    }
    compare(&set.outcome(name), &ours)
}

#[test]
fn scenarios() {
    let sets = RecordedSet::all();
    let selected: Vec<_> = sets.iter().flat_map(selected_scenarios).collect();
    let (next, found) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    let workers = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some((set, name)) = selected.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let findings = run(set, name);
                    found.lock().insert(name.as_str(), findings);
                }
            });
        }
    });
    let names: Vec<&str> = selected.iter().map(|(_, name)| name.as_str()).collect();
    report(&names, &found.into_inner());
}

/// Prints the differences; panics on unlisted ones and on listed scenarios without any.
fn report(names: &[&str], found: &BTreeMap<&str, Comparison>) {
    let (gaps, message_mismatches) = (
        scenario_names(KNOWN_GAPS),
        scenario_names(MESSAGE_MISMATCHES),
    );
    let (mut equal, mut equal_decisions) = (0, 0);
    let (mut unlisted, mut equal_but_listed) = (Vec::new(), Vec::new());
    let mut messages = MessageCounts::default();
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for name in names {
        let findings = &found[name];
        messages.total += findings.messages.total;
        messages.equal += findings.messages.equal;
        let Some(first) = findings.differences.first() else {
            equal += 1;
            equal_decisions += 1;
            if gaps.contains(*name) || message_mismatches.contains(*name) {
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
        if !gaps.contains(*name) && (decision || !message_mismatches.contains(*name)) {
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

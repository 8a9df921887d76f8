//! Replays random scenarios through the engine and compares each step with what Kueue did.
//!
//! Scenarios and outcomes lie in the directory named by `KUEUE_LAB_DIFFERENTIAL`, by default
//! `../shared/differential`; without one the test says so and is skipped. Only the engine is under
//! test: what the controllers around it do is played by a stand-in, so that what they alone decide
//! (jobs, pods, PodsReady) is not compared. Scenarios that differ stand in
//! `differential/known-gaps.txt` with the reason; an unlisted one that differs is an error, and so
//! is a listed one that does not.

#![expect(
    clippy::unwrap_used,
    reason = "a scenario that cannot be read is to fail the test"
)]

#[path = "differential/compare.rs"]
mod compare;
#[path = "differential/controllers.rs"]
mod controllers;
#[path = "differential/owners.rs"]
mod owners;
#[path = "differential/replay.rs"]
mod replay;
#[path = "differential/state.rs"]
mod state;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use serde_json::Value;

use compare::Difference;
use owners::RoleNames;

fn directory() -> PathBuf {
    std::env::var_os("KUEUE_LAB_DIFFERENTIAL").map_or_else(
        || concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/differential").into(),
        PathBuf::from,
    )
}

fn known_gaps() -> BTreeSet<String> {
    include_str!("differential/known-gaps.txt")
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default().trim())
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The scenarios with what Kueue did in each, by name.
fn load(directory: &Path) -> Vec<(Value, Value)> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(directory.join("scenarios"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "yaml"))
        .collect();
    files.sort();
    let load = |path: &PathBuf| {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let outcome = directory.join("outcomes").join(format!("{name}.json"));
        let scenario = std::fs::read_to_string(path).unwrap();
        let outcome = std::fs::read_to_string(outcome).ok()?;
        Some((
            serde_yaml::from_str(&scenario).unwrap(),
            serde_json::from_str(&outcome).unwrap(),
        ))
    };
    files.iter().filter_map(load).collect()
}

fn run(scenario: &Value, outcome: &Value, roles: &RoleNames) -> Vec<Difference> {
    let result = catch_unwind(AssertUnwindSafe(|| {
        replay::replay(scenario, outcome, roles)
    }));
    result.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        vec![Difference::panicked(text.unwrap_or("?"))]
    })
}

#[test]
fn scenarios() {
    let directory = directory();
    if !directory.is_dir() {
        println!("skipped: there are no scenarios in {}", directory.display());
        return;
    }
    let only = std::env::var("KUEUE_LAB_CASE").unwrap_or_default();
    let all = load(&directory);
    let roles = RoleNames::learn(&all);
    let gaps = known_gaps();
    let (mut failed, mut mended, mut equal, mut count) = (Vec::new(), Vec::new(), 0, 0);
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for (scenario, outcome) in &all {
        let name = scenario["name"].as_str().unwrap();
        if !name.contains(&only) {
            continue;
        }
        count += 1;
        let differences = run(scenario, outcome, &roles);
        let Some(first) = differences.first() else {
            equal += 1;
            if gaps.contains(name) {
                mended.push(name);
            }
            continue;
        };
        *kinds.entry(first.kind.as_str()).or_default() += 1;
        let known = if gaps.contains(name) {
            "known gap"
        } else {
            "DIFFERS"
        };
        println!("{known} {name}: {first}");
        if !only.is_empty() {
            differences[1..].iter().for_each(|d| println!("    {d}"));
        }
        if !gaps.contains(name) {
            failed.push(name);
        }
    }
    println!(
        "\n{equal} of {count} scenarios equal; the others by their worst difference: {kinds:?}"
    );
    assert!(failed.is_empty(), "{} differ: {failed:?}", failed.len());
    assert!(mended.is_empty(), "no longer gaps: {mended:?}");
}

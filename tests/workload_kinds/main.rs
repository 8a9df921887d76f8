//! Replays recorded cases of all workload kinds on a lab in virtual time and compares each step with the
//! recording of upstream Kueue.
//!
//! The cases are in `../shared/workload-kinds`; `KUEUE_LAB_WORKLOAD_KINDS` names another folder. By default
//! every eighth case runs. `KUEUE_LAB_CASE` selects cases by parts of their names (`/` for all).
//! `KUEUE_LAB_OUTCOMES` names a folder to which outcomes are written in the format of the recordings.
//!
//! A difference fails the test unless the case is listed in `known-differences.txt`, with the reason; a
//! listed case without a difference fails the test too, so the list only shrinks.

#![expect(
    clippy::unwrap_used,
    reason = "a case that cannot be read is to fail the test"
)]

mod case_lab;
mod compare;
mod crds;
mod normalize;
mod operations;
mod placeholders;
mod recording_gaps;
mod replay;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use kueue_lab_clock::virtual_runtime;
use kueue_lab_testing::shared_or_env;
use parking_lot::Mutex;
use serde_json::Value;

use compare::{Difference, compare};

/// Cases that differ.
const KNOWN_DIFFERENCES: &str = include_str!("known-differences.txt");

/// One in this many cases runs by default.
const SAMPLE: usize = 8;

fn listed_cases() -> BTreeSet<&'static str> {
    let names = KNOWN_DIFFERENCES
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default().trim());
    names.filter(|name| !name.is_empty()).collect()
}

fn subfolders(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    entries
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect()
}

/// The names of all cases, `KIND/CASE`.
fn all_cases(recordings: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for kind in subfolders(recordings) {
        let cases = subfolders(&recordings.join(&kind)).into_iter();
        let cases = cases.map(|case| format!("{kind}/{case}"));
        names.extend(cases.filter(|name| recordings.join(name).join("case.yaml").is_file()));
    }
    names.sort();
    names
}

fn selected_cases(all: &[String]) -> Vec<&str> {
    let only = std::env::var("KUEUE_LAB_CASE").unwrap_or_default();
    let step = if only.is_empty() { SAMPLE } else { 1 };
    let only: Vec<&str> = only.split(',').collect();
    let names = all.iter().map(String::as_str);
    names
        .filter(|name| only.iter().any(|part| name.contains(part)))
        .step_by(step)
        .collect()
}

/// Replays a case and compares the outcome.
fn run(recordings: &Path, name: &str) -> Vec<Difference> {
    let read = |path: &str| std::fs::read_to_string(recordings.join(path)).unwrap();
    let case: Value = serde_yaml::from_str(&read(&format!("{name}/case.yaml"))).unwrap();
    let kueue: Value = serde_json::from_str(&read(&format!("{name}/outcome.json"))).unwrap();
    let unstable: Value = serde_json::from_str(&read("unstable.json")).unwrap();
    let ours = virtual_runtime()
        .unwrap()
        .block_on(replay::replay(recordings, name, &case));
    let ours = match ours {
        Ok(ours) => ours,
        Err(error) => return vec![Difference::not_replayed(error)],
    };
    if let Some(out) = std::env::var_os("KUEUE_LAB_OUTCOMES") {
        let folder = Path::new(&out).join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let text = serde_json::to_string_pretty(&ours).unwrap();
        std::fs::write(folder.join("outcome.json"), text).unwrap();
    }
    compare(&kueue, &ours, &unstable[name])
}

#[test]
fn cases() {
    let Some(recordings) = shared_or_env("KUEUE_LAB_WORKLOAD_KINDS", "workload-kinds") else {
        return;
    };
    let all = all_cases(&recordings);
    let names = selected_cases(&all);
    let (next, found) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    let workers = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(name) = names.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let differences = run(&recordings, name);
                    found.lock().insert(*name, differences);
                }
            });
        }
    });
    report(&all, &found.into_inner());
}

/// Prints the differences; panics on unlisted ones and on listed cases without any.
fn report(all: &[String], found: &BTreeMap<&str, Vec<Difference>>) {
    let listed = listed_cases();
    let mut kinds: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let (mut unlisted, mut equal_but_listed) = (Vec::new(), Vec::new());
    for (name, differences) in found {
        let kind = name.split('/').next().unwrap_or_default();
        let (equal, total) = kinds.entry(kind).or_default();
        *total += 1;
        *equal += usize::from(differences.is_empty());
        match (differences.is_empty(), listed.contains(name)) {
            (false, false) => unlisted.push(name),
            (true, true) => equal_but_listed.push(name),
            _ => {}
        }
        let shown = if found.len() < 20 { usize::MAX } else { 1 };
        let shown = differences.iter().take(shown);
        shown.for_each(|difference| println!("{name}: {difference}"));
    }
    println!();
    for (kind, (equal, total)) in kinds {
        println!("{kind:20} cases equal {equal}/{total}");
    }
    let known: BTreeSet<&str> = all.iter().map(String::as_str).collect();
    let unknown: Vec<_> = listed.difference(&known).collect();
    assert!(unknown.is_empty(), "listed cases do not exist: {unknown:?}");
    assert!(
        unlisted.is_empty(),
        "{} unlisted cases differ: {unlisted:?}",
        unlisted.len()
    );
    assert!(
        equal_but_listed.is_empty(),
        "{} listed cases are equal: {equal_but_listed:?}",
        equal_but_listed.len()
    );
}

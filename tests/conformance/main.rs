//! Replays upstream's test tables through the engine.
//!
//! The tables are in the folder named by `KUEUE_LAB_CONFORMANCE`, by default `../shared/conformance`.
//! Without it the test is skipped, or fails with `CI=true`. `known-gaps.txt` lists the cases that are
//! known to fail: an unlisted case that fails is an error, and so is a listed case that passes.

#![expect(
    clippy::unwrap_used,
    reason = "a table that cannot be read is to fail the test"
)]

mod cache;
mod case;
mod compare;
mod cycle_entries;
mod cycles;
mod engine_fixture;
mod flavors;
mod preemption;
mod queues;
mod tas;
mod tas_cycles;
mod workloads;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

use kueue_lab_testing::shared_or_env;

use case::{Case, Suite};

/// Runs a case; an error describes the differences.
type CaseCheck = fn(&Case) -> Result<(), String>;

/// The suites, by file below the folder.
const SUITES: &[&[(&str, CaseCheck)]] = &[
    cycles::SUITES,
    tas_cycles::SUITES,
    preemption::SUITES,
    flavors::SUITES,
    queues::SUITES,
    workloads::SUITES,
    cycle_entries::SUITES,
    cache::SUITES,
    tas::SUITES,
];

/// Suites of internals of an upstream function, with the reason why they do not apply.
const NOT_APPLICABLE: &[(&str, &str)] = &[
    ("cache/TestSortedDomains", COVERED_BY_UNIT_TESTS),
    ("cache/TestSortedDomainsWithLeader", COVERED_BY_UNIT_TESTS),
    (
        "cache/TestSelectOptimalDomainSetToFit",
        COVERED_BY_UNIT_TESTS,
    ),
    (
        "cache/TestPlaceSlicesOnDomainsBalanced",
        COVERED_BY_UNIT_TESTS,
    ),
    (
        "cache/TestFindBestDomainsForBalancedPlacement",
        COVERED_BY_UNIT_TESTS,
    ),
];

const COVERED_BY_UNIT_TESTS: &str =
    "states a helper inside the search, which the unit tests of admission::tas judge by this table";

fn known_gaps() -> BTreeSet<String> {
    include_str!("known-gaps.txt")
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(str::to_owned)
        .collect()
}

/// Runs a case with each of its settings of feature gates.
fn run_case(check: CaseCheck, case: &Case) -> Result<(), String> {
    for settings in case.with_each_gate_setting() {
        let run = || check(&settings);
        let result = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            Err(format!("panicked: {}", text.unwrap_or("?")))
        });
        result.map_err(|e| format!("with gates {:?}\n{e}", settings.gates))?;
    }
    Ok(())
}

#[test]
fn upstream_tables() {
    let Some(directory) = shared_or_env("KUEUE_LAB_CONFORMANCE", "conformance") else {
        return;
    };
    let only = std::env::var("KUEUE_LAB_CASE").unwrap_or_default();
    let gaps = known_gaps();
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut failed = Vec::new();
    let mut passing_gaps = Vec::new();
    for (path, judge_case) in SUITES.iter().copied().flatten() {
        let Some(suite) = Suite::load(&directory, path) else {
            println!("{path}: not there");
            continue;
        };
        for case in &suite.cases {
            let id = case.id();
            if !id.contains(&only) {
                continue;
            }
            let (passed, all) = counts.entry(path).or_default();
            *all += 1;
            match run_case(*judge_case, case) {
                Ok(()) => {
                    *passed += 1;
                    if gaps.contains(&id) {
                        passing_gaps.push(id);
                    }
                }
                Err(difference) if gaps.contains(&id) => println!("known gap: {id}\n{difference}"),
                Err(difference) => {
                    println!("FAILED {id}\n{difference}\n");
                    failed.push(id);
                }
            }
        }
    }
    println!();
    for (path, (passed, all)) in &counts {
        println!("{path}: {passed} of {all}");
    }
    for (path, reason) in NOT_APPLICABLE {
        println!("{path}: not applicable: {reason}");
    }
    let (passed, all) = counts
        .values()
        .fold((0, 0), |(p, a), (x, y)| (p + x, a + y));
    println!("{passed} of {all} cases");
    assert!(
        failed.is_empty(),
        "{} cases fail: {failed:#?}",
        failed.len()
    );
    assert!(passing_gaps.is_empty(), "no longer gaps: {passing_gaps:#?}");
}

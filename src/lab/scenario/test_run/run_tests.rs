//! Runs the cases of test files on several threads.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::run_case::{CaseResult, CaseRunner, Explain};
use super::start_states::{CaseStart, StartStates};
use crate::format::TestFile;
use crate::glob::glob_matches;
use crate::scenario::Scenario;

/// How tests run.
pub struct TestOptions<'a> {
    /// Runs only the cases whose name, or `FILE: NAME`, contains this text or matches this pattern.
    pub filter: Option<String>,
    /// Whether no further case starts after a failure.
    pub fail_fast: bool,
    /// The number of cases that run at the same time; `None` for that of the processors.
    pub threads: Option<usize>,
    /// Explains Workloads of failed cases.
    pub explain: &'a Explain,
    /// The longest run of a case in real time.
    pub timeout: Duration,
    /// From which state cases start; their results are the same.
    pub start: CaseStart,
    /// Ends the run.
    pub stop: CancellationToken,
}

/// Runs the selected cases, with those that did not run as skipped, and reports each result as soon as all results before it are reported. Returns
/// the results in the order of the files and cases.
pub fn run_tests(
    files: &[TestFile],
    options: &TestOptions<'_>,
    report: impl Fn(&CaseResult) + Sync,
) -> Vec<CaseResult> {
    let all = files
        .iter()
        .flat_map(|file| file.cases.iter().map(move |case| (file, case)));
    let selected: Vec<_> = all
        .filter(|(file, case)| is_selected(file, case, options))
        .collect();
    let processors = || std::thread::available_parallelism().map_or(2, usize::from);
    let threads = options.threads.unwrap_or_else(processors);
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let results = Mutex::new(OrderedResults::default());
    let runner = CaseRunner {
        explain: options.explain,
        stop: &options.stop,
        start: options.start,
        timeout: options.timeout,
        states: StartStates::default(),
    };
    let work = || {
        let ends = || {
            let failed = options.fail_fast && failed.load(Ordering::Relaxed);
            failed || options.stop.is_cancelled()
        };
        while !ends() {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some((file, case)) = selected.get(index) else {
                return;
            };
            let result = runner.run(file, case);
            if options.stop.is_cancelled() {
                return;
            }
            if result.failure.is_some() {
                failed.store(true, Ordering::Relaxed);
            }
            results.lock().add(index, result, &report);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, selected.len().max(1)) {
            scope.spawn(work);
        }
    });
    let mut results = results.into_inner();
    if failed.load(Ordering::Relaxed) && !options.stop.is_cancelled() {
        for (index, (file, case)) in selected.iter().enumerate() {
            if results.is_missing(index) {
                results.add(index, CaseResult::skipped(file, case), &report);
            }
        }
    }
    results.finish(&report)
}

fn is_selected(file: &TestFile, case: &Scenario, options: &TestOptions<'_>) -> bool {
    let Some(filter) = &options.filter else {
        return true;
    };
    let full = format!("{}: {}", file.file, case.name);
    full.contains(filter) || glob_matches(filter, &case.name) || glob_matches(filter, &full)
}

/// Results that arrive in any order and are reported in the order of the cases.
#[derive(Default)]
struct OrderedResults {
    done: Vec<CaseResult>,
    early: std::collections::BTreeMap<usize, CaseResult>,
}

impl OrderedResults {
    fn add(&mut self, index: usize, result: CaseResult, report: impl Fn(&CaseResult)) {
        self.early.insert(index, result);
        while let Some(result) = self.early.remove(&self.done.len()) {
            report(&result);
            self.done.push(result);
        }
    }

    fn is_missing(&self, index: usize) -> bool {
        index >= self.done.len() && !self.early.contains_key(&index)
    }

    /// All results; those after a case that did not run are reported last.
    fn finish(mut self, report: impl Fn(&CaseResult)) -> Vec<CaseResult> {
        for (_, result) in std::mem::take(&mut self.early) {
            report(&result);
            self.done.push(result);
        }
        self.done
    }
}

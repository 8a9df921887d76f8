//! The tests that were skipped in one run of `cargo test`, over all its processes.
//!
//! Each process is a child of the same cargo and appends to the file of that run. The test target `skipped_tests` runs
//! last and prints [`skipped_summary`]: cargo runs the tests of packages in the order of their names.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// The environment variable with the file of the run, in place of one per cargo process.
const FILE: &str = "KUEUE_LAB_SKIPPED_TESTS";

/// Why a test is skipped.
#[derive(Clone, Copy, Debug)]
pub enum SkipReason<'a> {
    /// A program is missing.
    Tool(&'a str),
    /// Another reason, such as a data set that does not exist.
    Other(&'a str),
}

/// Prints that the test of this thread is skipped, and records it for [`skipped_summary`].
pub fn record_skip(reason: SkipReason<'_>) {
    let (kind, text) = match reason {
        SkipReason::Tool(program) => ("tool", program),
        SkipReason::Other(reason) => ("other", reason),
    };
    match reason {
        SkipReason::Tool(program) => println!("skipped: {program} is not on PATH"),
        SkipReason::Other(reason) => println!("skipped: {reason}"),
    }
    let Some(file) = file_of_run() else {
        return;
    };
    // The harness names the thread of a test after it.
    let thread = std::thread::current();
    let test = thread.name().unwrap_or_default();
    let program = std::env::current_exe().unwrap_or_default();
    let program = program.file_name().unwrap_or_default().to_string_lossy();
    let line = format!(
        "{program} {test}\t{kind}\t{}\n",
        text.replace(['\t', '\n'], " ")
    );
    if let Some(folder) = file.parent() {
        let _ = std::fs::create_dir_all(folder);
    }
    // One write, so that lines of several processes do not mix. A lost line changes only the summary.
    if let Ok(mut file) = OpenOptions::new().create(true).append(true).open(file) {
        let _ = file.write_all(line.as_bytes());
    }
}

/// One line about the tests that were skipped in this run of cargo; `None` if there are none. Removes the record.
pub fn skipped_summary() -> Option<String> {
    let file = file_of_run()?;
    let record = std::fs::read_to_string(&file).ok()?;
    if std::env::var_os(FILE).is_none() {
        // A later cargo can have the same process id.
        let _ = std::fs::remove_file(&file);
    }
    summary(&record)
}

/// The file of this run, below the target directory.
fn file_of_run() -> Option<PathBuf> {
    if let Some(file) = std::env::var_os(FILE) {
        return Some(file.into());
    }
    let program = std::env::current_exe().ok()?;
    // target/debug/deps/PROGRAM
    let profile = program.parent().and_then(Path::parent)?;
    let cargo = std::os::unix::process::parent_id();
    Some(profile.join("skipped-tests").join(cargo.to_string()))
}

/// `4 tests were skipped: rsync, socat are missing`
fn summary(record: &str) -> Option<String> {
    let (mut tests, mut tools, mut others) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for line in record.lines() {
        let mut parts = line.splitn(3, '\t');
        let (Some(test), Some(kind), Some(text)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        tests.insert(test);
        match kind {
            "tool" => tools.insert(text),
            _ => others.insert(text),
        };
    }
    let list = |texts: BTreeSet<&str>| texts.into_iter().collect::<Vec<_>>().join(", ");
    let mut reasons = Vec::new();
    match tools.len() {
        0 => {}
        1 => reasons.push(format!("{} is missing", list(tools))),
        _ => reasons.push(format!("{} are missing", list(tools))),
    }
    reasons.extend(others.into_iter().map(str::to_owned));
    let tests = match tests.len() {
        0 => return None,
        1 => "1 test was skipped".to_owned(),
        count => format!("{count} tests were skipped"),
    };
    Some(format!("{tests}: {}", reasons.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_counts_tests_and_names_tools_once() {
        assert_eq!(summary(""), None);
        let record = "a x\ttool\tsocat\na x\ttool\trsync\na y\ttool\trsync\nb x\tother\t../shared/x does not exist\n";
        let expected = "3 tests were skipped: rsync, socat are missing; ../shared/x does not exist";
        assert_eq!(summary(record).as_deref(), Some(expected));
        let one = summary("a x\ttool\tkubectl\n");
        assert_eq!(
            one.as_deref(),
            Some("1 test was skipped: kubectl is missing")
        );
    }
}

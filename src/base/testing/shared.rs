//! Data sets and tools that may be missing.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::skipped_tests::{SkipReason, record_skip};

/// The path of a file or folder in `../shared`, or `None` if it does not exist.
///
/// # Panics
/// If it does not exist and the environment has `CI=true`.
pub fn shared(path: &str) -> Option<PathBuf> {
    existing(repository().join("../shared").join(path))
}

/// The path in an environment variable, by default that of [`shared`].
///
/// # Panics
/// If it does not exist and the environment has `CI=true`.
pub fn shared_or_env(variable: &str, path: &str) -> Option<PathBuf> {
    match std::env::var_os(variable) {
        Some(path) => existing(path.into()),
        None => shared(path),
    }
}

/// Whether a program is on `PATH` and succeeds with these arguments, for example `-V`.
///
/// # Panics
/// If it is not on `PATH` and the environment has `CI=true`.
pub fn has_tool(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    let found = command.output().is_ok_and(|o| o.status.success());
    if !found {
        fail_in_ci(&format!("{program} is not on PATH"));
        record_skip(SkipReason::Tool(program));
    }
    found
}

/// The root of the repository.
pub(crate) fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../.."))
}

fn existing(path: PathBuf) -> Option<PathBuf> {
    let exists = path.exists();
    if !exists {
        skip(&format!("{} does not exist", path.display()));
    }
    exists.then_some(path)
}

/// Reports that a test is skipped.
///
/// # Panics
/// If the environment has `CI=true`.
pub fn skip(reason: &str) {
    fail_in_ci(reason);
    record_skip(SkipReason::Other(reason));
}

fn fail_in_ci(reason: &str) {
    let ci = std::env::var("CI").is_ok_and(|value| value == "true");
    assert!(!ci, "{reason}, and CI=true");
}

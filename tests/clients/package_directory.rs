//! [`package_directory`]: packages of a client, installed once for each set of versions.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, PoisonError};

use kueue_lab_testing::skip;

/// The folder of this test's sources for a language.
pub(crate) fn sources(language: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/clients")
        .join(language)
}

/// The directory with the packages that `versions` lists, which is a part of its name. `install` fills an
/// empty directory, which is marked as complete afterwards, so that an interrupted installation is repeated.
/// `None` if `install` fails, which skips the test.
///
/// # Panics
/// If `install` fails and the environment has `CI=true`.
pub(crate) fn package_directory(
    language: &str,
    versions: &str,
    install: impl FnOnce(&Path) -> Result<(), String>,
) -> Option<PathBuf> {
    static INSTALLING: Mutex<()> = Mutex::new(());
    let _guard = INSTALLING.lock().unwrap_or_else(PoisonError::into_inner);
    let mut hasher = DefaultHasher::new();
    versions.hash(&mut hasher);
    let parent = Path::new(env!("CARGO_TARGET_TMPDIR")).join("clients");
    let directory = parent.join(format!("{language}-{:016x}", hasher.finish()));
    // Virtual environments name their directory, so the complete one is marked and not renamed.
    let complete = directory.join("complete");
    if complete.exists() {
        return Some(directory);
    }
    if directory.exists() {
        std::fs::remove_dir_all(&directory).unwrap();
    }
    std::fs::create_dir_all(&directory).unwrap();
    match install(&directory) {
        Ok(()) => {
            std::fs::write(complete, "").unwrap();
            Some(directory)
        }
        Err(reason) => {
            skip(&reason);
            None
        }
    }
}

/// Runs a command of an installation to its end.
///
/// # Errors
/// It cannot be started or fails; with the end of its output.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("{command:?}: {}", printed(&output))),
    }
}

/// The output of a command on both streams.
pub(crate) fn printed(output: &Output) -> String {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8_lossy(&text).into_owned()
}

//! The record of starts that did not succeed.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::directory_lock::DirectoryLock;
use super::private_file;
use super::suspect_objects::{SuspectObject, suspect_objects};
use kueue_lab_apiserver::storage::RestoredState;

/// The name of the file; it does not exist after a start that succeeded.
pub(crate) const FILE: &str = "failed-starts.json";
/// Failed starts in a row from which on their cause is looked for.
const SUSPICIOUS: u32 = 2;

/// The content of the file.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct FailedStarts {
    /// The starts in a row that have not succeeded, with the one that runs.
    count: u32,
}

/// A start that is counted as failed until it [succeeds](Self::succeeded): the process may abort, or be killed
/// because it does not respond.
#[derive(Debug)]
pub struct StartRecord {
    path: PathBuf,
    failed: u32,
    suspects: Vec<SuspectObject>,
    /// No other process starts on the directory before this is dropped.
    _lock: Arc<DirectoryLock>,
}

impl StartRecord {
    pub(crate) fn new(dir: &Path, lock: Arc<DirectoryLock>, state: Option<&RestoredState>) -> Self {
        let path = dir.join(FILE);
        let failed = read(&path).count;
        write(&path, failed.saturating_add(1));
        let suspects = match state {
            Some(state) if failed >= SUSPICIOUS => suspect_objects(state),
            _ => Vec::new(),
        };
        Self {
            path,
            failed,
            suspects,
            _lock: lock,
        }
    }

    /// The number of starts before this one, in a row, that did not succeed.
    pub fn failed(&self) -> u32 {
        self.failed
    }

    /// The objects that most likely end the process, if at least two starts have failed.
    pub fn suspects(&self) -> &[SuspectObject] {
        &self.suspects
    }

    /// Takes this start back: it has ended before anything ran.
    pub fn withdraw(&self) {
        match self.failed {
            0 => self.succeeded(),
            count => write(&self.path, count),
        }
    }

    /// Records that this start has succeeded: the lab works, or has ended regularly.
    pub fn succeeded(&self) {
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                tracing::warn!("cannot remove {}: {error}", self.path.display());
            }
            Ok(()) | Err(_) => {}
        }
    }
}

/// Writes the record. The lab starts without it, such as on a full disk.
fn write(path: &Path, count: u32) {
    let text = serde_json::to_vec(&FailedStarts { count }).unwrap_or_default();
    if let Err(error) = private_file::replace(path, &text) {
        tracing::debug!("cannot write {}: {error}", path.display());
    }
}

/// The record of earlier starts. One that cannot be read says nothing.
fn read(path: &Path) -> FailedStarts {
    let text = kueue_lab_host::read(path, kueue_lab_host::FILE_LIMIT).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

//! Errors of opening a data directory.

use std::path::{Path, PathBuf};

/// The error of a data directory that cannot be used. It is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum DataDirError {
    /// The directory is in use by another process.
    #[error(
        "the data directory {dir} is in use by {owner}; stop that process, or choose another directory"
    )]
    Locked {
        /// The directory.
        dir: String,
        /// The process.
        owner: String,
    },
    /// The directory was written by a newer version.
    #[error(
        "the data directory {dir} has format {found}, and this version reads formats up to {known}; use the version of kueue-lab that wrote it, or another directory"
    )]
    Newer {
        /// The directory.
        dir: String,
        /// Its format.
        found: u32,
        /// The newest known format.
        known: u32,
    },
    /// The directory has files that do not belong to a data directory.
    #[error(
        "{dir} is not empty and not a data directory: it has {entry} and no cluster.json; choose an empty or a new directory"
    )]
    NotADataDir {
        /// The directory.
        dir: String,
        /// One of its files.
        entry: String,
    },
    /// Files are damaged or missing.
    #[error(
        "the data directory is damaged: {}; restore it from a backup, or start with an empty directory and `--from` an export",
        list(.0)
    )]
    Damaged(Vec<DamagedFile>),
    /// An I/O error.
    #[error("cannot use the data directory: {path}: {error}")]
    Io {
        /// The file or directory.
        path: String,
        /// The error.
        error: std::io::Error,
    },
    /// The credentials cannot be generated.
    #[error("cannot generate the credentials of the cluster: {0}")]
    Credentials(#[from] kueue_lab_apiserver::CredentialsError),
}

impl DataDirError {
    /// The error of an operation on a path.
    pub(crate) fn io(path: &Path) -> impl Fn(std::io::Error) -> Self + '_ {
        |error| Self::Io {
            path: path.display().to_string(),
            error,
        }
    }

    /// A damaged file.
    pub(crate) fn damaged(path: &Path, reason: impl std::fmt::Display) -> Self {
        Self::Damaged(vec![DamagedFile::new(path, reason)])
    }
}

/// A file of a data directory that is damaged or missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedFile {
    /// The file.
    pub path: PathBuf,
    /// The problem.
    pub reason: String,
}

impl DamagedFile {
    pub(crate) fn new(path: &Path, reason: impl std::fmt::Display) -> Self {
        Self {
            path: path.to_owned(),
            reason: reason.to_string(),
        }
    }

    pub(crate) fn is_at(&self, path: &Path) -> bool {
        self.path == path
    }
}

fn list(files: &[DamagedFile]) -> String {
    let lines = files
        .iter()
        .map(|file| format!("{}: {}", file.path.display(), file.reason));
    lines.collect::<Vec<_>>().join("; ")
}

//! The lock that prevents a second process from using a data directory.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::error::DataDirError;

/// The name of the lock file.
pub(crate) const FILE: &str = "lock";

/// A held lock; the operating system releases it when the process ends.
#[derive(Debug)]
pub(crate) struct DirectoryLock {
    _file: File,
}

impl DirectoryLock {
    /// Locks a directory and writes the id of this process to the lock file.
    ///
    /// # Errors
    /// [`DataDirError::Locked`] with the other process, or [`DataDirError::Io`].
    pub(crate) fn acquire(dir: &Path) -> Result<Self, DataDirError> {
        let path = dir.join(FILE);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).mode(0o600);
        let mut file =
            kueue_lab_host::open_with(&options, &path).map_err(DataDirError::io(&path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut owner = String::new();
                // Without the id the message is less specific.
                let _ = (&file).take(64).read_to_string(&mut owner);
                let owner = match owner.trim().parse::<u32>() {
                    Ok(pid) => format!("the process {pid}"),
                    Err(_) => "another process".to_owned(),
                };
                return Err(DataDirError::Locked {
                    dir: dir.display().to_string(),
                    owner,
                });
            }
            Err(TryLockError::Error(error)) => return Err(DataDirError::io(&path)(error)),
        }
        let written = file
            .set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| writeln!(file, "{}", std::process::id()));
        // The id is for messages only, so that the lab starts even on a full disk.
        if let Err(error) = written {
            tracing::warn!("cannot write {}: {error}", path.display());
        }
        Ok(Self { _file: file })
    }
}

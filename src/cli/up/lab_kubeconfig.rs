//! The kubeconfig file of a running lab, which the other subcommands and `kubectl` use.

use std::convert::Infallible;
use std::fs::File;
use std::path::{Path, PathBuf};

use kueue_lab_lab::{Cluster, Lab, state_dir};

use crate::cli::CommandError;
use crate::cli::running_lab::{DEFAULT_NAME, lock_path};

/// The kubeconfig file of this run.
pub(super) struct LabKubeconfig {
    path: PathBuf,
    /// Whether `--kubeconfig-out` named the file.
    requested: bool,
    /// The content, if it is of no use after the end of the lab.
    written: Option<Vec<u8>>,
    /// The lock that keeps other labs from using the same path.
    lock: Option<File>,
}

impl LabKubeconfig {
    /// The path of `--kubeconfig-out`, or one that no other running lab uses.
    pub(super) fn choose(flag: Option<PathBuf>) -> Self {
        if let Some(path) = flag {
            return Self {
                path,
                requested: true,
                written: None,
                lock: None,
            };
        }
        let mut folder = state_dir();
        if std::fs::create_dir_all(&folder).is_err() {
            folder = std::env::temp_dir();
        }
        let default = folder.join(DEFAULT_NAME);
        let (path, lock) = match lock(&default) {
            Some(lock) => (default, Some(lock)),
            None => {
                let path = folder.join(format!("{DEFAULT_NAME}-{}", std::process::id()));
                let lock = lock(&path);
                (path, lock)
            }
        };
        Self {
            path,
            requested: false,
            written: None,
            lock,
        }
    }

    /// Writes the file, and its folder if needed.
    ///
    /// # Errors
    /// The file or its folder cannot be written.
    pub(super) fn write(&mut self, lab: &Lab) -> Result<(), CommandError> {
        if let Some(folder) = self.path.parent().filter(|p| *p != Path::new("")) {
            let made = std::fs::create_dir_all(folder);
            made.map_err(|error| {
                let message = format!("cannot create the folder {}", folder.display());
                CommandError::usage(error).with_message(message)
            })?;
        }
        lab.write_kubeconfig(&self.path)
            .map_err(CommandError::usage)?;
        if matches!(lab.cluster(), Cluster::Embedded(_)) {
            self.written = kueue_lab_host::read(&self.path, kueue_lab_host::FILE_LIMIT).ok();
        }
        Ok(())
    }

    /// Writes the file again when worker clusters start or stop, unless it was changed; never ends.
    pub(super) async fn follow(&mut self, lab: &Lab) -> Infallible {
        let mut changes = lab.worker_changes();
        while changes.changed().await.is_ok() {
            let written = match self.is_unchanged() {
                true => self.write(lab),
                false => Err(CommandError::failed(format!(
                    "{} was changed, so the contexts of worker clusters in it stay",
                    self.path.display()
                ))),
            };
            if let Err(error) = written {
                tracing::warn!("{error}");
            }
        }
        std::future::pending().await
    }

    fn is_unchanged(&self) -> bool {
        self.written.is_some()
            && kueue_lab_host::read(&self.path, kueue_lab_host::FILE_LIMIT).ok() == self.written
    }

    /// The path of the file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the file. A file of `--kubeconfig-out` is kept if it was changed, or if its cluster
    /// continues.
    pub(super) fn remove(self) {
        if !self.requested || self.is_unchanged() {
            // It may be deleted already.
            let _ = std::fs::remove_file(&self.path);
        }
        if self.lock.is_some() && self.path.file_name() != Some(DEFAULT_NAME.as_ref()) {
            let _ = std::fs::remove_file(lock_path(&self.path));
        }
        drop(self.lock);
    }
}

/// Locks a kubeconfig; `None` if another lab uses it.
fn lock(kubeconfig: &Path) -> Option<File> {
    let file = kueue_lab_host::create(lock_path(kubeconfig)).ok()?;
    file.try_lock().is_ok().then_some(file)
}

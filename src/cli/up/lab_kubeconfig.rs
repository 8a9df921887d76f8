//! The kubeconfig file of a running lab, which the other subcommands and `kubectl` use.

use std::fs::File;
use std::path::{Path, PathBuf};

use kueue_lab_lab::{Lab, state_dir};

/// The kubeconfig file of this run.
pub(super) struct LabKubeconfig {
    path: PathBuf,
    /// Whether the file is removed at the end.
    temporary: bool,
    /// The lock that keeps other labs from using the same path.
    lock: Option<File>,
}

impl LabKubeconfig {
    /// The path of `--kubeconfig-out`, or one that no other running lab uses.
    pub(super) fn choose(flag: Option<PathBuf>) -> Self {
        if let Some(path) = flag {
            return Self {
                path,
                temporary: false,
                lock: None,
            };
        }
        let folder = state_dir();
        let default_lock = std::fs::create_dir_all(&folder)
            .and_then(|()| File::create(folder.join("kubeconfig.lock")))
            .ok()
            .filter(|file| file.try_lock().is_ok());
        let name = match default_lock {
            Some(_) => "kubeconfig".to_owned(),
            None => format!("kubeconfig-{}", std::process::id()),
        };
        let folder = if folder.is_dir() {
            folder
        } else {
            std::env::temp_dir()
        };
        Self {
            path: folder.join(name),
            temporary: true,
            lock: default_lock,
        }
    }

    /// Writes the file, and its folder if needed.
    ///
    /// # Errors
    /// A message that names the file.
    pub(super) fn write(&mut self, lab: &Lab) -> Result<(), String> {
        if let Some(folder) = self.path.parent().filter(|p| *p != Path::new("")) {
            let made = std::fs::create_dir_all(folder);
            made.map_err(|e| format!("cannot create the folder {}: {e}", folder.display()))?;
        }
        let written = lab.cluster().write_kubeconfig(&self.path);
        written.map_err(|e| e.to_string())
    }

    /// The path of the file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the file unless `--kubeconfig-out` named it.
    pub(super) fn remove(self) {
        if self.temporary {
            // It may be deleted already.
            let _ = std::fs::remove_file(&self.path);
        }
        drop(self.lock);
    }
}

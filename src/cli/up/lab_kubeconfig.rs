//! The kubeconfig file of a running lab, through which the other subcommands and `kubectl` find it.

use std::fs::File;
use std::path::{Path, PathBuf};

use kueue_lab_lab::{Lab, state_dir};

/// The kubeconfig of this run.
pub(super) struct LabKubeconfig {
    path: PathBuf,
    /// Whether it is ours to remove.
    temporary: bool,
    /// Keeps other labs from taking the same path.
    lock: Option<File>,
}

impl LabKubeconfig {
    /// The path asked for, or one that no other running lab uses.
    pub(super) fn choose(asked: Option<PathBuf>) -> Self {
        if let Some(path) = asked {
            return Self {
                path,
                temporary: false,
                lock: None,
            };
        }
        let folder = state_dir();
        let usual = std::fs::create_dir_all(&folder)
            .and_then(|()| File::create(folder.join("kubeconfig.lock")))
            .ok()
            .filter(|file| file.try_lock().is_ok());
        let name = match usual {
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
            lock: usual,
        }
    }

    /// Writes it.
    ///
    /// # Errors
    /// A sentence that names the file.
    pub(super) fn write(&mut self, lab: &Lab) -> Result<(), String> {
        if let Some(folder) = self.path.parent().filter(|p| *p != Path::new("")) {
            let made = std::fs::create_dir_all(folder);
            made.map_err(|e| format!("cannot make the folder {}: {e}", folder.display()))?;
        }
        let written = lab.cluster().write_kubeconfig(&self.path);
        written.map_err(|e| e.to_string())
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Takes it away, if nobody asked for it by name.
    pub(super) fn remove(self) {
        if self.temporary {
            // Gone already is fine.
            let _ = std::fs::remove_file(&self.path);
        }
        drop(self.lock);
    }
}

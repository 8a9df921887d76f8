//! A container: its file system, its environment and its system.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::filesystem::{FileKind, FileSystem};
use crate::system::System;

/// The configuration of a container.
pub struct ContainerConfig {
    /// The host name.
    pub hostname: String,
    /// The environment of its processes.
    pub environment: BTreeMap<String, String>,
    /// The working directory.
    pub working_dir: String,
    /// Whether its image is one of BusyBox, whose shell has another prompt.
    pub is_busybox: bool,
    /// The file system.
    pub files: FileSystem,
    /// What its processes see outside of the file system.
    pub system: Arc<dyn System>,
}

/// A running container.
pub struct Container {
    config: ContainerConfig,
    /// The identifier of the next process.
    next_pid: AtomicU32,
}

impl Container {
    /// A container.
    pub fn new(config: ContainerConfig) -> Arc<Self> {
        Arc::new(Self {
            config,
            // Lower identifiers are those of the main process and its children.
            next_pid: AtomicU32::new(7),
        })
    }

    /// The file system.
    pub fn files(&self) -> &FileSystem {
        &self.config.files
    }

    /// A new identifier, as the container runtime gives one to each command.
    pub fn exec_id(&self) -> String {
        (0..4)
            .map(|_| format!("{:016x}", self.system().random()))
            .collect()
    }

    pub(crate) fn system(&self) -> &dyn System {
        &*self.config.system
    }

    pub(crate) fn config(&self) -> &ContainerConfig {
        &self.config
    }

    pub(crate) fn next_pid(&self) -> u32 {
        self.next_pid.fetch_add(1, Ordering::Relaxed)
    }

    /// The `PATH` of the environment.
    pub(crate) fn search_path(&self) -> &str {
        let path = self.config.environment.get("PATH");
        path.map_or(DEFAULT_PATH, String::as_str)
    }

    /// The path of an executable file in the directories of a search path.
    pub(crate) fn find_program(&self, name: &str, search_path: &str) -> Option<String> {
        let directories = search_path.split(':').filter(|d| !d.is_empty());
        let mut paths = directories.map(|directory| format!("{directory}/{name}"));
        paths.find(|path| {
            let entry = self.files().stat("/", path);
            entry.is_ok_and(|entry| {
                let is_file = matches!(entry.kind, FileKind::File(_) | FileKind::Program(_));
                is_file && entry.mode & 0o111 != 0
            })
        })
    }
}

/// The `PATH` of images that set none.
pub(crate) const DEFAULT_PATH: &str =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

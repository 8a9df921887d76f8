//! A container: its file system, its environment and its system.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::task::AbortHandle;

use crate::filesystem::{Errno, FileKind, FileSystem, parent};
use crate::program::Program;
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
    /// The system of its processes outside of the file system.
    pub system: Arc<dyn System>,
    /// Programs of the caller.
    pub programs: Vec<Arc<dyn Program>>,
}

/// A running container.
pub struct Container {
    config: ContainerConfig,
    /// The identifier of the next process.
    next_pid: AtomicU32,
    /// Processes that run until they end or the container ends.
    daemons: Mutex<Vec<AbortHandle>>,
}

/// Maximum number of daemons.
const DAEMONS: usize = 256;

impl Container {
    /// A container.
    pub fn new(config: ContainerConfig) -> Arc<Self> {
        Arc::new(Self {
            config,
            // Lower identifiers are those of the main process and its children.
            next_pid: AtomicU32::new(7),
            daemons: Mutex::default(),
        })
    }

    /// Runs a process in the background, which outlives the command that starts it. `None` if there are too
    /// many.
    pub fn spawn(&self, daemon: impl Future<Output = ()> + Send + 'static) -> Option<AbortHandle> {
        let mut daemons = self.daemons.lock();
        daemons.retain(|daemon| !daemon.is_finished());
        if daemons.len() >= DAEMONS {
            return None;
        }
        let handle = tokio::spawn(daemon).abort_handle();
        daemons.push(handle.clone());
        Some(handle)
    }

    /// Ends the processes that [`spawn`](Self::spawn) started, with the container.
    pub fn stop(&self) {
        for daemon in self.daemons.lock().drain(..) {
            daemon.abort();
        }
    }

    /// The content of a file; `None` if it cannot be read. Relative paths are those of `/`.
    pub fn read_file(&self, path: &str) -> Option<Bytes> {
        self.files().read("/", path).ok()
    }

    /// Writes or appends to a file; directories above it are created.
    ///
    /// # Errors
    /// The error of the system call.
    pub fn write_file(&self, path: &str, data: &[u8], append: bool) -> Result<(), Errno> {
        let (files, now) = (self.files(), self.system().now());
        let created = files.create_directories("/", parent(path), now);
        created.and_then(|()| match append {
            true => files.append("/", path, data, now),
            false => files.write("/", path, Bytes::copy_from_slice(data), now),
        })
    }

    /// Creates a directory and those above it.
    ///
    /// # Errors
    /// The error of the system call.
    pub fn create_directory(&self, path: &str) -> Result<(), Errno> {
        self.files()
            .create_directories("/", path, self.system().now())
    }

    /// Whether a path exists.
    pub fn exists(&self, path: &str) -> bool {
        self.files().stat("/", path).is_ok()
    }

    /// The program of the caller with this name.
    pub(crate) fn program(&self, name: &str) -> Option<Arc<dyn Program>> {
        let mut programs = self.config.programs.iter();
        programs.find(|program| program.name() == name).cloned()
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

    /// The system of its processes outside of the file system.
    pub fn system(&self) -> &dyn System {
        &*self.config.system
    }

    pub(crate) fn config(&self) -> &ContainerConfig {
        &self.config
    }

    /// The identifier of a new process.
    pub fn next_pid(&self) -> u32 {
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

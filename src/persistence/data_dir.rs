//! Opens a data directory, or creates it.

use std::fs::{DirBuilder, OpenOptions, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use kueue_lab_host::FILE_LIMIT;
use redb::backends::FileBackend;
use serde::{Deserialize, Serialize};

use super::database_source::{DatabaseFile, database_options};
use super::directory_lock::{self, DirectoryLock};
use super::error::DataDirError;
use super::object_database::ObjectDatabase;
use super::private_file;
use kueue_lab_apiserver::Credentials;
use kueue_lab_apiserver::storage::{Persistence, RestoredState};
use kueue_lab_clock::Clock;

/// The newest format this version reads, and the one it writes.
const FORMAT: u32 = 1;
const CLUSTER_FILE: &str = "cluster.json";
const CREDENTIALS_FILE: &str = "credentials.json";
const OBJECTS_FILE: &str = "objects.redb";

/// The content of `cluster.json`. Fields of other formats are not read.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClusterFile {
    format_version: u32,
    /// The port of the API server; 0 before it has listened.
    #[serde(default)]
    port: u16,
    /// Whether the cluster was imported.
    #[serde(default)]
    imported: bool,
}

/// An open data directory. It stays locked until it is dropped.
pub struct DataDir {
    path: PathBuf,
    cluster: ClusterFile,
    credentials: Credentials,
    last_time: Option<Timestamp>,
    content: Option<(ObjectDatabase, RestoredState)>,
    is_new: bool,
    _lock: DirectoryLock,
}

impl DataDir {
    /// Opens a directory, or creates it, readable by its owner only.
    ///
    /// # Errors
    /// [`DataDirError`]; nothing in the directory is changed.
    pub fn open(path: &Path) -> Result<Self, DataDirError> {
        create_dir(path)?;
        check_entries(path)?;
        let lock = DirectoryLock::acquire(path)?;
        let cluster = read_cluster_file(path)?;
        let is_new = cluster.is_none();
        let credentials = credentials(path, is_new)?;
        let objects = path.join(OBJECTS_FILE);
        match is_new {
            true => create_database(&objects)?,
            false => check_database(&objects)?,
        }
        let file = DatabaseFile {
            path: objects.clone(),
        };
        let opened = ObjectDatabase::open(Box::new(file));
        let (database, state, last_time) = opened.map_err(|e| database_error(&objects, e))?;
        let mut dir = Self {
            path: path.to_owned(),
            cluster: cluster.unwrap_or_default(),
            credentials,
            last_time,
            content: Some((database, state)),
            is_new,
            _lock: lock,
        };
        if is_new {
            // Written last: a directory without it has never served a request.
            dir.cluster.format_version = FORMAT;
            dir.write_cluster_file()?;
        }
        Ok(dir)
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it was created by [`open`](Self::open).
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    /// Removes the files of a directory that [`open`](Self::open) has created; an older one is
    /// kept.
    ///
    /// # Errors
    /// [`DataDirError::Io`].
    pub fn remove_new(self) -> Result<(), DataDirError> {
        if !self.is_new {
            return Ok(());
        }
        // The file without which it is not a data directory first, the lock last.
        for file in [
            CLUSTER_FILE,
            OBJECTS_FILE,
            CREDENTIALS_FILE,
            directory_lock::FILE,
        ] {
            let file = self.path.join(file);
            std::fs::remove_file(&file).map_err(DataDirError::io(&file))?;
        }
        Ok(())
    }

    /// The credentials of the cluster.
    pub fn credentials(&self) -> &Credentials {
        &self.credentials
    }

    /// The port the API server had, or 0.
    pub fn port(&self) -> u16 {
        self.cluster.port
    }

    /// Stores the port of the API server.
    ///
    /// # Errors
    /// [`DataDirError::Io`].
    pub fn set_port(&mut self, port: u16) -> Result<(), DataDirError> {
        if self.cluster.port == port {
            return Ok(());
        }
        self.cluster.port = port;
        self.write_cluster_file()
    }

    /// Whether a directory has the objects of an imported cluster. False for one that cannot be
    /// read; [`open`](Self::open) returns why.
    pub fn is_imported(path: &Path) -> bool {
        read_cluster_file(path).is_ok_and(|file| file.is_some_and(|file| file.imported))
    }

    /// Records that the objects are those of an imported cluster.
    ///
    /// # Errors
    /// [`DataDirError::Io`].
    pub fn set_imported(&mut self) -> Result<(), DataDirError> {
        self.cluster.imported = true;
        self.write_cluster_file()
    }

    /// The lab time of the last write; lab time must not run backwards.
    pub fn last_time(&self) -> Option<Timestamp> {
        self.last_time
    }

    /// Takes the restored objects and the database, which keeps the time of `clock`. `None` the
    /// second time.
    pub fn take_content(&mut self, clock: &Clock) -> Option<(RestoredState, Box<dyn Persistence>)> {
        let (database, state) = self.content.take()?;
        Some((state, Box::new(database.with_clock(clock.clone()))))
    }

    fn write_cluster_file(&self) -> Result<(), DataDirError> {
        let path = self.path.join(CLUSTER_FILE);
        write_json(&path, &self.cluster)
    }
}

fn create_dir(path: &Path) -> Result<(), DataDirError> {
    let mut builder = DirBuilder::new();
    let created = builder.recursive(true).mode(0o700).create(path);
    created.map_err(DataDirError::io(path))
}

/// Rejects a directory with other files.
fn check_entries(path: &Path) -> Result<(), DataDirError> {
    if path.join(CLUSTER_FILE).exists() {
        let private = std::fs::set_permissions(path, Permissions::from_mode(0o700));
        return private.map_err(DataDirError::io(path));
    }
    let known = [directory_lock::FILE, CREDENTIALS_FILE, OBJECTS_FILE];
    for entry in std::fs::read_dir(path).map_err(DataDirError::io(path))? {
        let entry = entry.map_err(DataDirError::io(path))?.file_name();
        let entry = entry.to_string_lossy();
        // Temporary files of an interrupted creation begin with a dot.
        if !known.contains(&&*entry) && !entry.starts_with(".new-") {
            return Err(DataDirError::NotADataDir {
                dir: path.display().to_string(),
                entry: entry.into_owned(),
            });
        }
    }
    let private = std::fs::set_permissions(path, Permissions::from_mode(0o700));
    private.map_err(DataDirError::io(path))
}

fn read_cluster_file(dir: &Path) -> Result<Option<ClusterFile>, DataDirError> {
    let path = dir.join(CLUSTER_FILE);
    let text = match kueue_lab_host::read(&path, FILE_LIMIT) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(DataDirError::io(&path)(error)),
    };
    let file: ClusterFile =
        serde_json::from_slice(&text).map_err(|e| DataDirError::damaged(&path, e))?;
    if file.format_version > FORMAT {
        return Err(DataDirError::Newer {
            dir: dir.display().to_string(),
            found: file.format_version,
            known: FORMAT,
        });
    }
    Ok(Some(file))
}

/// The credentials of a directory; those of a new one are generated.
fn credentials(dir: &Path, is_new: bool) -> Result<Credentials, DataDirError> {
    let path = dir.join(CREDENTIALS_FILE);
    match kueue_lab_host::read(&path, FILE_LIMIT) {
        Ok(text) => serde_json::from_slice(&text).map_err(|e| DataDirError::damaged(&path, e)),
        Err(error) if error.kind() == ErrorKind::NotFound && is_new => {
            let credentials = Credentials::generate()?;
            write_json(&path, &credentials)?;
            Ok(credentials)
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Err(DataDirError::damaged(&path, "the file is missing"))
        }
        Err(error) => Err(DataDirError::io(&path)(error)),
    }
}

fn write_json(path: &Path, content: &impl Serialize) -> Result<(), DataDirError> {
    let text = serde_json::to_vec_pretty(content).map_err(|e| DataDirError::damaged(path, e))?;
    private_file::replace(path, &text).map_err(DataDirError::io(path))
}

fn create_database(path: &Path) -> Result<(), DataDirError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).mode(0o600);
    let file = kueue_lab_host::open_with(&options, path).map_err(DataDirError::io(path))?;
    let failed = |e: redb::DatabaseError| database_error(path, e.into());
    let backend = FileBackend::new(file).map_err(failed)?;
    let created = database_options().create_with_backend(backend);
    created.map_err(failed)?;
    let dir = path.parent().unwrap_or(Path::new("."));
    private_file::sync_dir(dir).map_err(DataDirError::io(dir))
}

/// A database that was used is neither missing nor empty; an empty one would be initialized.
fn check_database(path: &Path) -> Result<(), DataDirError> {
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.len() > 0 => Ok(()),
        Ok(_) => Err(DataDirError::damaged(path, "the file is empty")),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Err(DataDirError::damaged(path, "the file is missing"))
        }
        Err(error) => Err(DataDirError::io(path)(error)),
    }
}

fn database_error(path: &Path, error: redb::Error) -> DataDirError {
    match error {
        redb::Error::Io(error) if error.kind() != ErrorKind::InvalidData => {
            DataDirError::io(path)(error)
        }
        error => DataDirError::damaged(path, error),
    }
}

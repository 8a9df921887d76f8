//! Opens a data directory, or creates it.

use std::fs::{DirBuilder, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use kueue_lab_host::FILE_LIMIT;
use redb::backends::FileBackend;
use serde::{Deserialize, Serialize};

use super::database_source::{DatabaseFile, database_options};
use super::directory_lock::{self, DirectoryLock};
use super::error::{DamagedFile, DataDirError};
use super::object_database::{ObjectDatabase, committed_batches};
use super::private_file;
use super::space_reserve::{self, SpaceReserve};
use super::start_record::{self, StartRecord};
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
    lock: Arc<DirectoryLock>,
}

impl DataDir {
    /// Opens a directory, or creates it, readable by its owner only.
    ///
    /// # Errors
    /// [`DataDirError`]; nothing in the directory is changed.
    pub fn open(path: &Path) -> Result<Self, DataDirError> {
        create_dir(path)?;
        check_entries(path)?;
        let lock = Arc::new(DirectoryLock::acquire(path)?);
        let found = check_files(path)?;
        let is_new = found.is_none();
        let (cluster, credentials) = match found {
            Some((cluster, credentials)) => (cluster, credentials),
            None => (ClusterFile::default(), new_credentials(path)?),
        };
        let objects = path.join(OBJECTS_FILE);
        if is_new {
            create_database(&objects)?;
        }
        let reserve = SpaceReserve::new(path);
        let file = DatabaseFile::new(objects.clone(), reserve);
        let opened = ObjectDatabase::open(Box::new(file));
        let (database, state, last_time) = opened.map_err(|e| database_error(&objects, e))?;
        let mut dir = Self {
            path: path.to_owned(),
            cluster,
            credentials,
            last_time,
            content: Some((database, state)),
            is_new,
            lock,
        };
        if is_new {
            // Written last: a directory without it has never served a request.
            dir.cluster.format_version = FORMAT;
            dir.write_cluster_file()?;
        }
        Ok(dir)
    }

    /// Counts this start among those that have not succeeded, until [`StartRecord::succeeded`].
    pub fn record_start(&self) -> StartRecord {
        let state = self.content.as_ref().map(|(_, state)| state);
        StartRecord::new(&self.path, self.lock.clone(), state)
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
        for file in [start_record::FILE, space_reserve::FILE] {
            // They need not exist.
            let _ = std::fs::remove_file(self.path.join(file));
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
    let known = [
        directory_lock::FILE,
        CREDENTIALS_FILE,
        OBJECTS_FILE,
        space_reserve::FILE,
        start_record::FILE,
    ];
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

/// The content of `cluster.json`, and the credentials; `None` for a directory that has never served a request.
///
/// # Errors
/// [`DataDirError::Damaged`] with all files that are missing or damaged. The database of a directory whose
/// other files are complete is verified when it is opened.
fn check_files(dir: &Path) -> Result<Option<(ClusterFile, Credentials)>, DataDirError> {
    let mut damaged = Vec::new();
    let cluster = found_or_damaged(read_cluster_file(dir), &mut damaged)?;
    let objects = dir.join(OBJECTS_FILE);
    let is_used = match &cluster {
        Some(Some(_)) | None => true,
        // Until it has served a request, a directory has no committed batch.
        Some(None) => match found_or_damaged(batches_of_file(&objects), &mut damaged)? {
            Some(batches) => batches > 0,
            None => true,
        },
    };
    if !is_used {
        return Ok(None);
    }
    if matches!(cluster, Some(None)) {
        let reason = format!(
            "the file is missing; if this version of kueue-lab wrote the directory, create it with the content {{\"formatVersion\": {FORMAT}}}"
        );
        damaged.insert(0, DamagedFile::new(&dir.join(CLUSTER_FILE), reason));
    }
    let credentials = found_or_damaged(read_credentials(dir), &mut damaged)?;
    found_or_damaged(check_database(&objects), &mut damaged)?;
    if damaged.is_empty() {
        return Ok(cluster.flatten().zip(credentials));
    }
    let is_reported = |file: &Path| damaged.iter().any(|d| d.is_at(file));
    if !is_reported(&objects) {
        found_or_damaged(batches_of_file(&objects), &mut damaged)?;
    }
    Err(DataDirError::Damaged(damaged))
}

/// The content of a file, or `None` if it is damaged, which is added to `damaged`.
fn found_or_damaged<T>(
    read: Result<T, DataDirError>,
    damaged: &mut Vec<DamagedFile>,
) -> Result<Option<T>, DataDirError> {
    match read {
        Ok(content) => Ok(Some(content)),
        Err(DataDirError::Damaged(files)) => {
            damaged.extend(files);
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn read_cluster_file(dir: &Path) -> Result<Option<ClusterFile>, DataDirError> {
    let path = dir.join(CLUSTER_FILE);
    let Some(text) = read_file(&path, FILE_LIMIT)? else {
        return Ok(None);
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

/// The credentials of a new directory; they are generated unless an earlier start has stored them.
fn new_credentials(dir: &Path) -> Result<Credentials, DataDirError> {
    let path = dir.join(CREDENTIALS_FILE);
    if !path.exists() {
        let credentials = Credentials::generate()?;
        write_json(&path, &credentials)?;
        return Ok(credentials);
    }
    read_credentials(dir)
}

fn read_credentials(dir: &Path) -> Result<Credentials, DataDirError> {
    let path = dir.join(CREDENTIALS_FILE);
    match read_file(&path, FILE_LIMIT)? {
        Some(text) => serde_json::from_slice(&text).map_err(|e| DataDirError::damaged(&path, e)),
        None => Err(DataDirError::damaged(&path, "the file is missing")),
    }
}

/// The content of a file of at most `limit` bytes; `None` if it is missing.
fn read_file(path: &Path, limit: u64) -> Result<Option<Vec<u8>>, DataDirError> {
    match kueue_lab_host::read(path, limit) {
        Ok(content) => Ok(Some(content)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        // Not a regular file.
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::InvalidInput | ErrorKind::IsADirectory
            ) =>
        {
            Err(DataDirError::damaged(path, error))
        }
        Err(error) => Err(DataDirError::io(path)(error)),
    }
}

fn write_json(path: &Path, content: &impl Serialize) -> Result<(), DataDirError> {
    let text = serde_json::to_vec_pretty(content).map_err(|e| DataDirError::damaged(path, e))?;
    private_file::replace(path, &text).map_err(DataDirError::io(path))
}

/// Creates an empty database under its name when it is complete, unless there is one.
fn create_database(path: &Path) -> Result<(), DataDirError> {
    if std::fs::metadata(path).is_ok_and(|metadata| metadata.len() > 0) {
        return Ok(());
    }
    let failed = |e: redb::DatabaseError| database_error(path, e.into());
    let create = |file: std::fs::File| {
        let backend = FileBackend::new(file).map_err(failed)?;
        let created = database_options().create_with_backend(backend);
        created.map(drop).map_err(failed)
    };
    private_file::create(path, create, DataDirError::io(path))
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

/// The number of batches that were committed to a database, which does not change; 0 without a database.
fn batches_of_file(path: &Path) -> Result<u64, DataDirError> {
    // A database may be larger than other files.
    let content = read_file(path, u64::MAX)?.unwrap_or_default();
    match content.is_empty() {
        true => Ok(0),
        false => committed_batches(&content).map_err(|e| database_error(path, e)),
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

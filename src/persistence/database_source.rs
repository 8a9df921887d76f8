//! The storage of the database of a data directory.

use std::fmt::Debug;
use std::path::{Path, PathBuf};

use redb::{Builder, Database, DatabaseError};

/// The cache of the database, in bytes. The API server has all objects in memory and reads none
/// from the database.
const CACHE_SIZE: usize = 4 << 20;
/// The free space, in bytes, below which only deletions are written.
const RESERVE: u64 = 4 << 20;

/// Opens a database, again after an error.
pub(crate) trait DatabaseSource: Debug + Send + Sync {
    /// Opens the database and verifies the checksums of all its pages.
    ///
    /// # Errors
    /// [`DatabaseError`] when it is damaged or cannot be read.
    fn open(&self) -> Result<Database, DatabaseError>;

    /// Whether there is space for further objects.
    fn has_space(&self) -> bool;

    /// Its location, for messages.
    fn location(&self) -> String;
}

/// The options of all databases.
pub(crate) fn database_options() -> Builder {
    let mut builder = Database::builder();
    builder
        .set_cache_size(CACHE_SIZE)
        .set_check_integrity_on_open(true);
    builder
}

/// A database in a file.
#[derive(Debug)]
pub(crate) struct DatabaseFile {
    pub(crate) path: PathBuf,
}

impl DatabaseFile {
    fn dir(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("."))
    }
}

impl DatabaseSource for DatabaseFile {
    fn open(&self) -> Result<Database, DatabaseError> {
        database_options().open(&self.path)
    }

    fn has_space(&self) -> bool {
        // If it is unknown, a write fails without space.
        let stat = rustix::fs::statvfs(self.dir());
        stat.map_or(true, |s| s.f_bavail.saturating_mul(s.f_frsize) >= RESERVE)
    }

    fn location(&self) -> String {
        self.dir().display().to_string()
    }
}

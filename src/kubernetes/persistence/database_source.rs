//! The storage of the database of a data directory.

use std::fmt::Debug;
use std::path::{Path, PathBuf};

use super::space_reserve::{self, SpaceReserve};
use redb::{Builder, Database, DatabaseError};

/// The cache of the database, in bytes. The API server has all objects in memory and reads none
/// from the database.
const CACHE_SIZE: usize = 4 << 20;
/// The free space, in bytes, below which only deletions are written.
const MIN_FREE: u64 = 4 << 20;

/// Opens a database, again after an error.
pub(crate) trait DatabaseSource: Debug + Send + Sync {
    /// Opens the database and verifies the checksums of all its pages.
    ///
    /// # Errors
    /// [`DatabaseError`] when it is damaged or cannot be read.
    fn open(&self) -> Result<Database, DatabaseError>;

    /// Whether there is space for further objects, beside the space that is reserved for deletions. Reserves that
    /// again if it was released.
    fn has_space(&self) -> bool;

    /// Gives a part of the reserved space back to the file system, for deletions; returns whether there was some.
    fn release_space(&self) -> bool;

    /// Whether at least half of the reserved space is there.
    fn has_reserve(&self) -> bool;

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
    path: PathBuf,
    reserve: SpaceReserve,
}

impl DatabaseFile {
    /// A database with reserved space.
    pub(crate) fn new(path: PathBuf, reserve: SpaceReserve) -> Self {
        let file = Self { path, reserve };
        file.has_space();
        file
    }

    fn dir(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("."))
    }
}

impl DatabaseSource for DatabaseFile {
    fn open(&self) -> Result<Database, DatabaseError> {
        database_options().open(&self.path)
    }

    fn has_space(&self) -> bool {
        let Ok(stat) = rustix::fs::statvfs(self.dir()) else {
            // A write fails without space.
            return true;
        };
        let free = stat.f_bavail.saturating_mul(stat.f_frsize);
        let missing = self.reserve.missing();
        if missing > 0 && free >= MIN_FREE + missing {
            self.reserve.fill();
        }
        free >= MIN_FREE
    }

    fn release_space(&self) -> bool {
        self.reserve.release()
    }

    fn has_reserve(&self) -> bool {
        self.reserve.reserved() >= space_reserve::SIZE / 2
    }

    fn location(&self) -> String {
        self.dir().display().to_string()
    }
}

//! [`Persistence`] in a redb database: each batch of changes is one transaction.

use std::io::ErrorKind;

use jiff::Timestamp;
use redb::backends::InMemoryBackend;
use redb::{Database, ReadableDatabase, ReadableTable, StorageBackend, TableDefinition};

use super::database_source::{DatabaseSource, database_options};
use super::record;
use kueue_lab_apiserver::storage::{
    Change, Persistence, PersistenceError, RestoredObject, RestoredState,
};
use kueue_lab_clock::Clock;

/// Records by resource and storage key.
const OBJECTS: TableDefinition<'_, (&str, &str), &[u8]> = TableDefinition::new("objects");
/// Numbers by name.
const STATE: TableDefinition<'_, &str, u64> = TableDefinition::new("state");
/// The revision of the last change.
const REVISION: &str = "revision";
/// The number of committed batches.
const BATCHES: &str = "batches";
/// The lab time of the last commit, in milliseconds since 1970.
const TIME: &str = "time";
/// A database larger than this, in bytes, and larger than [`COMPACT_RATIO`] times its objects is
/// compacted when it is opened.
const COMPACT_SIZE: u64 = 16 << 20;
const COMPACT_RATIO: u64 = 3;

/// The objects of a cluster in a database.
#[derive(Debug)]
pub(crate) struct ObjectDatabase {
    source: Box<dyn DatabaseSource>,
    /// `None` after an error, until it is opened again.
    database: Option<Database>,
    /// The number of batches that were committed successfully.
    batches: u64,
    /// Whether objects were removed since the database was compacted.
    has_removed: bool,
    /// Whether the disk was full when its space was checked last, so that only deletions are committed.
    is_full: bool,
    clock: Clock,
}

impl ObjectDatabase {
    /// Opens a database and reads its objects, and the lab time of the last commit.
    ///
    /// # Errors
    /// The error of the database, or a record that cannot be read.
    pub(crate) fn open(
        source: Box<dyn DatabaseSource>,
    ) -> Result<(Self, RestoredState, Option<Timestamp>), redb::Error> {
        let mut database = loop {
            match source.open().map_err(redb::Error::from) {
                // The disk may have been full when the process ended.
                Err(error) if is_disk_full(&error) && source.release_space() => {}
                opened => break opened?,
            }
        };
        let (state, batches, time, bytes) = load(&database)?;
        if is_sparse(&database, bytes)? {
            database.compact()?;
        }
        let opened = Self {
            source,
            database: Some(database),
            batches,
            has_removed: true,
            is_full: false,
            clock: Clock::real(),
        };
        Ok((opened, state, time))
    }

    /// Takes the lab time from `clock`.
    #[must_use]
    pub(crate) fn with_clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    fn error(&self, error: &redb::Error) -> PersistenceError {
        let dir = self.source.location();
        match is_disk_full(error) {
            true => disk_full(&dir),
            false => PersistenceError::Failed(format!(
                "writing to the data directory {dir} failed: {error}; writes are rejected until it succeeds again"
            )),
        }
    }

    /// Opens the database again, if necessary with reserved space. Returns whether a batch that failed is
    /// committed nevertheless.
    fn reopen(&mut self) -> Result<bool, redb::Error> {
        let database = loop {
            match self.source.open().map_err(redb::Error::from) {
                Err(error) if is_disk_full(&error) && self.source.release_space() => {}
                opened => break opened?,
            }
        };
        let batches = read_state(&database, BATCHES)?.unwrap_or_default();
        let is_committed = batches > self.batches;
        self.batches = batches;
        self.database = Some(database);
        Ok(is_committed)
    }

    /// Opens the database again after an error.
    fn repair(&mut self) -> Result<(), PersistenceError> {
        if self.database.is_some() {
            return Ok(());
        }
        let reopened = self.reopen();
        if reopened.map_err(|error| self.error(&error))? {
            // Its error was reported already.
            self.database = None;
            self.batches -= 1;
            return Err(PersistenceError::Failed(format!(
                "a write to the data directory {} that failed is stored nevertheless; restart the lab",
                self.source.location()
            )));
        }
        Ok(())
    }

    /// Releases reserved space for changes that found none; returns whether they can be tried again. Deletions
    /// have all of it. One batch before the others are rejected has a half: a deletion that has to wait for
    /// finalizers, or for a container to stop, is an update as well.
    fn release_space(&self, changes: &[Change]) -> bool {
        let deletes = |change: &Change| !matches!(change, Change::Put { .. });
        let may_release = self.is_full || self.source.has_reserve() || changes.iter().all(deletes);
        may_release && self.source.release_space()
    }
}

impl Persistence for ObjectDatabase {
    fn commit(&mut self, changes: &[Change]) -> Result<(), PersistenceError> {
        self.repair()?;
        let batch = self.batches + 1;
        loop {
            let Some(database) = &self.database else {
                // It was opened above, or again after the last attempt.
                return Err(PersistenceError::Failed("the database is closed".into()));
            };
            let error = match write(database, changes, batch, self.clock.now()) {
                Ok(()) => {
                    self.batches = batch;
                    self.has_removed |= changes.iter().any(|c| !matches!(c, Change::Put { .. }));
                    return Ok(());
                }
                Err(error) => error,
            };
            // After an error the database has to be opened again, which shows the durable state.
            self.database = None;
            let can_retry = is_disk_full(&error) && self.release_space(changes);
            match self.reopen() {
                Ok(true) => return Ok(()),
                Ok(false) if can_retry => {}
                Ok(false) | Err(_) => {
                    self.is_full = is_disk_full(&error);
                    return Err(self.error(&error));
                }
            }
        }
    }

    fn recover(&mut self) -> Result<(), PersistenceError> {
        self.repair()?;
        let low = self.check_space();
        if low.is_ok() || !std::mem::take(&mut self.has_removed) {
            return low;
        }
        // Releases the space of removed objects to the file system.
        if let Some(Err(error)) = self.database.as_mut().map(Database::compact) {
            self.database = None;
            return Err(self.error(&error.into()));
        }
        self.check_space()
    }

    fn check_space(&mut self) -> Result<(), PersistenceError> {
        self.is_full = !self.source.has_space();
        match self.is_full {
            false => Ok(()),
            true => Err(disk_full(&self.source.location())),
        }
    }
}

fn disk_full(dir: &str) -> PersistenceError {
    PersistenceError::Full(format!(
        "the disk of the data directory {dir} is full: the write is not stored; free space on that disk, or delete objects; reads, watches and deletions work"
    ))
}

fn is_disk_full(error: &redb::Error) -> bool {
    let redb::Error::Io(error) = error else {
        return false;
    };
    let kinds = [
        ErrorKind::StorageFull,
        ErrorKind::QuotaExceeded,
        ErrorKind::FileTooLarge,
    ];
    kinds.contains(&error.kind())
}

/// Writes changes in one transaction; on success they are durable.
fn write(
    database: &Database,
    changes: &[Change],
    batch: u64,
    now: Timestamp,
) -> Result<(), redb::Error> {
    let transaction = database.begin_write()?;
    {
        let mut objects = transaction.open_table(OBJECTS)?;
        for change in changes {
            match change {
                Change::Put { resource, object } => {
                    let record = record::encode(object);
                    objects.insert((&**resource, object.key()), record.as_slice())?;
                }
                Change::Remove { resource, key, .. } => {
                    objects.remove((&**resource, &**key))?;
                }
                Change::RemoveResource { resource, .. } => {
                    let end = format!("{resource}\0");
                    objects.retain_in((&**resource, "")..(end.as_str(), ""), |_, _| false)?;
                }
            }
        }
        let mut state = transaction.open_table(STATE)?;
        state.insert(BATCHES, batch)?;
        // Lab times are not before 1970.
        state.insert(
            TIME,
            u64::try_from(now.as_millisecond()).unwrap_or_default(),
        )?;
        if let Some(last) = changes.last() {
            state.insert(REVISION, last.revision())?;
        }
    }
    transaction.commit()?;
    Ok(())
}

fn read_state(database: &Database, name: &str) -> Result<Option<u64>, redb::Error> {
    match database.begin_read()?.open_table(STATE) {
        Ok(state) => Ok(state.get(name)?.map(|number| number.value())),
        Err(redb::TableError::TableDoesNotExist(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Reads all objects: the state, the number of batches, the lab time and the size in bytes.
fn load(database: &Database) -> Result<(RestoredState, u64, Option<Timestamp>, u64), redb::Error> {
    let mut state = RestoredState {
        revision: read_state(database, REVISION)?.unwrap_or_default(),
        ..RestoredState::default()
    };
    let batches = read_state(database, BATCHES)?.unwrap_or_default();
    let time = read_state(database, TIME)?.and_then(|ms| i64::try_from(ms).ok());
    let time = time.and_then(|ms| Timestamp::from_millisecond(ms).ok());
    let mut bytes = 0;
    let objects = match database.begin_read()?.open_table(OBJECTS) {
        Ok(objects) => objects,
        Err(redb::TableError::TableDoesNotExist(_)) => return Ok((state, batches, time, bytes)),
        Err(error) => return Err(error.into()),
    };
    for entry in objects.iter()? {
        let (key, record) = entry?;
        let (resource, key) = key.value();
        let record = record.value();
        bytes += record.len() as u64;
        let Some((revision, content)) = record::decode(record) else {
            let message = format!("the record of {key} in {resource} cannot be read");
            return Err(redb::Error::Corrupted(message));
        };
        let restored = RestoredObject {
            key: key.to_owned(),
            revision,
            content,
        };
        match state.objects.get_mut(resource) {
            Some(objects) => objects.push(restored),
            None => {
                state.objects.insert(resource.to_owned(), vec![restored]);
            }
        }
    }
    Ok((state, batches, time, bytes))
}

/// The number of batches that were committed to a database with this content.
pub(crate) fn committed_batches(content: &[u8]) -> Result<u64, redb::Error> {
    let copy = InMemoryBackend::new();
    copy.set_len(content.len() as u64)?;
    copy.write(0, content)?;
    let database = database_options().create_with_backend(copy)?;
    Ok(read_state(&database, BATCHES)?.unwrap_or_default())
}

/// Whether most of the file is not used.
fn is_sparse(database: &Database, bytes: u64) -> Result<bool, redb::Error> {
    let transaction = database.begin_write()?;
    let stats = transaction.stats()?;
    let size = stats
        .allocated_pages()
        .saturating_mul(stats.page_size() as u64);
    transaction.abort()?;
    Ok(size > COMPACT_SIZE && size / COMPACT_RATIO > bytes)
}

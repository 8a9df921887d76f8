//! [`Persistence`] in a redb database: each batch of changes is one transaction.

use std::io::ErrorKind;

use jiff::Timestamp;
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};

use super::database_source::DatabaseSource;
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
        let mut database = source.open()?;
        let (state, batches, time, bytes) = load(&database)?;
        if is_sparse(&database, bytes)? {
            database.compact()?;
        }
        let opened = Self {
            source,
            database: Some(database),
            batches,
            has_removed: true,
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

    /// Opens the database again. Returns whether a batch that failed is committed nevertheless.
    fn reopen(&mut self) -> Result<bool, redb::Error> {
        let database = self.source.open()?;
        let batches = read_state(&database, BATCHES)?.unwrap_or_default();
        let is_committed = batches > self.batches;
        self.batches = batches;
        self.database = Some(database);
        Ok(is_committed)
    }
}

impl Persistence for ObjectDatabase {
    fn commit(&mut self, changes: &[Change]) -> Result<(), PersistenceError> {
        let Some(database) = &self.database else {
            return self.recover();
        };
        let batch = self.batches + 1;
        let error = match write(database, changes, batch, self.clock.now()) {
            Ok(()) => {
                self.batches = batch;
                self.has_removed |= changes.iter().any(|c| !matches!(c, Change::Put { .. }));
                return Ok(());
            }
            Err(error) => self.error(&error),
        };
        // After an error the database has to be opened again, which shows the durable state.
        self.database = None;
        match self.reopen() {
            Ok(true) => Ok(()),
            Ok(false) | Err(_) => Err(error),
        }
    }

    fn recover(&mut self) -> Result<(), PersistenceError> {
        if self.database.is_none() {
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
        }
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
        match self.source.has_space() {
            true => Ok(()),
            false => Err(disk_full(&self.source.location())),
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

//! Tests of durable writes with a persistence in memory.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use kueue_lab_clock::Clock;
use parking_lot::Mutex;
use serde_json::json;

use super::*;

/// A persistence that answers each commit as the test says, and keeps what it committed.
struct ScriptedPersistence {
    answers: Receiver<Result<(), PersistenceError>>,
    committed: Arc<Mutex<Vec<u64>>>,
}

impl Persistence for ScriptedPersistence {
    fn commit(&mut self, changes: &[Change]) -> Result<(), PersistenceError> {
        // Without further answers the test is at its end.
        self.answers.recv().unwrap_or(Ok(()))?;
        self.committed
            .lock()
            .extend(changes.iter().map(Change::revision));
        Ok(())
    }

    fn recover(&mut self) -> Result<(), PersistenceError> {
        Ok(())
    }
}

struct Fixture {
    store: Store,
    storage: Arc<ResourceStorage>,
    answers: Sender<Result<(), PersistenceError>>,
    committed: Arc<Mutex<Vec<u64>>>,
}

fn fixture() -> Fixture {
    let (answers, received) = channel();
    let committed = Arc::default();
    let persistence = ScriptedPersistence {
        answers: received,
        committed: Arc::clone(&committed),
    };
    let state = RestoredState::default();
    let store = Store::durable(
        Clock::real(),
        StorageLimits::default(),
        state,
        Box::new(persistence),
    )
    .unwrap();
    Fixture {
        storage: store.new_resource_storage("/things"),
        store,
        answers,
        committed,
    }
}

impl Fixture {
    fn write(&self, key: &str, value: i64) -> Result<Arc<Object>, CommitError> {
        let object = json!({"metadata": {"name": key}, "value": value});
        let pending = PendingObject::new(object).unwrap();
        match self.storage.get(key) {
            Some(present) => self
                .store
                .replace(&self.storage, key, present.revision(), pending),
            None => self.store.create(&self.storage, key, pending),
        }
    }

    /// Starts a write, which is applied in memory when this returns.
    async fn start(
        &self,
        key: &'static str,
        value: i64,
    ) -> tokio::task::JoinHandle<Result<u64, PersistenceError>> {
        let other = Fixture {
            store: self.store.clone(),
            storage: self.storage.clone(),
            answers: self.answers.clone(),
            committed: self.committed.clone(),
        };
        let before = self.store.revision();
        let writing = tokio::spawn(async move {
            loop {
                let mut is_rejected = false;
                let write = async {
                    let written = other.write(key, value);
                    is_rejected = matches!(written, Err(CommitError::NotDurable(_)));
                    written
                };
                let written = other.store.durably(write).await;
                // After a failure, writes are rejected until the persistence has recovered.
                if !is_rejected {
                    return written.map(|object| object.unwrap().revision());
                }
                tokio::task::yield_now().await;
            }
        });
        while self.store.revision() == before {
            tokio::task::yield_now().await;
        }
        writing
    }

    fn read(&self, key: &str) -> Option<i64> {
        let object = self.store.durable_object(&self.storage, key)?;
        let snapshot = self.store.durable_snapshot(&self.storage);
        assert_eq!(snapshot.get(key).unwrap().revision(), object.revision());
        object.value()["value"].as_i64()
    }
}

fn full() -> PersistenceError {
    PersistenceError::Full("full".into())
}

#[tokio::test]
async fn a_write_is_read_and_acknowledged_when_it_is_durable() {
    let f = fixture();
    let mut watcher = f.store.watch(&f.storage, WatchScope::All, 1).unwrap();
    let first = f.start("a", 1).await;
    assert_eq!((f.store.revision(), f.store.durable_revision()), (2, 1));
    assert_eq!((f.read("a"), first.is_finished()), (None, false));
    assert_eq!(watcher.bookmark_revision(), Some(1));
    f.answers.send(Ok(())).unwrap();
    assert_eq!(first.await.unwrap(), Ok(2));
    assert_eq!((f.read("a"), f.store.durable_revision()), (Some(1), 2));
    assert_eq!(watcher.next().await.unwrap().unwrap().len(), 1);
    // The second version is not seen while it is not durable.
    let second = f.start("a", 2).await;
    assert_eq!(
        (f.read("a"), watcher.bookmark_revision()),
        (Some(1), Some(2))
    );
    f.answers.send(Ok(())).unwrap();
    assert_eq!((second.await.unwrap(), f.read("a")), (Ok(3), Some(2)));
    assert_eq!(*f.committed.lock(), [2, 3]);
}

#[tokio::test]
async fn writes_that_fail_are_reverted_with_those_after_them() {
    let f = fixture();
    f.answers.send(Ok(())).unwrap();
    f.start("a", 1).await.await.unwrap().unwrap();
    let mut watcher = f.store.watch(&f.storage, WatchScope::All, 2).unwrap();
    let replaced = f.start("a", 2).await;
    let created = f.start("b", 1).await;
    f.answers.send(Err(full())).unwrap();
    assert_eq!(replaced.await.unwrap(), Err(full()));
    assert_eq!(created.await.unwrap(), Err(full()));
    assert_eq!((f.read("a"), f.read("b")), (Some(1), None));
    assert_eq!(f.storage.get("a").unwrap().revision(), 2);
    // Revisions are not used again, so that no reader takes a reverted object for a stored one.
    f.answers.send(Ok(())).unwrap();
    assert_eq!(f.start("b", 3).await.await.unwrap(), Ok(5));
    let events = watcher.next().await.unwrap().unwrap();
    let events: Vec<_> = events
        .iter()
        .map(|e| (e.object.key(), e.revision()))
        .collect();
    assert_eq!(events, [("b", 5)]);
    assert_eq!(*f.committed.lock(), [2, 5]);
    // A request that writes nothing is not rejected for an earlier failure.
    assert_eq!(f.store.durably(async { 1 }).await, Ok(1));
}

#[tokio::test]
async fn objects_are_restored_with_their_labels_and_encoding() {
    let object = json!({"kind": "Thing", "metadata": {"name": "a", "labels": {"l": "v"}}});
    let (memory, storage) = (
        Store::new(Clock::real(), StorageLimits::default()),
        "/things",
    );
    let source = memory.new_resource_storage(storage);
    let pending = PendingObject::new(object).unwrap();
    let stored = memory.create(&source, "a", pending).unwrap();
    let restored = RestoredObject {
        key: "a".into(),
        revision: stored.revision(),
        content: stored.stored_content(),
    };
    let state = RestoredState {
        revision: 7,
        objects: [(storage.to_owned(), vec![restored])].into(),
    };
    let (_answers, received) = channel();
    let persistence = ScriptedPersistence {
        answers: received,
        committed: Arc::default(),
    };
    let store = Store::durable(
        Clock::real(),
        StorageLimits::default(),
        state,
        Box::new(persistence),
    )
    .unwrap();
    let things = store.new_resource_storage(storage);
    let restored = things.get("a").unwrap();
    assert_eq!(restored.bytes(), stored.bytes());
    assert_eq!(restored.list_item_bytes(), stored.list_item_bytes());
    assert_eq!((restored.label("l"), restored.revision()), (Some("v"), 2));
    // Watches of earlier revisions must list again.
    assert!(store.watch(&things, WatchScope::All, 6).is_err());
    assert!(store.watch(&things, WatchScope::All, 7).is_ok());
}

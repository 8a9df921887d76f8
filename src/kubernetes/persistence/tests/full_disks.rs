//! Writes to a disk that is full.

use std::sync::Arc;

use serde_json::json;

use super::faulty_disk::{Fault, FaultyDisk};
use crate::object_database::ObjectDatabase;
use kueue_lab_apiserver::storage::{
    Change, PendingObject, Persistence, PersistenceError, ResourceStorage, StorageLimits, Store,
};
use kueue_lab_clock::Clock;

/// The objects that the changes are of.
struct Objects {
    store: Store,
    storage: Arc<ResourceStorage>,
}

impl Objects {
    fn new() -> Self {
        let store = Store::new(Clock::real(), StorageLimits::default());
        let storage = store.new_resource_storage("/configmaps");
        Self { store, storage }
    }

    fn put(&self, key: &str, size: usize) -> Change {
        let object = json!({"metadata": {"name": key}, "data": {"x": "y".repeat(size)}});
        let pending = PendingObject::new(object).unwrap();
        Change::Put {
            resource: self.storage.resource().clone(),
            object: self.store.create(&self.storage, key, pending).unwrap(),
        }
    }

    fn remove(&self, key: &str) -> Change {
        let present = self.storage.get(key).unwrap();
        let last = PendingObject::new(json!({"metadata": {"name": key}})).unwrap();
        let removed = self
            .store
            .remove(&self.storage, key, present.revision(), last);
        Change::Remove {
            resource: self.storage.resource().clone(),
            key: key.into(),
            revision: removed.unwrap().revision(),
        }
    }
}

/// The keys of the objects on a disk.
fn stored(disk: &FaultyDisk) -> Vec<String> {
    let (_, state, _) = ObjectDatabase::open(Box::new(disk.clone())).unwrap();
    let objects = state.objects.into_values().flatten();
    objects.map(|object| object.key).collect()
}

fn is_full(result: &Result<(), PersistenceError>) -> bool {
    matches!(result, Err(PersistenceError::Full(_)))
}

/// A disk that is filled up after `count` objects, with reserved space.
fn full_disk(objects: &Objects, count: usize, reserve: u64) -> (FaultyDisk, ObjectDatabase) {
    let disk = FaultyDisk::default();
    let (mut database, _, _) = ObjectDatabase::open(Box::new(disk.clone())).unwrap();
    for number in 0..count {
        let change = objects.put(&format!("o{number:03}"), 500);
        database.commit(&[change]).unwrap();
    }
    disk.set_capacity(Some(disk.size()));
    disk.set_reserve(reserve);
    // The free pages of the database.
    let mut number = 0;
    loop {
        number += 1;
        let written = database.commit(&[objects.put(&format!("p{number}"), 2000)]);
        if is_full(&written) {
            return (disk, database);
        }
    }
}

#[test]
fn deletions_use_the_reserved_space_of_a_full_disk() {
    let objects = Objects::new();
    let (disk, mut database) = full_disk(&objects, 100, 4 << 20);
    // Others do not.
    assert_eq!(disk.reserve(), 4 << 20);
    for number in 0..100 {
        let change = objects.remove(&format!("o{number:03}"));
        database.commit(&[change]).unwrap();
    }
    drop(database);
    let left = stored(&disk);
    assert!(left.iter().all(|key| key.starts_with('p')), "{left:?}");
}

#[test]
fn without_reserved_space_a_full_disk_keeps_its_objects() {
    let objects = Objects::new();
    let (disk, mut database) = full_disk(&objects, 100, 0);
    assert!(is_full(&database.commit(&[objects.put("large", 4 << 20)])));
    drop(database);
    let left = stored(&disk);
    assert!(left.contains(&"o099".to_owned()) && !left.contains(&"large".to_owned()));
}

/// A change is written, also if the database is opened again for it after an error.
#[test]
fn a_change_after_an_error_is_stored() {
    let objects = Objects::new();
    let disk = FaultyDisk::default();
    let (mut database, _, _) = ObjectDatabase::open(Box::new(disk.clone())).unwrap();
    for key in ["a", "b"] {
        database.commit(&[objects.put(key, 10)]).unwrap();
    }
    // It can neither be written nor opened.
    disk.fail_after(0, Fault::Kill);
    assert!(database.commit(&[objects.remove("a")]).is_err());
    disk.revive();
    database.commit(&[objects.remove("b")]).unwrap();
    drop(database);
    assert_eq!(stored(&disk), ["a"]);
}

//! Snapshots of a whole store, from which further stores start.

use std::collections::BTreeMap;
use std::sync::Arc;

use imbl::OrdMap;
use kueue_lab_clock::Clock;

use super::limits::StorageLimits;
use super::object::Object;
use super::resource_storage::ResourceStorage;
use super::store::Store;
use kueue_lab_apimachinery::watch::HasDecodedForms;

/// The objects of a storage, by key.
pub(super) type StoredMap = OrdMap<Arc<str>, Arc<Object>>;

/// The objects of all storages at one revision. It shares them with the store; a copy is a pointer
/// for each storage. Objects are immutable: a store that starts from a snapshot does not change
/// another.
#[derive(Clone, Debug)]
pub struct StoreSnapshot {
    pub(super) revision: u64,
    pub(super) state_revision: u64,
    /// By resource (`group/plural` of the storage version).
    pub(super) objects: BTreeMap<String, StoredMap>,
}

impl StoreSnapshot {
    /// The keys of the objects of a resource (`group/plural` of the storage version).
    pub fn keys(&self, resource: &str) -> impl Iterator<Item = &str> {
        let objects = self.objects.get(resource).into_iter();
        objects.flat_map(OrdMap::keys).map(|key| &**key)
    }
}

impl Store {
    /// The latest state of all `storages`, between two commits.
    pub fn store_snapshot<'a>(
        &self,
        storages: impl Iterator<Item = &'a Arc<ResourceStorage>>,
    ) -> StoreSnapshot {
        let snapshot = self.between_commits(|| StoreSnapshot {
            revision: self.revision(),
            state_revision: self.state_revision(),
            objects: storages
                .map(|storage| {
                    (
                        storage.resource().to_string(),
                        storage.read().objects.clone(),
                    )
                })
                .collect(),
        });
        // The clients of the stores that start from the snapshot share decoded objects.
        for object in snapshot.objects.values().flat_map(OrdMap::values) {
            object.decoded_forms().keep();
        }
        snapshot
    }

    /// A store in memory with the objects and the revision of a snapshot. Its watch history starts
    /// there.
    pub fn from_snapshot(clock: Clock, limits: StorageLimits, snapshot: &StoreSnapshot) -> Self {
        Self::starting_at(clock, limits, snapshot)
    }
}

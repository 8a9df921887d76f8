//! Expiry of Events, the API server's `--event-ttl`.

use std::collections::VecDeque;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;

use super::object::{Object, PendingObject};
use super::resource_storage::ResourceStorage;
use super::store::Store;

/// The time from its last write after which an Event is removed.
const TTL: SignedDuration = SignedDuration::from_hours(1);

/// The writes of Events, oldest first.
#[derive(Debug, Default)]
pub struct EventTtl(Mutex<VecDeque<EventWrite>>);

#[derive(Clone, Debug)]
struct EventWrite {
    time: Timestamp,
    key: Arc<str>,
    revision: u64,
}

impl EventTtl {
    /// The same writes, for a store with the same objects.
    pub fn copy(&self) -> Self {
        Self(Mutex::new(self.0.lock().clone()))
    }

    /// Records a write of an Event.
    pub fn record(&self, now: Timestamp, event: &Object) {
        self.0.lock().push_back(EventWrite {
            time: now,
            key: event.key_shared(),
            revision: event.revision(),
        });
    }

    /// Removes the expired Events from their storage.
    pub fn expire(&self, store: &Store, storage: &Arc<ResourceStorage>, now: Timestamp) {
        while let Some(EventWrite { key, revision, .. }) = self.next_expired(now) {
            // A later write of the Event has its own entry.
            let Some(event) = storage.get(&key).filter(|e| e.revision() == revision) else {
                continue;
            };
            if let Ok(last) = PendingObject::new((*event.value()).clone()) {
                let _ = store.remove(storage, &key, revision, last);
            }
        }
    }

    fn next_expired(&self, now: Timestamp) -> Option<EventWrite> {
        let is_expired = |write: &mut EventWrite| now.duration_since(write.time) >= TTL;
        self.0.lock().pop_front_if(is_expired)
    }
}

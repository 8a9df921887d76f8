//! Storage: an in-memory multi-version store and watch cache for all kinds.
//!
//! Every commit increments one global revision. Each kind has its own [`ResourceStorage`]: a
//! persistent ordered map (a snapshot is a pointer copy, so a list never blocks a writer) and a
//! history of [`WatchEvent`]s, from which watches are served and older snapshots are rebuilt. The
//! history keeps the events of the last 75 seconds, within a maximum of bytes
//! ([`StorageLimits`]). Watchers pull from that history at their own pace without a queue per watcher; a
//! watcher behind the compacted revision gets [`WatchExpired`].
//!
//! With a [`Persistence`], writes are durable before they can be read: a response to a write waits
//! for it ([`Store::durably`]), reads and watches return [`Store::durable_revision`].
//!
//! Does not depend on HTTP, kinds or validation.

mod commit_error;
mod decoded_cache;
mod durability;
mod event_ttl;
pub(crate) mod key;
mod limits;
mod object;
mod persistence;
mod resource_storage;
mod snapshot;
mod store;
mod store_snapshot;
mod watch_event;
mod watch_scope;
mod watcher;

#[cfg(test)]
mod durability_tests;
#[cfg(test)]
mod property_tests;
#[cfg(test)]
mod tests;

pub use object::{Object, PendingObject};
pub use resource_storage::ResourceStorage;
pub use snapshot::{Snapshot, SnapshotError};
pub use watch_event::{WatchEvent, WatchEventType};
pub use watch_scope::WatchScope;
pub use watcher::{WatchExpired, Watcher};

pub use commit_error::CommitError;

pub use event_ttl::EventTtl;

pub use limits::StorageLimits;

pub use persistence::{
    Change, Persistence, PersistenceError, RestoredObject, RestoredState, StoredContent,
};

pub use store::Store;

pub use store_snapshot::StoreSnapshot;

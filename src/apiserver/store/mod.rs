//! Storage: one event log in memory for all kinds, with many versions of the truth.
//!
//! Every commit gets the next number of one global revision; each kind lives in a [`Space`] of its
//! own: a persistent ordered map (a snapshot is a pointer copy, so a list never blocks a writer) and
//! a bounded history of [`Event`]s from which watches are served and older snapshots are rebuilt.
//! Watchers pull from that history at their own pace: nobody is waited for, nothing is queued per
//! watcher, and one that falls out of the history is told so.
//!
//! Must not know HTTP, kinds, validation or time.

mod event;
mod hot;
mod object;
mod snapshot;
mod space;
mod watcher;

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

pub use event::{Event, EventKind};
use hot::Hot;
pub use object::{Draft, Object};
pub use snapshot::{Snapshot, SnapshotError};
pub use space::Space;
pub use watcher::{Expired, Watcher};

/// How much of the past is kept.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Events kept per space at most.
    pub events: usize,
    /// Encoded bytes kept per space at most, as long as [`Limits::events_kept`] are there.
    pub bytes: usize,
    /// Events kept whatever their size.
    pub events_kept: usize,
    /// Encoded bytes of the objects that are also held decoded.
    pub hot_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            events: 10_000,
            bytes: 8 << 20,
            events_kept: 100,
            hot_bytes: 1 << 20,
        }
    }
}

/// Why a commit did not happen. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// A create found the key taken.
    #[error("the key exists")]
    Exists(Arc<Object>),
    /// An update or removal found nothing under the key.
    #[error("the key does not exist")]
    Missing,
    /// An update or removal was made for another revision than the present one. Read it again and
    /// retry, or report the conflict.
    #[error("the object has changed")]
    Stale(Arc<Object>),
    /// The space was closed: its kind is no longer served.
    #[error("the kind is no longer served")]
    Closed,
}

/// The storage of one API server. Clones share it.
#[derive(Clone, Debug)]
pub struct Store {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// Held while a commit takes its revision and becomes visible, so that revisions become visible
    /// in order.
    commit: Mutex<()>,
    revision: AtomicU64,
    limits: Limits,
    hot: Arc<Hot>,
}

impl Store {
    /// An empty store at revision 1.
    pub fn new(limits: Limits) -> Self {
        Self {
            shared: Arc::new(Shared {
                commit: Mutex::new(()),
                revision: AtomicU64::new(1),
                limits,
                hot: Arc::new(Hot::new(limits.hot_bytes)),
            }),
        }
    }

    /// The revision of the latest commit in any space. Everything up to it is visible.
    pub fn revision(&self) -> u64 {
        self.shared.revision.load(Ordering::Acquire)
    }

    /// A new, empty space. Its history starts now: a watch from before is refused.
    pub fn space(&self) -> Arc<Space> {
        Arc::new(Space::new(self.revision()))
    }

    /// Stores a new object under `key`.
    ///
    /// # Errors
    /// [`CommitError::Exists`] with the present object, or [`CommitError::Closed`].
    pub fn create(
        &self,
        space: &Space,
        key: &str,
        draft: Draft,
    ) -> Result<Arc<Object>, CommitError> {
        self.commit(space, key, |present, revision| match present {
            Some(present) => Err(CommitError::Exists(present.clone())),
            None => Ok((
                EventKind::Added,
                draft.seal(key, revision, &self.shared.hot),
            )),
        })
    }

    /// Replaces the object under `key`, which must still be at `expected`.
    ///
    /// # Errors
    /// [`CommitError::Missing`], [`CommitError::Stale`] or [`CommitError::Closed`].
    pub fn replace(
        &self,
        space: &Space,
        key: &str,
        expected: u64,
        draft: Draft,
    ) -> Result<Arc<Object>, CommitError> {
        self.commit(space, key, |present, revision| {
            require(present, expected)?;
            Ok((
                EventKind::Modified,
                draft.seal(key, revision, &self.shared.hot),
            ))
        })
    }

    /// Removes the object under `key`, which must still be at `expected`. What is returned, and what
    /// watchers see, is `last`: the object's final state, at the revision of its removal.
    ///
    /// # Errors
    /// [`CommitError::Missing`], [`CommitError::Stale`] or [`CommitError::Closed`].
    pub fn remove(
        &self,
        space: &Space,
        key: &str,
        expected: u64,
        last: Draft,
    ) -> Result<Arc<Object>, CommitError> {
        self.commit(space, key, |present, revision| {
            require(present, expected)?;
            Ok((
                EventKind::Deleted,
                last.seal(key, revision, &self.shared.hot),
            ))
        })
    }

    fn commit(
        &self,
        space: &Space,
        key: &str,
        decide: impl FnOnce(Option<&Arc<Object>>, u64) -> Result<(EventKind, Object), CommitError>,
    ) -> Result<Arc<Object>, CommitError> {
        let order = self.shared.commit.lock();
        let mut state = space.write();
        if state.is_closed() {
            return Err(CommitError::Closed);
        }
        let revision = self.revision() + 1;
        let (kind, object) = decide(state.get(key), revision)?;
        let object = Arc::new(object);
        state.record(kind, object.clone(), &self.shared.limits);
        self.shared.revision.store(revision, Ordering::Release);
        drop(state);
        drop(order);
        space.announce();
        if object.size() > 0 {
            self.shared.hot.keep(&object);
        }
        Ok(object)
    }
}

fn require(present: Option<&Arc<Object>>, expected: u64) -> Result<(), CommitError> {
    match present {
        None => Err(CommitError::Missing),
        Some(o) if o.revision() != expected => Err(CommitError::Stale(o.clone())),
        Some(_) => Ok(()),
    }
}

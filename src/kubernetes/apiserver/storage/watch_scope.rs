//! The part of a storage that a watcher reads, so that a commit wakes only the watchers it
//! concerns.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio::sync::Notify;

/// The objects of a storage that a watcher reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchScope {
    /// All objects.
    All,
    /// The objects of a namespace.
    Namespace(String),
    /// The object under a key.
    Object(String),
}

impl WatchScope {
    /// The key of the object, or the prefix of the keys of the namespace; `None` for all objects.
    pub(super) fn key_or_prefix(&self) -> Option<Arc<str>> {
        match self {
            Self::All => None,
            Self::Namespace(namespace) => Some(format!("{namespace}/").into()),
            Self::Object(key) => Some(key.as_str().into()),
        }
    }

    /// Whether the object under `key` belongs to it.
    pub(super) fn contains(&self, key: &str) -> bool {
        match self {
            Self::All => true,
            Self::Namespace(namespace) => namespace_of(key) == Some(namespace),
            Self::Object(own) => own == key,
        }
    }
}

fn namespace_of(key: &str) -> Option<&str> {
    key.split_once('/').map(|(namespace, _)| namespace)
}

/// The watchers of one scope.
#[derive(Debug)]
pub(super) struct ScopedWatchers {
    /// Wakes them in the order they waited.
    pub(super) changed: Notify,
    /// All events of the scope after this revision are in the history.
    compacted_revision: AtomicU64,
}

impl ScopedWatchers {
    pub(super) fn compacted_revision(&self) -> u64 {
        self.compacted_revision.load(Ordering::Acquire)
    }
}

/// The scopes of a storage that are watched, by key or prefix.
#[derive(Debug, Default)]
pub(super) struct WatchScopes {
    scopes: Mutex<BTreeMap<Arc<str>, Arc<ScopedWatchers>>>,
}

impl WatchScopes {
    /// The watchers of a scope, for a further one; `compacted` is the compacted revision of the
    /// storage.
    pub(super) fn join(&self, key_or_prefix: &Arc<str>, compacted: u64) -> Arc<ScopedWatchers> {
        let mut scopes = self.scopes.lock();
        let scope = scopes.entry(key_or_prefix.clone()).or_insert_with(|| {
            Arc::new(ScopedWatchers {
                changed: Notify::new(),
                compacted_revision: compacted.into(),
            })
        });
        scope.clone()
    }

    /// Removes a watcher from its scope.
    pub(super) fn leave(&self, key_or_prefix: &str, scope: Arc<ScopedWatchers>) {
        let mut scopes = self.scopes.lock();
        drop(scope);
        let last = scopes.get(key_or_prefix);
        if last.is_some_and(|scope| Arc::strong_count(scope) == 1) {
            scopes.remove(key_or_prefix);
        }
    }

    /// Records that an event of the object under `key` leaves the history.
    pub(super) fn compact(&self, key: &str, revision: u64) {
        self.each_of(key, |scope| {
            scope.compacted_revision.store(revision, Ordering::Release);
        });
    }

    /// Wakes the watchers of the object under `key` and of its namespace.
    pub(super) fn notify(&self, key: &str) {
        self.each_of(key, |scope| scope.changed.notify_waiters());
    }

    /// Wakes all watchers with a scope.
    pub(super) fn notify_all(&self) {
        let scopes = self.scopes.lock();
        scopes.values().for_each(|s| s.changed.notify_waiters());
    }

    fn each_of(&self, key: &str, act: impl Fn(&ScopedWatchers)) {
        let scopes = self.scopes.lock();
        if scopes.is_empty() {
            return;
        }
        if let Some(namespace) = namespace_of(key)
            && let Some(scope) = scopes.get(&key[..=namespace.len()])
        {
            act(scope);
        }
        if let Some(scope) = scopes.get(key) {
            act(scope);
        }
    }
}

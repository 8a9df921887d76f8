//! The objects of one kind and their recent history.

use std::collections::VecDeque;
use std::sync::Arc;

use imbl::OrdMap;
use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

use super::{Event, EventKind, Limits, Object};

/// The objects of one kind, ordered by key, with the events that led here.
#[derive(Debug)]
pub struct Space {
    state: RwLock<State>,
    /// Watchers wait here for news. One `Notify` wakes them in the order they came; a `watch`
    /// channel would wake them in a random one, and a run in virtual time has to repeat exactly.
    news: Notify,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) objects: OrdMap<Arc<str>, Arc<Object>>,
    events: VecDeque<Arc<Event>>,
    bytes: usize,
    /// Everything after this revision is in `events`.
    pub(super) floor: u64,
    closed: bool,
}

impl Space {
    pub(super) fn new(born: u64) -> Self {
        Self {
            state: RwLock::new(State {
                objects: OrdMap::new(),
                events: VecDeque::new(),
                bytes: 0,
                floor: born,
                closed: false,
            }),
            news: Notify::new(),
        }
    }

    /// The object under `key`, as of the latest commit.
    pub fn get(&self, key: &str) -> Option<Arc<Object>> {
        self.read().objects.get(key).cloned()
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.read().objects.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Ends all watches and refuses commits from now on: the kind is no longer served.
    pub fn close(&self) {
        self.write().closed = true;
        self.announce();
    }

    pub(super) fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read()
    }

    pub(super) fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write()
    }

    /// Wakes whoever waits for news.
    pub(super) fn announce(&self) {
        self.news.notify_waiters();
    }

    /// Waits for the next news from the moment of the call on.
    pub(super) fn news(&self) -> Notified<'_> {
        self.news.notified()
    }
}

impl State {
    pub(super) fn get(&self, key: &str) -> Option<&Arc<Object>> {
        self.objects.get(key)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Makes a change visible and remembers it.
    pub(super) fn record(&mut self, kind: EventKind, object: Arc<Object>, limits: &Limits) {
        let key = object.key_shared();
        let before = match kind {
            EventKind::Deleted => self.objects.remove(&key),
            EventKind::Added | EventKind::Modified => self.objects.insert(key, object.clone()),
        };
        let size = object.size();
        self.bytes += size;
        self.events.push_back(Arc::new(Event {
            kind,
            object,
            before,
            size,
        }));
        while self.events.len() > limits.events
            || (self.bytes > limits.bytes && self.events.len() > limits.events_kept)
        {
            let Some(oldest) = self.events.pop_front() else {
                break;
            };
            self.bytes -= oldest.size;
            self.floor = oldest.revision();
        }
    }

    /// The events after `revision`, oldest first. The caller has checked the floor.
    pub(super) fn after(&self, revision: u64) -> impl Iterator<Item = &Arc<Event>> {
        let start = self.events.partition_point(|e| e.revision() <= revision);
        self.events.range(start..)
    }
}

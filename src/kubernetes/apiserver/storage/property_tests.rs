//! Property tests of storage on random histories.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kueue_lab_clock::Clock;
use proptest::prelude::*;
use serde_json::json;

use super::*;

/// One step of a history; the store rejects steps that do not fit its state.
#[derive(Clone, Debug)]
enum Step {
    Put {
        key: u8,
        value: u16,
    },
    Remove {
        key: u8,
    },
    /// A commit in another storage.
    Elsewhere,
}

/// Limits of a history of this many events, however fresh.
fn history_of(max_events: usize) -> StorageLimits {
    StorageLimits {
        max_events,
        event_fresh_duration: Duration::ZERO,
        event_fresh_wall_duration: Duration::ZERO,
        ..StorageLimits::default()
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        5 => (0u8..12, any::<u16>()).prop_map(|(key, value)| Step::Put { key, value }),
        3 => (0u8..12).prop_map(|key| Step::Remove { key }),
        1 => Just(Step::Elsewhere),
    ];
    prop::collection::vec(step, 1..80)
}

fn name(key: u8) -> String {
    format!("ns{}/o{key}", key % 3)
}

fn pending(value: u16) -> PendingObject {
    PendingObject::new(json!({"kind": "X", "apiVersion": "v1", "metadata": {}, "value": value}))
        .unwrap()
}

/// A store with a history, and the expected contents at each revision.
struct StepHistory {
    store: Store,
    storage: Arc<ResourceStorage>,
    /// Contents (key to value and revision) after each commit to the storage, by revision.
    states: BTreeMap<u64, BTreeMap<String, (u64, u64)>>,
}

fn apply_steps(steps: &[Step], limits: StorageLimits) -> StepHistory {
    let store = Store::new(Clock::real(), limits);
    let (storage, other) = (
        store.new_resource_storage("things"),
        store.new_resource_storage("things"),
    );
    let mut history = StepHistory {
        states: BTreeMap::new(),
        store,
        storage,
    };
    history
        .states
        .insert(history.store.revision(), BTreeMap::new());
    for (i, step) in steps.iter().enumerate() {
        step.take(&history.store, &history.storage, &other, i);
        history.states.insert(
            history.store.revision(),
            contents(&history.store.snapshot(&history.storage)),
        );
    }
    history
}

impl Step {
    fn take(
        &self,
        store: &Store,
        storage: &Arc<ResourceStorage>,
        other: &Arc<ResourceStorage>,
        i: usize,
    ) {
        match self {
            Self::Put { key, value } => {
                let key = name(*key);
                match storage.get(&key) {
                    Some(o) => store.replace(storage, &key, o.revision(), pending(*value)),
                    None => store.create(storage, &key, pending(*value)),
                }
                .unwrap();
            }
            Self::Remove { key } => {
                let key = name(*key);
                match storage.get(&key) {
                    Some(o) => {
                        let last = PendingObject::new((*o.value()).clone()).unwrap();
                        store.remove(storage, &key, o.revision(), last).unwrap();
                    }
                    None => {
                        let missing = store.remove(storage, &key, 1, pending(0));
                        assert!(matches!(missing, Err(CommitError::KeyNotFound)));
                    }
                }
            }
            Self::Elsewhere => {
                store.create(other, &format!("x{i}"), pending(0)).unwrap();
            }
        }
    }
}

fn contents(snapshot: &Snapshot) -> BTreeMap<String, (u64, u64)> {
    let all = snapshot.scan("", None);
    all.map(|o| {
        (
            o.key().into(),
            (o.value()["value"].as_u64().unwrap(), o.revision()),
        )
    })
    .collect()
}

/// Reads all pending events of a watcher.
fn drain(watcher: &mut Watcher) -> Result<Vec<Arc<WatchEvent>>, WatchExpired> {
    let mut events = Vec::new();
    while watcher.bookmark_revision().is_none() {
        let batch = futures::executor::block_on(watcher.next())?.unwrap();
        events.extend(batch);
    }
    Ok(events)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// The events of a watch equal the difference between two lists, in order of revision.
    #[test]
    fn a_watch_is_the_difference_of_lists(steps in steps()) {
        let history = apply_steps(&steps, StorageLimits::default());
        for (&from, before) in &history.states {
            let mut watcher = history.store.watch(&history.storage, WatchScope::All, from).unwrap();
            let mut now = before.clone();
            let mut last = from;
            for event in drain(&mut watcher).unwrap() {
                prop_assert!(event.revision() > last, "revisions rise");
                last = event.revision();
                let key = event.object.key().to_string();
                let was = event.prev_object.as_ref().map(|b| b.revision());
                prop_assert_eq!(was, now.get(&key).map(|(_, r)| *r), "before is what was");
                match event.event_type {
                    WatchEventType::Deleted => { now.remove(&key); }
                    kind => {
                        prop_assert_eq!(kind == WatchEventType::Added, was.is_none());
                        let value = event.object.value()["value"].as_u64().unwrap();
                        now.insert(key, (value, event.revision()));
                    }
                }
                prop_assert_eq!(&now, &history.states[&last], "every step is seen");
            }
            prop_assert_eq!(&now, &contents(&history.store.snapshot(&history.storage)));
        }
    }

    /// A snapshot at a revision equals the list at that revision.
    #[test]
    fn lists_at_past_revisions(steps in steps()) {
        let history = apply_steps(&steps, StorageLimits::default());
        for (&revision, state) in &history.states {
            let snapshot = history.store.snapshot_at(&history.storage, revision).unwrap();
            prop_assert_eq!(snapshot.revision(), revision);
            prop_assert_eq!(&contents(&snapshot), state);
        }
        let future = history.store.snapshot_at(&history.storage, history.store.revision() + 1);
        prop_assert!(matches!(future, Err(SnapshotError::TooLarge { .. })), "{:?}", future);
    }

    /// Pages of any size, read during writes, add up to the list at the first page's revision.
    #[test]
    fn pages_are_of_one_revision(steps in steps(), more in steps(), size in 1usize..5) {
        let history = apply_steps(&steps, StorageLimits::default());
        let other = history.store.new_resource_storage("things");
        let first = history.store.snapshot(&history.storage);
        let (revision, wanted) = (first.revision(), contents(&first));
        let mut writes = more.iter().enumerate();
        let mut seen = BTreeMap::new();
        let mut after: Option<String> = None;
        loop {
            let page = history.store.snapshot_at(&history.storage, revision).unwrap();
            let objects: Vec<_> =
                page.scan("", after.as_deref()).take(size).cloned().collect();
            let Some(last) = objects.last() else { break };
            after = Some(last.key().into());
            for o in &objects {
                seen.insert(
                    o.key().to_string(),
                    (o.value()["value"].as_u64().unwrap(), o.revision()),
                );
            }
            if let Some((i, step)) = writes.next() {
                step.take(&history.store, &history.storage, &other, i);
            }
        }
        prop_assert_eq!(seen, wanted);
    }

    /// Compacted revisions are rejected; all others are delivered without gaps.
    #[test]
    fn expired_revisions_are_rejected_not_skipped(steps in steps(), max_events in 1usize..10) {
        let limits = history_of(max_events);
        let history = apply_steps(&steps, limits);
        let end = contents(&history.store.snapshot(&history.storage));
        for (&from, before) in &history.states {
            match history.store.watch(&history.storage, WatchScope::All, from) {
                Ok(mut watcher) => {
                    let mut now = before.clone();
                    for event in drain(&mut watcher).unwrap() {
                        let key = event.object.key().to_string();
                        match event.event_type {
                            WatchEventType::Deleted => { now.remove(&key); }
                            _ => {
                                let value = event.object.value()["value"].as_u64().unwrap();
                                now.insert(key, (value, event.revision()));
                            }
                        }
                    }
                    prop_assert_eq!(&now, &end);
                    prop_assert!(history.store.snapshot_at(&history.storage, from).is_ok());
                }
                Err(expired) => {
                    prop_assert_eq!(expired.requested, from);
                    prop_assert!(expired.current > from);
                    let gone = history.store.snapshot_at(&history.storage, from);
                    prop_assert!(matches!(gone, Err(SnapshotError::Expired { .. })), "{:?}", gone);
                }
            }
        }
    }

    /// The events of a watch of a namespace or an object are those of all objects that belong to
    /// it, also when the history is compacted while it has nothing to read.
    #[test]
    fn a_scoped_watch_is_a_part_of_the_whole(
        steps in steps(),
        more in steps(),
        max_events in 1usize..10,
    ) {
        let limits = history_of(max_events);
        let history = apply_steps(&steps, limits);
        for scope in [WatchScope::Namespace("ns0".into()), WatchScope::Object("ns1/o1".into())] {
            let other = history.store.new_resource_storage("things");
            let from = history.store.revision();
            let mut watcher = history.store.watch(&history.storage, scope.clone(), from).unwrap();
            let mut all = history.store.watch(&history.storage, WatchScope::All, from).unwrap();
            let contained = |events: &[Arc<WatchEvent>]| -> Vec<u64> {
                let events = events.iter().filter(|e| scope.contains(e.object.key()));
                events.map(|e| e.revision()).collect()
            };
            for (i, step) in more.iter().enumerate() {
                step.take(&history.store, &history.storage, &other, i);
                let expected = contained(&drain(&mut all).unwrap());
                if !expected.is_empty() {
                    let seen = drain(&mut watcher).unwrap();
                    prop_assert_eq!(contained(&seen), expected);
                    prop_assert!(seen.iter().all(|e| scope.contains(e.object.key())));
                }
            }
            prop_assert_eq!(watcher.bookmark_revision(), Some(history.store.revision()));
        }
    }

    /// A key prefix selects exactly the keys that start with it, in order.
    #[test]
    fn scans_are_ordered_and_bounded(steps in steps()) {
        let history = apply_steps(&steps, StorageLimits::default());
        let snapshot = history.store.snapshot(&history.storage);
        for prefix in ["", "ns0/", "ns1/", "ns1/o1", "nsx"] {
            let keys: Vec<String> =
                snapshot.scan(prefix, None).map(|o| o.key().to_string()).collect();
            let mut wanted: Vec<String> = snapshot
                .scan("", None)
                .map(|o| o.key().to_string())
                .filter(|k| k.starts_with(prefix))
                .collect();
            wanted.sort();
            prop_assert_eq!(keys, wanted);
        }
    }
}

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake};
use std::time::Duration;

use kueue_lab_clock::{Clock, virtual_runtime};
use serde_json::{Value, json};

use super::*;

fn pending(value: Value) -> PendingObject {
    let mut object = json!({"kind": "Thing", "apiVersion": "v1", "metadata": {"name": "a"}});
    object["value"] = value;
    PendingObject::new(object).unwrap()
}

fn store() -> (Store, Arc<ResourceStorage>) {
    let store = Store::new(Clock::real(), StorageLimits::default());
    let storage = store.new_resource_storage("things");
    (store, storage)
}

#[test]
fn an_object_is_encoded_with_its_resource_version() {
    let (store, storage) = store();
    let object = store
        .create(&storage, "n/a", pending(json!({"x": [1, "\n"]})))
        .unwrap();
    assert_eq!(
        std::str::from_utf8(object.bytes()).unwrap(),
        r#"{"kind":"Thing","apiVersion":"v1","metadata":{"resourceVersion":"2","name":"a"},"value":{"x":[1,"\n"]}}"#
    );
    assert!(object.list_item_bytes().starts_with(br#""metadata":{"#));
    let decoded: Value = serde_json::from_slice(object.bytes()).unwrap();
    assert_eq!(*object.value(), decoded);
}

#[test]
fn metadata_is_required_and_may_be_empty() {
    let (store, storage) = store();
    let bare = PendingObject::new(json!({"metadata": {}})).unwrap();
    let object = store.create(&storage, "a", bare).unwrap();
    assert_eq!(
        *object.value(),
        json!({"metadata": {"resourceVersion": "2"}})
    );
    assert_eq!(
        *object.value(),
        serde_json::from_slice::<Value>(object.bytes()).unwrap()
    );
    assert!(PendingObject::new(json!({"kind": "X"})).is_err());
    assert!(PendingObject::new(json!([])).is_err());
}

#[test]
fn commits_require_the_expected_revision() {
    let (store, storage) = store();
    let first = store.create(&storage, "a", pending(json!(1))).unwrap();
    let taken = store.create(&storage, "a", pending(json!(2)));
    assert!(matches!(taken, Err(CommitError::KeyExists(o)) if Arc::ptr_eq(&o, &first)));
    let second = store
        .replace(&storage, "a", first.revision(), pending(json!(2)))
        .unwrap();
    assert_eq!(
        (first.revision(), second.revision(), store.revision()),
        (2, 3, 3)
    );
    let stale = store.replace(&storage, "a", first.revision(), pending(json!(3)));
    assert!(
        matches!(stale, Err(CommitError::ResourceVersionConflict(o)) if Arc::ptr_eq(&o, &second))
    );
    assert!(matches!(
        store.remove(&storage, "a", 2, pending(json!(2))),
        Err(CommitError::ResourceVersionConflict(_))
    ));
    let gone = store.remove(&storage, "a", 3, pending(json!(2))).unwrap();
    assert_eq!(gone.value()["metadata"]["resourceVersion"], "4");
    assert!(matches!(
        store.replace(&storage, "a", 4, pending(json!(1))),
        Err(CommitError::KeyNotFound)
    ));
    assert_eq!(store.revision(), 4, "what is rejected takes no revision");
}

#[test]
fn an_object_dropped_from_the_decoded_cache_decodes_again() {
    let store = Store::new(
        Clock::real(),
        StorageLimits {
            decoded_cache_bytes: 0,
            ..StorageLimits::default()
        },
    );
    let storage = store.new_resource_storage("things");
    let object = store
        .create(
            &storage,
            "a",
            pending(json!({"deep": {"er": [true, null]}})),
        )
        .unwrap();
    assert_eq!(object.value()["value"]["deep"]["er"], json!([true, null]));
    assert_eq!(object.value()["metadata"]["resourceVersion"], "2");
}

#[test]
fn other_versions_are_encoded_once() {
    let (store, storage) = store();
    let object = store.create(&storage, "a", pending(json!(1))).unwrap();
    let mut made = 0;
    for _ in 0..3 {
        let bytes = object.encoding_in_version::<()>("v2", || {
            made += 1;
            Ok("two".into())
        });
        assert_eq!(bytes.unwrap(), "two");
    }
    assert_eq!(made, 1);
    assert_eq!(object.encoding_in_version("v3", || Err("no")), Err("no"));
}

#[tokio::test]
async fn a_watcher_waits_for_events_and_ends_with_its_storage() {
    let (store, storage) = store();
    let mut watcher = store
        .watch(&storage, WatchScope::All, store.revision())
        .unwrap();
    let waiting = tokio::spawn(async move {
        let first = watcher.next().await.unwrap().unwrap();
        let second = watcher.next().await.unwrap();
        (first.len(), second.is_none())
    });
    tokio::task::yield_now().await;
    store.create(&storage, "a", pending(json!(1))).unwrap();
    tokio::task::yield_now().await;
    storage.close();
    assert_eq!(waiting.await.unwrap(), (1, true));
    assert!(matches!(
        store.create(&storage, "b", pending(json!(1))),
        Err(CommitError::Closed)
    ));
}

#[tokio::test]
async fn a_slow_watcher_gets_expired() {
    let store = Store::new(
        Clock::real(),
        StorageLimits {
            max_events: 3,
            event_fresh_duration: Duration::ZERO,
            event_fresh_wall_duration: Duration::ZERO,
            ..StorageLimits::default()
        },
    );
    let storage = store.new_resource_storage("things");
    let mut watcher = store
        .watch(&storage, WatchScope::All, store.revision())
        .unwrap();
    for i in 0..5 {
        store
            .create(&storage, &format!("k{i}"), pending(json!(i)))
            .unwrap();
    }
    let expired = watcher.next().await.unwrap_err();
    assert_eq!((expired.requested, expired.current), (1, 3));
}

#[test]
fn bookmarks_advance_past_commits_of_other_resources_only() {
    let (store, storage) = store();
    let other = store.new_resource_storage("things");
    let mut watcher = store
        .watch(&storage, WatchScope::All, store.revision())
        .unwrap();
    store.create(&other, "x", pending(json!(1))).unwrap();
    assert_eq!(watcher.bookmark_revision(), Some(2));
    store.create(&storage, "a", pending(json!(1))).unwrap();
    assert_eq!(watcher.bookmark_revision(), None);
}

#[test]
fn history_is_bounded_by_bytes_but_keeps_min_events() {
    let limits = StorageLimits {
        max_bytes: 4096,
        min_events: 2,
        event_fresh_duration: Duration::ZERO,
        event_fresh_wall_duration: Duration::ZERO,
        ..StorageLimits::default()
    };
    let store = Store::new(Clock::real(), limits);
    let storage = store.new_resource_storage("things");
    let big = "x".repeat(3000);
    for i in 0..4 {
        store
            .create(&storage, &format!("k{i}"), pending(json!(big)))
            .unwrap();
    }
    assert!(store.watch(&storage, WatchScope::All, 2).is_err());
    assert!(
        store.watch(&storage, WatchScope::All, 3).is_ok(),
        "the last two events are kept whatever their size"
    );
}

#[test]
fn fresh_events_are_kept_within_a_maximum_of_bytes() {
    virtual_runtime().unwrap().block_on(async {
        let limits = StorageLimits {
            max_events: 2,
            min_events: 1,
            max_fresh_bytes: 20_000,
            ..StorageLimits::default()
        };
        let start = "2026-03-02T12:00:00Z".parse().unwrap();
        let store = Store::new(Clock::starting_at(start), limits);
        let storage = store.new_resource_storage("things");
        let mut keys = (0..).map(|i| format!("k{i}"));
        let mut create = |value: &str| {
            let key = keys.next().unwrap();
            store.create(&storage, &key, pending(json!(value))).unwrap();
        };
        let oldest = || {
            let mut revisions = 1..=store.revision();
            revisions.find(|r| store.watch(&storage, WatchScope::All, *r).is_ok())
        };
        (0..5).for_each(|_| create("small"));
        assert_eq!(oldest(), Some(1), "all events are fresh");
        // Virtual time: a sleep ends immediately and moves the clock of the store.
        tokio::time::sleep(Duration::from_secs(74)).await;
        create("small");
        assert_eq!(oldest(), Some(1), "all events are fresh");
        tokio::time::sleep(Duration::from_secs(1)).await;
        create("small");
        assert_eq!(oldest(), Some(6), "two events are fresh");
        let large = "x".repeat(9_000);
        (0..5).for_each(|_| create(&large));
        assert_eq!(
            oldest(),
            Some(11),
            "two large events are within the maximum"
        );
    });
}

/// The number of events in the history after objects are created and deleted, one in each period.
async fn history_after(clock: &Clock, objects: usize, period: Duration) -> [usize; 2] {
    let store = Store::new(clock.clone(), StorageLimits::default());
    let storage = store.new_resource_storage("things");
    let mut lengths = Vec::new();
    for index in 0..2 * objects {
        let key = format!("k{index}");
        let created = store.create(&storage, &key, pending(json!(1))).unwrap();
        let revision = created.revision();
        store
            .remove(&storage, &key, revision, pending(json!(1)))
            .unwrap();
        if (index + 1) % objects == 0 {
            lengths.push(storage.read().events_after(0).count());
        }
        tokio::time::sleep(period).await;
    }
    [lengths[0], lengths[1]]
}

#[test]
fn the_history_is_as_long_after_many_deleted_objects_as_before() {
    virtual_runtime().unwrap().block_on(async {
        let start = "2026-03-02T12:00:00Z".parse().unwrap();
        let clock = Clock::starting_at(start);
        let second = Duration::from_secs(1);
        assert_eq!(history_after(&clock, 1_000, second).await, [1_000; 2]);
        // At 60 times the speed the events of 15 s of the wall are fresh.
        let (fast, quick) = (Clock::scaled_from(start, 60.0), Duration::from_millis(21));
        let [before, after] = history_after(&fast, 2_000, quick).await;
        assert_eq!(after, before);
        assert!((1_400..1_460).contains(&after), "{after}");
    });
}

/// Concurrent writers: all writes of each object are stored, in order, with unique revisions.
#[test]
fn parallel_writes_are_not_lost() {
    let (store, storage) = store();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (store, storage) = (&store, &storage);
            scope.spawn(move || {
                let key = format!("k{}", thread % 2);
                for _ in 0..50 {
                    loop {
                        let outcome = match storage.get(&key) {
                            None => store.create(storage, &key, pending(json!(1))),
                            Some(o) => {
                                let next = o.value()["value"].as_i64().unwrap() + 1;
                                store.replace(storage, &key, o.revision(), pending(json!(next)))
                            }
                        };
                        if outcome.is_ok() {
                            break;
                        }
                    }
                }
            });
        }
    });
    for key in ["k0", "k1"] {
        assert_eq!(storage.get(key).unwrap().value()["value"], 100);
    }
    assert_eq!(store.revision(), 201);
    let mut watcher = store.watch(&storage, WatchScope::All, 1).unwrap();
    let mut revisions = Vec::new();
    while watcher.bookmark_revision().is_none() {
        let batch = futures::executor::block_on(watcher.next())
            .unwrap()
            .unwrap();
        revisions.extend(batch.iter().map(|e| e.revision()));
    }
    assert_eq!(revisions, (2..=201).collect::<Vec<u64>>());
}

#[test]
fn a_lazy_object_is_made_when_first_read() {
    use std::sync::atomic::{AtomicUsize, Ordering};

    let (store, storage) = store();
    let made = Arc::new(AtomicUsize::new(0));
    let counter = made.clone();
    let head = json!({"kind": "Big", "apiVersion": "v1", "metadata": {"name": "b"}});
    let lazy = PendingObject::lazy(head, move || {
        counter.fetch_add(1, Ordering::Relaxed);
        json!({"kind": "Big", "apiVersion": "v1", "metadata": {"name": "b"}, "spec": {}})
    });
    let object = store
        .create(&storage, "b", lazy.with_schema_generation(7))
        .unwrap();
    store.create(&storage, "a", pending(json!(1))).unwrap();
    let head = object.partial_metadata().unwrap();
    assert_eq!(
        head["metadata"],
        json!({"name": "b", "resourceVersion": "2"})
    );
    assert_eq!(
        (made.load(Ordering::Relaxed), object.schema_generation()),
        (0, 7)
    );
    assert_eq!(object.value()["metadata"]["resourceVersion"], "2");
    assert!(
        object
            .bytes()
            .starts_with(br#"{"kind":"Big","apiVersion":"v1","metadata":{"#)
    );
    assert_eq!(made.load(Ordering::Relaxed), 1);
}

/// Records that a task was woken.
#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_watcher_of_a_namespace_or_object_is_woken_by_its_events_only() {
    let namespace = WatchScope::Namespace("a".into());
    let object = WatchScope::Object("a/x".into());
    for (scope, expected) in [(namespace, ["a/y", "a/x"].as_slice()), (object, &["a/x"])] {
        let (store, storage) = store();
        let mut watcher = store.watch(&storage, scope, store.revision()).unwrap();
        for key in ["b/x", "ab/x", "a/y", "a/x"] {
            let woken = Arc::new(Woken::default());
            let waker = woken.clone().into();
            let mut next = std::pin::pin!(watcher.next());
            let mut context = Context::from_waker(&waker);
            assert!(next.as_mut().poll(&mut context).is_pending());
            store.create(&storage, key, pending(json!(1))).unwrap();
            let is_expected = expected.contains(&key);
            assert_eq!(woken.0.load(Ordering::Relaxed), is_expected, "{key}");
            match next.as_mut().poll(&mut context) {
                Poll::Pending => assert!(!is_expected, "{key}"),
                Poll::Ready(batch) => assert_eq!(batch.unwrap().unwrap()[0].object.key(), key),
            }
        }
    }
}

#[test]
fn a_watcher_of_an_idle_namespace_does_not_expire() {
    let store = Store::new(
        Clock::real(),
        StorageLimits {
            max_events: 3,
            event_fresh_duration: Duration::ZERO,
            event_fresh_wall_duration: Duration::ZERO,
            ..StorageLimits::default()
        },
    );
    let storage = store.new_resource_storage("things");
    let idle = WatchScope::Namespace("idle".into());
    let mut watcher = store
        .watch(&storage, idle.clone(), store.revision())
        .unwrap();
    let mut busy = store
        .watch(&storage, WatchScope::All, store.revision())
        .unwrap();
    for i in 0..5 {
        let key = format!("busy/{i}");
        store.create(&storage, &key, pending(json!(i))).unwrap();
    }
    let next = |watcher: &mut Watcher| futures::executor::block_on(watcher.next());
    assert!(next(&mut busy).is_err());
    assert_eq!(watcher.bookmark_revision(), Some(store.revision()));
    store.create(&storage, "idle/a", pending(json!(1))).unwrap();
    let batch = next(&mut watcher).unwrap().unwrap();
    assert_eq!(batch[0].object.key(), "idle/a");
    // Events of the scope that are compacted before they are read expire it.
    for i in 0..5 {
        let key = format!("idle/{i}");
        store.create(&storage, &key, pending(json!(i))).unwrap();
    }
    assert_eq!(watcher.bookmark_revision(), None);
    assert!(next(&mut watcher).is_err());
    assert!(
        store.watch(&storage, idle, 2).is_err(),
        "events before it are unknown"
    );
}

#[test]
fn stores_of_a_snapshot_start_alike_and_change_separately() {
    let (store, storage) = store();
    let first = store.create(&storage, "a", pending(json!(1))).unwrap();
    let gone = store.create(&storage, "b", pending(json!(2))).unwrap();
    let last = pending(json!(2));
    store.remove(&storage, "b", gone.revision(), last).unwrap();
    let snapshot = store.store_snapshot([&storage].into_iter());
    // Later changes are not in it.
    let later = pending(json!(3));
    store
        .replace(&storage, "a", first.revision(), later)
        .unwrap();
    let restored = || {
        let store = Store::from_snapshot(Clock::real(), StorageLimits::default(), &snapshot);
        let storage = store.new_resource_storage("things");
        (store, storage)
    };
    let (one, other) = (restored(), restored());
    for (store, storage) in [&one, &other] {
        assert_eq!((store.revision(), store.state_revision()), (4, 4));
        assert_eq!(storage.len(), 1);
        let a = storage.get("a").unwrap();
        assert_eq!(a.bytes(), first.bytes());
        // The history starts at the snapshot.
        assert!(store.snapshot_at(storage, 3).is_err());
        let added = store.create(storage, "b", pending(json!(4))).unwrap();
        assert_eq!(added.revision(), 5);
    }
    assert_eq!(snapshot.keys("things").collect::<Vec<_>>(), ["a"]);
    assert_eq!(restored().1.len(), 1);
}

#[test]
fn a_closed_store_drops_its_decoded_objects() {
    let (store, storage) = store();
    let object = store.create(&storage, "a", pending(json!(1))).unwrap();
    let weak = Arc::downgrade(&object);
    drop((store, storage, object));
    assert!(weak.upgrade().is_none());
}

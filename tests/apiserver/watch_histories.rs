//! Watchers that reconnect at random while several threads write: every event is seen once and in
//! order, and after an expired version a new list and its events give the same state.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::{AsyncBufReadExt, StreamExt};
use kube::Client;
use kueue_lab_apiserver::ApiServer;
use kueue_lab_apiserver::storage::StorageLimits;
use kueue_lab_clock::Clock;
use kueue_lab_clock::Entropy;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::server_fixture::*;

const MAPS: &str = "/api/v1/namespaces/test/configmaps";
const NAMES: usize = 5;
/// The last object that is created.
const END: &str = "end";

/// One write: the index of the object and what to do with it.
type Write = (usize, u8);

/// Type, name and resourceVersion of an event.
type Seen = (String, String, u64);

async fn write(client: Client, writes: Vec<Write>) {
    for (i, (name, action)) in writes.into_iter().enumerate() {
        let name = format!("m{name}");
        let path = format!("{MAPS}/{name}");
        // Another writer may have created or deleted the object.
        let _ = match action {
            0 | 1 => send(&client, "POST", MAPS, json!({"metadata": {"name": name}})).await,
            2 => send(&client, "DELETE", &path, Value::Null).await,
            _ => merge_patch(&client, &path, json!({"data": {"k": i.to_string()}})).await,
        };
        tokio::task::yield_now().await;
    }
}

fn version(object: &Value) -> u64 {
    let version = object["metadata"]["resourceVersion"].as_str().unwrap();
    version.parse().unwrap()
}

/// A client that keeps the state of a collection by lists and watches.
struct Reflector {
    client: Client,
    bookmarks: bool,
    version: u64,
    state: BTreeMap<String, u64>,
    seen: Vec<Seen>,
    relists: usize,
}

impl Reflector {
    fn new(client: &Client, bookmarks: bool) -> Self {
        Self {
            client: client.clone(),
            bookmarks,
            version: 0,
            state: BTreeMap::new(),
            seen: Vec::new(),
            relists: 0,
        }
    }

    async fn list(&mut self) {
        let list = get(&self.client, MAPS).await.unwrap();
        self.relists += 1;
        self.version = version(&list);
        let items = list["items"].as_array().unwrap().iter();
        let entry = |o: &Value| (o["metadata"]["name"].as_str().unwrap().into(), version(o));
        self.state = items.map(entry).collect();
    }

    fn is_at_end(&self) -> bool {
        self.state.contains_key(END)
    }

    /// Watches up to a number of events, and disconnects.
    async fn watch(&mut self, events: usize) {
        let path = format!(
            "{MAPS}?watch=1&allowWatchBookmarks={}&resourceVersion={}",
            self.bookmarks, self.version
        );
        let request = http::Request::get(path).body(Vec::new()).unwrap();
        let mut lines = self.client.request_stream(request).await.unwrap().lines();
        for _ in 0..events {
            let line = lines.next().await.expect("the watch continues").unwrap();
            let event: Value = serde_json::from_str(&line).unwrap();
            if event["type"] == "ERROR" {
                assert_eq!(event["object"]["code"], 410, "{event}");
                return self.list().await;
            }
            self.observe(&event);
            if self.is_at_end() {
                return;
            }
        }
    }

    fn observe(&mut self, event: &Value) {
        let (kind, object) = (event["type"].as_str().unwrap(), &event["object"]);
        let version = version(object);
        if kind == "BOOKMARK" {
            assert!(version >= self.version);
            self.version = version;
            return;
        }
        assert!(version > self.version, "{event} after {}", self.version);
        self.version = version;
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        match kind {
            "ADDED" => assert_eq!(self.state.insert(name.clone(), version), None),
            "MODIFIED" => assert!(self.state.insert(name.clone(), version).is_some()),
            _ => assert!(self.state.remove(&name).is_some()),
        }
        self.seen.push((kind.into(), name, version));
    }

    /// Watches until the last object exists, with connections of these numbers of events.
    async fn run(mut self, connections: Vec<usize>) -> Self {
        self.list().await;
        let mut connections = connections.into_iter().cycle();
        while !self.is_at_end() {
            self.watch(connections.next().unwrap_or(1)).await;
        }
        self
    }
}

/// Runs writers and three watchers, which it returns: one that does not disconnect, one that
/// disconnects, and one that lists before the writes and watches after them.
async fn run(
    limits: StorageLimits,
    writes: Vec<Vec<Write>>,
    connections: Vec<usize>,
    bookmarks: bool,
) -> [Reflector; 3] {
    let builder = ApiServer::builder(Clock::real(), Entropy::seeded(1));
    let client = builder.limits(limits).build().client();
    namespace(&client, "test").await;
    let mut late = Reflector::new(&client, bookmarks);
    late.list().await;
    let connected = Reflector::new(&client, false).run(vec![usize::MAX]);
    let reconnecting = Reflector::new(&client, bookmarks).run(connections);
    let watchers = (tokio::spawn(connected), tokio::spawn(reconnecting));
    let writers = writes
        .into_iter()
        .map(|w| tokio::spawn(write(client.clone(), w)));
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    send(&client, "POST", MAPS, json!({"metadata": {"name": END}}))
        .await
        .unwrap();
    let both = async { (watchers.0.await.unwrap(), watchers.1.await.unwrap()) };
    let (connected, reconnecting) = tokio::time::timeout(Duration::from_secs(60), both)
        .await
        .expect("the watchers see the last object");
    while !late.is_at_end() {
        late.watch(usize::MAX).await;
    }
    let mut last = Reflector::new(&client, false);
    last.list().await;
    let watchers = [connected, reconnecting, late];
    for watcher in &watchers {
        assert_eq!(watcher.state, last.state);
    }
    watchers
}

fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(3)
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

fn writes() -> impl Strategy<Value = Vec<Vec<Write>>> {
    let write = (0..NAMES, 0..6u8);
    prop::collection::vec(prop::collection::vec(write, 20..80), 3)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn a_watcher_that_reconnects_sees_every_event_once(
        writes in writes(),
        connections in prop::collection::vec(1..9usize, 1..5),
        bookmarks in any::<bool>(),
    ) {
        let watchers = block_on(run(StorageLimits::default(), writes, connections, bookmarks));
        let all = &watchers[2].seen;
        for watcher in &watchers {
            prop_assert_eq!(watcher.relists, 1);
            // The events after the list of the watcher.
            let since = all.len() - watcher.seen.len();
            prop_assert_eq!(&all[since..], &watcher.seen);
        }
    }

    #[test]
    fn a_watcher_lists_again_after_its_version_has_expired(
        writes in writes(),
        connections in prop::collection::vec(1..4usize, 1..5),
        bookmarks in any::<bool>(),
    ) {
        let limits = StorageLimits {
            max_events: 3,
            event_fresh_duration: Duration::ZERO,
            event_fresh_wall_duration: Duration::ZERO,
            min_events: 1,
            max_bytes: 1,
            ..StorageLimits::default()
        };
        let [_, _, late] = block_on(run(limits, writes, connections, bookmarks));
        prop_assert_eq!(late.relists, 2);
    }
}

//! Waits for conditions, with watches where possible.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use futures::StreamExt;
use kube::api::{Api, DynamicObject};
use kube::runtime::watcher::{self, Event};
use serde_json::Value;

/// The default timeout, sufficient for a busy machine and for the backoff of a real control plane.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(120);

/// The seconds in `KUEUE_LAB_TEST_PATIENCE`, by default [`TIMEOUT`].
fn wait_timeout() -> Duration {
    let seconds = std::env::var("KUEUE_LAB_TEST_PATIENCE").ok();
    let seconds = seconds.and_then(|seconds| seconds.parse().ok());
    seconds.map_or(TIMEOUT, Duration::from_secs)
}

/// The objects of a watch by namespace and name.
pub(crate) type WatchedObjects = BTreeMap<String, Value>;

/// Watches objects until `found` returns a value; it is called once per observed state.
pub(crate) async fn until<T>(
    what: &str,
    api: Api<DynamicObject>,
    config: watcher::Config,
    mut found: impl FnMut(&WatchedObjects) -> Option<T>,
) -> T {
    let mut known = WatchedObjects::new();
    let watching = async {
        let mut events = pin!(watcher::watcher(api, config));
        while let Some(event) = events.next().await {
            // A failed watch is restarted.
            let Ok(event) = event else {
                tokio::time::sleep(Duration::from_millis(200)).await;
                continue;
            };
            let complete = apply_event(&mut known, event);
            if complete && let Some(found) = found(&known) {
                return found;
            }
        }
        unreachable!("watches restart")
    };
    let outcome = tokio::time::timeout(wait_timeout(), watching).await;
    outcome.unwrap_or_else(|_| {
        let last = serde_json::to_string_pretty(&known).unwrap();
        panic!("timed out waiting until {what}; last state: {last}")
    })
}

/// Applies a watch event; false during the initial list.
pub(crate) fn apply_event(known: &mut WatchedObjects, event: Event<DynamicObject>) -> bool {
    match event {
        Event::Init => known.clear(),
        Event::InitApply(object) => {
            known.insert(key(&object), json(object));
        }
        Event::InitDone => return true,
        Event::Apply(object) => {
            known.insert(key(&object), json(object));
            return true;
        }
        Event::Delete(object) => {
            known.remove(&key(&object));
            return true;
        }
    }
    false
}

fn key(object: &DynamicObject) -> String {
    let meta = &object.metadata;
    let namespace = meta.namespace.as_deref().unwrap_or_default();
    format!("{namespace}/{}", meta.name.as_deref().unwrap_or_default())
}

/// An object as JSON, without managed fields.
pub(crate) fn json(mut object: DynamicObject) -> Value {
    object.metadata.managed_fields = None;
    serde_json::to_value(object).unwrap()
}

/// Polls until there is a result; for conditions that one watch cannot observe.
pub(crate) async fn eventually<T, F: Future<Output = Result<T, String>>>(
    what: &str,
    mut ask: impl FnMut() -> F,
) -> T {
    let started = std::time::Instant::now();
    loop {
        match ask().await {
            Ok(found) => return found,
            Err(why) => {
                assert!(
                    started.elapsed() < wait_timeout(),
                    "timed out waiting until {what}: {why}"
                );
            }
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

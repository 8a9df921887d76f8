//! Waiting for what must come: by watching, never for a time.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use futures::StreamExt;
use kube::api::{Api, DynamicObject};
use kube::runtime::watcher::{self, Event};
use serde_json::Value;

/// How long anything may take that must come. A busy machine, or a real control plane that backs off,
/// has time enough.
pub const TIMEOUT: Duration = Duration::from_secs(120);

/// [`TIMEOUT`], or the seconds of `KUEUE_LAB_TEST_PATIENCE` for whoever writes stories.
fn wait_timeout() -> Duration {
    let asked = std::env::var("KUEUE_LAB_TEST_PATIENCE").ok();
    let asked = asked.and_then(|seconds| seconds.parse().ok());
    asked.map_or(TIMEOUT, Duration::from_secs)
}

/// The objects of a watch by namespace and name, as they are known now.
pub type WatchedObjects = BTreeMap<String, Value>;

/// Follows a selection of objects until `found` gives something for what is there; each state that is
/// seen is shown to it once.
pub async fn until<T>(
    what: &str,
    api: Api<DynamicObject>,
    config: watcher::Config,
    mut found: impl FnMut(&WatchedObjects) -> Option<T>,
) -> T {
    let mut known = WatchedObjects::new();
    let watching = async {
        let mut events = pin!(watcher::watcher(api, config));
        while let Some(event) = events.next().await {
            // A watch that breaks is begun anew.
            let Ok(event) = event else {
                tokio::time::sleep(Duration::from_millis(200)).await;
                continue;
            };
            let complete = apply_event(&mut known, event);
            if complete && let Some(found) = found(&known) {
                return found;
            }
        }
        unreachable!("watches are begun anew for ever")
    };
    let outcome = tokio::time::timeout(wait_timeout(), watching).await;
    outcome.unwrap_or_else(|_| {
        let last = serde_json::to_string_pretty(&known).unwrap();
        panic!("waited in vain until {what}; at last there was {last}")
    })
}

/// Takes an event up; false while a list is still coming in.
pub fn apply_event(known: &mut WatchedObjects, event: Event<DynamicObject>) -> bool {
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

/// An object as JSON, without who set which field.
pub fn json(mut object: DynamicObject) -> Value {
    object.metadata.managed_fields = None;
    serde_json::to_value(object).unwrap()
}

/// Asks again and again until there is an answer; for what cannot be watched as one.
pub async fn eventually<T, F: Future<Output = Result<T, String>>>(
    what: &str,
    mut ask: impl FnMut() -> F,
) -> T {
    let begun = std::time::Instant::now();
    loop {
        match ask().await {
            Ok(found) => return found,
            Err(why) => {
                assert!(
                    begun.elapsed() < wait_timeout(),
                    "waited in vain until {what}: {why}"
                );
            }
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

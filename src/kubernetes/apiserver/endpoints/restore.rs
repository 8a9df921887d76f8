//! Restores what the server derives from stored objects: served kinds, proxies of extension API
//! servers, the expiry of Events.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use super::{aggregation, crd_lifecycle};
use crate::registry::ServedResource;
use crate::server_state::ServerState;
use crate::storage::Object;

/// Serves the restored CustomResourceDefinitions, and schedules the expiry of restored Events.
pub(crate) fn restore_derived_state(core: &ServerState) {
    crd_lifecycle::sync_all_crds(core);
    expire_stored_events(core);
}

/// Lets the stored Events expire.
pub(super) fn expire_stored_events(core: &ServerState) {
    let events = core.registry.find("", "v1", "events");
    let Some(storage) = events.as_ref().and_then(|served| served.storage.as_ref()) else {
        return;
    };
    let now = core.clock.now();
    let snapshot = core.store.snapshot(storage);
    let written = |event: &Arc<Object>| (last_time(&event.value()).unwrap_or(now), event.clone());
    let mut events: Vec<_> = snapshot.scan("", None).map(written).collect();
    events.sort_by_key(|(time, event)| (*time, event.revision()));
    for (time, event) in events {
        core.event_ttl.record(time, &event);
    }
}

/// Derives the state again after a write to the resource was reverted.
pub(super) fn sync_derived_state(core: &Arc<ServerState>, served: &ServedResource) {
    if crd_lifecycle::is_definition(served) {
        crd_lifecycle::sync_all_crds(core);
    } else {
        aggregation::sync_api_services(core, served);
    }
}

/// Proxies to the extension API servers in other processes. Those of this process are registered.
pub(crate) fn restore_api_services(core: &Arc<ServerState>) {
    if let Some(served) = core
        .registry
        .find("apiregistration.k8s.io", "v1", "apiservices")
    {
        aggregation::sync_api_services(core, &served);
    }
}

/// The time of the last occurrence of an Event.
fn last_time(event: &Value) -> Option<Timestamp> {
    let fields = [
        "/series/lastObservedTime",
        "/lastTimestamp",
        "/eventTime",
        "/metadata/creationTimestamp",
    ];
    let mut times = fields.iter().filter_map(|f| event.pointer(f)?.as_str());
    times.find_map(|time| time.parse().ok())
}

//! Expiry of Events at requests: expired Events are removed before the next request for Events.

use super::request_context::RequestContext;
use crate::storage::Object;

fn is_event(call: &RequestContext<'_>) -> bool {
    let kind = &call.served.kind;
    &*kind.plural == "events" && matches!(&*kind.group, "" | "events.k8s.io")
}

/// Records a write of an Event; other objects do not expire.
pub(super) fn record(call: &RequestContext<'_>, object: &Object) {
    if is_event(call) {
        call.core.event_ttl.record(call.core.clock.now(), object);
    }
}

/// Removes expired Events before a request for Events is handled.
pub(super) fn expire(call: &RequestContext<'_>) {
    if let Some(storage) = call.served.storage.as_ref().filter(|_| is_event(call)) {
        let core = call.core;
        core.event_ttl
            .expire(&core.store, storage, core.clock.now());
    }
}

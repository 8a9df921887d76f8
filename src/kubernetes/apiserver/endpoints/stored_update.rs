//! Updates of stored objects by the API server itself, without admission.

use serde_json::Value;

use crate::server_state::ServerState;
use crate::storage::{CommitError, PendingObject};

/// Replaces a stored object by the result of `change`, with retries on conflict. Nothing is written
/// if the object does not exist, or `change` returns `None`.
pub(super) fn update_stored(
    core: &ServerState,
    (group, version, resource): (&str, &str, &str),
    key: &str,
    change: impl Fn(&Value) -> Option<Value>,
) {
    let served = core.registry.find(group, version, resource);
    let Some(storage) = served.as_ref().and_then(|served| served.storage.as_ref()) else {
        return;
    };
    loop {
        let Some(present) = storage.get(key) else {
            return;
        };
        let Some(new) = change(&present.value()) else {
            return;
        };
        let Ok(pending) = PendingObject::new(new) else {
            return;
        };
        let stored = core
            .store
            .replace(storage, key, present.revision(), pending);
        match stored {
            Err(CommitError::ResourceVersionConflict(_)) => {}
            _ => return,
        }
    }
}

//! The instances of a definition that is on its way out.

use serde_json::{Value, json};

use super::CLEANUP;
use super::condition::Condition;
use crate::handlers::{grace, meta};
use crate::registry::Names;
use crate::server::Core;
use crate::store::{CommitError, Draft, Space};

/// Deletes the instances of a definition that is on its way out. True when it can go with them.
pub(super) fn clean_up(core: &Core, definition: &mut Value) -> bool {
    let now = meta::time(core.clock.now());
    let group = definition["spec"]["group"].as_str().unwrap_or_default();
    let names = Names::of(&definition["status"]["acceptedNames"]);
    let table = core.registry.table();
    let versions = table.group(group).into_iter().flat_map(|g| &g.versions);
    let served = versions
        .flat_map(|v| &v.resources)
        .find(|s| *s.kind.plural == *names.plural)
        .and_then(|s| s.space.clone());
    let (status, reason, message) = match served {
        None => (false, "NeverEstablished", "resource was never established"),
        Some(space) => {
            empty(core, &space);
            if space.is_empty() {
                (false, "InstanceDeletionCompleted", "removed all instances")
            } else {
                (
                    true,
                    "InstanceDeletionInProgress",
                    "CustomResource deletion is in progress",
                )
            }
        }
    };
    let done = !status;
    let message = message.to_string();
    Condition {
        kind: "Terminating",
        status,
        reason,
        message,
    }
    .set(&mut definition["status"], &now);
    if !done {
        return false;
    }
    let mut finalizers = meta::finalizers(definition);
    finalizers.retain(|f| f != CLEANUP);
    let fields = meta::meta_mut(definition);
    if finalizers.is_empty() {
        fields.remove("finalizers");
        return true;
    }
    fields.insert("finalizers".into(), json!(finalizers));
    false
}

/// Deletes every object of a space; those with finalizers are marked.
fn empty(core: &Core, space: &Space) {
    let snapshot = core.store.snapshot(space);
    for object in snapshot.scan("", None) {
        let mut present = object.clone();
        loop {
            let value = present.value();
            let held = !meta::finalizers(&value).is_empty();
            if held && meta::is_terminating(&value) {
                break;
            }
            let mut last = (*value).clone();
            if held {
                grace::mark(&mut last, 0, core.clock.now());
            }
            let Ok(draft) = Draft::new(last) else { break };
            let draft = draft.shaped(present.shape());
            let (key, revision) = (present.key().to_string(), present.revision());
            let outcome = if held {
                core.store.replace(space, &key, revision, draft)
            } else {
                core.store.remove(space, &key, revision, draft)
            };
            match outcome {
                Err(CommitError::Stale(newer)) => present = newer,
                _ => break,
            }
        }
    }
}

//! The life of CustomResourceDefinitions: names accepted, kinds served, instances cleaned up.
//!
//! Everything happens within the request that causes it: when the answer to a definition's creation
//! is sent, its kinds are served.

mod cleanup;
mod condition;
mod names;

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::call::Call;
use super::delete::Next;
use super::{grace, meta};
use crate::registry::{Definition, Names, Served};
use crate::server::Core;
use crate::store::{CommitError, Draft, Object, Space};
use cleanup::clean_up;
use condition::{Condition, is_true};
use names::accept;

const GROUP: &str = "apiextensions.k8s.io";
const PLURAL: &str = "customresourcedefinitions";
const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

fn is_definition(served: &Served) -> bool {
    &*served.kind.plural == PLURAL && &*served.kind.group == GROUP
}

/// Where definitions are stored.
pub(crate) fn space(core: &Core) -> Option<Arc<Space>> {
    core.registry.find(GROUP, "v1", PLURAL)?.space.clone()
}

/// What follows from a commit to an object of a kind.
pub(super) fn committed(core: &Core, served: &Served, key: &str) {
    if is_definition(served) {
        settle(core, key);
    } else if let Some(custom) = served.custom.as_ref().filter(|c| c.terminating)
        && served.space.as_ref().is_some_and(|s| s.is_empty())
    {
        settle(core, &custom.definition.name);
    }
}

/// What a delete does to a definition the first time; `None` for all else.
pub(super) fn plan(call: &Call<'_>, old: &Value) -> Option<Next> {
    if !is_definition(&call.served) || meta::is_terminating(old) {
        return None;
    }
    let now = call.core.clock.now();
    let mut new = old.clone();
    grace::mark(&mut new, 0, now);
    meta::meta_mut(&mut new).remove("deletionGracePeriodSeconds");
    let mut finalizers = meta::finalizers(old);
    if !finalizers.iter().any(|f| f == CLEANUP) {
        finalizers.push(CLEANUP.into());
    }
    meta::meta_mut(&mut new).insert("finalizers".into(), json!(finalizers));
    let pending = Condition {
        kind: "Terminating",
        status: true,
        reason: "InstanceDeletionPending",
        message:
            "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
                .into(),
    };
    pending.set(&mut new["status"], &meta::time(now));
    Some(Next::Mark(new))
}

/// The status of a definition whose names nobody else has.
pub(crate) fn settled(definition: &Definition, now: Timestamp) -> Value {
    let now = meta::time(now);
    let mut status = json!({
        "acceptedNames": definition.names.to_value(),
        "storedVersions": [definition.storage_version()],
    });
    for (kind, reason, message) in [
        ("NamesAccepted", "NoConflicts", "no conflicts found"),
        (
            "Established",
            "InitialNamesAccepted",
            "the initial names have been accepted",
        ),
    ] {
        let message = message.to_string();
        Condition {
            kind,
            status: true,
            reason,
            message,
        }
        .set(&mut status, &now);
    }
    status
}

/// Brings the status of a definition, and what is served for it, in line with what it says. Does
/// the same for definitions of the group that wait for its names.
pub(super) fn settle(core: &Core, name: &str) {
    let group = name.split_once('.').map_or("", |(_, group)| group);
    settle_one(core, group, name);
    for object in of_group(core, group) {
        let waits = !is_true(&object.value(), "NamesAccepted");
        if waits && object.key() != name {
            settle_one(core, group, object.key());
        }
    }
}

fn settle_one(core: &Core, group: &str, name: &str) {
    let Some(space) = space(core) else { return };
    loop {
        let Some(present) = space.get(name) else {
            core.registry.undefine(group, name);
            return;
        };
        let old = present.value();
        let mut new = (*old).clone();
        accept(core, name, &mut new);
        let terminating = meta::is_terminating(&old);
        serve(core, &present, &new, terminating);
        let mut gone = false;
        if terminating && meta::finalizers(&old).iter().any(|f| f == CLEANUP) {
            gone = clean_up(core, &mut new);
        }
        if new == *old {
            return;
        }
        let Ok(draft) = Draft::new(new) else { return };
        let revision = present.revision();
        let outcome = if gone {
            core.store.remove(&space, name, revision, draft)
        } else {
            core.store.replace(&space, name, revision, draft)
        };
        if let Err(CommitError::Closed | CommitError::Exists(_)) = outcome {
            return;
        }
    }
}

/// Serves what the definition defines, once its names are accepted.
fn serve(core: &Core, present: &Arc<Object>, definition: &Value, terminating: bool) {
    if !is_true(definition, "Established") {
        return;
    }
    let schema = |version: usize| {
        let object = present.clone();
        let source = move || {
            let path = format!("/spec/versions/{version}/schema/openAPIV3Schema");
            object.value().pointer(&path).cloned().unwrap_or_default()
        };
        Arc::new(source) as crate::registry::SchemaSource
    };
    let mut outline = Definition::of_object(definition, schema);
    outline.names = Names::of(&definition["status"]["acceptedNames"]);
    let (uid, generation) = (meta::text(definition, "uid"), meta::generation(definition));
    let identity = format!("{uid} {generation} {:?}", outline.names);
    core.registry.define(outline, &identity, terminating);
}

fn of_group(core: &Core, group: &str) -> Vec<Arc<Object>> {
    let Some(space) = space(core) else {
        return Vec::new();
    };
    let snapshot = core.store.snapshot(&space);
    let suffix = format!(".{group}");
    snapshot
        .scan("", None)
        .filter(|o| o.key().ends_with(&suffix))
        .cloned()
        .collect()
}

//! The life of CustomResourceDefinitions: names accepted, kinds served, instances cleaned up.
//!
//! Everything happens within the request that causes it: when the answer to a definition's creation
//! is sent, its kinds are served.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::call::Call;
use super::delete::Next;
use super::{grace, meta};
use crate::apiserver::registry::{Definition, Names, Served};
use crate::apiserver::server::Core;
use crate::apiserver::store::{CommitError, Draft, Object, Space};

const GROUP: &str = "apiextensions.k8s.io";
const PLURAL: &str = "customresourcedefinitions";
const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";
const APPROVED: &str = "api-approved.kubernetes.io";

fn is_definition(served: &Served) -> bool {
    &*served.kind.plural == PLURAL && &*served.kind.group == GROUP
}

/// Where definitions are stored.
pub(in crate::apiserver) fn space(core: &Core) -> Option<Arc<Space>> {
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
pub(in crate::apiserver) fn settled(definition: &Definition, now: Timestamp) -> Value {
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
        Arc::new(source) as crate::apiserver::registry::SchemaSource
    };
    let mut outline = Definition::of_object(definition, schema);
    outline.names = Names::of(&definition["status"]["acceptedNames"]);
    let (uid, generation) = (meta::text(definition, "uid"), meta::generation(definition));
    let identity = format!("{uid} {generation} {:?}", outline.names);
    core.registry.define(outline, &identity, terminating);
}

/// One condition of a definition.
struct Condition {
    kind: &'static str,
    status: bool,
    reason: &'static str,
    message: String,
}

impl Condition {
    /// Puts the condition into a status; the time changes only with the status.
    fn set(&self, status: &mut Value, now: &Value) {
        if !status.is_object() {
            *status = json!({});
        }
        let text = if self.status { "True" } else { "False" };
        let mut condition = json!({
            "type": self.kind,
            "status": text,
            "lastTransitionTime": now,
            "reason": self.reason,
            "message": self.message,
        });
        if !status["conditions"].is_array() {
            status["conditions"] = json!([]);
        }
        let Some(all) = status["conditions"].as_array_mut() else {
            return;
        };
        match all.iter_mut().find(|c| c["type"] == self.kind) {
            Some(present) => {
                if present["status"] == text {
                    condition["lastTransitionTime"] = present["lastTransitionTime"].clone();
                }
                *present = condition;
            }
            None => all.push(condition),
        }
    }
}

fn is_true(definition: &Value, kind: &str) -> bool {
    let conditions = definition["status"]["conditions"].as_array();
    conditions
        .into_iter()
        .flatten()
        .any(|c| c["type"] == kind && c["status"] == "True")
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

/// Decides which of the names a definition asks for it gets, and whether that establishes it.
fn accept(core: &Core, name: &str, definition: &mut Value) {
    let group = definition["spec"]["group"]
        .as_str()
        .unwrap_or_default()
        .to_string();
    let now = meta::time(core.clock.now());
    let (mut resources, mut kinds) = (Vec::new(), Vec::new());
    for other in of_group(core, &group).iter().filter(|o| o.key() != name) {
        let names = Names::of(&other.value()["status"]["acceptedNames"]);
        resources.extend([names.plural, names.singular]);
        resources.extend(names.short_names);
        kinds.extend([names.kind, names.list_kind]);
    }
    let wanted = Names::of(&definition["spec"]["names"]);
    let accepted = Names::of(&definition["status"]["acceptedNames"]);
    let (names, conflict) = decide(&wanted, accepted, &resources, &kinds);
    let good = conflict.is_none();
    let (reason, message) =
        conflict.unwrap_or_else(|| ("NoConflicts", "no conflicts found".into()));
    let status = &mut definition["status"];
    Condition {
        kind: "NamesAccepted",
        status: good,
        reason,
        message,
    }
    .set(status, &now);
    status["acceptedNames"] = names.to_value();
    let established = status["conditions"].as_array().is_some_and(|all| {
        all.iter()
            .any(|c| c["type"] == "Established" && c["status"] == "True")
    });
    if good && !established {
        let message = "the initial names have been accepted".into();
        let reason = "InitialNamesAccepted";
        Condition {
            kind: "Established",
            status: true,
            reason,
            message,
        }
        .set(status, &now);
    } else if !established {
        let message = "not all names are accepted".into();
        let reason = "NotAccepted";
        Condition {
            kind: "Established",
            status: false,
            reason,
            message,
        }
        .set(status, &now);
    }
    approve(definition, &group, &now);
    note_storage(definition);
}

/// The names a definition has from now on, and the first conflict.
fn decide(
    wanted: &Names,
    mut accepted: Names,
    resources: &[String],
    kinds: &[String],
) -> (Names, Option<(&'static str, String)>) {
    let mut conflict = None;
    let taken = |name: &str, all: &[String]| all.iter().any(|n| n == name && !n.is_empty());
    let mut claim = |own: &mut String, name: &str, all: &[String], reason: &'static str| {
        if own != name && taken(name, all) {
            conflict = Some((reason, format!("{name:?} is already in use")));
        } else {
            *own = name.to_string();
        }
    };
    claim(
        &mut accepted.plural,
        &wanted.plural,
        resources,
        "PluralConflict",
    );
    claim(
        &mut accepted.singular,
        &wanted.singular,
        resources,
        "SingularConflict",
    );
    claim(&mut accepted.kind, &wanted.kind, kinds, "KindConflict");
    claim(
        &mut accepted.list_kind,
        &wanted.list_kind,
        kinds,
        "ListKindConflict",
    );
    let fresh = wanted
        .short_names
        .iter()
        .filter(|n| !accepted.short_names.contains(n));
    let lost: Vec<String> = fresh
        .filter(|n| taken(n, resources))
        .map(|n| format!("{n:?} is already in use"))
        .collect();
    match lost.as_slice() {
        [] => accepted.short_names.clone_from(&wanted.short_names),
        [one] => conflict = Some(("ShortNamesConflict", one.clone())),
        many => conflict = Some(("ShortNamesConflict", format!("[{}]", many.join(", ")))),
    }
    accepted.categories.clone_from(&wanted.categories);
    (accepted, conflict)
}

/// Groups of the Kubernetes project must say who approved them.
fn approve(definition: &mut Value, group: &str, now: &Value) {
    let protected = ["k8s.io", "kubernetes.io"]
        .into_iter()
        .any(|own| group == own || group.ends_with(&format!(".{own}")));
    if !protected {
        return;
    }
    let approval = definition["metadata"]["annotations"][APPROVED]
        .as_str()
        .unwrap_or_default();
    let (status, reason, message) = if approval.starts_with("unapproved") {
        (
            false,
            "UnapprovedAnnotation",
            format!("not approved: {approval:?}"),
        )
    } else if approval.is_empty() {
        let text = format!("protected groups must have approval annotation {APPROVED:?}");
        (false, "MissingAnnotation", text)
    } else {
        (
            true,
            "ApprovedAnnotation",
            format!("approved in {approval}"),
        )
    };
    let kind = "KubernetesAPIApprovalPolicyConformant";
    Condition {
        kind,
        status,
        reason,
        message,
    }
    .set(&mut definition["status"], now);
}

/// Notes the storage version among those objects may be stored in.
fn note_storage(definition: &mut Value) {
    let versions = definition["spec"]["versions"].as_array();
    let storage = versions
        .into_iter()
        .flatten()
        .find(|v| v["storage"] == true);
    let Some(storage) = storage.map(|v| v["name"].clone()) else {
        return;
    };
    let stored = &mut definition["status"]["storedVersions"];
    match stored.as_array_mut() {
        Some(all) if all.contains(&storage) => {}
        Some(all) => all.push(storage),
        None => *stored = json!([storage]),
    }
}

/// Deletes the instances of a definition that is on its way out. True when it can go with them.
fn clean_up(core: &Core, definition: &mut Value) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn names(plural: &str, kind: &str, short: &[&str]) -> Names {
        Names {
            plural: plural.into(),
            singular: kind.to_lowercase(),
            kind: kind.into(),
            list_kind: format!("{kind}List"),
            short_names: short.iter().map(ToString::to_string).collect(),
            categories: Vec::new(),
        }
    }

    #[test]
    fn names_in_use_are_not_accepted_and_own_names_stay() {
        let wanted = names("widgets", "Widget", &["w", "wd"]);
        let (got, conflict) = decide(&wanted, Names::default(), &[], &[]);
        assert_eq!((got, conflict), (wanted.clone(), None));

        let taken = ["w".to_string(), "widget".to_string()];
        let (got, conflict) = decide(&wanted, Names::default(), &taken, &[]);
        assert_eq!(
            (got.plural.as_str(), got.singular.as_str()),
            ("widgets", "")
        );
        assert_eq!(
            conflict,
            Some(("ShortNamesConflict", "\"w\" is already in use".into()))
        );

        // What it has it keeps, whoever else claims it.
        let (_, conflict) = decide(&wanted, wanted.clone(), &taken, &["Widget".into()]);
        assert_eq!(conflict, None);
    }
}

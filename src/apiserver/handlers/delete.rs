//! Deleting: at once, after a grace period, or once the finalizers are gone.

use std::sync::Arc;

use serde_json::{Value, json};

use super::admit::Admitting;
use super::call::Call;
use super::grace::{self, Grace};
use super::reply::Reply;
use super::{convert, definitions, list, meta, namespace};
use crate::field::FieldError;
use crate::hooks::Operation;
use crate::status::ApiError;
use crate::store::{CommitError, Draft, Object};

const FOREGROUND: &str = "foregroundDeletion";
const ORPHAN: &str = "orphan";

/// What a client may ask of a delete.
#[derive(Clone, Debug, Default)]
pub(super) struct DeleteOptions {
    pub(super) grace: Option<i64>,
    pub(super) propagation: Option<String>,
    pub(super) orphan_dependents: Option<bool>,
    pub(super) uid: Option<String>,
    pub(super) resource_version: Option<String>,
    pub(super) dry_run: bool,
}

/// What a delete came to.
pub(super) enum Deleted {
    /// The object is gone (or would be).
    Gone(Value),
    /// The object is marked and still there.
    Pending(Value),
}

impl Deleted {
    /// The same in the version the client speaks.
    fn seen_by(mut self, call: &Call<'_>) -> Result<Self, ApiError> {
        if !call.served.is_stored_version() {
            let (Self::Gone(object) | Self::Pending(object)) = &mut self;
            convert::into(call.core, &call.served, object)?;
        }
        Ok(self)
    }
}

impl DeleteOptions {
    /// Reads the options of a call: from the body where there is one, else from the query.
    pub(super) fn of(call: &Call<'_>) -> Result<Self, ApiError> {
        let body = &call.incoming.body;
        if body.is_empty() {
            return Self::from_query(call);
        }
        let value: Value = match call.content_type() {
            "application/yaml" => {
                serde_yaml::from_slice(body).map_err(|e| ApiError::bad_request(e.to_string()))?
            }
            _ => serde_json::from_slice(body).map_err(|e| ApiError::bad_request(e.to_string()))?,
        };
        Self::from_value(&value)
    }

    fn from_query(call: &Call<'_>) -> Result<Self, ApiError> {
        let query = &call.query;
        let text = |key: &str| Some(query.text(key).to_string()).filter(|t| !t.is_empty());
        let options = Self {
            grace: query.integer("gracePeriodSeconds")?,
            propagation: text("propagationPolicy"),
            orphan_dependents: query.flag("orphanDependents"),
            dry_run: query.dry_run()?,
            ..Self::default()
        };
        options.checked()
    }

    pub(super) fn from_value(value: &Value) -> Result<Self, ApiError> {
        let text = |path: &str| {
            value
                .pointer(path)
                .and_then(Value::as_str)
                .map(str::to_string)
        };
        let dry_run = value.get("dryRun").and_then(Value::as_array);
        let options = Self {
            grace: value.get("gracePeriodSeconds").and_then(Value::as_i64),
            propagation: text("/propagationPolicy"),
            orphan_dependents: value.get("orphanDependents").and_then(Value::as_bool),
            uid: text("/preconditions/uid"),
            resource_version: text("/preconditions/resourceVersion"),
            dry_run: dry_run.is_some_and(|d| !d.is_empty()),
        };
        options.checked()
    }

    /// Refuses options that contradict each other.
    fn checked(self) -> Result<Self, ApiError> {
        let mut errors = Vec::new();
        if let Some(policy) = &self.propagation {
            if self.orphan_dependents.is_some() {
                let why = "orphanDependents and deletionPropagation cannot be both set";
                errors.push(FieldError::invalid(
                    "propagationPolicy",
                    policy.as_str(),
                    why,
                ));
            }
            if !matches!(policy.as_str(), "Foreground" | "Background" | "Orphan") {
                let known = ["Foreground", "Background", "Orphan", "nil"];
                errors.push(FieldError::not_supported(
                    "propagationPolicy",
                    policy.as_str(),
                    &known,
                ));
            }
        }
        if errors.is_empty() {
            return Ok(self);
        }
        Err(ApiError::invalid(
            "meta.k8s.io",
            "DeleteOptions",
            "",
            &errors,
        ))
    }

    /// The finalizers an object has once its deletion is asked for like this.
    fn finalizers(&self, call: &Call<'_>, object: &Value) -> Vec<String> {
        let mut kept = meta::finalizers(object);
        let had = |f: &str| kept.iter().any(|k| k == f);
        let (had_orphan, had_foreground) = (had(ORPHAN), had(FOREGROUND));
        let (orphan, foreground) = match (self.orphan_dependents, self.propagation.as_deref()) {
            (Some(orphan), _) => (orphan, false),
            (None, Some("Orphan")) => (true, false),
            (None, Some("Foreground")) => (false, true),
            (None, Some(_)) => (false, false),
            (None, None) if had_orphan || had_foreground => (had_orphan, had_foreground),
            (None, None) => (call.served.kind.behaviour.orphans_by_default(), false),
        };
        kept.retain(|f| f != ORPHAN && f != FOREGROUND);
        kept.extend(orphan.then(|| ORPHAN.to_string()));
        kept.extend(foreground.then(|| FOREGROUND.to_string()));
        kept
    }
}

/// DELETE of a named object.
pub(super) async fn delete(call: &Call<'_>) -> Result<Reply, ApiError> {
    let options = DeleteOptions::of(call)?;
    let name = &call.path.name;
    let deleted = delete_named(call, &options, name).await?;
    Ok(match deleted {
        Deleted::Pending(object) => {
            let accepted = options.orphan_dependents == Some(false);
            call.view
                .show_value(if accepted { 202 } else { 200 }, &object)
        }
        Deleted::Gone(object) if shows_deleted(call) => call.view.show_value(200, &object),
        Deleted::Gone(object) => Reply::value(200, call.view.accept, &success(call, &object)),
    })
}

/// Whether the answer to a delete is the object that went rather than a Status.
fn shows_deleted(call: &Call<'_>) -> bool {
    const KINDS: [&str; 10] = [
        "csidrivers",
        "csinodes",
        "persistentvolumeclaims",
        "persistentvolumes",
        "pods",
        "podtemplates",
        "resourcequotas",
        "serviceaccounts",
        "services",
        "storageclasses",
    ];
    matches!(&*call.path.group, "" | "storage.k8s.io") && KINDS.contains(&&*call.path.resource)
}

/// DELETE of a collection.
pub(super) async fn delete_collection(call: &Call<'_>) -> Result<Reply, ApiError> {
    let options = DeleteOptions::of(call)?;
    let page = list::page(call)?;
    let mut items = Vec::with_capacity(page.objects.len());
    for object in &page.objects {
        let name = object.key().rsplit('/').next().unwrap_or_default();
        let namespace = object.key().rsplit_once('/').map_or("", |(ns, _)| ns);
        match delete_at(call, &options, namespace, name).await {
            Ok(_) => items.push((*call.view.decoded(object)?).clone()),
            Err(e) if e.reason == "NotFound" => {}
            Err(e) => return Err(e),
        }
    }
    let list = json!({
        "kind": &*call.served.kind.list_kind,
        "apiVersion": call.served.api_version,
        "metadata": {"resourceVersion": page.revision.to_string()},
        "items": items,
    });
    Ok(Reply::value(200, call.view.accept, &list))
}

fn success(call: &Call<'_>, object: &Value) -> Value {
    let mut details = json!({
        "name": meta::text(object, "name"),
        "kind": &*call.served.kind.plural,
        "uid": meta::text(object, "uid"),
    });
    if !call.path.group.is_empty() {
        details["group"] = call.path.group.as_str().into();
    }
    json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": details,
    })
}

/// Deletes one object of the call's namespace.
pub(super) async fn delete_named(
    call: &Call<'_>,
    options: &DeleteOptions,
    name: &str,
) -> Result<Deleted, ApiError> {
    delete_at(call, options, call.namespace(), name).await
}

async fn delete_at(
    call: &Call<'_>,
    options: &DeleteOptions,
    namespace: &str,
    name: &str,
) -> Result<Deleted, ApiError> {
    let space = call.space()?;
    let key = super::call::key(namespace, name);
    loop {
        let Some(present) = space.get(&key) else {
            return Err(call.not_found(name));
        };
        let old = call.view.decoded(&present)?;
        check_preconditions(call, options, &old)?;
        let admitting = Admitting {
            call,
            operation: Operation::Delete,
            name,
            old: Some(&old),
            dry_run: options.dry_run,
        };
        admitting.validate(&Value::Null).await?;
        // What happens to it happens in the stored version, whatever version the client speaks.
        let stored = present.value();
        let special = namespace::plan(call, &stored).or_else(|| definitions::plan(call, &stored));
        let next = match special {
            Some(next) => next,
            None => plan(call, options, &stored),
        };
        match commit(call, options, &present, next) {
            Ok(deleted) => {
                definitions::committed(call.core, &call.served, &key);
                return deleted.seen_by(call);
            }
            Err(CommitError::Missing) => return Err(call.not_found(name)),
            Err(CommitError::Stale(_)) => {}
            Err(_) => return Err(ApiError::no_such_resource()),
        }
    }
}

fn check_preconditions(
    call: &Call<'_>,
    options: &DeleteOptions,
    old: &Value,
) -> Result<(), ApiError> {
    let conflict = |why: String| {
        let kind = &call.served.kind;
        ApiError::conflict(&kind.group, &kind.plural, meta::text(old, "name"), &why)
    };
    let uid = meta::text(old, "uid");
    if let Some(asked) = options.uid.as_deref().filter(|asked| *asked != uid) {
        return Err(conflict(format!(
            "the UID in the precondition ({asked}) does not match the UID in record ({uid}). The object might have been deleted and then recreated"
        )));
    }
    let version = meta::text(old, "resourceVersion");
    if let Some(asked) = options
        .resource_version
        .as_deref()
        .filter(|asked| *asked != version)
    {
        return Err(conflict(format!(
            "the ResourceVersion in the precondition ({asked}) does not match the ResourceVersion in record ({version}). The object might have been modified"
        )));
    }
    Ok(())
}

/// What is to happen to the object.
pub(super) enum Next {
    /// Nothing; it is on its way already.
    Wait,
    /// It goes now, in this last state.
    Remove(Value),
    /// It is marked and stays until its finalizers or its grace period are over.
    Mark(Value),
}

fn plan(call: &Call<'_>, options: &DeleteOptions, old: &Value) -> Next {
    let now = call.core.clock.now();
    let mut new = old.clone();
    let given = grace::decide(&call.served, &mut new, options.grace, now);
    if given == Grace::Pending {
        return Next::Wait;
    }
    let finalizers = options.finalizers(call, old);
    set_finalizers(&mut new, &finalizers);
    match given {
        Grace::Given(seconds) if seconds > 0 => return Next::Mark(new),
        _ if finalizers.is_empty() => return Next::Remove(new),
        Grace::NotSupported if !meta::is_terminating(old) => {
            grace::mark(&mut new, 0, now);
            if meta::generation(old) > 0 {
                meta::set_generation(&mut new, meta::generation(old) + 1);
            }
        }
        _ => {}
    }
    if new == *old {
        Next::Wait
    } else {
        Next::Mark(new)
    }
}

fn set_finalizers(object: &mut Value, finalizers: &[String]) {
    let fields = meta::meta_mut(object);
    if finalizers.is_empty() {
        fields.remove("finalizers");
    } else {
        fields.insert("finalizers".into(), json!(finalizers));
    }
}

fn commit(
    call: &Call<'_>,
    options: &DeleteOptions,
    present: &Arc<Object>,
    next: Next,
) -> Result<Deleted, CommitError> {
    let old = present.value();
    let Some(space) = &call.served.space else {
        return Err(CommitError::Closed);
    };
    let store = &call.core.store;
    match next {
        Next::Wait => Ok(Deleted::Pending((*old).clone())),
        Next::Remove(last) if options.dry_run => Ok(Deleted::Gone(last)),
        Next::Mark(new) if options.dry_run => Ok(Deleted::Pending(new)),
        Next::Remove(last) => {
            let draft = |object: Value| {
                let draft = Draft::new(object).map_err(|_| CommitError::Closed)?;
                Ok(draft.shaped(present.shape()))
            };
            let mut revision = present.revision();
            if meta::is_terminating(&last) && !meta::is_terminating(&old) {
                // What has a grace period, even one of 0, is seen on its way before it is gone.
                let marked = draft(last.clone())?;
                revision = store
                    .replace(space, present.key(), revision, marked)?
                    .revision();
            }
            let gone = store.remove(space, present.key(), revision, draft(last)?)?;
            Ok(Deleted::Gone((*gone.value()).clone()))
        }
        Next::Mark(new) => {
            let draft = Draft::new(new)
                .map_err(|_| CommitError::Closed)?
                .shaped(present.shape());
            let marked = store.replace(space, present.key(), present.revision(), draft)?;
            Ok(Deleted::Pending((*marked.value()).clone()))
        }
    }
}

//! Admission that objects in the cluster configure, around one write: webhooks that change it, then
//! policies and webhooks that may refuse it.

use std::sync::Arc;

use serde_json::Value;

use super::admit::Admitting;
use super::convert;
use super::reader::Stored;
use crate::crd::Names;
use crate::dynamic::webhook::{Case, Consent};
use crate::dynamic::{Subject, policy};
use crate::hooks::AdmissionRequest;
use crate::kinds::value::Look;
use crate::policy::Reader;
use crate::registry::{Served, Table};
use crate::request::LabelSelector;
use crate::schema::decode::{Source, decode};
use crate::status::ApiError;

const GROUP: &str = "admissionregistration.k8s.io";

/// Whether nothing that is configured may stand in the way of this write: it configures admission.
fn exempt(request: &AdmissionRequest<'_>) -> bool {
    request.group == GROUP
}

/// Lets the mutating webhooks change the object.
pub(super) async fn mutate(admitting: &Admitting<'_>, object: &mut Value) -> Result<(), ApiError> {
    let request = admitting.request();
    let configurations =
        Stored(admitting.call.core).list(GROUP, "mutatingwebhookconfigurations", "");
    if configurations.is_empty() || exempt(&request) {
        return Ok(());
    }
    let hooks: Vec<&Value> = configurations
        .iter()
        .flat_map(|c| c.list("/webhooks"))
        .collect();
    let place = Place::of(admitting, &request);
    // Those that want to be asked again when others have changed the object after them.
    let (mut asked, mut again) = (Vec::new(), Vec::new());
    for (i, hook) in hooks.iter().enumerate() {
        let Some(changed) = place.change(hook, object).await? else {
            continue;
        };
        if changed {
            again.append(&mut asked);
        }
        if hook.text("/reinvocationPolicy") == "IfNeeded" {
            asked.push(i);
        }
    }
    again.sort_unstable();
    for i in again {
        place.change(hooks[i], object).await?;
    }
    Ok(())
}

/// Lets policies and validating webhooks look at the final object.
pub(super) async fn validate(admitting: &Admitting<'_>, object: &Value) -> Result<(), ApiError> {
    let request = admitting.request();
    if exempt(&request) {
        return Ok(());
    }
    let stored = Stored(admitting.call.core);
    let bindings = stored.list(GROUP, "validatingadmissionpolicybindings", "");
    if !bindings.is_empty() {
        let policies = stored.list(GROUP, "validatingadmissionpolicies", "");
        let place = Place::of(admitting, &request);
        let seen = Seen {
            place: &place,
            object,
        };
        let subject = place.subject();
        let warnings = policy::judge(&subject, object, &seen, &policies, &bindings)?;
        warnings.into_iter().for_each(|w| admitting.call.warn(w));
    }
    let configurations = stored.list(GROUP, "validatingwebhookconfigurations", "");
    if configurations.is_empty() {
        return Ok(());
    }
    let place = Place::of(admitting, &request);
    let hooks = configurations.iter().flat_map(|c| c.list("/webhooks"));
    let calls = hooks.map(|hook| place.ask(hook, object, false));
    for outcome in futures::future::join_all(calls).await {
        outcome?;
    }
    Ok(())
}

/// One write and where it happens.
struct Place<'a> {
    admitting: &'a Admitting<'a>,
    request: &'a AdmissionRequest<'a>,
    stored: Stored<'a>,
    table: Arc<Table>,
    versions: Vec<String>,
}

/// An answer, with the version it was given in.
struct Given {
    consent: Consent,
    version: String,
}

impl<'a> Place<'a> {
    fn of(admitting: &'a Admitting<'a>, request: &'a AdmissionRequest<'a>) -> Self {
        let table = admitting.call.core.registry.table();
        let versions = table
            .group(request.group)
            .into_iter()
            .flat_map(|g| &g.versions);
        let versions = versions
            .filter(|v| {
                table
                    .find(request.group, &v.name, request.resource)
                    .is_some()
            })
            .map(|v| v.name.to_string())
            .collect();
        Self {
            admitting,
            request,
            stored: Stored(admitting.call.core),
            table,
            versions,
        }
    }

    fn subject(&self) -> Subject<'_> {
        Subject {
            request: self.request,
            user: &self.admitting.call.incoming.user,
            versions: &self.versions,
            reader: &self.stored,
        }
    }

    /// How the kind is served in a version.
    fn served(&self, version: &str) -> Result<&Arc<Served>, ApiError> {
        let found = self
            .table
            .find(self.request.group, version, self.request.resource);
        found.ok_or_else(ApiError::no_such_resource)
    }

    /// An object in a version; null stays null.
    fn in_version(&self, version: &str, object: &Value) -> Result<Value, ApiError> {
        if object.is_null() || version == self.request.version {
            return Ok(object.clone());
        }
        convert::between(self.admitting.call.core, self.served(version)?, object)
    }

    /// Asks a webhook if it is about this write; `None` when it is not.
    async fn ask(
        &self,
        hook: &Value,
        object: &Value,
        mutating: bool,
    ) -> Result<Option<Given>, ApiError> {
        let subject = self.subject();
        let Some(version) = subject.selected(hook, object)? else {
            return Ok(None);
        };
        let core = self.admitting.call.core;
        let schema = self.served(&version)?.schema();
        let case = Case {
            subject: &subject,
            version: &version,
            object: &self.in_version(&version, object)?,
            old: &self.in_version(&version, self.request.old.unwrap_or(&Value::Null))?,
            schema: schema.as_deref(),
            uid: &core.entropy.uid(),
        };
        let consent = case.ask(&core.webhooks, hook, mutating).await?;
        let warnings = consent.warnings.iter();
        warnings.for_each(|w| self.admitting.call.warn(w.clone()));
        Ok(Some(Given { consent, version }))
    }

    /// Lets a webhook change the object. Says whether it did; `None` when it was not asked.
    async fn change(&self, hook: &Value, object: &mut Value) -> Result<Option<bool>, ApiError> {
        let Some(Given { consent, version }) = self.ask(hook, object, true).await? else {
            return Ok(None);
        };
        if consent.patch.is_empty() {
            return Ok(Some(false));
        }
        let name = hook.text("/name");
        let internal = |why: String| ApiError::internal(format!("Internal error occurred: {why}"));
        let wrong = |why: String| {
            let why = format!("received undecodable patch in webhook response: {why}");
            internal(format!("failed calling webhook {name:?}: {why}"))
        };
        let patch: json_patch::Patch =
            serde_json::from_slice(&consent.patch).map_err(|e| wrong(e.to_string()))?;
        if patch.is_empty() {
            return Ok(Some(false));
        }
        if object.is_null() {
            return Err(internal(format!(
                "admission webhook {name:?} attempted to modify the object, which is not supported for this operation"
            )));
        }
        let mut patched = self.in_version(&version, object)?;
        json_patch::patch(&mut patched, &patch).map_err(|e| internal(e.to_string()))?;
        let own = self.served(self.request.version)?;
        if version != self.request.version {
            patched = convert::between(self.admitting.call.core, own, &patched)?;
        }
        if let Some(schema) = own.schema() {
            decode(&schema, &mut patched, Source::Json).map_err(internal)?;
        }
        own.kind.behaviour.default(&mut patched);
        let changed = patched != *object;
        *object = patched;
        Ok(Some(changed))
    }
}

/// A write, as the expressions of policies see it.
struct Seen<'a> {
    place: &'a Place<'a>,
    object: &'a Value,
}

impl policy::World for Seen<'_> {
    fn names(&self, version: &str) -> Result<Names, ApiError> {
        let place = self.place;
        let schema = place.served(version)?.schema();
        let case = Case {
            subject: &place.subject(),
            version,
            object: &place.in_version(version, self.object)?,
            old: &place.in_version(version, place.request.old.unwrap_or(&Value::Null))?,
            schema: schema.as_deref(),
            uid: "",
        };
        Ok(case.names())
    }

    fn params(&self, kind: &Value, reference: &Value) -> Result<Vec<Arc<Value>>, String> {
        let (api_version, wanted) = (kind.text("/apiVersion"), kind.text("/kind"));
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
        let groups = self.place.table.group(group);
        let resources = groups
            .and_then(|g| g.version(version))
            .into_iter()
            .flat_map(|v| &v.resources);
        let Some(served) = resources.into_iter().find(|s| &*s.kind.kind == wanted) else {
            return Err(format!(
                "failed to find resource referenced by paramKind: '{group}/{version}, Kind={wanted}'"
            ));
        };
        let namespace = match (served.kind.namespaced, reference.text("/namespace")) {
            (false, _) => "",
            (true, "") => self.place.request.namespace,
            (true, given) => given,
        };
        let (stored, plural) = (&self.place.stored, &served.kind.plural);
        let name = reference.text("/name");
        if !name.is_empty() {
            return Ok(stored
                .get(group, plural, namespace, name)
                .into_iter()
                .collect());
        }
        let selector = LabelSelector::of_object(reference.at("/selector"));
        let mut found = stored.list(group, plural, namespace);
        found.retain(|o| selector.matches(|key| o.label(key)));
        Ok(found)
    }
}

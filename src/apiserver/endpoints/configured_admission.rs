//! Admission configured by objects in the cluster: mutating webhooks, then validating admission
//! policies and validating webhooks.

use std::sync::Arc;

use serde_json::Value;

use super::admission_chain::AdmissionChain;
use crate::admission::matching::AdmissionAttributes;
use crate::admission::policies::validating_admission_policy;
use crate::admission::webhooks::dispatcher::{VersionedAttributes, WebhookResponse};
use crate::apimachinery::api_error::ApiError;
use crate::apimachinery::label_selector::LabelSelector;
use crate::cel::activation::Activation;
use crate::plugins::AdmissionRequest;
use crate::registry::object_reader::ObjectReader;
use crate::registry::stored_objects::StoredObjects;
use crate::registry::{ResourceTable, ServedResource};
use crate::schema::decode::{DecodeSource, decode};
use crate::schema::{Schema, builtin_schema};
use kueue_lab_json::ValueExt;

const GROUP: &str = "admissionregistration.k8s.io";

/// Whether the write is exempt from webhooks and policies because it configures admission itself.
fn is_exempt(request: &AdmissionRequest<'_>) -> bool {
    request.group == GROUP
}

/// Whether an in-process plugin takes the place of a webhook.
fn is_replaced(admitting: &AdmissionChain<'_>, hook: &Value) -> bool {
    let service = hook.at("/clientConfig/service");
    let plugins = &admitting.context.core.plugins;
    !service.is_null() && plugins.replace_service(service.text("/namespace"), service.text("/name"))
}

/// Calls the mutating webhooks.
pub(super) async fn mutate(
    admitting: &AdmissionChain<'_>,
    object: &mut Value,
) -> Result<(), ApiError> {
    let request = admitting.request();
    let configurations =
        admitting
            .context
            .core
            .objects()
            .list(GROUP, "mutatingwebhookconfigurations", "");
    if configurations.is_empty() || is_exempt(&request) {
        return Ok(());
    }
    let hooks: Vec<&Value> = configurations
        .iter()
        .flat_map(|c| c.list("/webhooks"))
        .filter(|hook| !is_replaced(admitting, hook))
        .collect();
    let admission = ConfiguredAdmission::of(admitting, &request);
    // Webhooks with `reinvocationPolicy: IfNeeded` are called again after a later mutation.
    let (mut asked, mut again) = (Vec::new(), Vec::new());
    for (i, hook) in hooks.iter().enumerate() {
        let Some(changed) = admission.call_mutating_webhook(hook, object).await? else {
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
        admission.call_mutating_webhook(hooks[i], object).await?;
    }
    Ok(())
}

/// Evaluates validating admission policies and calls the validating webhooks.
pub(super) async fn validate(
    admitting: &AdmissionChain<'_>,
    object: &Value,
) -> Result<(), ApiError> {
    let request = admitting.request();
    if is_exempt(&request) {
        return Ok(());
    }
    let stored = admitting.context.core.objects();
    let bindings = stored.list(GROUP, "validatingadmissionpolicybindings", "");
    if !bindings.is_empty() {
        let policies = stored.list(GROUP, "validatingadmissionpolicies", "");
        let admission = ConfiguredAdmission::of(admitting, &request);
        let seen = PolicyInput {
            admission: &admission,
            object,
        };
        let subject = admission.subject();
        let warnings =
            validating_admission_policy::validate(&subject, object, &seen, &policies, &bindings)?;
        warnings.into_iter().for_each(|w| admitting.context.warn(w));
    }
    let configurations = stored.list(GROUP, "validatingwebhookconfigurations", "");
    if configurations.is_empty() {
        return Ok(());
    }
    let admission = ConfiguredAdmission::of(admitting, &request);
    let hooks = configurations.iter().flat_map(|c| c.list("/webhooks"));
    let hooks = hooks.filter(|hook| !is_replaced(admitting, hook));
    let calls = hooks.map(|hook| admission.call_webhook(hook, object, false));
    for outcome in futures::future::join_all(calls).await {
        outcome?;
    }
    Ok(())
}

/// One write with its admission chain.
struct ConfiguredAdmission<'a> {
    chain: &'a AdmissionChain<'a>,
    request: &'a AdmissionRequest<'a>,
    stored: StoredObjects<'a>,
    table: Arc<ResourceTable>,
    versions: Vec<String>,
    options: Value,
}

/// A webhook response and the API version it was requested in.
struct VersionedWebhookResponse {
    response: WebhookResponse,
    version: String,
}

impl<'a> ConfiguredAdmission<'a> {
    fn of(chain: &'a AdmissionChain<'a>, request: &'a AdmissionRequest<'a>) -> Self {
        let table = chain.context.core.registry.table();
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
            chain,
            request,
            stored: chain.context.core.objects(),
            table,
            versions,
            options: chain.options.to_value(chain.operation),
        }
    }

    fn subject(&self) -> AdmissionAttributes<'_> {
        AdmissionAttributes {
            request: self.request,
            user: &self.chain.context.request.user,
            versions: &self.versions,
            options: &self.options,
            reader: &self.stored,
        }
    }

    /// The served resource of the kind in an API version.
    fn served(&self, version: &str) -> Result<&Arc<ServedResource>, ApiError> {
        let found = self
            .table
            .find(self.request.group, version, self.request.resource);
        found.ok_or_else(ApiError::no_such_resource)
    }

    /// The schema of the objects of admission in an API version.
    fn schema(&self, version: &str) -> Result<Option<Arc<Schema>>, ApiError> {
        match self.chain.subresource_kind {
            Some(own) => Ok(builtin_schema(own.group, own.version, own.kind)),
            None => Ok(self.served(version)?.schema()),
        }
    }

    /// The object converted to an API version; null stays null.
    fn in_version(&self, version: &str, object: &Value) -> Result<Value, ApiError> {
        let own_kind = self.chain.subresource_kind.is_some();
        if object.is_null() || own_kind || version == self.request.version {
            return Ok(object.clone());
        }
        self.chain
            .context
            .core
            .version_converter()
            .converted_to(self.served(version)?, object)
    }

    /// An object in another version converted to the version of the request.
    fn in_version_of_request(&self, object: Value) -> Result<Value, ApiError> {
        if self.chain.subresource_kind.is_some() {
            return Ok(object);
        }
        let converter = self.chain.context.core.version_converter();
        converter.converted_to(self.served(self.request.version)?, &object)
    }

    /// Calls a webhook if its rules match the write; `None` if they do not.
    async fn call_webhook(
        &self,
        hook: &Value,
        object: &Value,
        mutating: bool,
    ) -> Result<Option<VersionedWebhookResponse>, ApiError> {
        let subject = self.subject();
        let Some(version) = subject.matching_version(hook, object)? else {
            return Ok(None);
        };
        let core = self.chain.context.core;
        let schema = self.schema(&version)?;
        let case = VersionedAttributes {
            subject: &subject,
            version: &version,
            object: &self.in_version(&version, object)?,
            old: &self.in_version(&version, self.request.old_object.unwrap_or(&Value::Null))?,
            schema: schema.as_deref(),
            uid: &core.entropy.uid(),
        };
        let consent = case
            .call_hook(&core.webhook_clients, hook, mutating)
            .await?;
        let warnings = consent.warnings.iter();
        warnings.for_each(|w| self.chain.context.warn(w.clone()));
        Ok(Some(VersionedWebhookResponse {
            response: consent,
            version,
        }))
    }

    /// Calls a mutating webhook and applies its patch. Returns whether the object changed; `None`
    /// if the webhook does not match the write.
    async fn call_mutating_webhook(
        &self,
        hook: &Value,
        object: &mut Value,
    ) -> Result<Option<bool>, ApiError> {
        let Some(VersionedWebhookResponse {
            response: consent,
            version,
        }) = self.call_webhook(hook, object, true).await?
        else {
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
        let own = self.request.version;
        if version != own {
            patched = self.in_version_of_request(patched)?;
        }
        if let Some(schema) = self.schema(own)? {
            decode(&schema, &mut patched, DecodeSource::Json).map_err(internal)?;
        }
        if self.chain.subresource_kind.is_none() {
            let kind = &self.served(own)?.kind;
            kind.strategy.set_defaults(&mut patched);
        }
        let changed = patched != *object;
        *object = patched;
        Ok(Some(changed))
    }
}

/// The variables of policy expressions for one write.
struct PolicyInput<'a> {
    admission: &'a ConfiguredAdmission<'a>,
    object: &'a Value,
}

impl validating_admission_policy::PolicyEnvironment for PolicyInput<'_> {
    fn activation(&self, version: &str) -> Result<Activation, ApiError> {
        let admission = self.admission;
        let schema = admission.schema(version)?;
        let case = VersionedAttributes {
            subject: &admission.subject(),
            version,
            object: &admission.in_version(version, self.object)?,
            old: &admission.in_version(
                version,
                admission.request.old_object.unwrap_or(&Value::Null),
            )?,
            schema: schema.as_deref(),
            uid: "",
        };
        Ok(case.activation())
    }

    fn params(&self, kind: &Value, reference: &Value) -> Result<Vec<Arc<Value>>, String> {
        let (api_version, wanted) = (kind.text("/apiVersion"), kind.text("/kind"));
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
        let groups = self.admission.table.group(group);
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
            (true, "") => self.admission.request.namespace,
            (true, given) => given,
        };
        let (stored, plural) = (&self.admission.stored, &served.kind.plural);
        let name = reference.text("/name");
        if !name.is_empty() {
            return Ok(stored
                .get(group, plural, namespace, name)
                .into_iter()
                .collect());
        }
        let selector = LabelSelector::from_object(reference.at("/selector"));
        let mut found = stored.list(group, plural, namespace);
        found.retain(|o| selector.matches(|key| o.label(key)));
        Ok(found)
    }
}

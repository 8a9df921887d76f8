//! Admission configured by objects in the cluster: mutating policies and webhooks, then validating
//! policies and webhooks.

use std::sync::Arc;

use serde_json::Value;

use super::admission_chain::AdmissionChain;
use super::policy_input::PolicyInput;
use super::request_authorizer::RequestAuthorizer;
use crate::admission::matching::AdmissionAttributes;
use crate::admission::policies::{mutating_admission_policy, validating_admission_policy};
use crate::admission::reinvocation::ReinvocationContext;
use crate::admission::webhooks::dispatcher::{VersionedAttributes, WebhookResponse};
use crate::plugins::{AdmissionRequest, Operation, Plugins};
use crate::registry::object_reader::ObjectReader;
use crate::registry::stored_objects::StoredObjects;
use crate::registry::webhook_manager::{ConfiguredWebhook, WebhookManager};
use crate::registry::{ResourceTable, ServedResource};
use crate::server_state::ServerState;
pub(super) use kueue_lab_apiextensions::cel::authorizer::Authorizer;
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_apimachinery::schema::decode::{DecodeSource, decode};
use kueue_lab_apimachinery::schema::{Schema, builtin_schema};
use kueue_lab_json::ValueExt;

const GROUP: &str = "admissionregistration.k8s.io";

/// Whether the write is exempt from webhooks and policies because it configures admission itself.
fn is_exempt(request: &AdmissionRequest<'_>) -> bool {
    request.group == GROUP
}

/// Whether an in-process plugin replaces a webhook.
fn is_replaced(plugins: &Plugins, hook: &Value) -> bool {
    let service = hook.at("/clientConfig/service");
    !service.is_null() && plugins.replace_service(service.text("/namespace"), service.text("/name"))
}

/// The webhooks that no in-process plugin replaces.
fn called_webhooks(core: &ServerState, manager: &WebhookManager) -> Arc<[ConfiguredWebhook]> {
    let plugins = &core.plugins;
    manager.webhooks(&core.objects(), plugins.admission_len(), |hook| {
        !is_replaced(plugins, hook)
    })
}

/// Applies the MutatingAdmissionPolicies and calls the mutating webhooks.
pub(super) async fn mutate(
    admitting: &AdmissionChain<'_>,
    object: &mut Value,
    reinvocation: &mut ReinvocationContext,
) -> Result<(), ApiError> {
    let request = admitting.request();
    if is_exempt(&request) {
        return Ok(());
    }
    let stored = admitting.context.core.objects();
    let bindings = stored.list(GROUP, "mutatingadmissionpolicybindings", "");
    if !bindings.is_empty() && request.operation != Operation::Delete {
        let policies = stored.list(GROUP, "mutatingadmissionpolicies", "");
        let admission = ConfiguredAdmission::of(admitting, &request);
        let environment = PolicyInput {
            admission: &admission,
        };
        mutating_admission_policy::mutate(
            &admission.subject(),
            object,
            &environment,
            &policies,
            &bindings,
            reinvocation,
        )?;
    }
    let core = admitting.context.core;
    let webhooks = called_webhooks(core, &core.mutating_webhooks);
    if !webhooks.is_empty() {
        let admission = ConfiguredAdmission::of(admitting, &request);
        reinvocation
            .webhooks
            .begin(reinvocation.is_reinvoke, object);
        admission
            .call_mutating_webhooks(&webhooks, object, reinvocation)
            .await?;
        reinvocation.webhooks.end(object);
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
        let environment = PolicyInput {
            admission: &admission,
        };
        let decision = validating_admission_policy::validate(
            &admission.subject(),
            object,
            &environment,
            &policies,
            &bindings,
        )?;
        for warning in decision.warnings {
            admitting.context.warn(warning);
        }
        if let Some(denial) = decision.denial {
            return Err(denial);
        }
    }
    let core = admitting.context.core;
    let webhooks = called_webhooks(core, &core.validating_webhooks);
    if webhooks.is_empty() {
        return Ok(());
    }
    let admission = ConfiguredAdmission::of(admitting, &request);
    let calls = webhooks
        .iter()
        .map(|webhook| admission.call_webhook(&webhook.hook, object, false));
    for outcome in futures::future::join_all(calls).await {
        outcome?;
    }
    Ok(())
}

/// One write with its admission chain.
pub(super) struct ConfiguredAdmission<'a> {
    chain: &'a AdmissionChain<'a>,
    pub(super) request: &'a AdmissionRequest<'a>,
    pub(super) stored: StoredObjects<'a>,
    pub(super) table: Arc<ResourceTable>,
    versions: Vec<String>,
    options: Value,
    authorizer: Arc<dyn Authorizer>,
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
            authorizer: Arc::new(RequestAuthorizer {
                core: chain.context.core.clone(),
                user: chain.context.request.user.clone(),
            }),
        }
    }

    pub(super) fn subject(&self) -> AdmissionAttributes<'_> {
        AdmissionAttributes {
            request: self.request,
            user: &self.chain.context.request.user,
            versions: &self.versions,
            options: &self.options,
            authorizer: &self.authorizer,
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
    pub(super) fn schema(&self, version: &str) -> Result<Option<Arc<Schema>>, ApiError> {
        match self.chain.subresource_kind {
            Some(own) => Ok(builtin_schema(own.group, own.version, own.kind)),
            None => Ok(self.served(version)?.schema()),
        }
    }

    /// The object converted to an API version; null stays null.
    pub(super) fn in_version(&self, version: &str, object: &Value) -> Result<Value, ApiError> {
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
        let attributes = VersionedAttributes {
            subject: &subject,
            version: &version,
            object: &self.in_version(&version, object)?,
            old: &self.in_version(&version, self.request.old_object.unwrap_or(&Value::Null))?,
            schema: schema.as_deref(),
            uid: &core.entropy.uid(),
        };
        let response = attributes
            .call_hook(&core.webhook_clients, hook, mutating)
            .await?;
        let warnings = response.warnings.iter();
        warnings.for_each(|w| self.chain.context.warn(w.clone()));
        Ok(Some(VersionedWebhookResponse { response, version }))
    }

    /// Calls the mutating webhooks.
    async fn call_mutating_webhooks(
        &self,
        webhooks: &[ConfiguredWebhook],
        object: &mut Value,
        reinvocation: &mut ReinvocationContext,
    ) -> Result<(), ApiError> {
        for ConfiguredWebhook {
            configuration,
            hook,
        } in webhooks
        {
            let key = (configuration.clone(), hook.text("/name").to_owned());
            if !reinvocation.webhooks.is_due(reinvocation.is_reinvoke, &key) {
                continue;
            }
            let Some(changed) = self.call_mutating_webhook(hook, object).await? else {
                continue;
            };
            if changed {
                reinvocation.webhooks.require_reinvoking();
                reinvocation.should_reinvoke = true;
            }
            if hook.text("/reinvocationPolicy") == "IfNeeded" {
                reinvocation.webhooks.add_reinvocable(key);
            }
        }
        Ok(())
    }

    /// Calls a mutating webhook and applies its patch. Returns whether the object changed; `None`
    /// if the webhook does not match the write.
    async fn call_mutating_webhook(
        &self,
        hook: &Value,
        object: &mut Value,
    ) -> Result<Option<bool>, ApiError> {
        let Some(VersionedWebhookResponse { response, version }) =
            self.call_webhook(hook, object, true).await?
        else {
            return Ok(None);
        };
        if response.patch.is_empty() {
            return Ok(Some(false));
        }
        let name = hook.text("/name");
        let internal =
            |reason: String| ApiError::internal(format!("Internal error occurred: {reason}"));
        let undecodable = |reason: String| {
            let reason = format!("received undecodable patch in webhook response: {reason}");
            internal(format!("failed calling webhook {name:?}: {reason}"))
        };
        let patch: json_patch::Patch =
            serde_json::from_slice(&response.patch).map_err(|e| undecodable(e.to_string()))?;
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
        patched = self.admitted(&version, patched)?;
        let changed = patched != *object;
        *object = patched;
        Ok(Some(changed))
    }

    /// A patched object of an API version, decoded, in the version of the request and with
    /// defaults.
    pub(super) fn admitted(&self, version: &str, mut object: Value) -> Result<Value, ApiError> {
        let own = self.request.version;
        if version != own && self.chain.subresource_kind.is_none() {
            let converter = self.chain.context.core.version_converter();
            object = converter.converted_to(self.served(own)?, &object)?;
        }
        if let Some(schema) = self.schema(own)? {
            decode(&schema, &mut object, DecodeSource::Json).map_err(|reason| {
                ApiError::internal(format!("Internal error occurred: {reason}"))
            })?;
        }
        if self.chain.subresource_kind.is_none() {
            self.served(own)?.kind.strategy.set_defaults(&mut object);
        }
        Ok(object)
    }
}

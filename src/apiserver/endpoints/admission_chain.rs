//! Admission: what is built in, plugged in or configured in the cluster may change an object, then
//! may refuse it.

use parking_lot::MutexGuard;
use serde_json::Value;

use super::configured_admission;
use super::request_context::RequestContext;
use crate::admission::plugins::{self as admission_plugins, PluginContext, resource_quota};
use crate::apimachinery::api_error::ApiError;
use crate::apimachinery::object_meta;
use crate::fieldmanager::restore_invalid_managed_fields;
use crate::plugins::{AdmissionRequest, Operation};

/// One write on its way through admission.
pub(super) struct AdmissionChain<'a> {
    pub(super) context: &'a RequestContext<'a>,
    pub(super) operation: Operation,
    pub(super) name: &'a str,
    pub(super) old: Option<&'a Value>,
    pub(super) dry_run: bool,
}

impl AdmissionChain<'_> {
    pub(super) fn request(&self) -> AdmissionRequest<'_> {
        let kind = &self.context.served.kind;
        AdmissionRequest {
            group: &kind.group,
            version: &kind.version,
            kind: &kind.kind,
            resource: &kind.plural,
            subresource: &self.context.path.subresource,
            namespace: self.context.namespace(),
            name: self.name,
            operation: self.operation,
            old_object: self.old,
            dry_run: self.dry_run,
            user: &self.context.request.user.name,
        }
    }

    /// Runs a part of the built-in admission.
    fn run_builtin_plugins<T>(
        &self,
        request: &AdmissionRequest<'_>,
        run: impl FnOnce(&PluginContext<'_>) -> T,
    ) -> T {
        let core = self.context.core;
        run(&PluginContext {
            request,
            user: &self.context.request.user,
            reader: &core.objects(),
            entropy: &core.entropy,
            now: core.clock.now(),
        })
    }

    /// Lets what is built in and every plug-in change the object.
    pub(super) async fn mutate(&self, object: &mut Value) -> Result<(), ApiError> {
        let request = self.request();
        let managed_fields_before = object.pointer("/metadata/managedFields").cloned();
        self.run_builtin_plugins(&request, |write| admission_plugins::mutate(write, object))?;
        for plugin in self.context.core.plugins.admission() {
            if plugin.handles(request.group, request.resource, request.subresource) {
                let admitted = plugin.mutate(&request, object).await?;
                admitted
                    .warnings
                    .into_iter()
                    .for_each(|w| self.context.warn(w));
            }
        }
        configured_admission::mutate(self, object).await?;
        if let Err(why) = restore_invalid_managed_fields(object, managed_fields_before) {
            self.context.warn(format!(
                ".metadata.managedFields was in an invalid state after admission; this could be \
                 caused by an outdated mutating admission controller; please fix your requests: {why}"
            ));
        }
        object_meta::dedup_owner_references(object);
        Ok(())
    }

    /// Lets every plug-in and what is built in refuse the object. Where a quota counted it, nothing
    /// else is counted until the caller has stored it and drops what this returns.
    pub(super) async fn validate(
        &self,
        object: &Value,
    ) -> Result<Option<MutexGuard<'_, ()>>, ApiError> {
        let request = self.request();
        for plugin in self.context.core.plugins.admission() {
            if plugin.handles(request.group, request.resource, request.subresource) {
                let admitted = plugin.validate(&request, object).await?;
                admitted
                    .warnings
                    .into_iter()
                    .for_each(|w| self.context.warn(w));
            }
        }
        if self.operation == Operation::Delete {
            // Webhooks that change objects see deletions too, with nothing to change.
            configured_admission::mutate(self, &mut Value::Null).await?;
        }
        configured_admission::validate(self, object).await?;
        self.run_builtin_plugins(&request, |write| {
            let counting = resource_quota::needs_quota_evaluation(write)
                .then(|| self.context.core.quota_lock.lock());
            admission_plugins::validate(write, object)?;
            Ok(counting)
        })
    }
}

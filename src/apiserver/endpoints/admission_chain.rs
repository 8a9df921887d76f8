//! Admission chain of one write: built-in plugins, in-process plugins, and the webhooks and
//! policies configured in the cluster; mutating admission runs before validating admission.

use parking_lot::MutexGuard;
use serde_json::Value;

use super::configured_admission;
use super::request_context::RequestContext;
use crate::admission::plugins::{self as admission_plugins, PluginContext, resource_quota};
use crate::apimachinery::api_error::ApiError;
use crate::apimachinery::object_meta;
use crate::auth::escalation_check::RbacWrite;
use crate::auth::rule_resolver;
use crate::fieldmanager::restore_invalid_managed_fields;
use crate::plugins::{AdmissionRequest, Operation};

/// The admission chain of one write.
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

    /// Runs one phase of the built-in admission plugins.
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

    /// Runs mutating admission: built-in plugins, in-process plugins, mutating webhooks.
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
        self.confirm_no_escalation(object)
    }

    fn confirm_no_escalation(&self, object: &Value) -> Result<(), ApiError> {
        let kind = &self.context.served.kind;
        if *kind.group != *rule_resolver::GROUP {
            return Ok(());
        }
        let write = RbacWrite {
            user: &self.context.request.user,
            reader: &self.context.core.objects(),
            resource: &kind.plural,
            namespace: self.context.namespace(),
            old: self.old,
            new: object,
        };
        write.confirm_no_escalation()
    }

    /// Runs validating admission. For writes counted by a ResourceQuota it returns the quota lock,
    /// which the caller holds until the object is stored.
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
            // Mutating webhooks are called for deletions too, with a null object.
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

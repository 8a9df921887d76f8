//! Admission chain of one write: built-in plugins, in-process plugins, and the webhooks and
//! policies configured in the cluster; mutating admission runs before validating admission.

use serde_json::Value;

use super::configured_admission;
use super::delete_options::DeleteOptions;
use super::request_context::RequestContext;
use super::write_options::WriteOptions;
use crate::admission::AdmissionGuard;
use crate::admission::plugins::{
    self as admission_plugins, PluginContext, resource_quota, service_allocator,
};
use crate::admission::reinvocation::ReinvocationContext;
use crate::auth::escalation_check::RbacWrite;
use crate::auth::rule_resolver;
use crate::plugins::{AdmissionRequest, Operation};
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_apimachinery::fieldmanager::restore_invalid_managed_fields;
use kueue_lab_apimachinery::object_meta;

/// The kind of a subresource that is not the kind of its resource.
#[derive(Clone, Copy, Debug)]
pub(super) struct SubresourceKind {
    pub(super) group: &'static str,
    pub(super) version: &'static str,
    pub(super) kind: &'static str,
}

/// The options of an operation.
#[derive(Clone, Copy, Debug)]
pub(super) enum OperationOptions<'a> {
    /// Of a create, update or patch.
    Write(&'a WriteOptions),
    /// Of a deletion.
    Delete(&'a DeleteOptions),
    /// A connection has none.
    Connect,
}

/// The admission chain of one request.
pub(super) struct AdmissionChain<'a> {
    pub(super) context: &'a RequestContext<'a>,
    pub(super) operation: Operation,
    pub(super) name: &'a str,
    /// The kind of `old` and the object if it is not that of the resource.
    pub(super) subresource_kind: Option<SubresourceKind>,
    pub(super) old: Option<&'a Value>,
    pub(super) options: OperationOptions<'a>,
}

impl OperationOptions<'_> {
    /// The options in a webhook's request.
    pub(super) fn to_value(self, operation: Operation) -> Value {
        match self {
            Self::Write(options) if operation == Operation::Create => {
                options.to_value("CreateOptions")
            }
            Self::Write(options) => options.to_value("UpdateOptions"),
            Self::Delete(options) => options.to_value(),
            Self::Connect => Value::Null,
        }
    }

    fn dry_run(self) -> bool {
        match self {
            Self::Write(options) => options.dry_run,
            Self::Delete(options) => options.dry_run,
            Self::Connect => false,
        }
    }
}

impl AdmissionChain<'_> {
    pub(super) fn request(&self) -> AdmissionRequest<'_> {
        let kind = &self.context.served.kind;
        let own = self.subresource_kind;
        AdmissionRequest {
            group: &kind.group,
            version: &kind.version,
            kind_group: own.map_or(&kind.group, |own| own.group),
            kind_version: own.map_or(&kind.version, |own| own.version),
            kind: own.map_or(&kind.kind, |own| own.kind),
            resource: &kind.plural,
            subresource: &self.context.path.subresource,
            namespace: self.context.namespace(),
            name: self.name,
            operation: self.operation,
            old_object: self.old,
            dry_run: self.options.dry_run(),
            user: &self.context.request.user.name,
            user_id: &self.context.request.user.uid,
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
            warn: &|warning| self.context.warn(warning),
        })
    }

    /// Runs mutating admission: built-in plugins, in-process plugins, mutating policies and
    /// webhooks; a second time if a policy or webhook has changed the object.
    pub(super) async fn mutate(&self, object: &mut Value) -> Result<(), ApiError> {
        let managed_fields_before = object.pointer("/metadata/managedFields").cloned();
        let mut reinvocation = ReinvocationContext::default();
        self.mutate_once(object, &mut reinvocation).await?;
        if reinvocation.should_reinvoke {
            reinvocation.is_reinvoke = true;
            self.mutate_once(object, &mut reinvocation).await?;
        }
        if let Err(reason) = restore_invalid_managed_fields(object, managed_fields_before) {
            self.context.warn(format!(
                ".metadata.managedFields was in an invalid state after admission; this could be \
                 caused by an outdated mutating admission controller; please fix your requests: {reason}"
            ));
        }
        object_meta::dedup_owner_references(object);
        self.confirm_no_escalation(object)
    }

    /// One round of mutating admission. In-process plugins are not invoked again, as webhooks of
    /// `reinvocationPolicy: Never`.
    async fn mutate_once(
        &self,
        object: &mut Value,
        reinvocation: &mut ReinvocationContext,
    ) -> Result<(), ApiError> {
        let request = self.request();
        self.run_builtin_plugins(&request, |write| admission_plugins::mutate(write, object))?;
        let plugins = match reinvocation.is_reinvoke {
            true => Vec::new(),
            false => self.context.core.plugins.admission(),
        };
        for plugin in plugins {
            if plugin.handles(request.group, request.resource, request.subresource) {
                let admitted = plugin.mutate(&request, object).await?;
                admitted
                    .warnings
                    .into_iter()
                    .for_each(|w| self.context.warn(w));
            }
        }
        configured_admission::mutate(self, object, reinvocation).await
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

    /// Runs validating admission. For writes counted by a ResourceQuota and writes of Services the
    /// caller holds the guard until the object is stored.
    pub(super) async fn validate(&self, object: &Value) -> Result<AdmissionGuard<'_>, ApiError> {
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
            let mut reinvocation = ReinvocationContext::default();
            configured_admission::mutate(self, &mut Value::Null, &mut reinvocation).await?;
        }
        configured_admission::validate(self, object).await?;
        self.run_builtin_plugins(&request, |write| {
            let quotas_of =
                resource_quota::needs_quota_evaluation(write).then_some(request.namespace);
            let locks = &self.context.core.admission_locks;
            let guard = locks.lock(service_allocator::allocates(write), quotas_of);
            admission_plugins::validate(write, object)?;
            Ok(guard)
        })
    }

    /// Runs admission of a CONNECT request; `options` is the object of admission, such as
    /// PodExecOptions.
    async fn admit_connect(&self, options: &mut Value) -> Result<(), ApiError> {
        let mut reinvocation = ReinvocationContext::default();
        configured_admission::mutate(self, options, &mut reinvocation).await?;
        if reinvocation.should_reinvoke {
            reinvocation.is_reinvoke = true;
            configured_admission::mutate(self, options, &mut reinvocation).await?;
        }
        configured_admission::validate(self, options).await
    }
}

/// Runs admission of a connection to a subresource of the object in the request, as upstream's
/// `ConnectResource`. `kind` is the kind of `options` in the core group, such as PodExecOptions.
///
/// # Errors
/// The error of the webhook or policy that rejects the connection.
pub(super) async fn admit_connect(
    call: &RequestContext<'_>,
    kind: &'static str,
    mut options: Value,
) -> Result<(), ApiError> {
    options["apiVersion"] = "v1".into();
    options["kind"] = kind.into();
    let chain = AdmissionChain {
        context: call,
        operation: Operation::Connect,
        name: &call.path.name,
        subresource_kind: Some(SubresourceKind {
            group: "",
            version: "v1",
            kind,
        }),
        old: None,
        options: OperationOptions::Connect,
    };
    chain.admit_connect(&mut options).await
}

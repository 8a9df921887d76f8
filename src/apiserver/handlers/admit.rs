//! Admission: what is built in, plugged in or configured in the cluster may change an object, then
//! may refuse it.

use parking_lot::MutexGuard;
use serde_json::Value;

use super::call::Call;
use super::reader::Stored;
use super::{dynamic, meta};
use crate::hooks::{AdmissionRequest, Operation};
use crate::policy::{self, Write, quota};
use crate::status::ApiError;

/// One write on its way through admission.
pub(super) struct Admitting<'a> {
    pub(super) call: &'a Call<'a>,
    pub(super) operation: Operation,
    pub(super) name: &'a str,
    pub(super) old: Option<&'a Value>,
    pub(super) dry_run: bool,
}

impl Admitting<'_> {
    pub(super) fn request(&self) -> AdmissionRequest<'_> {
        let kind = &self.call.served.kind;
        AdmissionRequest {
            group: &kind.group,
            version: &kind.version,
            kind: &kind.kind,
            resource: &kind.plural,
            subresource: &self.call.path.subresource,
            namespace: self.call.namespace(),
            name: self.name,
            operation: self.operation,
            old: self.old,
            dry_run: self.dry_run,
            user: &self.call.incoming.user.name,
        }
    }

    /// Runs a part of the built-in admission.
    fn built_in<T>(&self, request: &AdmissionRequest<'_>, run: impl FnOnce(&Write<'_>) -> T) -> T {
        let core = self.call.core;
        run(&Write {
            request,
            user: &self.call.incoming.user,
            reader: &Stored(core),
            entropy: &core.entropy,
            now: core.clock.now(),
        })
    }

    /// Lets what is built in and every plug-in change the object.
    pub(super) async fn mutate(&self, object: &mut Value) -> Result<(), ApiError> {
        let request = self.request();
        self.built_in(&request, |write| policy::mutate(write, object))?;
        for plugin in self.call.core.sockets.admission() {
            if plugin.handles(request.group, request.resource, request.subresource) {
                let admitted = plugin.mutate(&request, object).await?;
                admitted
                    .warnings
                    .into_iter()
                    .for_each(|w| self.call.warn(w));
            }
        }
        dynamic::mutate(self, object).await?;
        meta::dedup_owners(object);
        Ok(())
    }

    /// Lets every plug-in and what is built in refuse the object. Where a quota counted it, nothing
    /// else is counted until the caller has stored it and drops what this returns.
    pub(super) async fn validate(
        &self,
        object: &Value,
    ) -> Result<Option<MutexGuard<'_, ()>>, ApiError> {
        let request = self.request();
        for plugin in self.call.core.sockets.admission() {
            if plugin.handles(request.group, request.resource, request.subresource) {
                let admitted = plugin.validate(&request, object).await?;
                admitted
                    .warnings
                    .into_iter()
                    .for_each(|w| self.call.warn(w));
            }
        }
        if self.operation == Operation::Delete {
            // Webhooks that change objects see deletions too, with nothing to change.
            dynamic::mutate(self, &mut Value::Null).await?;
        }
        dynamic::validate(self, object).await?;
        self.built_in(&request, |write| {
            let counting = quota::concerns(write).then(|| self.call.core.counting.lock());
            policy::validate(write, object)?;
            Ok(counting)
        })
    }
}

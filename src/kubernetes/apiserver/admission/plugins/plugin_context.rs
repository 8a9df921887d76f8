//! The context of built-in admission plugins.

use std::collections::HashSet;

use jiff::Timestamp;
use kueue_lab_clock::Entropy;

use crate::auth::user::User;
use crate::plugins::{AdmissionRequest, Operation};
use crate::registry::object_reader::ObjectReader;
use kueue_lab_apimachinery::api_error::ApiError;

/// One write and the dependencies of plugins.
pub(crate) struct PluginContext<'a> {
    /// The admission request.
    pub request: &'a AdmissionRequest<'a>,
    /// The user who made the request.
    pub user: &'a User,
    /// Reads stored objects.
    pub reader: &'a dyn ObjectReader,
    /// Randomness for generated names, addresses and ports.
    pub entropy: &'a Entropy,
    /// The current time.
    pub now: Timestamp,
    /// Takes the texts of `Warning` headers.
    pub warn: &'a dyn Fn(String),
}

impl PluginContext<'_> {
    /// Whether the operation is CREATE.
    pub(super) fn is_create(&self) -> bool {
        self.request.operation == Operation::Create
    }

    /// Whether the operation is CREATE or UPDATE of the resource, not of a subresource.
    pub(super) fn is_write_of(&self, group: &str, resource: &str) -> bool {
        let r = self.request;
        r.operation != Operation::Delete
            && r.subresource.is_empty()
            && r.group == group
            && r.resource == resource
    }

    /// The 403 error for this write.
    pub(super) fn forbidden(&self, reason: impl AsRef<str>) -> ApiError {
        let r = self.request;
        let name = if r.name.is_empty() { "Unknown" } else { r.name };
        ApiError::forbidden(r.group, r.resource, name, reason.as_ref())
    }

    /// The 403 error for this write, with several reasons.
    pub(super) fn forbidden_for_all(&self, mut reasons: Vec<String>) -> ApiError {
        let mut seen = HashSet::new();
        reasons.retain(|r| seen.insert(r.clone()));
        match reasons.as_slice() {
            [only] => self.forbidden(only),
            all => self.forbidden(format!("[{}]", all.join(", "))),
        }
    }
}

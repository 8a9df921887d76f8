//! The write a plugin admits.

use jiff::Timestamp;
use kueue_lab_entropy::Entropy;

use crate::apimachinery::api_error::ApiError;
use crate::auth::user::User;
use crate::plugins::{AdmissionRequest, Operation};
use crate::registry::object_reader::ObjectReader;

/// One write and what deciding on it takes.
pub struct PluginContext<'a> {
    /// What is written.
    pub request: &'a AdmissionRequest<'a>,
    /// Who writes.
    pub user: &'a User,
    /// The objects that are there.
    pub reader: &'a dyn ObjectReader,
    /// Chance, for generated names, addresses and ports.
    pub entropy: &'a Entropy,
    /// The present time.
    pub now: Timestamp,
}

impl PluginContext<'_> {
    /// Whether this creates.
    pub(super) fn is_create(&self) -> bool {
        self.request.operation == Operation::Create
    }

    /// Whether this creates or changes an object of a resource itself.
    pub(super) fn is_write_of(&self, group: &str, resource: &str) -> bool {
        let r = self.request;
        r.operation != Operation::Delete
            && r.subresource.is_empty()
            && r.group == group
            && r.resource == resource
    }

    /// The refusal of this write.
    pub(super) fn forbidden(&self, why: impl AsRef<str>) -> ApiError {
        let r = self.request;
        let name = if r.name.is_empty() { "Unknown" } else { r.name };
        ApiError::forbidden(r.group, r.resource, name, why.as_ref())
    }

    /// The refusal of this write for several reasons.
    pub(super) fn forbidden_for_all(&self, mut reasons: Vec<String>) -> ApiError {
        let mut seen = Vec::new();
        reasons.retain(|r| {
            let new = !seen.contains(r);
            seen.push(r.clone());
            new
        });
        match reasons.as_slice() {
            [only] => self.forbidden(only),
            all => self.forbidden(format!("[{}]", all.join(", "))),
        }
    }
}

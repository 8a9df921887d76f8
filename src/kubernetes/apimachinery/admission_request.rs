//! [`AdmissionRequest`]: what admission plugins and webhooks decide about (`admission/v1`).

use serde_json::Value;

/// The operation of an admission request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A new object.
    Create,
    /// A change, by update, patch or apply.
    Update,
    /// A deletion; the object is null and `old_object` is the object to be deleted.
    Delete,
    /// A connection to a subresource such as `pods/exec`; the object is its options. In-process
    /// plugins are not called for it.
    Connect,
}

/// The attributes of one write, in the version of the request.
#[derive(Clone, Debug)]
pub struct AdmissionRequest<'a> {
    /// API group, empty for core.
    pub group: &'a str,
    /// API version.
    pub version: &'a str,
    /// Group of the kind: that of the resource, except for subresources with an own kind such as
    /// `autoscaling/v1` Scale.
    pub kind_group: &'a str,
    /// Version of the kind.
    pub kind_version: &'a str,
    /// Kind.
    pub kind: &'a str,
    /// Plural resource name.
    pub resource: &'a str,
    /// Subresource such as `status`, or empty.
    pub subresource: &'a str,
    /// Namespace, empty for cluster-scoped objects.
    pub namespace: &'a str,
    /// Name, empty before `generateName` is resolved.
    pub name: &'a str,
    /// The operation.
    pub operation: Operation,
    /// The stored object before an update or delete.
    pub old_object: Option<&'a Value>,
    /// Whether the write is a dry run.
    pub dry_run: bool,
    /// The name of the user who made the request.
    pub user: &'a str,
    /// The UID of that user, often empty.
    pub user_id: &'a str,
}

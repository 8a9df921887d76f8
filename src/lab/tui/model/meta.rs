//! The parts of object metadata that every row has.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::ObjectKey;
use crate::text::{Amount, sanitize};

/// Labels, sanitized.
pub(crate) type Labels = BTreeMap<String, String>;

/// Amounts by resource name.
pub(crate) type Requests = BTreeMap<String, Amount>;

/// Metadata of the object of a row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meta {
    /// Namespace and name.
    pub key: ObjectKey,
    /// The UID; empty if unknown.
    pub uid: String,
    /// Labels.
    pub labels: Labels,
    /// When the object was created.
    pub created: Option<Timestamp>,
    /// Whether the object is being deleted.
    pub deleting: bool,
}

impl Meta {
    /// Converts the metadata of an object.
    pub fn of(meta: &ObjectMeta) -> Self {
        Self {
            key: object_key(meta),
            uid: sanitize(meta.uid.as_deref().unwrap_or_default()),
            labels: meta
                .labels
                .iter()
                .flatten()
                .map(|(k, v)| (sanitize(k), sanitize(v)))
                .collect(),
            created: meta.creation_timestamp.as_ref().map(|t| t.0),
            deleting: meta.deletion_timestamp.is_some(),
        }
    }
}

/// Namespace and name of an object.
pub(crate) fn object_key(meta: &ObjectMeta) -> ObjectKey {
    ObjectKey::new(
        sanitize(meta.namespace.as_deref().unwrap_or_default()),
        sanitize(meta.name.as_deref().unwrap_or_default()),
    )
}

/// Amounts by resource, from quantities by resource.
pub(crate) fn requests_of<'a>(
    list: impl IntoIterator<Item = (&'a String, &'a Quantity)>,
) -> Requests {
    list.into_iter()
        .map(|(name, quantity)| (sanitize(name), Amount::of(quantity)))
        .collect()
}

/// Adds `times` times the amounts of one list to another.
pub(crate) fn add_requests(to: &mut Requests, list: &Requests, times: i64) {
    for (name, amount) in list {
        let sum = to.entry(name.clone()).or_default();
        *sum = sum.plus(amount.times(times));
    }
}

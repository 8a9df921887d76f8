//! Readers of object metadata.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// The name of an object; empty if it is not set.
pub(crate) fn name(meta: &ObjectMeta) -> &str {
    meta.name.as_deref().unwrap_or_default()
}

/// The namespace of an object; empty if it is not set.
pub(crate) fn namespace(meta: &ObjectMeta) -> &str {
    meta.namespace.as_deref().unwrap_or_default()
}

/// The UID of an object; empty if it is not set.
pub(crate) fn uid(meta: &ObjectMeta) -> &str {
    meta.uid.as_deref().unwrap_or_default()
}

/// A label that is not empty.
pub(crate) fn label<'a>(meta: &'a ObjectMeta, key: &str) -> Option<&'a str> {
    let value = meta.labels.as_ref()?.get(key)?;
    (!value.is_empty()).then_some(value.as_str())
}

/// An annotation that is not empty.
pub(crate) fn annotation<'a>(meta: &'a ObjectMeta, key: &str) -> Option<&'a str> {
    let value = meta.annotations.as_ref()?.get(key)?;
    (!value.is_empty()).then_some(value.as_str())
}

/// Whether an object has a finalizer.
pub(crate) fn has_finalizer(meta: &ObjectMeta, finalizer: &str) -> bool {
    meta.finalizers.iter().flatten().any(|f| f == finalizer)
}

//! Classes of resource names.

/// Whether a resource name is native to Kubernetes (without domain, or of `kubernetes.io`).
pub fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

/// Whether a resource name is a `hugepages-` resource.
pub fn is_huge_page(name: &str) -> bool {
    name.starts_with("hugepages-")
}

/// Whether a valid name is that of an extended resource, such as `nvidia.com/gpu`.
pub(crate) fn is_extended(name: &str) -> bool {
    !is_native(name) && !name.starts_with("requests.")
}

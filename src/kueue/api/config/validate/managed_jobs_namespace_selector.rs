//! Validation of `managedJobsNamespaceSelector`.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use super::super::Configuration;
use crate::field::{FieldError, FieldErrors, Path};
use crate::meta_validation::{label_selector, selector_matches};

pub(super) fn validate(c: &Configuration) -> FieldErrors {
    let path = Path::new("managedJobsNamespaceSelector");
    let selector = c.managed_jobs_namespace_selector.as_ref();
    selector.map_or_else(FieldErrors::new, |s| prohibited_namespaces(c, s, &path))
}

/// `kube-system` and Kueue's namespace must not be managed.
pub(super) fn prohibited_namespaces(
    c: &Configuration,
    selector: &LabelSelector,
    path: &Path,
) -> FieldErrors {
    let mut errors = label_selector(selector, path);
    let own = c.namespace.as_deref().filter(|n| !n.is_empty());
    for namespace in ["kube-system"].into_iter().chain(own) {
        let labels = [(
            "kubernetes.io/metadata.name".to_owned(),
            namespace.to_owned(),
        )];
        if selector_matches(selector, &BTreeMap::from(labels)) == Some(true) {
            let detail = format!("should not match the {namespace:?} namespace");
            errors.push(FieldError::invalid(path, selector, detail));
        }
    }
    errors
}

//! Validation of ResourceFlavor.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::Taint;

use crate::field::{FieldError, FieldErrors, Path};
use crate::meta_validation::{label_name, labels, tolerations};
use crate::name_validation;
use crate::v1beta2::ResourceFlavor;

/// Validates a new or updated ResourceFlavor.
pub(crate) fn resource_flavor(flavor: &ResourceFlavor) -> FieldErrors {
    let path = Path::new("spec");
    let mut errors = labels(&flavor.spec.node_labels, &path.child("nodeLabels"));
    errors.extend(node_taints(
        &flavor.spec.node_taints,
        &path.child("nodeTaints"),
    ));
    errors.extend(tolerations(
        &flavor.spec.tolerations,
        &path.child("tolerations"),
    ));
    errors
}

fn node_taints(taints: &[Taint], path: &Path) -> FieldErrors {
    let mut errors = FieldErrors::new();
    let mut seen = BTreeSet::new();
    for (i, taint) in taints.iter().enumerate() {
        let path = path.index(i);
        errors.extend(label_name(&taint.key, &path.child("key")));
        let value = taint.value.as_deref().unwrap_or_default();
        let of_value = name_validation::label_value(value);
        if !of_value.is_empty() {
            errors.push(FieldError::invalid(
                &path.child("value"),
                value,
                of_value.join(";"),
            ));
        }
        if !seen.insert((&taint.effect, &taint.key)) {
            let mut error = FieldError::duplicate(&path, taint);
            error.detail = "taints must be unique by key and effect pair".to_owned();
            errors.push(error);
        }
    }
    errors
}

//! Kubernetes' validation of labels, annotations, selectors, conditions, tolerations and
//! quantities.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::Toleration;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Text;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector};

use crate::field::{FieldError, FieldErrors, Path};
use crate::name_validation;
use kueue_lab_component_helpers::label_selector::matches_label_selector;
pub use kueue_lab_component_helpers::label_selector_validation::validate_label_name as label_name;
pub(crate) use kueue_lab_component_helpers::label_selector_validation::validate_label_selector as label_selector;
use kueue_lab_component_helpers::label_selector_validation::validate_labels;
use kueue_lab_quantity::Quantity;

/// Kubernetes' message for a negative number.
pub(crate) const NOT_NEGATIVE: &str = "must be greater than or equal to 0";

/// Kubernetes' message for a change of an immutable field.
pub(crate) const IMMUTABLE: &str = "field is immutable";

const MAX_ANNOTATIONS: usize = 256 * 1024;

/// Labels, or a node selector.
pub(crate) fn labels<'a>(
    labels: impl IntoIterator<Item = (&'a String, &'a String)>,
    path: &Path,
) -> FieldErrors {
    let labels = labels.into_iter();
    validate_labels(
        labels.map(|(key, value)| (key.as_str(), value.as_str())),
        path,
    )
}

/// Annotations.
pub(crate) fn annotations(annotations: &BTreeMap<String, String>, path: &Path) -> FieldErrors {
    let mut errors = FieldErrors::new();
    for key in annotations.keys() {
        // Annotation keys are case-insensitive here.
        let of_key = name_validation::qualified_name(&key.to_lowercase());
        errors.extend(FieldError::invalid_for_each(path, key, of_key));
    }
    let size: usize = annotations.iter().map(|(k, v)| k.len() + v.len()).sum();
    if size > MAX_ANNOTATIONS {
        errors.push(FieldError::too_long(path, MAX_ANNOTATIONS));
    }
    errors
}

/// Whether labels match a selector; `None` if the selector is invalid. An empty selector matches
/// everything.
pub(crate) fn selector_matches(
    selector: &LabelSelector,
    labels: &BTreeMap<String, String>,
) -> Option<bool> {
    label_selector(selector, &Path::default())
        .is_empty()
        .then(|| matches_label_selector(selector, labels))
}

/// Conditions of a status.
pub(crate) fn conditions(conditions: &[Condition], path: &Path) -> FieldErrors {
    let mut errors = FieldErrors::new();
    let mut types = BTreeSet::new();
    for (i, condition) in conditions.iter().enumerate() {
        let path = path.index(i);
        if !types.insert(&condition.type_) {
            errors.push(FieldError::duplicate(&path, &condition.type_));
        }
        errors.extend(condition_of(condition, &path));
    }
    errors
}

fn condition_of(condition: &Condition, path: &Path) -> FieldErrors {
    let mut errors = FieldErrors::new();
    if condition.type_.is_empty() {
        errors.push(FieldError::required(&path.child("type"), "is required"));
    } else {
        errors.extend(label_name(&condition.type_, &path.child("type")));
    }
    match condition.status.as_str() {
        "" => errors.push(FieldError::required(&path.child("status"), "")),
        "True" | "False" | "Unknown" => {}
        other => errors.push(FieldError::not_supported(
            &path.child("status"),
            other,
            &["False", "True", "Unknown"],
        )),
    }
    if let Some(generation) = condition.observed_generation.filter(|g| *g < 0) {
        errors.push(FieldError::invalid(
            &path.child("observedGeneration"),
            &generation,
            "must be greater than or equal to zero",
        ));
    }
    let reason = path.child("reason");
    if condition.reason.is_empty() {
        errors.push(FieldError::required(&reason, ""));
    } else {
        let form = name_validation::condition_reason(&condition.reason);
        errors.extend(FieldError::invalid_for_each(
            &reason,
            &condition.reason,
            form,
        ));
        if condition.reason.len() > 1024 {
            errors.push(FieldError::too_long(&reason, 1024));
        }
    }
    if condition.message.len() > 32 * 1024 {
        errors.push(FieldError::too_long(&path.child("message"), 32 * 1024));
    }
    errors
}

/// The keys of tolerations; the CRDs have their other rules.
pub(crate) fn tolerations(tolerations: &[Toleration], path: &Path) -> FieldErrors {
    let keys = tolerations
        .iter()
        .enumerate()
        .filter_map(|(i, t)| Some((i, t.key.as_deref()?)));
    keys.filter(|(_, key)| !key.is_empty())
        .flat_map(|(i, key)| label_name(key, &path.index(i).child("key")))
        .collect()
}

/// Parses a quantity.
pub(crate) fn quantity(text: &Text, path: &Path) -> Result<Quantity, FieldError> {
    // The empty text is the zero value of the type.
    if text.0.is_empty() {
        return Ok(Quantity::ZERO);
    }
    Quantity::parse(&text.0).map_err(|e| FieldError::invalid(path, &text.0, e.to_string()))
}

/// A quantity that must not be negative.
pub(crate) fn not_negative(text: &Text, path: &Path) -> FieldErrors {
    match quantity(text, path) {
        Ok(quantity) if quantity.is_negative() => {
            vec![FieldError::invalid(
                path,
                &quantity.to_string(),
                NOT_NEGATIVE,
            )]
        }
        Ok(_) => FieldErrors::new(),
        Err(error) => vec![error],
    }
}

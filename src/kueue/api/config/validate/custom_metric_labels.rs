//! Validation of `metrics.customLabels`.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{Configuration, ControllerMetricsCustomLabel};
use crate::field::{FieldError, FieldErrors, Path};
use crate::name_validation;

const MAX: usize = 20;
const MAX_VALUES: usize = 16;
const MAX_WORKLOAD_VALUES: usize = 12;

/// The maximum number of labels of a kind; `None` for unsupported kinds.
fn max_labels(kind: &str) -> Option<usize> {
    match kind {
        "Workload" => Some(2),
        "LocalQueue" | "ClusterQueue" | "Cohort" => Some(6),
        _ => None,
    }
}

pub(super) fn validate(c: &Configuration) -> FieldErrors {
    let labels = &c.metrics.custom_labels;
    let path = Path::new("metrics").child("customLabels");
    let mut errors = FieldErrors::new();
    if labels.len() > MAX {
        errors.push(FieldError::too_many(&path, labels.len(), MAX));
    }
    let mut seen = BTreeSet::new();
    let mut by_kind: BTreeMap<&str, usize> = BTreeMap::new();
    for (i, label) in labels.iter().enumerate() {
        let path = path.index(i);
        if !is_name(&label.name) {
            let detail = "must match ^[a-zA-Z][a-zA-Z0-9_]*$";
            errors.push(FieldError::invalid(
                &path.child("name"),
                &label.name,
                detail,
            ));
        }
        if !seen.insert(&label.name) {
            errors.push(FieldError::duplicate(&path.child("name"), &label.name));
        }
        errors.extend(source(label, &path));
        let kind = label.source_kind.as_deref().unwrap_or("ClusterQueue");
        *by_kind.entry(kind).or_default() += 1;
        errors.extend(tracked_values(label, kind, &path.child("trackedValues")));
    }
    for (kind, count) in by_kind {
        let detail = match max_labels(kind) {
            None => format!("unknown source kind: {kind}"),
            Some(max) if count > max => format!(
                "too many custom labels for source kind {kind}: found {count}, expected <= {max}"
            ),
            Some(_) => continue,
        };
        errors.push(FieldError::invalid(&path, labels, detail));
    }
    errors
}

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

fn source(label: &ControllerMetricsCustomLabel, path: &Path) -> FieldErrors {
    let mut errors = FieldErrors::new();
    let (by_label, by_annotation) = (&label.source_label_key, &label.source_annotation_key);
    if !by_label.is_empty() && !by_annotation.is_empty() {
        let detail = "sourceLabelKey and sourceAnnotationKey are mutually exclusive";
        errors.push(FieldError::invalid(path, label, detail));
    }
    let (field, key) = if !by_label.is_empty() {
        ("sourceLabelKey", by_label)
    } else if !by_annotation.is_empty() {
        ("sourceAnnotationKey", by_annotation)
    } else {
        ("name", &label.name)
    };
    let wrong = name_validation::qualified_name(key);
    if !wrong.is_empty() {
        errors.push(FieldError::invalid(
            &path.child(field),
            key,
            wrong.join("; "),
        ));
    }
    errors
}

fn tracked_values(label: &ControllerMetricsCustomLabel, kind: &str, path: &Path) -> FieldErrors {
    let values = &label.tracked_values;
    let mut errors = FieldErrors::new();
    if kind == "Workload" {
        if values.is_empty() {
            let detail = "must not be empty when sourceKind is 'Workload'";
            errors.push(FieldError::invalid(path, values, detail));
        }
        if values.len() > MAX_WORKLOAD_VALUES {
            let detail = format!(
                "must not be greater than {MAX_WORKLOAD_VALUES} when sourceKind is 'Workload'"
            );
            errors.push(FieldError::invalid(path, values, detail));
        }
    } else if values.len() > MAX_VALUES {
        errors.push(FieldError::too_many(path, values.len(), MAX_VALUES));
    }
    if values.iter().collect::<BTreeSet<_>>().len() < values.len() {
        errors.push(FieldError::invalid(
            path,
            values,
            "must not contain duplicates",
        ));
    }
    errors
}

//! Validation of the admission-gated-by annotation of jobs and Workloads.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::constants::ADMISSION_GATED_BY_ANNOTATION;
use crate::field::{FieldError, FieldErrors, Path};
use crate::name_validation;

const MAX_NAME: usize = 63;

fn path() -> Path {
    Path::new("metadata")
        .child("annotations")
        .key(ADMISSION_GATED_BY_ANNOTATION)
}

fn value(metadata: &ObjectMeta) -> &str {
    let annotations = metadata.annotations.as_ref();
    annotations
        .and_then(|a| a.get(ADMISSION_GATED_BY_ANNOTATION))
        .map_or("", String::as_str)
}

/// The trimmed names of a comma-separated list.
pub(crate) fn names_in(list: &str) -> Vec<&str> {
    if list.trim().is_empty() {
        Vec::new()
    } else {
        list.split(',').map(str::trim).collect()
    }
}

/// Validates the annotation of a new object.
pub fn admission_gated_by(metadata: &ObjectMeta) -> FieldErrors {
    valid_gates(value(metadata))
}

/// Validates an update: gates can be removed, not added.
pub fn admission_gated_by_update(new: &ObjectMeta, old: &ObjectMeta) -> FieldErrors {
    let (new, old) = (value(new), value(old));
    let mut errors = FieldErrors::new();
    if old.is_empty() && !new.is_empty() {
        let detail = "cannot add admission gate after creation";
        errors.push(FieldError::forbidden(&path(), detail));
    }
    if !old.is_empty() && !new.is_empty() {
        let before = names_in(old);
        if names_in(new).iter().any(|gate| !before.contains(gate)) {
            let detail = "can only remove gates, not add new ones";
            errors.push(FieldError::forbidden(&path(), detail));
        }
    }
    errors.extend(valid_gates(new));
    errors
}

fn valid_gates(list: &str) -> FieldErrors {
    let path = path();
    let mut errors = FieldErrors::new();
    let mut seen = BTreeSet::new();
    for gate in names_in(list) {
        if gate.is_empty() {
            errors.push(FieldError::invalid(
                &path,
                list,
                "cannot contain empty gate names",
            ));
        } else if !seen.insert(gate) {
            let detail = format!("duplicate gate name: {gate}");
            errors.push(FieldError::invalid(&path, list, detail));
        } else {
            errors.extend(domain_prefixed(gate, &path));
            if gate.len() > MAX_NAME {
                errors.push(FieldError::too_long(&path, MAX_NAME));
            }
        }
    }
    errors
}

/// A name such as `acme.io/foo`.
fn domain_prefixed(name: &str, path: &Path) -> FieldErrors {
    match name
        .split_once('/')
        .filter(|(host, rest)| !host.is_empty() && !rest.is_empty())
    {
        Some((host, rest)) => {
            let of_host = name_validation::dns1123_subdomain(host);
            let of_path = name_validation::http_path(rest);
            let mut errors = FieldError::invalid_for_each(path, host, of_host);
            errors.extend(FieldError::invalid_for_each(path, rest, of_path));
            errors
        }
        None => {
            let detail = "must be a domain-prefixed path (such as \"acme.io/foo\")";
            vec![FieldError::invalid(path, name, detail)]
        }
    }
}

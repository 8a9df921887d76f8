//! Validation of ValidatingAdmissionPolicyBindings.

use std::collections::HashSet;

use serde_json::Value;

use super::match_rules::match_resources;
use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;
use kueue_lab_apimachinery::metadata_validation::{labels, object_names};
use kueue_lab_field::{FieldError, name_validation};
use kueue_lab_json::ValueExt;

const SPEC: FieldPath<'_> = FieldPath::root("spec");

/// Validates a ValidatingAdmissionPolicyBinding.
pub(in super::super) fn binding(binding: &Value) -> Vec<FieldError> {
    let mut errors = ErrorList::default();
    let spec = binding.at("/spec");
    policy_reference(&mut errors, spec);
    validation_actions(&mut errors, spec);
    errors.0
}

/// Validates the name of the policy, the reference to parameters and the resources to match.
pub(super) fn policy_reference(errors: &mut ErrorList, spec: &Value) {
    let (name, at) = (spec.text("/policyName"), SPEC.child("policyName"));
    match name {
        "" => errors.required(&at, ""),
        name => errors.invalid_for_each(&at, name, name_validation::dns1123_subdomain(name)),
    }
    if spec.has("/paramRef") {
        param_ref(errors, &SPEC.child("paramRef"), spec.at("/paramRef"));
    }
    if spec.has("/matchResources") {
        // Upstream misspells the field.
        let path = SPEC.child("matchResouces");
        match_resources(errors, &path, spec.at("/matchResources"));
    }
}

fn validation_actions(errors: &mut ErrorList, spec: &Value) {
    let (actions, path) = (
        spec.list("/validationActions"),
        SPEC.child("validationActions"),
    );
    let mut seen = HashSet::new();
    for (i, action) in actions.iter().enumerate() {
        let text = action.as_str().unwrap_or_default();
        errors.one_of(&path.index(i), text, &["Audit", "Deny", "Warn"]);
        if !seen.insert(action) {
            errors.duplicate(&path.index(i), text);
        }
    }
    let has = |name: &str| actions.iter().any(|a| a == name);
    if has("Deny") && has("Warn") {
        let detail = "must not contain both Deny and Warn (repeating the same validation failure \
                      information in the API response and headers serves no purpose)";
        errors.invalid(&path, actions.to_vec(), detail);
    }
    if actions.is_empty() {
        errors.required(&path, "at least one validation action is required");
    }
}

fn param_ref(errors: &mut ErrorList, path: &FieldPath<'_>, reference: &Value) {
    const EXCLUSIVE: &str = "name and selector are mutually exclusive";
    let (name, has_selector) = (reference.text("/name"), reference.has("/selector"));
    if !name.is_empty() {
        let messages = object_names::path_segment_name(name, false);
        errors.invalid_for_each(&path.child("name"), name, messages);
        if has_selector {
            errors.forbidden(&path.child("name"), EXCLUSIVE);
        }
    }
    if has_selector {
        let at = path.child("selector");
        let selector = reference.at("/selector");
        errors.extend(labels::validate_selector(selector, &at.to_string()));
        if !name.is_empty() {
            errors.forbidden(&at, EXCLUSIVE);
        }
    } else if name.is_empty() {
        errors.required(path, "one of name or selector must be specified");
    }
    errors.required_one_of(
        &path.child("parameterNotFoundAction"),
        reference.text("/parameterNotFoundAction"),
        &["Deny", "Allow"],
    );
}

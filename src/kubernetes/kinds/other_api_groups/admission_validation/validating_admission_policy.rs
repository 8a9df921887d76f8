//! Validation of ValidatingAdmissionPolicies.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::expressions::{DeclaredVariables, expression, expression_variables, match_conditions};
use super::match_rules::{FAILURE_POLICIES, match_resources, optional_one_of};
use kueue_lab_apiextensions::crd::definition_validation::type_check::Type;
use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;
use kueue_lab_field::{FieldError, name_validation};
use kueue_lab_json::ValueExt;

const SPEC: FieldPath<'_> = FieldPath::root("spec");

const REASONS: [&str; 3] = ["Forbidden", "Invalid", "RequestEntityTooLarge"];

/// The maximum number of audit annotations.
const AUDIT_ANNOTATIONS_MAX: usize = 20;
/// The maximum length of an audit annotation's expression, in bytes.
const VALUE_EXPRESSION_MAX: usize = 5 * 1024;

/// Validates a new ValidatingAdmissionPolicy.
pub(in super::super) fn policy_create(policy: &Value) -> Vec<FieldError> {
    validate_policy(policy, false)
}

/// Validates an updated ValidatingAdmissionPolicy.
pub(in super::super) fn policy_update(new: &Value, old: &Value) -> Vec<FieldError> {
    validate_policy(new, keeps_match_conditions(new, old))
}

/// Whether an update leaves the match conditions and their variables as they are.
pub(super) fn keeps_match_conditions(new: &Value, old: &Value) -> bool {
    ["/spec/paramKind", "/spec/matchConditions"]
        .iter()
        .all(|pointer| new.at(pointer) == old.at(pointer))
}

/// Validates the failure policy and the kind of parameters.
pub(super) fn failure_policy_and_param_kind(errors: &mut ErrorList, spec: &Value) {
    errors.required_one_of(
        &SPEC.child("failurePolicy"),
        spec.text("/failurePolicy"),
        &FAILURE_POLICIES,
    );
    if spec.has("/paramKind") {
        param_kind(errors, &SPEC.child("paramKind"), spec.at("/paramKind"));
    }
}

/// Validates the match constraints, which need a rule.
pub(super) fn match_constraints(errors: &mut ErrorList, spec: &Value) {
    let path = SPEC.child("matchConstraints");
    if spec.has("/matchConstraints") {
        let constraints = spec.at("/matchConstraints");
        match_resources(errors, &path, constraints);
        if constraints.list("/resourceRules").is_empty() {
            errors.required(&path.child("resourceRules"), "");
        }
    } else {
        errors.required(&path, "");
    }
}

fn validate_policy(policy: &Value, ignore_match_conditions: bool) -> Vec<FieldError> {
    let mut errors = ErrorList::default();
    let spec = policy.at("/spec");
    let has_params = spec.has("/paramKind");
    failure_policy_and_param_kind(&mut errors, spec);
    match_constraints(&mut errors, spec);
    if !ignore_match_conditions {
        match_conditions(&mut errors, &SPEC, spec, has_params);
    }
    let declared = policy_variables(&mut errors, spec, has_params);
    let variables = (!spec.list("/variables").is_empty()).then_some(&declared);
    let (validations, annotations) = (spec.list("/validations"), spec.list("/auditAnnotations"));
    if validations.is_empty() && annotations.is_empty() {
        let detail = "validations or auditAnnotations must contain at least one item";
        errors.required(&SPEC.child("validations"), detail);
        errors.required(&SPEC.child("auditAnnotations"), detail);
    }
    let all = SPEC.child("validations");
    for (i, validation) in validations.iter().enumerate() {
        validate_validation(
            &mut errors,
            &all.index(i),
            validation,
            has_params,
            variables,
        );
    }
    audit_annotations(&mut errors, policy, has_params, variables);
    errors.0
}

/// Validates the variables and returns their types. Each may use those before it.
pub(super) fn policy_variables(
    errors: &mut ErrorList,
    spec: &Value,
    has_params: bool,
) -> DeclaredVariables {
    let all = SPEC.child("variables");
    let mut declared = DeclaredVariables::default();
    for (i, variable) in spec.list("/variables").iter().enumerate() {
        let path = all.index(i);
        let (name, at) = (variable.text("/name"), path.child("name"));
        if name.trim().is_empty() {
            errors.required(&at, "name is not specified");
        } else if !is_cel_identifier(name) {
            errors.invalid(&at, name, "name is not a valid CEL identifier");
        }
        let (text, at) = (variable.text("/expression"), path.child("expression"));
        if text.trim().is_empty() {
            errors.required(&at, "expression is not specified");
            continue;
        }
        let visible = expression_variables(has_params, true, Some(&declared));
        let found = expression(errors, &at, text, visible, &[]);
        // No expression holds it any more, so it is not copied.
        Arc::make_mut(&mut declared).push((name.into(), found));
    }
    declared
}

pub(super) fn is_cel_identifier(name: &str) -> bool {
    let is_start = |c: char| c == '_' || c.is_ascii_alphabetic();
    name.starts_with(is_start)
        && name.chars().all(|c| is_start(c) || c.is_ascii_digit())
        && !kueue_lab_apiextensions::cel::value::RESERVED.contains(&name)
}

fn validate_validation(
    errors: &mut ErrorList,
    path: &FieldPath<'_>,
    validation: &Value,
    has_params: bool,
    variables: Option<&DeclaredVariables>,
) {
    let (text, at) = (validation.text("/expression"), path.child("expression"));
    if text.trim().is_empty() {
        errors.required(&at, "expression is not specified");
    } else {
        let visible = expression_variables(has_params, true, variables);
        expression(errors, &at, text, visible, &[("bool", Type::Bool)]);
    }
    let at = path.child("messageExpression");
    let text = validation.text("/messageExpression");
    if !text.trim().is_empty() {
        let visible = expression_variables(has_params, false, variables);
        expression(errors, &at, text, visible, &[("string", Type::String)]);
    } else if !text.is_empty() {
        errors.invalid(&at, text, "must be non-empty if specified");
    }
    let (message, at) = (validation.text("/message"), path.child("message"));
    if !message.is_empty() && message.trim().is_empty() {
        errors.invalid(&at, message, "message must be non-empty if specified");
    } else if message.trim().contains(['\n', '\r']) {
        errors.invalid(&at, message, "message must not contain line breaks");
    }
    optional_one_of(errors, path, validation, "reason", &REASONS);
}

fn audit_annotations(
    errors: &mut ErrorList,
    policy: &Value,
    has_params: bool,
    variables: Option<&DeclaredVariables>,
) {
    let all = SPEC.child("auditAnnotations");
    let annotations = policy.list("/spec/auditAnnotations");
    if annotations.len() > AUDIT_ANNOTATIONS_MAX {
        let detail = format!("must not have more than {AUDIT_ANNOTATIONS_MAX} auditAnnotations");
        errors.invalid(&all, annotations.to_vec(), detail);
    }
    let mut keys = BTreeSet::new();
    for (i, annotation) in annotations.iter().enumerate() {
        let path = all.index(i);
        let (key, key_path) = (annotation.text("/key"), path.child("key"));
        if policy.name().is_empty() {
            errors.invalid(&key_path, key, "requires metadata.name be non-empty");
        } else {
            let name = format!("{}/{key}", policy.name());
            errors.invalid_for_each(&key_path, &name, name_validation::qualified_name(&name));
        }
        let at = path.child("valueExpression");
        match annotation.text("/valueExpression").trim() {
            "" => errors.required(&at, "valueExpression is not specified"),
            text if text.len() > VALUE_EXPRESSION_MAX => {
                let detail = format!("must not exceed {VALUE_EXPRESSION_MAX} bytes in length");
                errors.required(&at, &detail);
            }
            text => {
                let visible = expression_variables(has_params, true, variables);
                let types = [("string", Type::String), ("null_type", Type::Other)];
                expression(errors, &at, text, visible, &types);
            }
        }
        if !keys.insert(key) {
            errors.duplicate(&key_path, key);
        }
    }
}

fn param_kind(errors: &mut ErrorList, path: &FieldPath<'_>, kind: &Value) {
    let (api_version, at) = (kind.text("/apiVersion"), path.child("apiVersion"));
    let parts: Vec<&str> = api_version.split('/').collect();
    match parts.as_slice() {
        [""] => errors.required(&at, ""),
        [_, _, _, ..] => {
            let detail = format!("unexpected GroupVersion string: {api_version}");
            errors.invalid(&at, api_version, detail);
        }
        parts => {
            let version = parts.last().copied().unwrap_or_default();
            let group = match parts {
                [group, _] => group,
                _ => "",
            };
            let messages = name_validation::dns1123_subdomain(group);
            if !group.is_empty() && !messages.is_empty() {
                errors.invalid(&at, group, messages.join(","));
            }
            let messages = name_validation::dns1035_label(version);
            if version.is_empty() {
                errors.invalid(&at, api_version, "version must be specified");
            } else if !messages.is_empty() {
                errors.invalid(&at, version, messages.join(","));
            }
        }
    }
    let (name, at) = (kind.text("/kind"), path.child("kind"));
    let messages = name_validation::dns1035_label(&name.to_lowercase());
    if name.is_empty() {
        errors.required(&at, "");
    } else if !messages.is_empty() {
        let detail = format!(
            "may have mixed case, but should otherwise match: {}",
            messages.join(",")
        );
        errors.invalid(&at, name, detail);
    }
}

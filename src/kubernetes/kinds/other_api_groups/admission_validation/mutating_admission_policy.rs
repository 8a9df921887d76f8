//! Validation of MutatingAdmissionPolicies and their bindings.

use serde_json::Value;

use super::expressions::{Variables, expression_variables, match_conditions, patch_expression};
use super::policy_binding::policy_reference;
use super::validating_admission_policy::{
    failure_policy_and_param_kind, keeps_match_conditions, match_constraints, policy_variables,
};
use kueue_lab_apiextensions::crd::definition_validation::type_check::Type;
use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;
use kueue_lab_field::FieldError;
use kueue_lab_json::ValueExt;

const SPEC: FieldPath<'_> = FieldPath::root("spec");

/// The operations of rules: a request to delete has no object to mutate.
const OPERATIONS: [&str; 4] = ["*", "CONNECT", "CREATE", "UPDATE"];
const REINVOCATION_POLICIES: [&str; 2] = ["IfNeeded", "Never"];

/// Validates a new MutatingAdmissionPolicy.
pub(in super::super) fn mutating_policy_create(policy: &Value) -> Vec<FieldError> {
    validate_policy(policy, false)
}

/// Validates an updated MutatingAdmissionPolicy.
pub(in super::super) fn mutating_policy_update(new: &Value, old: &Value) -> Vec<FieldError> {
    validate_policy(new, keeps_match_conditions(new, old))
}

/// Validates a MutatingAdmissionPolicyBinding.
pub(in super::super) fn mutating_binding(binding: &Value) -> Vec<FieldError> {
    let mut errors = ErrorList::default();
    let spec = binding.at("/spec");
    policy_reference(&mut errors, spec);
    let path = SPEC.child("matchResouces");
    supported_operations(&mut errors, &path, spec.at("/matchResources"));
    errors.0
}

fn validate_policy(policy: &Value, ignore_match_conditions: bool) -> Vec<FieldError> {
    let mut errors = ErrorList::default();
    let spec = policy.at("/spec");
    let has_params = spec.has("/paramKind");
    failure_policy_and_param_kind(&mut errors, spec);
    match_constraints(&mut errors, spec);
    let path = SPEC.child("matchConstraints");
    supported_operations(&mut errors, &path, spec.at("/matchConstraints"));
    if !ignore_match_conditions {
        match_conditions(&mut errors, &SPEC, spec, has_params);
    }
    let declared = policy_variables(&mut errors, spec, has_params);
    let (mutations, all) = (spec.list("/mutations"), SPEC.child("mutations"));
    if mutations.is_empty() {
        errors.required(&all, "mutations must contain at least one item");
    }
    for (i, mutation) in mutations.iter().enumerate() {
        let visible = expression_variables(has_params, true, Some(&declared));
        validate_mutation(&mut errors, &all.index(i), mutation, visible);
    }
    errors.required_one_of(
        &SPEC.child("reinvocationPolicy"),
        spec.text("/reinvocationPolicy"),
        &REINVOCATION_POLICIES,
    );
    errors.0
}

fn supported_operations(errors: &mut ErrorList, path: &FieldPath<'_>, resources: &Value) {
    let (rules, operations) = (path.child("resourceRules"), "operations");
    let path = rules.child(operations);
    let all = resources.list("/resourceRules").iter();
    for operation in all.flat_map(|rule| rule.list("/operations")) {
        let operation = operation.as_str().unwrap_or_default();
        errors.one_of(&path, operation, &OPERATIONS);
    }
}

fn validate_mutation(
    errors: &mut ErrorList,
    path: &FieldPath<'_>,
    mutation: &Value,
    variables: Variables,
) {
    let object = Type::Named("Object".into());
    let patches = Type::List(Box::new(Type::Named("JSONPatch".into())));
    let (field, other, wanted) = match mutation.text("/patchType") {
        "" => return errors.required(&path.child("patchType"), ""),
        "JSONPatch" => (
            "jsonPatch",
            "applyConfiguration",
            ("list(JSONPatch)", patches),
        ),
        "ApplyConfiguration" => ("applyConfiguration", "jsonPatch", ("Object", object)),
        unknown => {
            let supported = ["ApplyConfiguration", "JSONPatch"];
            return errors.one_of(&path.child("patchType"), unknown, &supported);
        }
    };
    let patch_type = mutation.text("/patchType");
    match mutation.get(field).filter(|m| m.is_object()) {
        None => {
            let detail = format!("must be specified when patchType is {patch_type}");
            errors.required(&path.child(field), &detail);
        }
        Some(patch) => {
            let path = path.child(field);
            let at = path.child("expression");
            match patch.text("/expression").trim() {
                "" => errors.required(&at, ""),
                text => patch_expression(errors, &at, text, variables, wanted),
            }
        }
    }
    if mutation.get(other).is_some_and(Value::is_object) {
        let detail = format!("must not be specified when patchType is {patch_type}");
        errors.invalid(&path.child(other), format!("{{{other}}}"), detail);
    }
}

//! The CEL expressions of match conditions and policies: their variables, compilation and types.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use serde_json::{Value, json};

use kueue_lab_apiextensions::crd::definition_validation::type_check::{
    self, AuthorizerType, Declarations, Type,
};
use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;
use kueue_lab_field::name_validation;
use kueue_lab_json::ValueExt;

/// The maximum number of match conditions.
const MATCH_CONDITIONS_MAX: usize = 64;

/// The type of `request` as a schema.
static REQUEST: LazyLock<Value> = LazyLock::new(|| {
    let string = json!({"type": "string"});
    let strings = json!({"type": "array", "items": string});
    let kind = json!({"type": "object", "properties": {
        "group": string, "version": string, "kind": string}});
    let resource = json!({"type": "object", "properties": {
        "group": string, "version": string, "resource": string}});
    json!({"type": "object", "properties": {
        "kind": kind, "resource": resource, "subResource": string,
        "requestKind": kind, "requestResource": resource, "requestSubResource": string,
        "name": string, "namespace": string, "operation": string,
        "userInfo": {"type": "object", "properties": {
            "username": string, "uid": string, "groups": strings,
            "extra": {"type": "object", "additionalProperties": strings},
        }},
        "dryRun": {"type": "boolean"},
        "options": {"x-kubernetes-int-or-string": true},
    }})
});

pub(crate) type Variables = Vec<(String, Type<'static>)>;

/// The variables that a policy declares, which each of its expressions sees.
pub(crate) type DeclaredVariables = Arc<Variables>;

pub(super) fn match_conditions(
    errors: &mut ErrorList,
    path: &FieldPath<'_>,
    holder: &Value,
    has_params: bool,
) {
    let all = path.child("matchConditions");
    let conditions = holder.list("/matchConditions");
    errors.at_most(&all, conditions.len(), MATCH_CONDITIONS_MAX);
    let mut names = BTreeSet::new();
    for (i, condition) in conditions.iter().enumerate() {
        let path = all.index(i);
        let at = path.child("expression");
        match condition.text("/expression").trim() {
            "" => errors.required(&at, ""),
            text => {
                let variables = expression_variables(has_params, true, None);
                expression(errors, &at, text, variables, &[("bool", Type::Bool)]);
            }
        }
        let (name, at) = (condition.text("/name"), path.child("name"));
        if name.is_empty() {
            errors.required(&at, "");
            continue;
        }
        errors.invalid_for_each(&at, name, name_validation::qualified_name(name));
        if !names.insert(name) {
            errors.duplicate(&at, name);
        }
    }
}

/// The variables of the expressions of an admission policy: those of the request, `params`,
/// `authorizer` and `variables` where they exist.
pub fn expression_variables(
    has_params: bool,
    has_authorizer: bool,
    variables: Option<&DeclaredVariables>,
) -> Variables {
    let mut all: Variables = vec![
        ("object".into(), Type::Any),
        ("oldObject".into(), Type::Any),
        ("namespaceObject".into(), Type::Any),
        ("request".into(), Type::Object(&REQUEST, false)),
    ];
    if has_params {
        all.push(("params".into(), Type::Any));
    }
    if has_authorizer {
        let authorizer = Type::Authorizer(AuthorizerType::Authorizer);
        all.push(("authorizer".into(), authorizer));
    }
    if let Some(variables) = variables {
        all.push(("variables".into(), Type::Fields(variables.clone())));
    }
    all
}

/// Compiles an expression, which must have one of the types; any if there are none. Returns its
/// type.
pub(super) fn expression(
    errors: &mut ErrorList,
    path: &FieldPath<'_>,
    text: &str,
    variables: Variables,
    types: &[(&str, Type<'static>)],
) -> Type<'static> {
    let declarations = Declarations {
        variables,
        has_authorizer_functions: true,
        has_patch_types: false,
    };
    compile(errors, path, text, declarations, types)
}

/// Compiles the expression of a mutation, which must have the type.
pub(super) fn patch_expression(
    errors: &mut ErrorList,
    path: &FieldPath<'_>,
    text: &str,
    variables: Variables,
    wanted: (&str, Type<'static>),
) {
    let declarations = Declarations {
        variables,
        has_authorizer_functions: true,
        has_patch_types: true,
    };
    compile(errors, path, text, declarations, &[wanted]);
}

fn compile(
    errors: &mut ErrorList,
    path: &FieldPath<'_>,
    text: &str,
    declarations: Declarations<'static>,
    types: &[(&str, Type<'static>)],
) -> Type<'static> {
    match type_check::compile(text, declarations) {
        Err(why) => {
            errors.invalid(path, text, format!("compilation failed: {why}"));
            Type::Any
        }
        Ok(found) => {
            if !types.is_empty() && !types.iter().any(|(_, t)| found.is_assignable_to(t)) {
                let names: Vec<&str> = types.iter().map(|(name, _)| *name).collect();
                let wanted = match names.as_slice() {
                    [one] => (*one).to_owned(),
                    several => format!("one of [{}]", several.join(" ")),
                };
                let detail = format!("must evaluate to {wanted} but got {}", found.name());
                errors.invalid(path, text, detail);
            }
            found
        }
    }
}

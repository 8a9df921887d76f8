//! Validation of `x-kubernetes-validations`: fields of the rules, and compilation against the
//! schema.

use serde_json::Value;

use super::schema_accessors::{is_set, list, text};
use super::{schema_path, type_check};
use crate::cel::program;
use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;

const FIELD: &str = "x-kubernetes-validations";

fn has_newlines(text: &str) -> bool {
    text.contains(['\n', '\r'])
}

/// Validates all fields of the rules except the expressions.
pub(super) fn validate_rule_fields(schema: &Value, path: &FieldPath<'_>, errors: &mut ErrorList) {
    const REASONS: [&str; 4] = [
        "FieldValueDuplicate",
        "FieldValueForbidden",
        "FieldValueInvalid",
        "FieldValueRequired",
    ];
    let path = path.child(FIELD);
    for (i, rule) in list(schema, FIELD).iter().enumerate() {
        let path = path.index(i);
        let (expression, message) = (text(rule, "rule").trim(), text(rule, "message"));
        let short = message.trim();
        let at = path.child("message");
        if expression.is_empty() {
            errors.required(&path.child("rule"), "rule is not specified");
        } else if !message.is_empty() && short.is_empty() {
            errors.invalid(&at, message, "must be non-empty if specified");
        } else if has_newlines(short) {
            errors.invalid(&at, message, "must not contain line breaks");
        } else if has_newlines(expression) && short.is_empty() {
            errors.required(
                &at,
                "message must be specified if rule contains line breaks",
            );
        }
        let made = text(rule, "messageExpression");
        if !made.is_empty() && made.trim().is_empty() {
            let detail = "messageExpression must be non-empty if specified";
            errors.required(&path.child("messageExpression"), detail);
        }
        if let Some(reason) = rule.get("reason").and_then(Value::as_str) {
            errors.one_of(&path.child("reason"), reason, &REASONS);
        }
        let (field, at) = (text(rule, "fieldPath"), path.child("fieldPath"));
        if !field.is_empty() && field.trim().is_empty() {
            errors.invalid(&at, field, "must be non-empty if specified");
        }
        if has_newlines(field) {
            errors.invalid(&at, field, "must not contain line breaks");
        }
        if !field.is_empty() && schema_path::find(field, schema, true).is_err() {
            errors.invalid(&at, field, "must be a valid path");
        }
    }
}

/// Compiles the expressions of a valid schema. `whole` is true for the schema of a root or embedded
/// resource; `uncorrelated` is the path of the closest parent that cannot be correlated.
pub(super) fn compile(
    schema: &Value,
    whole: bool,
    uncorrelated: Option<&FieldPath<'_>>,
    path: &FieldPath<'_>,
    errors: &mut ErrorList,
) {
    let path = path.child(FIELD);
    for (i, rule) in list(schema, FIELD).iter().enumerate() {
        let path = path.index(i);
        let expression = text(rule, "rule");
        if expression.trim().is_empty() {
            continue;
        }
        let optional = is_set(rule, "optionalOldSelf");
        let at = path.child("rule");
        let mut fail = |at: &FieldPath<'_>, detail: String| {
            errors.invalid(at, rule.clone(), detail);
        };
        let program = program::compile(expression);
        let uses_old = program.as_ref().is_ok_and(|p| p.uses_old_self);
        match type_checked(expression, schema, whole, optional) {
            Err(reason) => fail(&at, format!("compilation failed: {reason}")),
            Ok(found) if !found.is_assignable_to(&type_check::Type::Bool) => {
                fail(&at, "cel expression must evaluate to a bool".into());
            }
            Ok(_) => message(rule, schema, whole, optional, &path, &mut fail),
        }
        if uses_old && let Some(above) = uncorrelated {
            let detail = format!(
                "oldSelf cannot be used on the uncorrelatable portion of the schema within {above}"
            );
            errors.invalid(&at, expression, detail);
        } else if !uses_old
            && let Some(given) = rule.get("optionalOldSelf").filter(|v| !v.is_null())
        {
            let detail = "may not be set if oldSelf is not used in rule";
            errors.invalid(&path.child("optionalOldSelf"), given.clone(), detail);
        }
    }
}

fn message(
    rule: &Value,
    schema: &Value,
    whole: bool,
    optional: bool,
    path: &FieldPath<'_>,
    fail: &mut impl FnMut(&FieldPath<'_>, String),
) {
    let expression = text(rule, "messageExpression");
    if expression.is_empty() {
        return;
    }
    let at = path.child("messageExpression");
    match type_checked(expression, schema, whole, optional) {
        Err(reason) => fail(
            &at,
            format!("messageExpression compilation failed: {reason}"),
        ),
        Ok(found) if !found.is_assignable_to(&type_check::Type::String) => {
            fail(&at, "messageExpression must evaluate to a string".into());
        }
        Ok(_) => {}
    }
}

fn type_checked<'s>(
    expression: &str,
    schema: &'s Value,
    whole: bool,
    optional: bool,
) -> Result<type_check::Type<'s>, type_check::TypeCheckError> {
    let declarations = type_check::Declarations {
        variables: type_check::rule_variables(schema, whole, optional),
        has_authorizer_functions: false,
        has_patch_types: false,
    };
    type_check::compile(expression, declarations)
}

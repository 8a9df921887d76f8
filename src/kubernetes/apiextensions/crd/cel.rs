//! `x-kubernetes-validations`: CEL validation rules over `self` and `oldSelf`.

use std::sync::Arc;

use kube_cel::cel::{ExecutionError, Value as Cel};
use kueue_lab_cel::SelectedFields;
use serde_json::Value;

use super::list_type::CorrelatedItems;
use crate::cel::cost::{self, CostBudget, LIMIT_EXCEEDED, OUT_OF_BUDGET};
use crate::cel::error::{error_reason, is_overload};
use crate::cel::program::{Program, RuleActivation, compile};
use crate::cel::value::selected_to_cel;
use kueue_lab_apimachinery::schema::{Schema, ValidationRule, ValueType};
use kueue_lab_field::{FieldError, FieldErrorKind};

/// Maximum bytes of the result of a `messageExpression`.
const MESSAGE_MAX: usize = 5 * 1024;

/// Evaluates all validation rules of the schema on the value at `path`; `old` is the value before
/// an update. The rules share a cost budget.
pub(super) fn validate(
    schema: &Schema,
    value: &Value,
    old: Option<&Value>,
    path: &str,
) -> Vec<FieldError> {
    cost::evaluate(|| {
        let mut validator = Validator {
            errors: Vec::new(),
            budget: CostBudget::runtime(),
        };
        let _ = validator.walk(schema, value, old, path);
        validator.errors
    })
}

/// Compiles all rules of the schema, so that the first object does not wait for it.
pub(super) fn compile_rules(schema: &Schema) {
    if !schema.has_validations {
        return;
    }
    if let Some(value_validation) = &schema.value_validation {
        let all_of = value_validation.all_of.iter();
        let nested = all_of.filter_map(|all| all.value_validation.as_ref());
        for rule in std::iter::once(value_validation)
            .chain(nested)
            .flat_map(|validation| &validation.validations)
        {
            // An error is reported with the first object.
            let _ = compile(&rule.rule);
        }
    }
    match &schema.value_type {
        ValueType::Struct(value_type) => {
            for field in value_type.fields.iter() {
                compile_rules(&field.schema);
            }
        }
        ValueType::Map(value_type) => compile_rules(&value_type.value),
        ValueType::List(value_type) => compile_rules(&value_type.item),
        _ => {}
    }
}

/// Ends the evaluation of rules after an error of cost.
struct OutOfBudget;

/// A rule that is evaluated.
struct DueRule<'a> {
    rule: &'a ValidationRule,
    program: Arc<Program>,
    /// The `messageExpression`, if there is a valid one.
    message: Option<Arc<Program>>,
}

impl<'a> DueRule<'a> {
    fn new(rule: &'a ValidationRule, program: Arc<Program>) -> Self {
        let source = rule.message_expression.as_str();
        let message = (!source.is_empty()).then(|| compile(source).ok()).flatten();
        Self {
            rule,
            program,
            message,
        }
    }
}

/// The evaluation of all rules of an object.
struct Validator {
    errors: Vec<FieldError>,
    budget: CostBudget,
}

impl Validator {
    fn walk(
        &mut self,
        schema: &Schema,
        value: &Value,
        old: Option<&Value>,
        path: &str,
    ) -> Result<(), OutOfBudget> {
        if value.is_null() || !schema.name.is_empty() || !schema.has_validations {
            return Ok(());
        }
        if let Some(rules) = &schema.value_validation {
            if !rules.validations.is_empty() {
                self.validate_rules(schema, &rules.validations, value, old, path)?;
            }
            for all in &rules.all_of {
                if let Some(rules) = all
                    .value_validation
                    .as_ref()
                    .filter(|r| !r.validations.is_empty())
                {
                    self.validate_rules(schema, &rules.validations, value, old, path)?;
                }
            }
        }
        match (&schema.value_type, value) {
            (ValueType::Struct(value_type), Value::Object(map)) => {
                let dot = if path.is_empty() { "" } else { "." };
                for (name, value) in map {
                    if let Some(field) = value_type.field(name) {
                        let before = old.and_then(|o| o.get(name));
                        let path = format!("{path}{dot}{name}");
                        self.walk(&field.schema, value, before, &path)?;
                    }
                }
            }
            (ValueType::Map(value_type), Value::Object(map)) => {
                for (key, value) in map {
                    let before = old.and_then(|o| o.get(key));
                    self.walk(&value_type.value, value, before, &format!("{path}[{key}]"))?;
                }
            }
            (ValueType::List(value_type), Value::Array(items)) => {
                let before = CorrelatedItems::of(value_type, old);
                for (i, item) in items.iter().enumerate() {
                    let path = format!("{path}[{i}]");
                    self.walk(&value_type.item, item, before.get(item), &path)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Evaluates the rules of one schema node.
    fn validate_rules(
        &mut self,
        schema: &Schema,
        rules: &[ValidationRule],
        value: &Value,
        old: Option<&Value>,
        path: &str,
    ) -> Result<(), OutOfBudget> {
        if self.budget.is_spent() {
            return self.end(schema, path, OUT_OF_BUDGET.into());
        }
        let old = old.filter(|o| !o.is_null());
        let same = old == Some(value);
        let mut due = Vec::with_capacity(rules.len());
        for rule in rules.iter().filter(|r| !r.rule.trim().is_empty()) {
            match compile(&rule.rule) {
                // A transition rule requires an old value.
                Ok(p) if p.uses_old_self && old.is_none() && !rule.optional_old_self => {}
                // Ratcheting: an unchanged value is not validated by rules without `oldSelf`.
                Ok(p) if same && !p.uses_old_self => {}
                Ok(program) => due.push(DueRule::new(rule, program)),
                Err(reason) => {
                    let detail = format!("rule compile error: {reason}");
                    self.errors.push(rule_error(schema, path, detail));
                }
            }
        }
        if due.is_empty() {
            return Ok(());
        }
        let (this, before) = (
            selected_to_cel(schema, value, &selected_fields(&due, "self")),
            old.map(|old| selected_to_cel(schema, old, &selected_fields(&due, "oldSelf"))),
        );
        let optional = due.iter().any(|due| due.rule.optional_old_self);
        RuleActivation::with(this, before, optional, |scope| {
            for due in &due {
                let (rule, program) = (due.rule, &due.program);
                let evaluation = program.run(scope, rule.optional_old_self);
                if !self.budget.spend(evaluation.cost) {
                    return self.end(schema, path, OUT_OF_BUDGET.into());
                }
                if evaluation.exceeds_limit() {
                    let detail = format!(
                        "'{LIMIT_EXCEEDED}': no further validation rules will be run due to call \
                         cost exceeds limit for rule: {}",
                        rule_message(rule)
                    );
                    return self.end(schema, path, detail);
                }
                match evaluation.result {
                    Ok(Cel::Bool(true)) => {}
                    Ok(_) => self.report_violation(due, scope, schema, value, path)?,
                    Err(reason) => {
                        let detail = error_text(&reason, rule_message(rule));
                        self.errors.push(rule_error(schema, path, detail));
                    }
                }
            }
            Ok(())
        })
    }

    fn report_violation(
        &mut self,
        due: &DueRule<'_>,
        scope: &RuleActivation<'_>,
        schema: &Schema,
        value: &Value,
        path: &str,
    ) -> Result<(), OutOfBudget> {
        match message(due, scope, &mut self.budget) {
            Ok(detail) => {
                self.errors
                    .push(rule_violation(due.rule, detail, schema, value, path));
                Ok(())
            }
            Err(detail) => self.end(schema, path, detail),
        }
    }

    fn end(&mut self, schema: &Schema, path: &str, detail: String) -> Result<(), OutOfBudget> {
        self.errors.push(rule_error(schema, path, detail));
        Err(OutOfBudget)
    }
}

/// The parts of a variable that rules and their message expressions need.
fn selected_fields<'a>(rules: &'a [DueRule<'_>], variable: &str) -> Vec<&'a SelectedFields> {
    let programs = rules
        .iter()
        .flat_map(|due| std::iter::once(&due.program).chain(&due.message));
    programs
        .filter_map(|program| program.selected_fields(variable))
        .collect()
}

fn rule_message(rule: &ValidationRule) -> &str {
    if rule.message.is_empty() {
        rule.rule.trim()
    } else {
        rule.message.trim()
    }
}

/// The error of a rule that fails to compile or evaluate; the bad value is the type, as upstream.
fn rule_error(schema: &Schema, path: &str, detail: String) -> FieldError {
    let kind = match &schema.value_type {
        ValueType::Bool => "boolean",
        ValueType::Int(_) => "integer",
        ValueType::Float => "number",
        ValueType::String { .. } => "string",
        ValueType::List(_) => "array",
        ValueType::Map(_) | ValueType::Struct(_) => "object",
        _ => "",
    };
    FieldError::invalid(path, kind, detail)
}

fn error_text(error: &ExecutionError, rule: &str) -> String {
    if is_overload(error) {
        return format!(
            "'no such overload': call arguments did not match a supported operator, function or \
             macro signature for rule: {rule}"
        );
    }
    format!("{} evaluating rule: {rule}", error_reason(error))
}

fn rule_violation(
    rule: &ValidationRule,
    detail: Option<String>,
    schema: &Schema,
    value: &Value,
    path: &str,
) -> FieldError {
    let detail = detail.unwrap_or_else(|| {
        if rule.message.is_empty() {
            format!("failed rule: {}", rule.rule.trim())
        } else {
            rule.message.trim().into()
        }
    });
    let field = normalized(&rule.field_path);
    let path = match (path, field.as_str()) {
        (path, "") => path.to_string(),
        ("", field) => field.to_string(),
        (path, field) => format!("{path}.{field}"),
    };
    let container = matches!(
        schema.value_type,
        ValueType::Struct(_) | ValueType::Map(_) | ValueType::List(_)
    );
    let bad = (!container).then(|| value.clone());
    match rule.reason.as_str() {
        "FieldValueForbidden" => FieldError::forbidden(path, detail),
        "FieldValueRequired" => FieldError::required(path, detail),
        "FieldValueDuplicate" => FieldError::new(FieldErrorKind::Duplicate, path, bad, ""),
        _ => FieldError::new(FieldErrorKind::Invalid, path, bad, detail),
    }
}

/// The result of the `messageExpression`; `None` if it fails or is not a valid message.
///
/// # Errors
/// The expression is above the limit or the budget.
fn message(
    due: &DueRule<'_>,
    scope: &RuleActivation<'_>,
    budget: &mut CostBudget,
) -> Result<Option<String>, String> {
    let Some(program) = &due.message else {
        return Ok(None);
    };
    let (rule, source) = (due.rule, &due.rule.message_expression);
    let evaluation = program.run(scope, rule.optional_old_self);
    if !budget.spend(evaluation.cost) {
        return Err(
            "messageExpression evaluation failed due to running out of cost budget, no \
                    further validation rules will be run"
                .into(),
        );
    }
    if evaluation.exceeds_limit() {
        return Err(format!(
            "no further validation rules will be run due to call cost exceeds limit for \
             messageExpression: {source:?}"
        ));
    }
    let Ok(Cel::String(text)) = evaluation.result else {
        return Ok(None);
    };
    let text = text.trim();
    let is_message = !text.is_empty() && text.len() <= MESSAGE_MAX && !text.contains('\n');
    Ok(is_message.then(|| text.into()))
}

/// Converts a `fieldPath` such as `.a.b` or `['a']` to a field path.
fn normalized(path: &str) -> String {
    let mut out = String::new();
    let mut rest = path;
    while !rest.is_empty() {
        let name = if let Some(quoted) = rest.strip_prefix("['") {
            let (name, after) = quoted.split_once("']").unwrap_or((quoted, ""));
            rest = after;
            name
        } else {
            let plain = rest.strip_prefix('.').unwrap_or(rest);
            let end = plain.find(['.', '[']).unwrap_or(plain.len());
            rest = &plain[end..];
            if end == 0 && rest == plain {
                break;
            }
            &plain[..end]
        };
        if !out.is_empty() {
            out.push('.');
        }
        out.push_str(name);
    }
    out
}

#[cfg(test)]
mod tests;

//! Type check of CEL expressions against a schema. Reports undefined fields, undeclared references,
//! unknown functions, and operands and arguments without an overload; expressions of unknown type
//! are dynamic.

mod assignability;
mod authorizer;
mod function_overloads;
mod functions;
mod operator_offsets;
mod types;

use std::collections::HashMap;

use kube_cel::cel::common::ast::{EntryExpr, Expr, IdedExpr, LiteralValue, StructExpr};
use serde_json::Value;

use crate::cel::program;
use assignability::unify;
pub use authorizer::AuthorizerType;
use function_overloads::NoOverload;
use functions::{FUNCTIONS, NAMES};
use kueue_lab_cel::{ParseError, is_qualified};
pub use types::Type;

/// The declarations for the expressions of one field.
pub struct Declarations<'s> {
    /// The variables and their types.
    pub variables: Vec<(String, Type<'s>)>,
    /// Whether there are the functions of `authorizer`.
    pub has_authorizer_functions: bool,
    /// Whether there are the types of patches: `Object`, the types of its fields such as
    /// `Object.spec`, and `JSONPatch`.
    pub has_patch_types: bool,
}

/// The fields of `JSONPatch`.
const JSON_PATCH_FIELDS: [&str; 4] = ["op", "path", "from", "value"];

/// The variables of the rules of a schema.
pub(super) fn rule_variables(
    schema: &Value,
    whole: bool,
    optional: bool,
) -> Vec<(String, Type<'_>)> {
    let this = Type::of(schema, whole).unwrap_or(Type::Any);
    let old = if optional { Type::Any } else { this.clone() };
    vec![("self".into(), this), ("oldSelf".into(), old)]
}

/// Why an expression has no type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TypeCheckError {
    /// It is not an expression. The parser omits the space before source lines.
    #[error("{}", .0.to_string().replace("\n| ", "\n | "))]
    Parse(#[from] ParseError),
    /// The undeclared references, undefined fields and calls without an overload, each as cel-go prints it.
    #[error("{}", .0.join("\n"))]
    Check(Vec<String>),
}

/// Compiles an expression and determines its type.
///
/// # Errors
/// The syntax error, or the undeclared references and undefined fields.
pub fn compile<'s>(
    expression: &str,
    declarations: Declarations<'s>,
) -> Result<Type<'s>, TypeCheckError> {
    let program = program::compile(expression)?;
    let mut checker = Checker {
        source: expression,
        vars: declarations.variables,
        has_authorizer_functions: declarations.has_authorizer_functions,
        has_patch_types: declarations.has_patch_types,
        offsets: operator_offsets::operator_offsets(expression, program.expression()),
        errors: Vec::new(),
    };
    let found = checker.of(program.expression());
    if checker.errors.is_empty() {
        return Ok(found);
    }
    checker.errors.sort();
    checker.errors.dedup();
    let errors: Vec<String> = checker
        .errors
        .iter()
        .map(|(at, reason)| checker.format_error(*at, reason))
        .collect();
    Err(TypeCheckError::Check(errors))
}

struct Checker<'e, 's> {
    source: &'e str,
    vars: Vec<(String, Type<'s>)>,
    has_authorizer_functions: bool,
    has_patch_types: bool,
    /// The offsets of operators by the numbers of their expressions.
    offsets: HashMap<u64, usize>,
    /// Errors with their offset in the source.
    errors: Vec<(usize, String)>,
}

impl<'s> Checker<'_, 's> {
    fn of(&mut self, e: &IdedExpr) -> Type<'s> {
        match &e.expr {
            Expr::Ident(name) => self.ident(name),
            Expr::Literal(value) => literal(value),
            Expr::Select(select) => {
                let operand = self.of(&select.operand);
                let found = self.select(&operand, &select.field);
                if select.test { Type::Bool } else { found }
            }
            Expr::Call(call) => {
                self.call(e.id, &call.func_name, call.target.as_deref(), &call.args)
            }
            Expr::List(list) => {
                let elements = list.elements.iter().map(|e| (e, self.of(e)));
                let elements: Vec<(&IdedExpr, Type<'s>)> = elements.collect();
                let is_optional = !list.optional_indices.is_empty();
                Type::List(Box::new(match is_optional {
                    true => Type::Any,
                    false => self.joined(&elements),
                }))
            }
            Expr::Map(map) => {
                let (mut keys, mut values) = (Vec::new(), Vec::new());
                for entry in &map.entries {
                    if let EntryExpr::MapEntry(entry) = &entry.expr {
                        keys.push((&entry.key, self.of(&entry.key)));
                        let value = self.of(&entry.value);
                        let is_optional = entry.optional;
                        values.push((&entry.value, if is_optional { Type::Any } else { value }));
                    }
                }
                Type::Map(Box::new(self.joined(&keys)), Box::new(self.joined(&values)))
            }
            Expr::Comprehension(loop_) => {
                let range = self.of(&loop_.iter_range);
                let init = self.of(&loop_.accu_init);
                let depth = self.vars.len();
                match (&range, &loop_.iter_var2) {
                    (Type::List(item), None) => {
                        self.vars.push((loop_.iter_var.clone(), (**item).clone()))
                    }
                    (Type::List(item), Some(second)) => {
                        self.vars.push((loop_.iter_var.clone(), Type::Int));
                        self.vars.push((second.clone(), (**item).clone()));
                    }
                    (_, second) => {
                        let (key, value) = match &range {
                            Type::Map(key, value) => ((**key).clone(), (**value).clone()),
                            _ => (Type::Any, Type::Any),
                        };
                        self.vars.push((loop_.iter_var.clone(), key));
                        if let Some(second) = second {
                            self.vars.push((second.clone(), value));
                        }
                    }
                }
                self.vars.push((loop_.accu_var.clone(), init.clone()));
                self.of(&loop_.loop_cond);
                let step = self.of(&loop_.loop_step);
                // The type of a list accumulator is that of the loop step: the list starts empty.
                let made = if matches!(init, Type::List(_)) {
                    step
                } else {
                    init
                };
                if let Some(last) = self.vars.last_mut() {
                    last.1 = made;
                }
                let result = self.of(&loop_.result);
                self.vars.truncate(depth);
                result
            }
            Expr::Struct(literal) => self.object_literal(literal),
            _ => Type::Any,
        }
    }

    fn object_literal(&mut self, literal: &StructExpr) -> Type<'s> {
        let name = literal.type_name.trim_start_matches('.');
        let is_patch = name == "JSONPatch";
        let is_known = is_patch || name == "Object" || name.starts_with("Object.");
        if !self.has_patch_types || !is_known {
            let at = self.source.find(name).unwrap_or_default();
            self.error(
                at,
                format!("undeclared reference to '{name}' (in container '')"),
            );
        }
        for entry in &literal.entries {
            let EntryExpr::StructField(field) = &entry.expr else {
                continue;
            };
            if is_patch && !JSON_PATCH_FIELDS.contains(&field.field.as_str()) {
                let at = self.find(&field.field, |_| 0) + field.field.len();
                self.error(at, format!("undefined field '{}'", field.field));
            }
            self.of(&field.value);
        }
        Type::Named(name.into())
    }

    fn ident(&mut self, name: &str) -> Type<'s> {
        if let Some((_, found)) = self.vars.iter().rev().find(|(own, _)| own == name) {
            return found.clone();
        }
        let is_known = NAMES.contains(&name) || (self.has_patch_types && name == "jsonpatch");
        if !is_known && !name.contains('@') {
            let at = self.find(name, |_| 0);
            self.error(
                at,
                format!("undeclared reference to '{name}' (in container '')"),
            );
        }
        Type::Any
    }

    fn select(&mut self, operand: &Type<'s>, field: &str) -> Type<'s> {
        // A field of an optional value is optional.
        if let Type::Optional(value) = operand {
            let found = self.select(value, field);
            return Type::Optional(Box::new(found));
        }
        if let Some(found) = operand.field(field) {
            return found;
        }
        let message = match operand {
            Type::Object(..) | Type::Struct(_) | Type::ObjectMeta | Type::Fields(_) => {
                format!("undefined field '{field}'")
            }
            Type::Bool
            | Type::Int
            | Type::Uint
            | Type::Double
            | Type::String
            | Type::Bytes
            | Type::Duration
            | Type::Timestamp
            | Type::Opaque(_)
            | Type::Null
            | Type::List(_)
            | Type::Authorizer(_) => {
                format!("type '{}' does not support field selection", operand.name())
            }
            _ => return Type::Any,
        };
        self.error(self.offset_of_field(field), message);
        Type::Any
    }

    fn call(
        &mut self,
        id: u64,
        name: &str,
        target: Option<&IdedExpr>,
        args: &[IdedExpr],
    ) -> Type<'s> {
        let on = target.map(|t| self.of(t));
        let types: Vec<Type<'s>> = args.iter().map(|a| self.of(a)).collect();
        let operator = !name.starts_with(|c: char| c.is_ascii_alphabetic());
        let of_authorizer = self.has_authorizer_functions && authorizer::has_function(name);
        let is_known = FUNCTIONS.contains(&name)
            || of_authorizer
            || (self.has_patch_types && name == "escapeKey");
        if !operator && !is_known {
            self.error(
                self.offset_of_function(name),
                format!("undeclared reference to '{name}' (in container '')"),
            );
        }
        if of_authorizer && let Some(on) = &on {
            return authorizer::call(name, on, &types).unwrap_or_else(|error| {
                self.error(self.offset_of_function(name), error.to_string());
                Type::Any
            });
        }
        // A function of a namespace, such as `sets.contains`.
        let qualified = target.and_then(|target| self.qualified_name(target, name));
        let (name, on) = match &qualified {
            Some(qualified) => (qualified.as_str(), None),
            None => (name, on.as_ref()),
        };
        let is_expansion = operator_offsets::is_expansion(args);
        if matches!(name, "_&&_" | "_||_") {
            for (operand, of) in args.iter().zip(&types).filter(|_| !is_expansion) {
                self.expect(operand, &Type::Bool, of);
            }
            return Type::Bool;
        }
        match function_overloads::call(name, on, &types) {
            None => Type::Any,
            Some(Ok(result)) => result,
            Some(Err(NoOverload)) if is_expansion => Type::Any,
            Some(Err(NoOverload)) => {
                let at = self.offsets.get(&id).copied();
                let last = name.rsplit('.').next().unwrap_or_default();
                let of_function = || self.offset_of_function(last);
                let at = at.unwrap_or_else(|| if operator { 0 } else { of_function() });
                self.error(at, no_matching_overload(name, on, &types));
                let is_comparison = matches!(
                    name,
                    "!_" | "_==_" | "_!=_" | "_<_" | "_<=_" | "_>_" | "_>=_" | "@in"
                );
                if is_comparison { Type::Bool } else { Type::Any }
            }
        }
    }

    /// The type of the elements of a list or map, which have to be of one type.
    fn joined(&mut self, elements: &[(&IdedExpr, Type<'s>)]) -> Type<'s> {
        let mut joined = Type::Unbound;
        for (element, of) in elements {
            self.expect(element, &joined, of);
            joined = joined.most_general(of);
        }
        joined
    }

    /// Reports an expression of another type.
    fn expect(&mut self, expression: &IdedExpr, wanted: &Type<'s>, of: &Type<'s>) {
        if !unify(wanted, of) {
            let (wanted, found) = (wanted.name(), of.name());
            let at = self.offset_of(expression);
            self.error(at, format!("expected type '{wanted}' but found '{found}'"));
        }
    }

    /// The offset of an expression as cel-go has it: that of the operator, of the parenthesis of a
    /// call, or of the dot before a field. The parser does not record offsets of literals: the
    /// first one of this text.
    fn offset_of(&self, expression: &IdedExpr) -> usize {
        if let Some(at) = self.offsets.get(&expression.id) {
            return *at;
        }
        match &expression.expr {
            Expr::Ident(name) => self.find(name, |_| 0),
            Expr::Call(call) => self.offset_of_function(&call.func_name),
            Expr::Select(select) => self.offset_of_field(&select.field),
            Expr::Literal(value) => self.source.find(&literal_text(value)).unwrap_or_default(),
            Expr::List(_) => self.source.find('[').unwrap_or_default(),
            Expr::Map(_) => self.source.find('{').unwrap_or_default(),
            _ => 0,
        }
    }

    /// The offset of the parenthesis of a call.
    fn offset_of_function(&self, name: &str) -> usize {
        self.find(name, |_| 0) + name.len()
    }

    /// The offset of the dot before a field.
    fn offset_of_field(&self, field: &str) -> usize {
        self.find(field, |before| before.len() - before.trim_end().len() + 1)
    }

    /// The name of a function of a namespace of functions.
    fn qualified_name(&self, target: &IdedExpr, name: &str) -> Option<String> {
        let Expr::Ident(namespace) = &target.expr else {
            return None;
        };
        let is_variable = self.vars.iter().any(|(own, _)| own == namespace);
        let is_namespace = !is_variable && is_qualified(target, name);
        is_namespace.then(|| format!("{namespace}.{name}"))
    }

    fn error(&mut self, at: usize, message: String) {
        self.errors.push((at, message));
    }

    /// The offset of an identifier in the source, minus the result of `back` on the preceding text.
    /// The parser does not record offsets, so this is the first whole-word occurrence.
    fn find(&self, word: &str, back: impl Fn(&str) -> usize) -> usize {
        let part = |c: char| c.is_alphanumeric() || c == '_';
        self.source
            .match_indices(word)
            .find(|(i, _)| {
                let (before, after) = (self.source.get(..*i), self.source.get(i + word.len()..));
                !before.is_some_and(|b| b.ends_with(part))
                    && !after.is_some_and(|a| a.starts_with(part))
            })
            .map_or(0, |(i, _)| {
                i.saturating_sub(back(self.source.get(..i).unwrap_or_default()))
            })
    }

    /// Formats an error as the CEL compiler does, with its source line.
    fn format_error(&self, at: usize, message: &str) -> String {
        let before = self.source.get(..at).unwrap_or_default();
        let line = before.matches('\n').count();
        let column = before
            .rsplit('\n')
            .next()
            .unwrap_or_default()
            .chars()
            .count();
        let text = self
            .source
            .split('\n')
            .nth(line)
            .unwrap_or_default()
            .replace('\t', " ");
        let dots = ".".repeat(column);
        format!(
            "ERROR: <input>:{}:{}: {message}\n | {text}\n | {dots}^",
            line + 1,
            column + 1
        )
    }
}

/// The error of a call without an overload.
fn no_matching_overload(name: &str, target: Option<&Type<'_>>, types: &[Type<'_>]) -> String {
    let names: Vec<String> = types.iter().map(Type::name).collect();
    let on = target.map(|target| format!("{}.", target.name()));
    format!(
        "found no matching overload for '{name}' applied to '{}({})'",
        on.unwrap_or_default(),
        names.join(", ")
    )
}

/// The text of a literal, up to the first character of a string or of bytes.
fn literal_text(value: &LiteralValue) -> String {
    match value {
        LiteralValue::Boolean(value) => value.to_string(),
        LiteralValue::Int(value) => value.to_string(),
        LiteralValue::UInt(value) => format!("{}u", value.inner()),
        LiteralValue::Double(value) => value.to_string(),
        LiteralValue::String(_) | LiteralValue::Bytes(_) => "'".into(),
        LiteralValue::Null => "null".into(),
    }
}

fn literal<'s>(value: &LiteralValue) -> Type<'s> {
    match value {
        LiteralValue::Boolean(_) => Type::Bool,
        LiteralValue::Int(_) => Type::Int,
        LiteralValue::UInt(_) => Type::Uint,
        LiteralValue::Bytes(_) => Type::Bytes,
        LiteralValue::Double(_) => Type::Double,
        LiteralValue::String(_) => Type::String,
        LiteralValue::Null => Type::Null,
    }
}

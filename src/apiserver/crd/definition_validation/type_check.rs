//! Type check of CEL expressions against a schema. Reports undefined fields, undeclared references,
//! unknown functions, and operands and arguments without an overload; expressions of unknown type are dynamic.

mod authorizer;
mod functions;
mod operator_offsets;
mod overloads;

use std::collections::HashMap;

use kube_cel::cel::common::ast::{EntryExpr, Expr, IdedExpr, LiteralValue, StructExpr};
use serde_json::Value;

use super::schema_accessors::{is_set, schema_field, schema_map, text};
use crate::cel::program;
use crate::cel::value::is_selected_by;
use crate::schema::{Schema, StructSchema, ValueType};
pub(crate) use authorizer::AuthorizerType;
use functions::{FUNCTIONS, NAMES};

/// The type of an expression.
#[derive(Clone, Debug)]
pub(crate) enum Type<'s> {
    /// A dynamic or unknown type.
    Any,
    Bool,
    Int,
    Double,
    String,
    Null,
    List(Box<Type<'s>>),
    Map(Box<Type<'s>>),
    /// An object with its schema; true for a root or embedded resource, which has metadata.
    Object(&'s Value, bool),
    /// An object of a kind.
    Struct(&'s StructSchema),
    /// The metadata of a root or embedded resource.
    ObjectMeta,
    /// An object with these fields.
    Fields(Vec<(String, Type<'s>)>),
    /// The type of an object literal such as `Object.spec{}`.
    Named(String),
    /// `authorizer`, or the result of one of its functions.
    Authorizer(AuthorizerType),
    /// Any other type without fields.
    Other,
}

/// What the expressions of one place may use.
pub(crate) struct Declarations<'s> {
    /// The variables and their types.
    pub(crate) variables: Vec<(String, Type<'s>)>,
    /// Whether there are the functions of `authorizer`.
    pub(crate) has_authorizer_functions: bool,
    /// Whether there are the types of patches: `Object`, the types of its fields such as
    /// `Object.spec`, and `JSONPatch`.
    pub(crate) has_patch_types: bool,
}

/// The fields of `JSONPatch`.
const JSON_PATCH_FIELDS: [&str; 4] = ["op", "path", "from", "value"];

impl PartialEq for Type<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::List(a), Self::List(b)) | (Self::Map(a), Self::Map(b)) => a == b,
            (Self::Object(a, x), Self::Object(b, y)) => a == b && x == y,
            (Self::Struct(a), Self::Struct(b)) => std::ptr::eq(*a, *b),
            (Self::Fields(a), Self::Fields(b)) => a == b,
            (Self::Named(a), Self::Named(b)) => a == b,
            (Self::Authorizer(a), Self::Authorizer(b)) => a == b,
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}

impl<'s> Type<'s> {
    /// The type of the values of a schema; `None` if CEL rules cannot access them.
    fn of(schema: &'s Value, whole: bool) -> Option<Self> {
        if is_set(schema, "x-kubernetes-int-or-string") {
            return Some(Self::Any);
        }
        let inner = |s: &'s Value| Self::of(s, is_set(s, "x-kubernetes-embedded-resource"));
        Some(match text(schema, "type") {
            "boolean" => Self::Bool,
            "integer" => Self::Int,
            "number" => Self::Double,
            "string" => match text(schema, "format") {
                "byte" | "duration" | "date" | "date-time" => Self::Other,
                _ => Self::String,
            },
            "array" => Self::List(Box::new(inner(schema_field(schema, "items")?)?)),
            "object" => match schema_field(schema, "additionalProperties") {
                Some(values) => Self::Map(Box::new(inner(values)?)),
                None => Self::Object(schema, whole),
            },
            _ => return None,
        })
    }

    /// The type of the values of a kind's schema.
    pub(crate) fn of_schema(schema: &'s Schema) -> Self {
        let format = schema.value_validation.as_ref();
        let format = format.map_or("", |v| v.format.as_str());
        match &schema.value_type {
            ValueType::Bool => Self::Bool,
            ValueType::Int(_) => Self::Int,
            ValueType::Float => Self::Double,
            ValueType::String { .. } => match format {
                "byte" | "duration" | "date" | "date-time" => Self::Other,
                _ => Self::String,
            },
            ValueType::Bytes | ValueType::Time | ValueType::MicroTime => Self::Other,
            ValueType::List(list) => Self::List(Box::new(Self::of_schema(&list.item))),
            ValueType::Map(map) => Self::Map(Box::new(Self::of_schema(&map.value))),
            ValueType::Struct(fields) if !fields.preserve_unknown && !fields.fields.is_empty() => {
                Self::Struct(fields)
            }
            _ => Self::Any,
        }
    }

    /// Whether this type is assignable to `wanted`.
    pub(crate) fn is_assignable_to(&self, wanted: &Self) -> bool {
        match (self, wanted) {
            (Self::Any, _) => true,
            (Self::List(item), Self::List(wanted)) => item.is_assignable_to(wanted),
            _ => self == wanted,
        }
    }

    /// The name of the type as CEL formats it.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Bool => "bool".into(),
            Self::Int => "int".into(),
            Self::Double => "double".into(),
            Self::String => "string".into(),
            Self::Null => "null".into(),
            Self::Object(..) | Self::Struct(_) | Self::ObjectMeta => "object".into(),
            Self::List(item) => format!("list({})", item.name()),
            Self::Map(value) => format!("map(string, {})", value.name()),
            Self::Named(name) => name.clone(),
            Self::Authorizer(of) => of.name().into(),
            _ => "dyn".into(),
        }
    }

    fn element(&self) -> Self {
        match self {
            Self::List(item) => (**item).clone(),
            _ => Self::Any,
        }
    }

    /// The type of a field; `None` if it is undefined.
    fn field(&self, name: &str) -> Option<Self> {
        match self {
            Self::Any => Some(Self::Any),
            Self::Map(value) => Some((**value).clone()),
            Self::Fields(fields) => {
                let (_, found) = fields.iter().find(|(own, _)| own == name)?;
                Some(found.clone())
            }
            Self::Struct(value_type) => {
                let mut fields = value_type.fields.iter();
                let field = fields.find(|f| is_selected_by(&f.name, name))?;
                Some(Self::of_schema(&field.schema))
            }
            Self::Authorizer(AuthorizerType::Authorizer) if name == "requestResource" => {
                Some(Self::Authorizer(AuthorizerType::ResourceCheck))
            }
            Self::ObjectMeta => matches!(name, "name" | "generateName").then_some(Self::String),
            Self::Object(_, true) if matches!(name, "apiVersion" | "kind") => Some(Self::String),
            Self::Object(_, true) if name == "metadata" => Some(Self::ObjectMeta),
            Self::Object(schema, _) => {
                let mut fields = schema_map(schema, "properties");
                let (_, field) = fields.find(|(own, _)| is_selected_by(own, name))?;
                Self::of(field, is_set(field, "x-kubernetes-embedded-resource"))
            }
            _ => None,
        }
    }
}

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

/// Compiles an expression and determines its type.
///
/// # Errors
/// The syntax error, or the undeclared references and undefined fields.
pub(crate) fn compile<'s>(
    expression: &str,
    declarations: Declarations<'s>,
) -> Result<Type<'s>, String> {
    // The parser omits the space before source lines.
    let program = program::compile(expression).map_err(|why| why.replace("\n| ", "\n | "))?;
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
        .map(|(at, why)| checker.format_error(*at, why))
        .collect();
    Err(errors.join("\n"))
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
                let types: Vec<Type<'s>> = list.elements.iter().map(|e| self.of(e)).collect();
                let first = types.first().cloned().unwrap_or(Type::Any);
                let same = types.iter().all(|t| *t == first) && list.optional_indices.is_empty();
                Type::List(Box::new(if same { first } else { Type::Any }))
            }
            Expr::Map(map) => {
                for entry in &map.entries {
                    if let EntryExpr::MapEntry(entry) = &entry.expr {
                        self.of(&entry.key);
                        self.of(&entry.value);
                    }
                }
                Type::Map(Box::new(Type::Any))
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
                        self.vars.push((loop_.iter_var.clone(), Type::Any));
                        if let Some(second) = second {
                            let value = if let Type::Map(v) = &range {
                                (**v).clone()
                            } else {
                                Type::Any
                            };
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
        if let Some(found) = operand.field(field) {
            return found;
        }
        let what = match operand {
            Type::Object(..) | Type::Struct(_) | Type::ObjectMeta | Type::Fields(_) => {
                format!("undefined field '{field}'")
            }
            Type::Bool | Type::Int | Type::Double | Type::String | Type::Authorizer(_) => {
                format!("type '{}' does not support field selection", operand.name())
            }
            _ => return Type::Any,
        };
        // The offset of the dot before the field.
        let at = self.find(field, |before| before.len() - before.trim_end().len() + 1);
        self.error(at, what);
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
        let mut types: Vec<Type<'s>> = args.iter().map(|a| self.of(a)).collect();
        let operator = !name.starts_with(|c: char| c.is_ascii_alphabetic());
        let of_authorizer = self.has_authorizer_functions && authorizer::has_function(name);
        let is_known = FUNCTIONS.contains(&name)
            || of_authorizer
            || (self.has_patch_types && name == "escapeKey");
        if !operator && !is_known {
            let at = self.find(name, |_| 0) + name.len();
            self.error(
                at,
                format!("undeclared reference to '{name}' (in container '')"),
            );
        }
        if of_authorizer && let Some(on) = &on {
            return authorizer::call(name, on, &types).unwrap_or_else(|why| {
                let at = self.find(name, |_| 0) + name.len();
                self.error(at, why);
                Type::Any
            });
        }
        if !overloads::has_overload(name, on.as_ref(), &types)
            && !operator_offsets::is_expansion(args)
        {
            let at = self.offsets.get(&id).copied();
            let of_function = || self.find(name, |_| 0) + name.len();
            let at = at.unwrap_or_else(|| if operator { 0 } else { of_function() });
            self.error(
                at,
                overloads::no_matching_overload(name, on.as_ref(), &types),
            );
            return match name {
                "_&&_" | "_||_" | "!_" | "_==_" | "_!=_" | "_<_" | "_<=_" | "_>_" | "_>=_"
                | "@in" => Type::Bool,
                _ => Type::Any,
            };
        }
        match name {
            "_[_]" => match types.first() {
                Some(Type::Map(value)) => (**value).clone(),
                Some(list) => list.element(),
                None => Type::Any,
            },
            "_?_:_" if types.len() == 3 => {
                let (no, yes) = (types.pop(), types.pop());
                match (yes, no) {
                    (Some(Type::List(a)), Some(Type::List(b))) if *a == Type::Any => Type::List(b),
                    (Some(Type::List(a)), Some(Type::List(b))) if *b == Type::Any => Type::List(a),
                    (Some(yes), Some(no)) if yes == no => yes,
                    _ => Type::Any,
                }
            }
            "_+_" => match (types.first(), types.get(1)) {
                (Some(Type::List(a)), Some(Type::List(b))) if **a == Type::Any => {
                    Type::List(b.clone())
                }
                (Some(a), Some(b)) if a == b => a.clone(),
                _ => Type::Any,
            },
            "_&&_" | "_||_" | "!_" | "_==_" | "_!=_" | "_<_" | "_<=_" | "_>_" | "_>=_" | "@in"
            | "_in_" | "startsWith" | "endsWith" | "matches" | "contains" | "isSorted" => {
                Type::Bool
            }
            "size" | "int" => Type::Int,
            "double" => Type::Double,
            "bool" => Type::Bool,
            "-_" | "_-_" | "_*_" | "_/_" | "_%_" => match (types.first(), types.last()) {
                (Some(a), Some(b)) if a == b && matches!(a, Type::Int | Type::Double) => a.clone(),
                _ => Type::Any,
            },
            "string" | "lowerAscii" | "upperAscii" | "replace" | "substring" | "trim" | "join" => {
                Type::String
            }
            "split" => Type::List(Box::new(Type::String)),
            "sum" | "min" | "max" | "first" | "last" => on.map_or(Type::Any, |t| t.element()),
            _ => Type::Any,
        }
    }

    fn error(&mut self, at: usize, what: String) {
        self.errors.push((at, what));
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
    fn format_error(&self, at: usize, what: &str) -> String {
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
            "ERROR: <input>:{}:{}: {what}\n | {text}\n | {dots}^",
            line + 1,
            column + 1
        )
    }
}

fn literal<'s>(value: &LiteralValue) -> Type<'s> {
    match value {
        LiteralValue::Boolean(_) => Type::Bool,
        LiteralValue::Int(_) => Type::Int,
        LiteralValue::Double(_) => Type::Double,
        LiteralValue::String(_) => Type::String,
        LiteralValue::Null => Type::Null,
        _ => Type::Other,
    }
}

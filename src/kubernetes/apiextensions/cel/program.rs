//! CEL programs, compiled once and cached by source.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use kube_cel::cel::extractors::Arguments;
use kube_cel::cel::objects::OptionalValue;
use kube_cel::cel::parser::Expression;
use kube_cel::cel::{Context, ExecutionError, ResolveResult, Value};
use kueue_lab_cel::{Evaluation, ParseError, SelectedFields, base_context};
use parking_lot::RwLock;

use super::authorizer;

/// A compiled expression.
pub(crate) struct Program {
    program: kueue_lab_cel::Program,
    /// Whether the expression uses `oldSelf`.
    pub uses_old_self: bool,
}

/// A program, or the syntax error.
pub(crate) type Compiled = Result<Arc<Program>, ParseError>;

static CACHE: LazyLock<RwLock<HashMap<String, Compiled>>> = LazyLock::new(RwLock::default);
/// Maximum number of cached programs; further ones are compiled on each call.
const MAX_CACHED_PROGRAMS: usize = 16_384;

thread_local! {
    /// All functions of the Kubernetes CEL libraries.
    static BASE: Context<'static> = base();
}

fn base() -> Context<'static> {
    let mut context = base_context();
    // The library has no type values; type names are sufficient for comparisons.
    context.add_function("type", |Arguments(args): Arguments| -> ResolveResult {
        let value = args
            .first()
            .ok_or(ExecutionError::MissingArgumentOrTarget)?;
        Ok(Value::String(Arc::new(type_name(value))))
    });
    authorizer::add_functions(&mut context);
    for name in TYPES {
        context.add_variable_from_value(name, Value::String(Arc::new(name.into())));
    }
    context
}

const TYPES: [&str; 9] = [
    "bool",
    "int",
    "uint",
    "double",
    "string",
    "bytes",
    "list",
    "map",
    "null_type",
];

fn type_name(value: &Value) -> String {
    match value {
        Value::Bool(_) => "bool".into(),
        Value::Int(_) => "int".into(),
        Value::UInt(_) => "uint".into(),
        Value::Float(_) => "double".into(),
        Value::String(_) => "string".into(),
        Value::Bytes(_) => "bytes".into(),
        Value::List(_) => "list".into(),
        Value::Map(_) => "map".into(),
        Value::Null => "null_type".into(),
        other => other.type_of().to_string(),
    }
}

/// Compiles an expression.
///
/// # Errors
/// The syntax error.
pub(crate) fn compile(text: &str) -> Compiled {
    if let Some(compiled) = CACHE.read().get(text) {
        return compiled.clone();
    }
    let compiled = kueue_lab_cel::Program::compile(text).map(|program| {
        let references = program.expression().references();
        let uses_old_self = references.has_variable("oldSelf");
        Arc::new(Program {
            program,
            uses_old_self,
        })
    });
    let mut cache = CACHE.write();
    if cache.len() < MAX_CACHED_PROGRAMS {
        cache.insert(text.into(), compiled.clone());
    }
    compiled
}

/// The activation of the rules of one value, shared by all of them.
pub(crate) struct RuleActivation<'b> {
    plain: Context<'b>,
    /// With `oldSelf` as an optional, for rules with `optionalOldSelf`.
    optional: Option<Context<'b>>,
}

impl RuleActivation<'_> {
    /// Runs `f` with an activation in which `self` is `this` and `oldSelf` is `before`, if present.
    pub(crate) fn with<T>(
        this: Value,
        before: Option<Value>,
        optional: bool,
        f: impl FnOnce(&RuleActivation<'_>) -> T,
    ) -> T {
        BASE.with(|base| {
            let optional = optional.then(|| {
                let mut context = base.new_inner_scope();
                let old = before
                    .clone()
                    .map_or_else(OptionalValue::none, OptionalValue::of);
                context.add_variable_from_value("self", this.clone());
                context.add_variable_from_value("oldSelf", Value::Opaque(Arc::new(old)));
                context
            });
            let mut plain = base.new_inner_scope();
            plain.add_variable_from_value("self", this);
            if let Some(before) = before {
                plain.add_variable_from_value("oldSelf", before);
            }
            f(&RuleActivation { plain, optional })
        })
    }
}

/// Evaluates a program with named variables.
pub(crate) fn evaluate_with(
    values: impl Iterator<Item = (&'static str, Value)>,
    program: &Program,
) -> Evaluation {
    BASE.with(|base| {
        let mut scope = base.new_inner_scope();
        for (name, value) in values {
            scope.add_variable_from_value(name, value);
        }
        program.program.evaluate(&scope)
    })
}

impl Program {
    /// The parsed expression.
    pub(crate) fn expression(&self) -> &Expression {
        self.program.expression()
    }

    /// The parts of a variable that the expression needs; `None` if it does not use the variable.
    pub(crate) fn selected_fields(&self, variable: &str) -> Option<&SelectedFields> {
        self.program.selected_fields().get(variable)
    }

    /// Evaluates the expression.
    pub(crate) fn run(&self, scope: &RuleActivation<'_>, optional: bool) -> Evaluation {
        let context = scope.optional.as_ref().filter(|_| optional);
        let context = context.unwrap_or(&scope.plain);
        self.program.evaluate(context)
    }
}

//! Compiled expressions.

use std::collections::BTreeMap;

use kube_cel::KubeCelExt;
use kube_cel::cel::Context;
use kube_cel::cel::parser::Expression;

use crate::cost::{self, Evaluation, metered};
use crate::instrument::instrument;
use crate::parse::{ParseError, has_depth, parse};
use crate::selected_fields::{SelectedFields, selected_fields};
use crate::size_charge;

/// Up to this nesting a program is evaluated on the stack of the thread.
const INLINE_DEPTH: usize = 16;
/// The stack for other programs, in bytes.
const STACK: usize = 128 << 20;

/// A compiled expression.
pub struct Program {
    /// The expression as parsed.
    expression: Expression,
    /// The expression that is evaluated.
    runnable: Expression,
    /// The parts of variables that it needs.
    selected: BTreeMap<String, SelectedFields>,
    /// The cost of the parts that every evaluation has.
    base_cost: u64,
    /// Whether the evaluation needs a large stack.
    is_deep: bool,
}

impl Program {
    /// Compiles an expression within the limits of cel-go's parser.
    ///
    /// # Errors
    /// The limit or the syntax error.
    pub fn compile(text: &str) -> Result<Self, ParseError> {
        let expression = parse(text)?;
        let (runnable, base_cost) = instrument(expression.clone());
        Ok(Self {
            is_deep: has_depth(&runnable, INLINE_DEPTH),
            selected: selected_fields(&expression),
            expression,
            runnable,
            base_cost,
        })
    }

    /// The parsed expression.
    pub fn expression(&self) -> &Expression {
        &self.expression
    }

    /// The parts of each variable that the expression needs, by name.
    pub fn selected_fields(&self) -> &BTreeMap<String, SelectedFields> {
        &self.selected
    }

    /// Evaluates the expression in a scope of [`base_context`], up to
    /// [`PER_CALL_LIMIT`](crate::PER_CALL_LIMIT). The interpreter is recursive and takes much of
    /// the stack for each level.
    pub fn evaluate(&self, scope: &Context<'_>) -> Evaluation {
        let evaluate = || metered(self.base_cost, || scope.resolve(&self.runnable));
        match self.is_deep {
            true => stacker::grow(STACK, evaluate),
            false => evaluate(),
        }
    }
}

/// The functions of the Kubernetes CEL libraries.
pub fn base_context() -> Context<'static> {
    let mut context = Context::default().with_all();
    context.add_function(cost::CHARGE, cost::charge_units);
    size_charge::add_functions(&mut context);
    context.add_function("lists.range", cost::lists_range);
    context
}

#[cfg(test)]
mod tests {
    use kube_cel::cel::Value;

    use super::*;
    use crate::{LIMIT_EXCEEDED, PER_CALL_LIMIT};

    #[test]
    fn comprehensions_end_at_the_cost_limit() {
        let run = |text: &str| {
            let program = Program::compile(text).unwrap();
            program.evaluate(&base_context().new_inner_scope())
        };
        let small = run("lists.range(3).all(a, a < 3)");
        assert_eq!(small.result, Ok(Value::Bool(true)));
        assert!(small.cost < 100);
        let range = "lists.range(400)";
        let nested = format!("{range}.all(a, {range}.all(b, {range}.all(c, a + b + c >= 0)))");
        // `||` absorbs errors of its sides, but not this one.
        for text in [nested.clone(), format!("{nested} || true")] {
            let large = run(&text);
            assert!(large.cost > PER_CALL_LIMIT && large.exceeds_limit());
            assert!(
                large
                    .result
                    .unwrap_err()
                    .to_string()
                    .contains(LIMIT_EXCEEDED)
            );
        }
    }
}

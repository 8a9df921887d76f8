//! Runtime cost of expressions, `k8s.io/apiserver/pkg/apis/cel` and cel-go's cost tracker.
//!
//! The interpreter has no hook for cost. [`super::instrument`] adds calls of functions that charge
//! it. An expression above the limit ends with an error.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use kube_cel::cel::{ExecutionError, ResolveResult, Value};

/// The function that charges a cost: `charge(COST)`, which is true.
pub(super) const CHARGE: &str = "@charge";

/// The maximum cost of one expression, `PerCallLimit`.
const PER_CALL_LIMIT: u64 = 1_000_000;
/// The budget of all rules of an object and of all validations of a policy for one binding,
/// `RuntimeCELCostBudget`.
const RUNTIME_BUDGET: u64 = 10_000_000;
/// The budget of match conditions, `RuntimeCELCostBudgetMatchConditions`.
const MATCH_CONDITIONS_BUDGET: u64 = 2_500_000;
/// The cost that may be evaluated on a thread of the async runtime, a few milliseconds.
const INLINE_ALLOWANCE: u64 = 20_000;

/// The error of an expression above the limit, as cel-go words it.
pub(crate) const LIMIT_EXCEEDED: &str = "operation cancelled: actual cost limit exceeded";
/// The error of an expression above the remaining budget.
pub(crate) const OUT_OF_BUDGET: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";

#[derive(Clone, Copy)]
struct Meter {
    /// The cost of the current expression.
    spent: u64,
    /// The remaining cost of [`within_allowance`].
    allowance: u64,
}

thread_local! {
    static METER: Cell<Meter> = const { Cell::new(Meter { spent: 0, allowance: u64::MAX }) };
}

/// The remaining cost of a number of expressions.
#[derive(Debug)]
pub(crate) struct CostBudget(u64);

impl CostBudget {
    /// The budget of the rules of an object, or of a policy and one binding.
    pub(crate) fn runtime() -> Self {
        Self(RUNTIME_BUDGET)
    }

    /// The budget of match conditions.
    pub(crate) fn match_conditions() -> Self {
        Self(MATCH_CONDITIONS_BUDGET)
    }

    /// Subtracts a cost; false if it is above the remaining budget.
    pub(crate) fn spend(&mut self, cost: u64) -> bool {
        match self.0.checked_sub(cost) {
            Some(rest) => {
                self.0 = rest;
                true
            }
            None => {
                self.0 = 0;
                false
            }
        }
    }

    /// The remaining cost.
    #[cfg(test)]
    pub(super) fn remaining(&self) -> u64 {
        self.0
    }

    /// Whether nothing remains.
    pub(crate) fn is_spent(&self) -> bool {
        self.0 == 0
    }
}

/// The result of an expression and its cost.
pub(crate) struct Evaluation {
    /// The value, or the error.
    pub(crate) result: ResolveResult,
    /// The cost.
    pub(crate) cost: u64,
}

impl Evaluation {
    /// Whether the expression was above the limit of one expression.
    pub(crate) fn exceeds_limit(&self) -> bool {
        self.cost > PER_CALL_LIMIT
    }
}

/// Adds to the cost of the current expression.
///
/// # Errors
/// [`LIMIT_EXCEEDED`], which ends the evaluation.
pub(super) fn charge(units: u64) -> Result<(), ExecutionError> {
    METER.with(|meter| {
        let Meter { spent, allowance } = meter.get();
        let next = Meter {
            spent: spent.saturating_add(units),
            allowance: match allowance {
                u64::MAX => u64::MAX,
                rest => rest.saturating_sub(units),
            },
        };
        meter.set(next);
        match next.spent > PER_CALL_LIMIT || next.allowance == 0 {
            true => Err(limit_exceeded()),
            false => Ok(()),
        }
    })
}

/// The function [`CHARGE`].
pub(super) fn charge_units(units: i64) -> ResolveResult {
    charge(u64::try_from(units).unwrap_or_default())?;
    Ok(Value::Bool(true))
}

fn limit_exceeded() -> ExecutionError {
    function_error(LIMIT_EXCEEDED)
}

/// An error of a function, with the message alone.
pub(super) fn function_error(message: &str) -> ExecutionError {
    ExecutionError::FunctionError {
        function: String::new(),
        message: message.into(),
    }
}

/// Runs an expression of which the parts that are always evaluated cost `base`.
pub(super) fn metered(base: u64, run: impl FnOnce() -> ResolveResult) -> Evaluation {
    METER.with(|meter| {
        meter.set(Meter {
            spent: base,
            ..meter.get()
        })
    });
    // The interpreter panics on a few values, such as precisions above 65535 in `format`.
    let result = catch_unwind(AssertUnwindSafe(run))
        .unwrap_or_else(|_| Err(function_error("internal error")));
    let Meter { spent, allowance } = METER.with(Cell::get);
    // `&&` and `||` can absorb the error.
    let is_ended = spent > PER_CALL_LIMIT || allowance == 0;
    Evaluation {
        result: if is_ended {
            Err(limit_exceeded())
        } else {
            result
        },
        cost: spent,
    }
}

/// Evaluates expressions. If they cost more than a few milliseconds they are evaluated once more
/// without blocking a worker of the async runtime.
pub(crate) fn evaluate<T>(mut expressions: impl FnMut() -> T) -> T {
    if let Some(done) = within_allowance(&mut expressions) {
        return done;
    }
    kueue_lab_blocking::compute(expressions)
}

/// Evaluates expressions up to [`INLINE_ALLOWANCE`]; `None` if they cost more.
fn within_allowance<T>(expressions: impl FnOnce() -> T) -> Option<T> {
    let with_allowance = |allowance| {
        METER.with(|meter| {
            meter.replace(Meter {
                allowance,
                ..meter.get()
            })
        })
    };
    let outer = with_allowance(INLINE_ALLOWANCE).allowance;
    let done = expressions();
    let rest = with_allowance(outer).allowance;
    (rest > 0).then_some(done)
}

/// `lists.range`, which charges for its items before they are made.
pub(super) fn lists_range(n: i64) -> ResolveResult {
    let size =
        u64::try_from(n).map_err(|_| function_error("range argument must be non-negative"))?;
    charge(size)?;
    Ok(Value::List(Arc::new((0..n).map(Value::Int).collect())))
}

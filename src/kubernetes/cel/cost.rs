//! Runtime cost of expressions, `k8s.io/apiserver/pkg/apis/cel` and cel-go's cost tracker.
//!
//! The interpreter has no hook for cost. [`crate::instrument`] adds calls of functions that charge
//! it. An expression above the limit ends with an error.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use kube_cel::cel::{ExecutionError, ResolveResult, Value};

/// The function that charges a cost: `charge(COST)`, which is true.
pub(crate) const CHARGE: &str = "@charge";

/// The maximum cost of one expression, `PerCallLimit`; `CELSelectorExpressionMaxCost` of device
/// selectors is the same.
pub(crate) const PER_CALL_LIMIT: u64 = 1_000_000;

/// The error of an expression above the limit, as cel-go words it.
pub const LIMIT_EXCEEDED: &str = "operation cancelled: actual cost limit exceeded";

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

/// The result of an expression and its cost.
pub struct Evaluation {
    /// The value, or the error.
    pub result: ResolveResult,
    /// The cost.
    pub cost: u64,
}

impl Evaluation {
    /// Whether the expression was above the limit of one expression.
    pub fn exceeds_limit(&self) -> bool {
        self.cost > PER_CALL_LIMIT
    }
}

/// Adds to the cost of the current expression.
///
/// # Errors
/// [`LIMIT_EXCEEDED`], which ends the evaluation.
pub(crate) fn charge(units: u64) -> Result<(), ExecutionError> {
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
pub(crate) fn charge_units(units: i64) -> ResolveResult {
    charge(u64::try_from(units).unwrap_or_default())?;
    Ok(Value::Bool(true))
}

fn limit_exceeded() -> ExecutionError {
    function_error(LIMIT_EXCEEDED)
}

/// An error of a function, with only the message.
pub fn function_error(message: &str) -> ExecutionError {
    ExecutionError::FunctionError {
        function: String::new(),
        message: message.into(),
    }
}

/// Runs an expression of which the parts that are always evaluated cost `base`.
pub(crate) fn metered(base: u64, run: impl FnOnce() -> ResolveResult) -> Evaluation {
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

/// Evaluates expressions up to a cost of all of them together; `None` if they cost more.
pub fn within_allowance<T>(allowance: u64, expressions: impl FnOnce() -> T) -> Option<T> {
    let with_allowance = |allowance| {
        METER.with(|meter| {
            meter.replace(Meter {
                allowance,
                ..meter.get()
            })
        })
    };
    let outer = with_allowance(allowance).allowance;
    let done = expressions();
    let rest = with_allowance(outer).allowance;
    (rest > 0).then_some(done)
}

/// `lists.range`, which charges for its items before they are made.
pub(crate) fn lists_range(n: i64) -> ResolveResult {
    let size =
        u64::try_from(n).map_err(|_| function_error("range argument must be non-negative"))?;
    charge(size)?;
    Ok(Value::List(Arc::new((0..n).map(Value::Int).collect())))
}

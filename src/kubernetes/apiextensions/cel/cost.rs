//! Budgets of the runtime cost of expressions, `k8s.io/apiserver/pkg/apis/cel`.

pub(crate) use kueue_lab_cel::LIMIT_EXCEEDED;
use kueue_lab_cel::within_allowance;

/// The budget of all rules of an object and of all validations of a policy for one binding,
/// `RuntimeCELCostBudget`.
const RUNTIME_BUDGET: u64 = 10_000_000;
/// The budget of match conditions, `RuntimeCELCostBudgetMatchConditions`.
const MATCH_CONDITIONS_BUDGET: u64 = 2_500_000;
/// The cost that may be evaluated on a thread of the async runtime, a few milliseconds.
const INLINE_ALLOWANCE: u64 = 20_000;

/// The error of an expression above the remaining budget.
pub const OUT_OF_BUDGET: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";

/// The remaining cost of a number of expressions.
#[derive(Debug)]
pub struct CostBudget(u64);

impl CostBudget {
    /// The budget of the rules of an object, or of a policy and one binding.
    pub fn runtime() -> Self {
        Self(RUNTIME_BUDGET)
    }

    /// The budget of match conditions.
    pub fn match_conditions() -> Self {
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

/// Evaluates expressions. If they cost more than a few milliseconds they are evaluated once more
/// without blocking a worker of the async runtime.
pub fn evaluate<T>(mut expressions: impl FnMut() -> T) -> T {
    if let Some(done) = within_allowance(INLINE_ALLOWANCE, &mut expressions) {
        return done;
    }
    kueue_lab_blocking::compute(expressions)
}

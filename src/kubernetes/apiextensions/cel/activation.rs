//! [`Activation`]: evaluation of expressions over named variables such as `object` and `request`,
//! for admission policies and match conditions of webhooks.

use std::collections::HashMap;
use std::sync::Arc;

use kube_cel::cel::objects::{Key, Map};
use kube_cel::cel::{ExecutionError, Value as Cel};
use kueue_lab_cel::{ParseError, REQUEST_RESOURCE};
use serde_json::Value;

use super::authorizer::{self, AuthorizationCheck, Authorizer};
use super::cost::CostBudget;
use super::error::error_reason;
use super::program::{compile, evaluate_with};
use super::value;
use kueue_lab_apimachinery::schema::Schema;

/// The variables of expressions.
#[derive(Clone, Default)]
pub struct Activation {
    values: Vec<(&'static str, Cel)>,
    /// Composited variables of admission policies: `variables.NAME`.
    variables: HashMap<Key, Cel>,
    /// Names of variables that failed to evaluate, and their errors.
    failed_variables: Vec<(String, String)>,
}

/// The remaining cost budget is too small; no further expression is evaluated.
#[derive(Debug, PartialEq)]
pub struct OutOfBudget;

/// The error of an expression, worded as in admission policies.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpressionError {
    /// It does not compile.
    #[error("compilation error: {0}")]
    Compilation(#[source] ParseError),
    /// It cannot be evaluated.
    #[error("expression '{expression}' resulted in error: {reason}")]
    Evaluation {
        /// The expression.
        expression: String,
        /// The message of the evaluation.
        reason: String,
    },
}

/// The result of an expression.
#[derive(Clone, Debug, PartialEq)]
pub enum EvaluationResult {
    /// A boolean.
    Bool(bool),
    /// A string.
    Text(String),
    /// A value of another type.
    Other(Cel),
}

impl Activation {
    /// Binds a variable; with a schema, fields are converted by their declared types.
    pub fn bind(&mut self, name: &'static str, schema: Option<&Schema>, value: &Value) {
        let seen = match schema {
            Some(schema) if value.is_object() => value::to_cel(schema, value),
            _ => value::untyped_to_cel(value),
        };
        self.bind_value(name, seen);
    }

    /// Binds `authorizer`; `authorizer.requestResource` checks `request`.
    pub fn bind_authorizer(
        &mut self,
        authorizer: Arc<dyn Authorizer>,
        request: AuthorizationCheck,
    ) {
        let [authorizer, request_resource] = authorizer::variables(authorizer, request);
        self.bind_value("authorizer", authorizer);
        self.bind_value(REQUEST_RESOURCE, request_resource);
    }

    fn bind_value(&mut self, name: &'static str, value: Cel) {
        self.values.retain(|(known, _)| *known != name);
        self.values.push((name, value));
    }

    /// Evaluates a variable and makes it available as `variables.NAME`. The error of a variable is
    /// that of the expressions that use it.
    pub fn define_variable(
        &mut self,
        name: &str,
        expression: &str,
        budget: &mut CostBudget,
    ) -> Result<(), OutOfBudget> {
        match self.value(expression, budget) {
            Ok(found) => {
                let key = Key::String(Arc::new(name.into()));
                self.variables.insert(key, found);
            }
            Err(EvaluationError::OutOfBudget) => return Err(OutOfBudget),
            Err(EvaluationError::Compilation(reason)) => {
                let reason = format!("composited variable {name:?} fails to compile: {reason}");
                self.failed_variables.push((name.into(), reason));
            }
            Err(EvaluationError::Evaluation(reason)) => {
                let reason = format!("composited variable {name:?} fails to evaluate: {reason}");
                self.failed_variables.push((name.into(), reason));
            }
        }
        Ok(())
    }

    /// Evaluates an expression.
    ///
    /// # Errors
    /// The compilation or evaluation error, or [`OutOfBudget`].
    pub fn evaluate(
        &self,
        expression: &str,
        budget: &mut CostBudget,
    ) -> Result<Result<EvaluationResult, ExpressionError>, OutOfBudget> {
        Ok(match self.value(expression, budget) {
            Ok(Cel::Bool(answer)) => Ok(EvaluationResult::Bool(answer)),
            Ok(Cel::String(text)) => Ok(EvaluationResult::Text(text.to_string())),
            Ok(other) => Ok(EvaluationResult::Other(other)),
            Err(EvaluationError::OutOfBudget) => return Err(OutOfBudget),
            Err(EvaluationError::Compilation(error)) => Err(ExpressionError::Compilation(error)),
            Err(EvaluationError::Evaluation(reason)) => {
                let expression = expression.to_owned();
                Err(ExpressionError::Evaluation { expression, reason })
            }
        })
    }

    fn value(&self, expression: &str, budget: &mut CostBudget) -> Result<Cel, EvaluationError> {
        let program = compile(expression).map_err(EvaluationError::Compilation)?;
        let variables = Cel::Map(Map {
            map: Arc::new(self.variables.clone()),
        });
        let values = self.values.iter().cloned();
        let values = values.chain([("variables", variables)]);
        let evaluation = evaluate_with(values, &program);
        if !budget.spend(evaluation.cost) {
            return Err(EvaluationError::OutOfBudget);
        }
        evaluation.result.map_err(|reason| {
            let failed = match &reason {
                ExecutionError::NoSuchKey(key) => self
                    .failed_variables
                    .iter()
                    .find(|(name, _)| *name == **key),
                _ => None,
            };
            EvaluationError::Evaluation(match failed {
                Some((_, reason)) => reason.clone(),
                None => error_reason(&reason),
            })
        })
    }
}

enum EvaluationError {
    Compilation(ParseError),
    Evaluation(String),
    OutOfBudget,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nested_comprehensions_end_at_the_cost_limit() {
        let mut names = Activation::default();
        let items: Vec<i64> = (0..400).collect();
        names.bind("items", None, &json!(items));
        let mut budget = CostBudget::runtime();
        let mut answer = |e: &str| names.evaluate(e, &mut budget);
        let once = "items.all(a, a >= 0)";
        assert_eq!(answer(once), Ok(Ok(EvaluationResult::Bool(true))));
        let nested = "items.all(a, items.all(b, items.all(c, a + b + c >= 0)))";
        let exceeded = ExpressionError::Evaluation {
            expression: nested.to_owned(),
            reason: "operation cancelled: actual cost limit exceeded".to_owned(),
        };
        assert_eq!(answer(nested), Ok(Err(exceeded.clone())));
        // The error is not absorbed by `||`.
        assert!(matches!(answer(&format!("{nested} || true")), Ok(Err(_))));
        // Each used a tenth of the budget.
        while answer(nested) == Ok(Err(exceeded.clone())) {}
        assert_eq!(answer(once), Err(OutOfBudget));
    }

    #[test]
    fn expressions_see_names_and_variables() {
        let mut names = Activation::default();
        names.bind(
            "object",
            None,
            &json!({"spec": {"replicas": 3}, "metadata": {"labels": {"a/b-c": "x"}}}),
        );
        names.bind("oldObject", None, &Value::Null);
        let mut budget = CostBudget::runtime();
        let mut define = |name, e| names.define_variable(name, e, &mut budget).unwrap();
        define("limit", "2 + 2");
        define("broken", "object.spec.missing");
        let mut budget = CostBudget::runtime();
        let mut answer = |e: &str| names.evaluate(e, &mut budget).unwrap();
        assert_eq!(
            answer("object.spec.replicas <= variables.limit"),
            Ok(EvaluationResult::Bool(true))
        );
        assert_eq!(
            answer("'a/b-c' in object.metadata.labels"),
            Ok(EvaluationResult::Bool(true))
        );
        assert_eq!(
            answer("oldObject == null"),
            Ok(EvaluationResult::Bool(true))
        );
        assert_eq!(
            answer("'n' + string(variables.limit)"),
            Ok(EvaluationResult::Text("n4".into()))
        );
        assert_eq!(
            answer("object.spec.nope > 1").unwrap_err().to_string(),
            "expression 'object.spec.nope > 1' resulted in error: no such key: nope"
        );
        assert_eq!(
            answer("variables.broken == 1").unwrap_err().to_string(),
            "expression 'variables.broken == 1' resulted in error: composited variable \"broken\" \
             fails to evaluate: no such key: missing"
        );
        assert!(
            answer("1 +")
                .unwrap_err()
                .to_string()
                .starts_with("compilation error: ")
        );
    }
}

//! [`Activation`]: evaluation of expressions over named variables such as `object` and `request`,
//! for admission policies and match conditions of webhooks.

use std::collections::HashMap;
use std::sync::Arc;

use kube_cel::cel::Value as Cel;
use kube_cel::cel::objects::{Key, Map};
use serde_json::Value;

use super::error::error_reason;
use super::program::{compile, evaluate_with};
use super::value;
use crate::schema::Schema;

/// The variables of expressions.
#[derive(Clone, Default)]
pub(crate) struct Activation {
    values: Vec<(&'static str, Cel)>,
    /// Composited variables of admission policies: `variables.NAME`.
    variables: HashMap<Key, Cel>,
}

/// The result of an expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum EvaluationResult {
    /// A boolean.
    Bool(bool),
    /// A string.
    Text(String),
    /// A value of another type.
    Other,
}

impl Activation {
    /// Binds a variable; with a schema, fields are converted by their declared types.
    pub(crate) fn bind(&mut self, name: &'static str, schema: Option<&Schema>, value: &Value) {
        let seen = match schema {
            Some(schema) if value.is_object() => value::to_cel(schema, value),
            _ => value::untyped_to_cel(value),
        };
        self.values.retain(|(known, _)| *known != name);
        self.values.push((name, seen));
    }

    /// Evaluates a variable and makes it available as `variables.NAME`.
    ///
    /// # Errors
    /// The expression does not compile or its evaluation fails.
    pub(crate) fn define_variable(&mut self, name: &str, expression: &str) -> Result<(), String> {
        let found = self.run(expression)?;
        let key = Key::String(Arc::new(name.into()));
        self.variables.insert(key, found);
        Ok(())
    }

    /// Evaluates an expression.
    ///
    /// # Errors
    /// The compilation or evaluation error, worded as in admission policies.
    pub(crate) fn evaluate(&self, expression: &str) -> Result<EvaluationResult, String> {
        Ok(match self.run(expression)? {
            Cel::Bool(answer) => EvaluationResult::Bool(answer),
            Cel::String(text) => EvaluationResult::Text(text.to_string()),
            _ => EvaluationResult::Other,
        })
    }

    fn run(&self, expression: &str) -> Result<Cel, String> {
        let program = compile(expression).map_err(|why| format!("compilation error: {why}"))?;
        let variables = Cel::Map(Map {
            map: Arc::new(self.variables.clone()),
        });
        let values = self.values.iter().cloned();
        let values = values.chain([("variables", variables)]);
        evaluate_with(values, &program).map_err(|why| {
            let why = error_reason(&why);
            format!("expression '{expression}' resulted in error: {why}")
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn expressions_see_names_and_variables() {
        let mut names = Activation::default();
        names.bind(
            "object",
            None,
            &json!({"spec": {"replicas": 3}, "metadata": {"labels": {"a/b-c": "x"}}}),
        );
        names.bind("oldObject", None, &Value::Null);
        names.define_variable("limit", "2 + 2").unwrap();
        let answer = |e: &str| names.evaluate(e);
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
            answer("object.spec.nope > 1"),
            Err("expression 'object.spec.nope > 1' resulted in error: no such key: nope".into())
        );
        assert!(
            answer("1 +")
                .unwrap_err()
                .starts_with("compilation error: ")
        );
    }
}

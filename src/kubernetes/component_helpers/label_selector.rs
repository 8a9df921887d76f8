//! Label selectors of API objects (`metav1.LabelSelectorAsSelector`).

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use thiserror::Error;

use crate::requirement::{Operator, Requirement, aggregate};

/// Labels of an object.
pub type Labels = BTreeMap<String, String>;

/// A selector that cannot be evaluated.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SelectorError {
    /// The operator is not one of In, NotIn, Exists, DoesNotExist.
    #[error("{0:?} is not a valid label selector operator")]
    Operator(String),
    /// The key or the values of a requirement are invalid.
    #[error("{0}")]
    Requirement(String),
}

/// A parsed label selector. Without a selector nothing matches, an empty one matches everything.
#[derive(Clone, Debug, PartialEq)]
pub enum Selector {
    /// Matches no labels.
    Nothing,
    /// Matches labels that meet every requirement.
    All(Vec<Requirement>),
}

impl Default for Selector {
    fn default() -> Self {
        Selector::All(Vec::new())
    }
}

impl Selector {
    /// Parses the selector of an API object.
    ///
    /// # Errors
    /// When an operator is unknown, or a key or values are invalid.
    pub fn from_api(selector: Option<&LabelSelector>) -> Result<Self, SelectorError> {
        let Some(selector) = selector else {
            return Ok(Selector::Nothing);
        };
        let equal = selector.match_labels.iter().flatten();
        let mut requirements: Vec<Requirement> = equal.map(|(key, value)| is(key, value)).collect();
        for expression in selector.match_expressions.iter().flatten() {
            requirements.push(requirement(expression)?);
        }
        for requirement in &requirements {
            if let Some(error) = aggregate(requirement.validate("")) {
                return Err(SelectorError::Requirement(error));
            }
        }
        Ok(Selector::All(requirements))
    }

    /// Whether the labels match.
    pub fn matches(&self, labels: &Labels) -> bool {
        match self {
            Selector::Nothing => false,
            Selector::All(requirements) => requirements.iter().all(|requirement| {
                requirement.matches(labels.get(&requirement.key).map(String::as_str))
            }),
        }
    }
}

fn is(key: &str, value: &str) -> Requirement {
    Requirement {
        key: key.to_owned(),
        operator: Operator::In,
        values: vec![value.to_owned()],
    }
}

fn requirement(expression: &LabelSelectorRequirement) -> Result<Requirement, SelectorError> {
    let text = &expression.operator;
    let operator =
        Operator::of_label_selector(text).ok_or_else(|| SelectorError::Operator(text.clone()))?;
    let values = expression.values.clone().unwrap_or_default();
    Ok(Requirement {
        key: expression.key.clone(),
        operator,
        values,
    })
}

/// Whether the selector of a validated object matches, without parsing it first; an empty one matches everything, and an
/// unknown operator nothing.
pub fn matches_label_selector(selector: &LabelSelector, labels: &Labels) -> bool {
    let mut equal = selector.match_labels.iter().flatten();
    let mut expressions = selector.match_expressions.iter().flatten();
    equal.all(|(key, value)| labels.get(key) == Some(value))
        && expressions.all(|expression| {
            let values = expression.values.iter().flatten().map(String::as_str);
            let label = labels.get(&expression.key).map(String::as_str);
            Operator::of_label_selector(&expression.operator)
                .is_some_and(|operator| operator.matches(label, values))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn no_selector_matches_nothing_and_an_empty_one_everything() {
        let labels = Labels::new();
        assert!(!Selector::from_api(None).unwrap().matches(&labels));
        let empty = LabelSelector::default();
        assert!(Selector::from_api(Some(&empty)).unwrap().matches(&labels));
        assert!(matches_label_selector(&empty, &labels));
    }

    #[test]
    fn labels_and_expressions_have_to_match() {
        let labels: Labels = [("dep".to_owned(), "eng".to_owned())].into();
        for (selector, expected) in [
            (json!({"matchLabels": {"dep": "eng"}}), true),
            (json!({"matchLabels": {"dep": "ops"}}), false),
            (
                json!({"matchExpressions": [{"key": "dep", "operator": "In", "values": ["eng", "ops"]}]}),
                true,
            ),
            (
                json!({"matchExpressions": [{"key": "dep", "operator": "NotIn", "values": ["eng"]}]}),
                false,
            ),
            (
                json!({"matchExpressions": [{"key": "dep", "operator": "Exists"}]}),
                true,
            ),
            (
                json!({"matchExpressions": [{"key": "dep", "operator": "DoesNotExist"}]}),
                false,
            ),
        ] {
            let typed: LabelSelector = serde_json::from_value(selector.clone()).unwrap();
            assert_eq!(
                Selector::from_api(Some(&typed)).unwrap().matches(&labels),
                expected,
                "{selector}"
            );
            assert_eq!(
                matches_label_selector(&typed, &labels),
                expected,
                "{selector}"
            );
        }
    }

    #[test]
    fn invalid_selectors_are_errors() {
        for (expression, error) in [
            (
                json!({"key": "n", "operator": "Gt", "values": ["1"]}),
                r#""Gt" is not a valid label selector operator"#,
            ),
            (
                json!({"key": "n", "operator": "In"}),
                "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty",
            ),
            (
                json!({"key": "n", "operator": "Exists", "values": ["a"]}),
                r#"values: Invalid value: ["a"]: values set must be empty for exists and does not exist"#,
            ),
        ] {
            let selector: LabelSelector =
                serde_json::from_value(json!({"matchExpressions": [expression]})).unwrap();
            assert_eq!(
                Selector::from_api(Some(&selector)).unwrap_err().to_string(),
                error
            );
            assert!(!matches_label_selector(&selector, &Labels::new()));
        }
    }
}

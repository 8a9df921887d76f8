//! Label selectors.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use thiserror::Error;

use super::requirement_operator::RequirementOperator;

/// Labels of an object.
pub type Labels = BTreeMap<String, String>;

/// A selector that cannot be evaluated.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SelectorError {
    /// The operator is not one of In, NotIn, Exists, DoesNotExist.
    #[error("{0:?} is not a valid label selector operator")]
    Operator(String),
    /// In or NotIn without values.
    #[error("values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty")]
    NoValues,
    /// Exists or DoesNotExist with values.
    #[error("values: Invalid value: {0:?}: values set must be empty for exists and does not exist")]
    UnwantedValues(Vec<String>),
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

/// One requirement on labels.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirement {
    key: String,
    operator: RequirementOperator,
}

impl Selector {
    /// Parses the selector of an API object.
    ///
    /// # Errors
    /// When an operator is unknown or its values are invalid.
    pub fn from_api(selector: Option<&LabelSelector>) -> Result<Self, SelectorError> {
        let Some(selector) = selector else {
            return Ok(Selector::Nothing);
        };
        let mut requirements: Vec<Requirement> = selector
            .match_labels
            .iter()
            .flatten()
            .map(|(k, v)| Requirement {
                key: k.clone(),
                operator: RequirementOperator::In(vec![v.clone()]),
            })
            .collect();
        for e in selector.match_expressions.iter().flatten() {
            let values = e.values.clone().unwrap_or_default();
            let operator = match e.operator.as_str() {
                "In" if values.is_empty() => return Err(SelectorError::NoValues),
                "NotIn" if values.is_empty() => return Err(SelectorError::NoValues),
                "In" => RequirementOperator::In(values),
                "NotIn" => RequirementOperator::NotIn(values),
                "Exists" | "DoesNotExist" if !values.is_empty() => {
                    return Err(SelectorError::UnwantedValues(values));
                }
                "Exists" => RequirementOperator::Exists,
                "DoesNotExist" => RequirementOperator::DoesNotExist,
                other => return Err(SelectorError::Operator(other.to_owned())),
            };
            requirements.push(Requirement {
                key: e.key.clone(),
                operator,
            });
        }
        Ok(Selector::All(requirements))
    }

    /// Whether the labels match.
    pub fn matches(&self, labels: &Labels) -> bool {
        match self {
            Selector::Nothing => false,
            Selector::All(requirements) => requirements
                .iter()
                .all(|r| r.operator.matches(labels, &r.key)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn no_selector_matches_nothing_and_an_empty_one_everything() {
        let labels = Labels::new();
        assert!(!Selector::from_api(None).unwrap().matches(&labels));
        assert!(
            Selector::from_api(Some(&LabelSelector::default()))
                .unwrap()
                .matches(&labels)
        );
    }

    #[test]
    fn operators() {
        let labels: Labels = [("dep".to_owned(), "eng".to_owned())].into();
        for (op, values, want) in [
            ("In", json!(["eng", "ops"]), true),
            ("NotIn", json!(["eng"]), false),
            ("Exists", json!([]), true),
            ("DoesNotExist", json!([]), false),
        ] {
            let s = serde_json::from_value(
                json!({"matchExpressions": [{"key": "dep", "operator": op, "values": values}]}),
            )
            .unwrap();
            assert_eq!(
                Selector::from_api(Some(&s)).unwrap().matches(&labels),
                want,
                "{op}"
            );
        }
    }
}

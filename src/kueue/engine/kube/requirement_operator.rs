//! [`RequirementOperator`]: the operator of a label requirement, with its values.

use super::label_selector::Labels;

/// The operator of a requirement on one label. `Gt` and `Lt` exist in node affinity only.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RequirementOperator {
    /// The label has one of the values.
    In(Vec<String>),
    /// The label is missing or has none of the values.
    NotIn(Vec<String>),
    /// The label exists.
    Exists,
    /// The label is missing.
    DoesNotExist,
    /// The label is an integer above the value.
    Gt(i64),
    /// The label is an integer below the value.
    Lt(i64),
}

impl RequirementOperator {
    /// Whether the label `key` matches.
    pub(crate) fn matches(&self, labels: &Labels, key: &str) -> bool {
        let value = labels.get(key);
        let number = || value.and_then(|v| v.parse::<i64>().ok());
        match self {
            RequirementOperator::In(values) => value.is_some_and(|v| values.contains(v)),
            RequirementOperator::NotIn(values) => value.is_none_or(|v| !values.contains(v)),
            RequirementOperator::Exists => value.is_some(),
            RequirementOperator::DoesNotExist => value.is_none(),
            RequirementOperator::Gt(bound) => number().is_some_and(|n| n > *bound),
            RequirementOperator::Lt(bound) => number().is_some_and(|n| n < *bound),
        }
    }
}

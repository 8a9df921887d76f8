//! [`Requirement`]: a requirement on one label (`k8s.io/apimachinery/pkg/labels`).

use std::fmt;

use kueue_lab_field::FieldError;

use crate::label_validation::{key_error, value_error};

/// The operator of a requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// The label has one of the values (`=`, `==`, `in`).
    In,
    /// The label has none of the values or is absent (`!=`, `notin`).
    NotIn,
    /// The label exists.
    Exists,
    /// The label does not exist.
    DoesNotExist,
    /// The label is an integer greater than the value.
    GreaterThan,
    /// The label is an integer less than the value.
    LessThan,
}

impl Operator {
    /// The operator of a `matchExpressions` entry of a label selector, if the text names one.
    pub fn of_label_selector(text: &str) -> Option<Self> {
        match text {
            "In" => Some(Self::In),
            "NotIn" => Some(Self::NotIn),
            "Exists" => Some(Self::Exists),
            "DoesNotExist" => Some(Self::DoesNotExist),
            _ => None,
        }
    }

    /// The operator of a requirement of a node selector, which knows `Gt` and `Lt` in addition.
    pub(crate) fn of_node_selector(text: &str) -> Option<Self> {
        match text {
            "Gt" => Some(Self::GreaterThan),
            "Lt" => Some(Self::LessThan),
            text => Self::of_label_selector(text),
        }
    }

    /// Whether a label with this value, or an absent one, meets the requirement.
    pub fn matches<'v>(
        self,
        label: Option<&str>,
        values: impl IntoIterator<Item = &'v str>,
    ) -> bool {
        let mut values = values.into_iter();
        let mut compare = |holds: fn(&i64, &i64) -> bool| {
            let own = label.and_then(|label| label.parse::<i64>().ok());
            let bound = values.next().and_then(|value| value.parse::<i64>().ok());
            matches!((own, bound), (Some(own), Some(bound)) if holds(&own, &bound))
        };
        match self {
            Self::In => label.is_some_and(|label| values.any(|value| value == label)),
            Self::NotIn => label.is_none_or(|label| values.all(|value| value != label)),
            Self::Exists => label.is_some(),
            Self::DoesNotExist => label.is_none(),
            Self::GreaterThan => compare(i64::gt),
            Self::LessThan => compare(i64::lt),
        }
    }
}

/// One requirement of a selector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// The label's key.
    pub key: String,
    /// The operator.
    pub operator: Operator,
    /// The values.
    pub values: Vec<String>,
}

impl Requirement {
    /// Whether a label with this value, or an absent one, meets the requirement.
    pub fn matches(&self, label: Option<&str>) -> bool {
        self.operator
            .matches(label, self.values.iter().map(String::as_str))
    }

    /// The field errors of key and values, as `labels.NewRequirement` reports them; fields are relative to `path`,
    /// which is empty or ends with a point.
    pub fn validate(&self, path: &str) -> Vec<String> {
        let mut errors: Vec<String> = key_error(&self.key, &format!("{path}key"))
            .into_iter()
            .collect();
        let values = &self.values;
        let wrong = |rule: &str| {
            let shown: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
            format!("{path}values: Invalid value: [{}]: {rule}", shown.join(","))
        };
        match self.operator {
            Operator::In | Operator::NotIn if values.is_empty() => {
                errors.push(wrong(
                    "for 'in', 'notin' operators, values set can't be empty",
                ));
            }
            Operator::Exists | Operator::DoesNotExist if !values.is_empty() => {
                errors.push(wrong(
                    "values set must be empty for exists and does not exist",
                ));
            }
            Operator::GreaterThan | Operator::LessThan => {
                if values.len() != 1 {
                    errors.push(wrong(
                        "for 'Gt', 'Lt' operators, exactly one value is required",
                    ));
                }
                for (i, value) in values
                    .iter()
                    .enumerate()
                    .filter(|(_, value)| value.parse::<i64>().is_err())
                {
                    let detail = "for 'Gt', 'Lt' operators, the value must be an integer";
                    errors.push(
                        FieldError::invalid(
                            format!("{path}values[{i}]").as_str(),
                            value.as_str(),
                            detail,
                        )
                        .to_string(),
                    );
                }
            }
            _ => {}
        }
        for (i, value) in values.iter().enumerate() {
            errors.extend(value_error(&self.key, value, &format!("{path}values[{i}]")));
        }
        errors
    }
}

/// One error as it is, several as Go's aggregate prints them; `None` without errors.
pub fn aggregate(mut errors: Vec<String>) -> Option<String> {
    match errors.len() {
        0 => None,
        1 => errors.pop(),
        _ => Some(format!("[{}]", errors.join(", "))),
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            key,
            operator,
            values,
        } = self;
        let list = values.join(",");
        match (operator, values.as_slice()) {
            (Operator::In, [one]) => write!(f, "{key}={one}"),
            (Operator::In, _) => write!(f, "{key} in ({list})"),
            (Operator::NotIn, _) => write!(f, "{key} notin ({list})"),
            (Operator::Exists, _) => write!(f, "{key}"),
            (Operator::DoesNotExist, _) => write!(f, "!{key}"),
            (Operator::GreaterThan, _) => write!(f, "{key}>{list}"),
            (Operator::LessThan, _) => write!(f, "{key}<{list}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_match_values_and_absence() {
        use Operator::{DoesNotExist, Exists, GreaterThan, In, LessThan, NotIn};
        for (operator, label, values, expected) in [
            (In, Some("8"), vec!["4", "8"], true),
            (In, None, vec!["8"], false),
            (NotIn, None, vec!["8"], true),
            (NotIn, Some("8"), vec!["8"], false),
            (Exists, Some(""), vec![], true),
            (DoesNotExist, Some(""), vec![], false),
            (GreaterThan, Some("8"), vec!["7"], true),
            (GreaterThan, Some("8"), vec!["many"], false),
            (GreaterThan, None, vec!["7"], false),
            (LessThan, Some("8"), vec!["8"], false),
            (LessThan, Some("-1"), vec!["8"], true),
        ] {
            assert_eq!(
                operator.matches(label, values.iter().copied()),
                expected,
                "{operator:?} {label:?} {values:?}"
            );
        }
    }

    #[test]
    fn requirements_are_validated_as_upstream_does() {
        let errors = |operator, values: &[&str]| {
            let values = values.iter().map(|value| (*value).to_owned()).collect();
            Requirement {
                key: "n".into(),
                operator,
                values,
            }
            .validate("matchExpressions[0].")
        };
        assert_eq!(
            errors(Operator::In, &[]),
            [
                "matchExpressions[0].values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty"
            ]
        );
        assert_eq!(
            errors(Operator::Exists, &["a"]),
            [
                r#"matchExpressions[0].values: Invalid value: ["a"]: values set must be empty for exists and does not exist"#
            ]
        );
        assert_eq!(
            errors(Operator::LessThan, &["x"]),
            [
                r#"matchExpressions[0].values[0]: Invalid value: "x": for 'Gt', 'Lt' operators, the value must be an integer"#
            ]
        );
        assert_eq!(errors(Operator::GreaterThan, &["1", "2"]).len(), 1);
        assert_eq!(errors(Operator::GreaterThan, &["1"]), [""; 0]);
    }
}

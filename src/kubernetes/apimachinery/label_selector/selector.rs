//! A parsed label selector.

use std::fmt;

use serde_json::Value;

use super::parser;
use super::{Operator, Requirement};
use crate::api_error::ApiError;

/// A conjunction of requirements; without requirements it matches all objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector {
    requirements: Vec<Requirement>,
}

impl LabelSelector {
    /// Parses a selector.
    ///
    /// # Errors
    /// 400 with the message of upstream.
    pub fn parse(text: &str) -> Result<Self, ApiError> {
        let requirements =
            parser::parse(text).map_err(|error| ApiError::bad_request(error.to_string()))?;
        Ok(Self { requirements })
    }

    /// Converts a `metav1.LabelSelector`. A value that is none matches all objects, one with an unknown operator
    /// nothing.
    pub fn from_object(selector: &Value) -> Self {
        let equal = selector["matchLabels"].as_object().into_iter().flatten();
        let mut requirements: Vec<Requirement> = equal
            .map(|(key, value)| Requirement {
                key: key.clone(),
                operator: Operator::In,
                values: vec![value.as_str().unwrap_or_default().into()],
            })
            .collect();
        for expression in selector["matchExpressions"]
            .as_array()
            .into_iter()
            .flatten()
        {
            let operator = expression["operator"].as_str();
            let operator = operator.and_then(Operator::of_label_selector);
            let values = expression["values"].as_array().into_iter().flatten();
            // Nothing is in an empty set.
            let values = values.filter(|_| operator.is_some());
            let mut values: Vec<String> = values
                .filter_map(|v| Some(v.as_str()?.to_string()))
                .collect();
            values.sort();
            let key = expression["key"].as_str().unwrap_or_default().into();
            requirements.push(Requirement {
                key,
                operator: operator.unwrap_or(Operator::In),
                values,
            });
        }
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        Self { requirements }
    }

    /// Whether the selector matches all objects.
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Whether the selector matches the labels returned by `get`.
    pub fn matches<'a>(&self, get: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.requirements.iter().all(|r| r.matches(get(&r.key)))
    }
}

impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, requirement) in self.requirements.iter().enumerate() {
            let comma = if i > 0 { "," } else { "" };
            write!(f, "{comma}{requirement}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selects(selector: &str, labels: &[(&str, &str)]) -> bool {
        let selector = LabelSelector::parse(selector).unwrap();
        selector.matches(|key| labels.iter().find(|(k, _)| *k == key).map(|(_, v)| *v))
    }

    #[test]
    fn every_operator() {
        let l = [("app", "a"), ("env", "prod"), ("n", "5"), ("in", "x")];
        for yes in [
            "",
            "app=a",
            "app==a",
            "app",
            "app in (a,b)",
            "env notin (dev)",
            "!old",
            "old!=x",
            "n>4",
            "n<6",
            "app in (a), env = prod",
            "in in (in,x)",
            "old notin ()",
        ] {
            assert!(selects(yes, &l), "{yes}");
        }
        for no in [
            "app!=a",
            "app=",
            "!app",
            "old",
            "n>5",
            "app>1",
            "app in (b,)",
            "old=",
        ] {
            assert!(!selects(no, &l), "{no}");
        }
    }

    #[test]
    fn errors_read_as_upstream_writes_them() {
        for (text, message) in [
            (
                "app in a",
                "unable to parse requirement: found 'a' expected: '('",
            ),
            ("a=b,", "found '', expected: identifier after ','"),
            (
                "=b",
                "found '=', expected: !, identifier, or 'end of string'",
            ),
            ("a=b c", "found 'c', expected: ',' or 'end of string'"),
            (
                "a b",
                "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt",
            ),
            (
                "-a",
                "unable to parse requirement: <nil>: Invalid value: \"-a\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
            ),
        ] {
            assert_eq!(
                LabelSelector::parse(text).unwrap_err().message,
                message,
                "{text}"
            );
        }
    }
}

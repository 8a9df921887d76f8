//! Label selectors: `app=a,tier in (x,y),!old`.

mod lexer;
mod parser;

use crate::apiserver::status::ApiError;

/// How a requirement relates a label to its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// The label has one of the values (`=`, `==`, `in`).
    In,
    /// The label has none of the values or is absent (`!=`, `notin`).
    NotIn,
    /// The label is there.
    Exists,
    /// The label is not there.
    DoesNotExist,
    /// The label is a larger integer.
    GreaterThan,
    /// The label is a smaller integer.
    LessThan,
}

/// One requirement on one label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// The label's key.
    pub key: String,
    /// How the label relates to `values`.
    pub operator: Operator,
    /// The values compared with, sorted.
    pub values: Vec<String>,
}

/// A conjunction of requirements; without any it selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector {
    requirements: Vec<Requirement>,
    text: String,
}

impl LabelSelector {
    /// Reads a selector.
    ///
    /// # Errors
    /// 400 with upstream's words.
    pub fn parse(text: &str) -> Result<Self, ApiError> {
        let requirements = parser::parse(text).map_err(ApiError::bad_request)?;
        Ok(Self {
            requirements,
            text: text.into(),
        })
    }

    /// Whether everything matches.
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Whether an object whose labels `get` reads is selected.
    pub fn matches<'a>(&self, get: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.requirements.iter().all(|r| r.matches(get(&r.key)))
    }

    /// The selector as the client wrote it.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl Requirement {
    fn matches(&self, label: Option<&str>) -> bool {
        let has = |value: &str| self.values.iter().any(|v| v == value);
        let compare = |larger: bool| {
            let own = label.and_then(|l| l.parse::<i64>().ok());
            let bound = self.values.first().and_then(|v| v.parse::<i64>().ok());
            matches!((own, bound), (Some(a), Some(b)) if if larger { a > b } else { a < b })
        };
        match self.operator {
            Operator::In => label.is_some_and(has),
            Operator::NotIn => !label.is_some_and(has),
            Operator::Exists => label.is_some(),
            Operator::DoesNotExist => label.is_none(),
            Operator::GreaterThan => compare(true),
            Operator::LessThan => compare(false),
        }
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

//! Conditions of objects, sanitized.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use crate::text::sanitize;

/// One condition of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionRow {
    /// Its type, such as `QuotaReserved`.
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Its reason, one word.
    pub reason: String,
    /// Its message.
    pub message: String,
    /// The last transition time.
    pub at: Timestamp,
}

/// The conditions of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conditions(Vec<ConditionRow>);

impl Conditions {
    /// Converts the conditions of an object.
    pub fn of(conditions: &[Condition]) -> Self {
        Self(
            conditions
                .iter()
                .map(|c| ConditionRow {
                    type_: sanitize(&c.type_),
                    status: sanitize(&c.status),
                    reason: sanitize(&c.reason),
                    message: sanitize(&c.message),
                    at: c.last_transition_time.0,
                })
                .collect(),
        )
    }

    /// The condition of that type.
    pub fn get(&self, type_: &str) -> Option<&ConditionRow> {
        self.0.iter().find(|c| c.type_ == type_)
    }

    /// The condition of that type, if its status is `True`.
    pub(crate) fn when_true(&self, type_: &str) -> Option<&ConditionRow> {
        self.get(type_).filter(|c| c.status == "True")
    }

    /// The condition of that type, if its status is `False`.
    pub(crate) fn when_false(&self, type_: &str) -> Option<&ConditionRow> {
        self.get(type_).filter(|c| c.status == "False")
    }

    /// Whether the condition of that type is `True`.
    pub fn is_true(&self, type_: &str) -> bool {
        self.when_true(type_).is_some()
    }

    /// All conditions, the latest transition first.
    pub(crate) fn latest_first(&self) -> Vec<&ConditionRow> {
        let mut all: Vec<&ConditionRow> = self.0.iter().collect();
        all.sort_by_key(|c| std::cmp::Reverse(c.at));
        all
    }
}

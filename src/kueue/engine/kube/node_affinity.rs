//! Node selectors and required node affinity, matched with the labels of a flavor or a node.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{NodeSelectorRequirement, NodeSelectorTerm, PodSpec};
use thiserror::Error;

use super::label_selector::Labels;

/// An invalid requirement; reported only when no other term matches.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AffinityError {
    /// The operator is unknown.
    #[error(
        "nodeSelectorTerms[{term}].matchExpressions[{index}].operator: Unsupported value: {operator:?}: supported values: \"In\", \"NotIn\", \"Exists\", \"DoesNotExist\", \"Gt\", \"Lt\""
    )]
    Operator {
        /// Index of the term.
        term: usize,
        /// Index of the requirement in its term.
        index: usize,
        /// The operator.
        operator: String,
    },
    /// The values do not match the operator.
    #[error(
        "nodeSelectorTerms[{term}].matchExpressions[{index}].values: Invalid value: {values}: {rule}"
    )]
    Values {
        /// Index of the term.
        term: usize,
        /// Index of the requirement in its term.
        index: usize,
        /// The values, as Kubernetes prints them.
        values: String,
        /// The rule for the values.
        rule: &'static str,
    },
}

/// The node requirements of a pod, restricted to some label keys.
#[derive(Clone, Debug, PartialEq)]
pub struct RequiredNodeAffinity {
    selector: BTreeMap<String, String>,
    terms: Option<Vec<NodeSelectorTerm>>,
}

impl RequiredNodeAffinity {
    /// The node requirements of a pod on the label keys `keys`. A term without any remaining
    /// requirement matches everything; match fields are ignored.
    pub(crate) fn restricted_to(spec: &PodSpec, keys: &Labels) -> Self {
        let selector = spec
            .node_selector
            .iter()
            .flatten()
            .filter(|(k, _)| keys.contains_key(*k))
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect();
        let mut kept = Vec::new();
        for term in required_terms(spec) {
            let expressions: Vec<NodeSelectorRequirement> = term
                .match_expressions
                .iter()
                .flatten()
                .filter(|e| keys.contains_key(&e.key))
                .cloned()
                .collect();
            if expressions.is_empty() {
                kept.clear();
                break;
            }
            kept.push(NodeSelectorTerm {
                match_expressions: Some(expressions),
                match_fields: None,
            });
        }
        RequiredNodeAffinity {
            selector,
            terms: (!kept.is_empty()).then_some(kept),
        }
    }

    /// Whether a node with these labels matches.
    ///
    /// # Errors
    /// When no term matches and one is invalid.
    pub fn matches(&self, labels: &Labels) -> Result<bool, AffinityError> {
        if self.selector.iter().any(|(k, v)| labels.get(k) != Some(v)) {
            return Ok(false);
        }
        let Some(terms) = &self.terms else {
            return Ok(true);
        };
        let mut error = None;
        for (i, term) in terms.iter().enumerate() {
            match term_matches(term, labels, i) {
                Ok(true) => return Ok(true),
                Ok(false) => {}
                Err(e) => {
                    error.get_or_insert(e);
                }
            }
        }
        error.map_or(Ok(false), Err)
    }
}

fn required_terms(spec: &PodSpec) -> impl Iterator<Item = &NodeSelectorTerm> {
    spec.affinity
        .as_ref()
        .and_then(|a| a.node_affinity.as_ref())
        .and_then(|n| {
            n.required_during_scheduling_ignored_during_execution
                .as_ref()
        })
        .into_iter()
        .flat_map(|s| &s.node_selector_terms)
}

/// Whether labels match every expression of a term; an empty term matches nothing.
///
/// # Errors
/// When an expression is invalid; `index` is the index of the term.
pub fn term_matches(
    term: &NodeSelectorTerm,
    labels: &Labels,
    index: usize,
) -> Result<bool, AffinityError> {
    let expressions = term.match_expressions.as_deref().unwrap_or_default();
    if expressions.is_empty() && term.match_fields.as_ref().is_none_or(Vec::is_empty) {
        return Ok(false);
    }
    let mut all = true;
    for (i, e) in expressions.iter().enumerate() {
        all &= requirement_matches(e, labels, index, i)?;
    }
    Ok(all)
}

fn requirement_matches(
    e: &NodeSelectorRequirement,
    labels: &Labels,
    term: usize,
    index: usize,
) -> Result<bool, AffinityError> {
    let values = e.values.as_deref().unwrap_or_default();
    let value = labels.get(&e.key);
    let wrong = |rule| {
        let values = format!(
            "[{}]",
            values
                .iter()
                .map(|v| format!("{v:?}"))
                .collect::<Vec<_>>()
                .join(",")
        );
        Err(AffinityError::Values {
            term,
            index,
            values,
            rule,
        })
    };
    match e.operator.as_str() {
        "In" | "NotIn" if values.is_empty() => {
            wrong("for 'in', 'notin' operators, values set can't be empty")
        }
        "In" => Ok(value.is_some_and(|v| values.contains(v))),
        "NotIn" => Ok(value.is_none_or(|v| !values.contains(v))),
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            wrong("values set must be empty for exists and does not exist")
        }
        "Exists" => Ok(value.is_some()),
        "DoesNotExist" => Ok(value.is_none()),
        op @ ("Gt" | "Lt") => {
            let [wanted] = values else {
                return wrong("for 'Gt', 'Lt' operators, exactly one value is required");
            };
            let Ok(wanted) = wanted.parse::<i64>() else {
                return wrong("for 'Gt', 'Lt' operators, the value must be an integer");
            };
            let is = value.and_then(|v| v.parse::<i64>().ok());
            Ok(is.is_some_and(|is| if op == "Gt" { is > wanted } else { is < wanted }))
        }
        other => Err(AffinityError::Operator {
            term,
            index,
            operator: other.to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        pairs
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect()
    }

    fn affinity(spec: serde_json::Value, keys: &[(&str, &str)]) -> Result<bool, AffinityError> {
        let keys = labels(keys);
        RequiredNodeAffinity::restricted_to(&serde_json::from_value(spec).unwrap(), &keys)
            .matches(&keys)
    }

    #[test]
    fn only_label_keys_of_the_flavor_count() {
        let spec = json!({"containers": [], "nodeSelector": {"type": "spot", "other": "x"}});
        assert_eq!(affinity(spec.clone(), &[("type", "spot")]), Ok(true));
        assert_eq!(affinity(spec.clone(), &[("type", "demand")]), Ok(false));
        assert_eq!(affinity(spec, &[]), Ok(true));
    }

    #[test]
    fn a_term_without_remaining_requirements_matches_everything() {
        let terms = json!([
            {"matchExpressions": [{"key": "type", "operator": "In", "values": ["spot"]}]},
            {"matchExpressions": [{"key": "other", "operator": "Exists"}]},
        ]);
        let spec = json!({"containers": [], "affinity": {"nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}});
        assert_eq!(affinity(spec.clone(), &[("type", "demand")]), Ok(true));
        assert_eq!(
            affinity(spec, &[("type", "demand"), ("other", "y")]),
            Ok(true)
        );
    }

    #[test]
    fn errors_are_reported_only_without_a_match() {
        let terms = json!([
            {"matchExpressions": [{"key": "n", "operator": "Gt", "values": ["many"]}]},
            {"matchExpressions": [{"key": "n", "operator": "Gt", "values": ["3"]}]},
        ]);
        let spec = json!({"containers": [], "affinity": {"nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}});
        assert_eq!(affinity(spec.clone(), &[("n", "4")]), Ok(true));
        assert!(affinity(spec, &[("n", "2")]).is_err());
    }
}

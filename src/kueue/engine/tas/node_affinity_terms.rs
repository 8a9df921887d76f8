//! Parsed node affinity terms, and the texts of invalid ones.
//!
//! Must not depend on topologies.

use k8s_openapi::api::core::v1::{
    NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, PreferredSchedulingTerm,
};

use super::label_validation;
use super::nodes_cache::NodeInfo;
use crate::kube::requirement_operator::RequirementOperator;

/// Required terms, one of which must match.
#[derive(Clone, Debug)]
pub(super) struct RequiredTerms(Vec<Term>);

/// Preferred terms with weights.
#[derive(Clone, Debug)]
pub(super) struct PreferredTerms(Vec<(Term, i64)>);

/// A term: all requirements must match.
#[derive(Clone, Debug)]
struct Term {
    labels: Vec<(String, RequirementOperator)>,
    /// Field requirements; the only supported field is the name.
    fields: Vec<(String, bool, String)>,
}

impl RequiredTerms {
    /// Parses a required node affinity. Terms without requirements match nothing and are dropped.
    ///
    /// # Errors
    /// Of all invalid requirements.
    pub(super) fn parse(selector: &NodeSelector) -> Result<Self, String> {
        let mut terms = Vec::new();
        let mut errors = Vec::new();
        for (i, term) in selector.node_selector_terms.iter().enumerate() {
            if !is_empty(term) {
                terms.push(Term::parse(
                    term,
                    &format!("nodeSelectorTerms[{i}]."),
                    &mut errors,
                ));
            }
        }
        finish(errors).map(|()| RequiredTerms(terms))
    }

    /// Whether a node matches any term.
    pub(super) fn matches(&self, node: &NodeInfo) -> bool {
        self.0.iter().any(|t| t.matches(node))
    }
}

impl PreferredTerms {
    /// Parses a preferred node affinity; terms without weight or requirements are dropped.
    ///
    /// # Errors
    /// Like [`RequiredTerms::parse`].
    pub(super) fn parse(terms: &[PreferredSchedulingTerm]) -> Result<Self, String> {
        let mut parsed = Vec::new();
        let mut errors = Vec::new();
        for (i, term) in terms.iter().enumerate() {
            if term.weight != 0 && !is_empty(&term.preference) {
                let t = Term::parse(&term.preference, &format!("[{i}]."), &mut errors);
                parsed.push((t, i64::from(term.weight)));
            }
        }
        finish(errors).map(|()| PreferredTerms(parsed))
    }

    /// The sum of the weights of the matching terms.
    pub(super) fn score(&self, node: &NodeInfo) -> i64 {
        let matching = self.0.iter().filter(|(t, _)| t.matches(node));
        matching.map(|(_, weight)| weight).sum()
    }
}

fn is_empty(term: &NodeSelectorTerm) -> bool {
    term.match_expressions.as_ref().is_none_or(Vec::is_empty)
        && term.match_fields.as_ref().is_none_or(Vec::is_empty)
}

fn finish(mut errors: Vec<String>) -> Result<(), String> {
    match errors.len() {
        0 => Ok(()),
        1 => Err(errors.swap_remove(0)),
        _ => Err(format!("[{}]", errors.join(", "))),
    }
}

impl Term {
    fn parse(term: &NodeSelectorTerm, path: &str, errors: &mut Vec<String>) -> Self {
        let mut parsed = Term {
            labels: Vec::new(),
            fields: Vec::new(),
        };
        for (i, e) in term.match_expressions.iter().flatten().enumerate() {
            let path = format!("{path}matchExpressions[{i}]");
            match label_operator(e, &path) {
                Ok(test) => {
                    errors.extend(label_validation::key_error(&e.key, &format!("{path}.key")));
                    errors.extend(value_errors(e, &path));
                    parsed.labels.push((e.key.clone(), test));
                }
                Err(error) => errors.push(error),
            }
        }
        for (i, e) in term.match_fields.iter().flatten().enumerate() {
            match field_test(e, &format!("{path}matchFields[{i}]")) {
                Ok((equal, value)) => parsed.fields.push((e.key.clone(), equal, value)),
                Err(error) => errors.push(error),
            }
        }
        parsed
    }

    fn matches(&self, node: &NodeInfo) -> bool {
        let field = |key: &str| match key {
            "metadata.name" => &*node.name,
            _ => "",
        };
        self.labels.iter().all(|(k, t)| t.matches(&node.labels, k))
            && (node.name.is_empty()
                || self
                    .fields
                    .iter()
                    .all(|(k, equal, value)| (field(k) == value) == *equal))
    }
}

fn values_of(e: &NodeSelectorRequirement) -> &[String] {
    e.values.as_deref().unwrap_or_default()
}

fn value_errors(e: &NodeSelectorRequirement, path: &str) -> Vec<String> {
    let each = values_of(e).iter().enumerate();
    each.filter_map(|(i, v)| {
        label_validation::value_error(&e.key, v, &format!("{path}.values[{i}]"))
    })
    .collect()
}

fn quoted(values: &[String]) -> String {
    let all: Vec<String> = values.iter().map(|v| format!("{v:?}")).collect();
    format!("[{}]", all.join(","))
}

fn label_operator(e: &NodeSelectorRequirement, path: &str) -> Result<RequirementOperator, String> {
    let values = values_of(e);
    let wrong = |rule: &str| {
        let shown = quoted(values);
        Err(format!("{path}.values: Invalid value: {shown}: {rule}"))
    };
    match e.operator.as_str() {
        "In" | "NotIn" if values.is_empty() => {
            wrong("for 'in', 'notin' operators, values set can't be empty")
        }
        "In" => Ok(RequirementOperator::In(values.to_vec())),
        "NotIn" => Ok(RequirementOperator::NotIn(values.to_vec())),
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            wrong("values set must be empty for exists and does not exist")
        }
        "Exists" => Ok(RequirementOperator::Exists),
        "DoesNotExist" => Ok(RequirementOperator::DoesNotExist),
        op @ ("Gt" | "Lt") => {
            let [bound] = values else {
                return wrong("for 'Gt', 'Lt' operators, exactly one value is required");
            };
            let Ok(bound) = bound.parse() else {
                return Err(format!(
                    "{path}.values[0]: Invalid value: {bound:?}: for 'Gt', 'Lt' operators, the value must be an integer"
                ));
            };
            Ok(if op == "Gt" {
                RequirementOperator::Gt(bound)
            } else {
                RequirementOperator::Lt(bound)
            })
        }
        other => Err(format!(
            "{path}.operator: Unsupported value: {other:?}: supported values: \"In\", \"NotIn\", \"Exists\", \"DoesNotExist\", \"Gt\", \"Lt\""
        )),
    }
}

/// Whether the field must equal (or differ from) a value, and the value.
fn field_test(e: &NodeSelectorRequirement, path: &str) -> Result<(bool, String), String> {
    let equal = match e.operator.as_str() {
        "In" => true,
        "NotIn" => false,
        other => {
            return Err(format!(
                "{path}.operator: Unsupported value: {other:?}: supported values: \"In\", \"NotIn\""
            ));
        }
    };
    match values_of(e) {
        [one] => Ok((equal, one.clone())),
        values => {
            let shown = quoted(values);
            Err(format!(
                "{path}.values: Invalid value: {shown}: must have one element"
            ))
        }
    }
}

/// A required node affinity as Kueue's messages print it.
pub(super) fn describe_required(selector: &NodeSelector) -> String {
    let requirements = |list: Option<&Vec<NodeSelectorRequirement>>| {
        let each = list.into_iter().flatten().map(|e| {
            format!(
                "NodeSelectorRequirement{{Key:{},Operator:{},Values:[{}],}},",
                e.key,
                e.operator,
                values_of(e).join(" ")
            )
        });
        format!("[]NodeSelectorRequirement{{{}}}", each.collect::<String>())
    };
    let terms = selector.node_selector_terms.iter().map(|t| {
        format!(
            "NodeSelectorTerm{{MatchExpressions:{},MatchFields:{},}},",
            requirements(t.match_expressions.as_ref()),
            requirements(t.match_fields.as_ref())
        )
    });
    format!(
        "&NodeSelector{{NodeSelectorTerms:[]NodeSelectorTerm{{{}}},}}",
        terms.collect::<String>()
    )
}

/// A preferred node affinity as Kueue's messages print it.
pub(super) fn describe_preferred(terms: &[PreferredSchedulingTerm]) -> String {
    let requirements = |list: Option<&Vec<NodeSelectorRequirement>>| {
        let each: Vec<String> = list
            .into_iter()
            .flatten()
            .map(|e| format!("{{{} {} [{}]}}", e.key, e.operator, values_of(e).join(" ")))
            .collect();
        format!("[{}]", each.join(" "))
    };
    let each: Vec<String> = terms
        .iter()
        .map(|t| {
            format!(
                "{{{} {{{} {}}}}}",
                t.weight,
                requirements(t.preference.match_expressions.as_ref()),
                requirements(t.preference.match_fields.as_ref())
            )
        })
        .collect();
    format!("[{}]", each.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::Requests;
    use serde_json::{Value, json};

    fn node(name: &str, labels: &[(&str, &str)]) -> NodeInfo {
        NodeInfo {
            name: name.into(),
            labels: labels
                .iter()
                .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
                .collect(),
            taints: Vec::new(),
            allocatable: Requests::new(),
        }
    }

    fn selector(terms: Value) -> NodeSelector {
        serde_json::from_value(json!({ "nodeSelectorTerms": terms })).unwrap()
    }

    #[test]
    fn one_matching_term_is_enough_and_empty_terms_match_nothing() {
        let s = selector(json!([
            {},
            {"matchExpressions": [{"key": "n", "operator": "Gt", "values": ["3"]}]},
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["x"]}]},
        ]));
        let terms = RequiredTerms::parse(&s).unwrap();
        assert!(terms.matches(&node("y", &[("n", "4")])));
        assert!(terms.matches(&node("x", &[])));
        assert!(!terms.matches(&node("y", &[("n", "3")])));
        let none = RequiredTerms::parse(&selector(json!([{}]))).unwrap();
        assert!(!none.matches(&node("y", &[])));
    }

    #[test]
    fn weights_of_matching_terms_are_summed() {
        let expr = |key: &str| json!({"matchExpressions": [{"key": key, "operator": "Exists"}]});
        let terms: Vec<PreferredSchedulingTerm> = serde_json::from_value(json!([
            {"weight": 10, "preference": expr("a")},
            {"weight": 5, "preference": expr("b")},
            {"weight": 0, "preference": expr("a")},
        ]))
        .unwrap();
        let parsed = PreferredTerms::parse(&terms).unwrap();
        assert_eq!(parsed.score(&node("x", &[("a", ""), ("b", "")])), 15);
        assert_eq!(parsed.score(&node("x", &[("b", "")])), 5);
        assert_eq!(
            describe_preferred(&terms[..1]),
            "[{10 {[{a Exists []}] []}}]"
        );
    }

    #[test]
    fn invalid_terms_are_reported() {
        let s = selector(json!([
            {"matchExpressions": [
                {"key": "a", "operator": "Near", "values": ["x"]},
                {"key": "b", "operator": "Gt", "values": ["many"]},
            ]},
        ]));
        assert_eq!(
            RequiredTerms::parse(&s).unwrap_err(),
            "[nodeSelectorTerms[0].matchExpressions[0].operator: Unsupported value: \"Near\": supported values: \"In\", \"NotIn\", \"Exists\", \"DoesNotExist\", \"Gt\", \"Lt\", nodeSelectorTerms[0].matchExpressions[1].values[0]: Invalid value: \"many\": for 'Gt', 'Lt' operators, the value must be an integer]"
        );
        let one = selector(
            json!([{"matchExpressions": [{"key": "a", "operator": "In", "values": ["x", "y"]}]}]),
        );
        assert_eq!(
            describe_required(&one),
            "&NodeSelector{NodeSelectorTerms:[]NodeSelectorTerm{NodeSelectorTerm{MatchExpressions:[]NodeSelectorRequirement{NodeSelectorRequirement{Key:a,Operator:In,Values:[x y],},},MatchFields:[]NodeSelectorRequirement{},},},}"
        );
    }
}

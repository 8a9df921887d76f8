//! Node selectors and node affinity, parsed (`k8s.io/component-helpers/scheduling/corev1/nodeaffinity`).

use k8s_openapi::api::core::v1::{
    NodeSelector as ApiNodeSelector, NodeSelectorRequirement, NodeSelectorTerm, PodSpec,
    PreferredSchedulingTerm,
};

use crate::label_selector::Labels;
use crate::requirement::{Operator, Requirement, aggregate};

/// Invalid requirements of node selector terms; the message of each.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", aggregate(.0.clone()).unwrap_or_default())]
pub struct NodeSelectorError(Vec<String>);

impl NodeSelectorError {
    /// `None` without messages.
    fn of(messages: impl Iterator<Item = String>) -> Option<Self> {
        let messages: Vec<String> = messages.collect();
        (!messages.is_empty()).then_some(Self(messages))
    }
}

/// A parsed term: all requirements must match.
#[derive(Clone, Debug, PartialEq)]
struct Term {
    labels: Vec<Requirement>,
    /// Requirements on fields: the key, whether it must be equal, and the value. Only the name is known.
    fields: Vec<(String, bool, String)>,
    errors: Vec<String>,
}

/// A parsed node selector, one of whose terms must match. Terms without requirements match nothing and are dropped.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeSelector(Vec<Term>);

impl NodeSelector {
    /// Parses a node selector; errors of its terms are kept.
    pub fn of(selector: &ApiNodeSelector) -> Self {
        Self::of_terms(&selector.node_selector_terms)
    }

    /// Parses the terms of a node selector.
    pub(crate) fn of_terms(terms: &[NodeSelectorTerm]) -> Self {
        let terms = terms.iter().enumerate().filter(|(_, term)| !is_empty(term));
        Self(
            terms
                .map(|(i, term)| Term::parse(term, &format!("nodeSelectorTerms[{i}].")))
                .collect(),
        )
    }

    /// The errors of all invalid requirements.
    pub fn error(&self) -> Option<NodeSelectorError> {
        NodeSelectorError::of(self.0.iter().flat_map(|term| term.errors.clone()))
    }

    /// Whether a node matches any term. Without a name only labels count.
    ///
    /// # Errors
    /// Those of invalid terms, when no term matches.
    pub fn matches(&self, name: &str, labels: &Labels) -> Result<bool, NodeSelectorError> {
        if self.0.iter().any(|term| term.matches(name, labels)) {
            return Ok(true);
        }
        self.error().map_or(Ok(false), Err)
    }
}

/// Parsed preferred terms with their weights.
#[derive(Clone, Debug)]
pub struct PreferredSchedulingTerms(Vec<(Term, i64)>);

impl PreferredSchedulingTerms {
    /// Parses a preferred node affinity; terms without weight or requirements are dropped.
    ///
    /// # Errors
    /// Of all invalid requirements.
    pub fn of(terms: &[PreferredSchedulingTerm]) -> Result<Self, NodeSelectorError> {
        let terms = terms.iter().enumerate();
        let terms = terms.filter(|(_, term)| term.weight != 0 && !is_empty(&term.preference));
        let parse = |(i, term): (usize, &PreferredSchedulingTerm)| {
            (
                Term::parse(&term.preference, &format!("[{i}].")),
                i64::from(term.weight),
            )
        };
        let parsed: Vec<(Term, i64)> = terms.map(parse).collect();
        let errors = parsed.iter().flat_map(|(term, _)| term.errors.clone());
        NodeSelectorError::of(errors).map_or(Ok(Self(parsed)), Err)
    }

    /// The sum of the weights of the matching terms.
    pub fn score(&self, name: &str, labels: &Labels) -> i64 {
        let matching = self.0.iter().filter(|(term, _)| term.matches(name, labels));
        matching.map(|(_, weight)| weight).sum()
    }
}

/// The node requirements of a pod: its node selector and its required node affinity.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequiredNodeAffinity {
    selector: Labels,
    affinity: Option<NodeSelector>,
}

impl RequiredNodeAffinity {
    /// The node requirements of a pod.
    pub fn of(spec: &PodSpec) -> Self {
        let selector = spec.node_selector.clone().unwrap_or_default();
        Self {
            selector,
            affinity: required(spec).map(NodeSelector::of),
        }
    }

    /// The node requirements of a pod on the label keys `keys`. A term without any remaining requirement matches
    /// everything; match fields are ignored.
    pub fn restricted_to(spec: &PodSpec, keys: &Labels) -> Self {
        let selector = spec.node_selector.iter().flatten();
        let selector = selector.filter(|(key, _)| keys.contains_key(*key));
        let selector = selector
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        let mut kept = Vec::new();
        for term in required(spec)
            .into_iter()
            .flat_map(|required| &required.node_selector_terms)
        {
            let expressions = term.match_expressions.iter().flatten();
            let expressions = expressions.filter(|expression| keys.contains_key(&expression.key));
            let expressions: Vec<NodeSelectorRequirement> = expressions.cloned().collect();
            if expressions.is_empty() {
                kept.clear();
                break;
            }
            kept.push(NodeSelectorTerm {
                match_expressions: Some(expressions),
                match_fields: None,
            });
        }
        let affinity = (!kept.is_empty()).then(|| NodeSelector::of_terms(&kept));
        Self { selector, affinity }
    }

    /// Whether a node matches. Without a name only labels count.
    ///
    /// # Errors
    /// When no term of the affinity matches and one is invalid.
    pub fn matches(&self, name: &str, labels: &Labels) -> Result<bool, NodeSelectorError> {
        if self
            .selector
            .iter()
            .any(|(key, value)| labels.get(key) != Some(value))
        {
            return Ok(false);
        }
        self.affinity
            .as_ref()
            .map_or(Ok(true), |affinity| affinity.matches(name, labels))
    }
}

fn required(spec: &PodSpec) -> Option<&ApiNodeSelector> {
    let affinity = spec.affinity.as_ref()?.node_affinity.as_ref()?;
    affinity
        .required_during_scheduling_ignored_during_execution
        .as_ref()
}

fn is_empty(term: &NodeSelectorTerm) -> bool {
    term.match_expressions.as_ref().is_none_or(Vec::is_empty)
        && term.match_fields.as_ref().is_none_or(Vec::is_empty)
}

impl Term {
    fn parse(term: &NodeSelectorTerm, path: &str) -> Self {
        let mut parsed = Self {
            labels: Vec::new(),
            fields: Vec::new(),
            errors: Vec::new(),
        };
        for (i, expression) in term.match_expressions.iter().flatten().enumerate() {
            let path = format!("{path}matchExpressions[{i}].");
            match Operator::of_node_selector(&expression.operator) {
                Some(operator) => {
                    let (key, values) = (expression.key.clone(), values_of(expression).to_vec());
                    let requirement = Requirement {
                        key,
                        operator,
                        values,
                    };
                    parsed.errors.extend(requirement.validate(&path));
                    parsed.labels.push(requirement);
                }
                None => parsed.errors.push(unsupported(
                    expression,
                    &path,
                    &["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"],
                )),
            }
        }
        for (i, field) in term.match_fields.iter().flatten().enumerate() {
            match field_requirement(field, &format!("{path}matchFields[{i}].")) {
                Ok((equal, value)) => parsed.fields.push((field.key.clone(), equal, value)),
                Err(error) => parsed.errors.push(error),
            }
        }
        parsed
    }

    fn matches(&self, name: &str, labels: &Labels) -> bool {
        let field = |key: &str| match key {
            "metadata.name" => name,
            _ => "",
        };
        let label = |key: &str| labels.get(key).map(String::as_str);
        self.errors.is_empty()
            && self
                .labels
                .iter()
                .all(|requirement| requirement.matches(label(&requirement.key)))
            && (name.is_empty()
                || self
                    .fields
                    .iter()
                    .all(|(key, equal, value)| (field(key) == value) == *equal))
    }
}

fn values_of(requirement: &NodeSelectorRequirement) -> &[String] {
    requirement.values.as_deref().unwrap_or_default()
}

fn unsupported(requirement: &NodeSelectorRequirement, path: &str, supported: &[&str]) -> String {
    let operator = &requirement.operator;
    let supported: Vec<String> = supported
        .iter()
        .map(|operator| format!("{operator:?}"))
        .collect();
    format!(
        "{path}operator: Unsupported value: {operator:?}: supported values: {}",
        supported.join(", ")
    )
}

/// Whether the field must equal (or differ from) a value, and the value.
fn field_requirement(
    requirement: &NodeSelectorRequirement,
    path: &str,
) -> Result<(bool, String), String> {
    let equal = match requirement.operator.as_str() {
        "In" => true,
        "NotIn" => false,
        _ => return Err(unsupported(requirement, path, &["In", "NotIn"])),
    };
    match values_of(requirement) {
        [one] => Ok((equal, one.clone())),
        values => {
            let shown: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
            Err(format!(
                "{path}values: Invalid value: [{}]: must have one element",
                shown.join(",")
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect()
    }

    fn selector(terms: Value) -> NodeSelector {
        NodeSelector::of(&serde_json::from_value(json!({ "nodeSelectorTerms": terms })).unwrap())
    }

    fn with_affinity(terms: Value) -> PodSpec {
        let spec = json!({"containers": [], "affinity": {"nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}});
        serde_json::from_value(spec).unwrap()
    }

    #[test]
    fn one_matching_term_is_enough_and_empty_terms_match_nothing() {
        let terms = selector(json!([
            {},
            {"matchExpressions": [{"key": "n", "operator": "Gt", "values": ["3"]}]},
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["x"]}]},
        ]));
        assert_eq!(terms.matches("y", &labels(&[("n", "4")])), Ok(true));
        assert_eq!(terms.matches("x", &labels(&[])), Ok(true));
        assert_eq!(terms.matches("y", &labels(&[("n", "3")])), Ok(false));
        assert_eq!(selector(json!([{}])).matches("y", &labels(&[])), Ok(false));
    }

    #[test]
    fn weights_of_matching_terms_are_summed() {
        let exists = |key: &str| json!({"matchExpressions": [{"key": key, "operator": "Exists"}]});
        let terms: Vec<PreferredSchedulingTerm> = serde_json::from_value(json!([
            {"weight": 10, "preference": exists("a")},
            {"weight": 5, "preference": exists("b")},
            {"weight": 0, "preference": exists("a")},
        ]))
        .unwrap();
        let parsed = PreferredSchedulingTerms::of(&terms).unwrap();
        assert_eq!(parsed.score("x", &labels(&[("a", ""), ("b", "")])), 15);
        assert_eq!(parsed.score("x", &labels(&[("b", "")])), 5);
    }

    #[test]
    fn errors_are_reported_only_without_a_match() {
        let terms = selector(json!([
            {"matchExpressions": [
                {"key": "a", "operator": "Near", "values": ["x"]},
                {"key": "b", "operator": "Gt", "values": ["many"]},
            ]},
            {"matchExpressions": [{"key": "b", "operator": "Gt", "values": ["3"]}]},
        ]));
        let error = "[nodeSelectorTerms[0].matchExpressions[0].operator: Unsupported value: \"Near\": supported values: \"In\", \"NotIn\", \"Exists\", \"DoesNotExist\", \"Gt\", \"Lt\", nodeSelectorTerms[0].matchExpressions[1].values[0]: Invalid value: \"many\": for 'Gt', 'Lt' operators, the value must be an integer]";
        assert_eq!(terms.matches("n", &labels(&[("b", "4")])), Ok(true));
        let invalid = terms.error().unwrap();
        assert_eq!(invalid.to_string(), error);
        assert_eq!(terms.matches("n", &labels(&[("b", "2")])), Err(invalid));
    }

    #[test]
    fn node_selector_and_affinity_have_to_match() {
        let mut spec = with_affinity(json!([
            {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}]},
        ]));
        spec.node_selector = Some(labels(&[("type", "spot")]));
        let affinity = RequiredNodeAffinity::of(&spec);
        assert_eq!(
            affinity.matches("n", &labels(&[("type", "spot"), ("zone", "a")])),
            Ok(true)
        );
        assert_eq!(
            affinity.matches("n", &labels(&[("type", "spot"), ("zone", "c")])),
            Ok(false)
        );
        assert_eq!(affinity.matches("n", &labels(&[("zone", "a")])), Ok(false));
        assert_eq!(
            RequiredNodeAffinity::of(&PodSpec::default()).matches("n", &labels(&[])),
            Ok(true)
        );
    }

    #[test]
    fn requirements_on_other_labels_than_the_keys_do_not_count() {
        let selected: PodSpec = serde_json::from_value(
            json!({"containers": [], "nodeSelector": {"type": "spot", "other": "x"}}),
        )
        .unwrap();
        let terms = with_affinity(json!([
            {"matchExpressions": [{"key": "type", "operator": "In", "values": ["spot"]}]},
            {"matchExpressions": [{"key": "other", "operator": "Exists"}]},
        ]));
        for (spec, keys, expected) in [
            (&selected, labels(&[("type", "spot")]), true),
            (&selected, labels(&[("type", "demand")]), false),
            (&selected, labels(&[]), true),
            // The second term has no requirement left, so it matches everything.
            (&terms, labels(&[("type", "demand")]), true),
            (&terms, labels(&[("type", "demand"), ("other", "y")]), true),
        ] {
            assert_eq!(
                RequiredNodeAffinity::restricted_to(spec, &keys).matches("", &keys),
                Ok(expected),
                "{keys:?}"
            );
        }
    }
}

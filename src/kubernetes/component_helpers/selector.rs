//! Label selectors, and node selector terms with their two extra operators.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{NodeSelectorRequirement, NodeSelectorTerm};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

/// Labels of an object.
pub type Labels = BTreeMap<String, String>;

/// Whether a label selector matches; an empty one matches everything.
pub fn matches(selector: &LabelSelector, labels: &Labels) -> bool {
    let equal = selector
        .match_labels
        .iter()
        .flatten()
        .all(|(key, value)| labels.get(key) == Some(value));
    equal
        && selector.match_expressions.iter().flatten().all(|r| {
            let values = r.values.as_deref().unwrap_or_default();
            requirement(&r.operator, labels.get(&r.key), values)
        })
}

/// Whether a term of a node selector matches; one without requirements matches nothing.
pub fn node_term(term: &NodeSelectorTerm, name: &str, labels: &Labels) -> bool {
    let expressions = term.match_expressions.as_deref().unwrap_or_default();
    let fields = term.match_fields.as_deref().unwrap_or_default();
    if expressions.is_empty() && fields.is_empty() {
        return false;
    }
    let name = name.to_string();
    let holds = |r: &NodeSelectorRequirement, value: Option<&String>| {
        requirement(&r.operator, value, r.values.as_deref().unwrap_or_default())
    };
    expressions.iter().all(|r| holds(r, labels.get(&r.key)))
        && fields
            .iter()
            .all(|r| holds(r, (r.key == "metadata.name").then_some(&name)))
}

fn requirement(operator: &str, value: Option<&String>, values: &[String]) -> bool {
    let number = |text: &String| text.parse::<i64>().ok();
    match operator {
        "In" => value.is_some_and(|v| values.contains(v)),
        "NotIn" => value.is_none_or(|v| !values.contains(v)),
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        "Gt" | "Lt" => match (value.and_then(number), values.first().and_then(number)) {
            (Some(v), Some(bound)) if operator == "Gt" => v > bound,
            (Some(v), Some(bound)) => v < bound,
            _ => false,
        },
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn operators() {
        let labels = Labels::from([("gpus".into(), "8".into())]);
        for (operator, key, values, expected) in [
            ("In", "gpus", vec!["4", "8"], true),
            ("In", "none", vec!["8"], false),
            ("NotIn", "none", vec!["8"], true),
            ("Exists", "gpus", vec![], true),
            ("DoesNotExist", "gpus", vec![], false),
            ("Gt", "gpus", vec!["7"], true),
            ("Lt", "gpus", vec!["8"], false),
            ("Gt", "gpus", vec!["many"], false),
        ] {
            let term = json!({"matchExpressions": [
                {"key": key, "operator": operator, "values": values}]});
            let term: NodeSelectorTerm = serde_json::from_value(term).unwrap();
            assert_eq!(node_term(&term, "n", &labels), expected, "{operator} {key}");
        }
        assert!(!node_term(&NodeSelectorTerm::default(), "n", &labels));
        assert!(matches(&LabelSelector::default(), &labels));
        let named = json!({"matchFields": [
            {"key": "metadata.name", "operator": "In", "values": ["n"]}]});
        let named: NodeSelectorTerm = serde_json::from_value(named).unwrap();
        assert!(node_term(&named, "n", &labels) && !node_term(&named, "m", &labels));
    }
}

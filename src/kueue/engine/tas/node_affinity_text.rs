//! Node affinity as Kueue's messages print it. Must not depend on topologies.

use k8s_openapi::api::core::v1::{NodeSelector, NodeSelectorRequirement, PreferredSchedulingTerm};

fn values_of(e: &NodeSelectorRequirement) -> &[String] {
    e.values.as_deref().unwrap_or_default()
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
    use serde_json::json;

    #[test]
    fn affinity_is_printed_as_go_prints_the_structs() {
        let preferred = json!([
            {"weight": 10, "preference": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}},
        ]);
        let preferred: Vec<PreferredSchedulingTerm> = serde_json::from_value(preferred).unwrap();
        assert_eq!(
            describe_preferred(&preferred),
            "[{10 {[{a Exists []}] []}}]"
        );
        let required = json!({"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "a", "operator": "In", "values": ["x", "y"]}]},
        ]});
        assert_eq!(
            describe_required(&serde_json::from_value(required).unwrap()),
            "&NodeSelector{NodeSelectorTerms:[]NodeSelectorTerm{NodeSelectorTerm{MatchExpressions:[]NodeSelectorRequirement{NodeSelectorRequirement{Key:a,Operator:In,Values:[x y],},},MatchFields:[]NodeSelectorRequirement{},},},}"
        );
    }
}

//! Validation of the scheduling fields of pods: scheduling gates, tolerations, affinity and
//! topology spread constraints.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde_json::{Value, json};

use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;
use kueue_lab_apimachinery::metadata_validation::labels;
use kueue_lab_field::name_validation;
use kueue_lab_json::{ValueExt, ValueMutExt};

/// Validates scheduling gates.
pub(crate) fn gates(errors: &mut ErrorList, path: &FieldPath<'_>, gates: &[Value]) {
    let mut seen = BTreeSet::new();
    for (i, gate) in gates.iter().enumerate() {
        let path = path.index(i);
        let name = gate.text("/name");
        errors.invalid_for_each(&path, name, name_validation::qualified_name(name));
        if !seen.insert(name) {
            errors.duplicate(&path, name);
        }
    }
}

/// Validates tolerations.
pub(crate) fn tolerations(errors: &mut ErrorList, path: &FieldPath<'_>, list: &[Value]) {
    for (i, toleration) in list.iter().enumerate() {
        let path = path.index(i);
        let (key, operator) = (toleration.text("/key"), toleration.text("/operator"));
        let (value, effect) = (toleration.text("/value"), toleration.text("/effect"));
        if !key.is_empty() {
            errors.invalid_for_each(
                &path.child("key"),
                key,
                name_validation::qualified_name(key),
            );
        }
        let operator_path = path.child("operator");
        if key.is_empty() && operator != "Exists" {
            let detail = "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
            errors.invalid(&operator_path, operator, detail);
        }
        if toleration.has("/tolerationSeconds") && effect != "NoExecute" {
            let detail = "effect must be 'NoExecute' when `tolerationSeconds` is set";
            errors.invalid(&path.child("effect"), effect, detail);
        }
        match operator {
            "Equal" | "" => {
                let messages = name_validation::label_value(value);
                if !messages.is_empty() {
                    errors.invalid(&operator_path, value, messages.join(";"));
                }
            }
            "Exists" if !value.is_empty() => {
                let detail = "value must be empty when `operator` is 'Exists'";
                errors.invalid(&operator_path, value, detail);
            }
            "Exists" => {}
            other => errors.one_of(&operator_path, other, &["Equal", "Exists"]),
        }
        if !effect.is_empty() {
            taint_effect(errors, &path.child("effect"), effect);
        }
    }
}

/// Validates the effect of a taint or toleration.
pub(crate) fn taint_effect(errors: &mut ErrorList, path: &FieldPath<'_>, effect: &str) {
    errors.required_one_of(
        path,
        effect,
        &["NoSchedule", "PreferNoSchedule", "NoExecute"],
    );
}

/// Validates node affinity, pod affinity and pod anti-affinity.
pub(crate) fn affinity(errors: &mut ErrorList, path: &FieldPath<'_>, affinity: &Value) {
    const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
    const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";
    let node = affinity.at("/nodeAffinity");
    let node_path = path.child("nodeAffinity");
    if let Some(selector) = node.get(REQUIRED).filter(|s| !s.is_null()) {
        node_selector(errors, &node_path.child(REQUIRED), selector);
    }
    let preferred = node_path.child(PREFERRED);
    for (i, term) in node.list(&format!("/{PREFERRED}")).iter().enumerate() {
        let path = preferred.index(i);
        weight(errors, &path, term);
        // The values of preferred terms are not validated: preferences never filter nodes.
        node_selector_term(
            errors,
            &path.child("preference"),
            term.at("/preference"),
            false,
        );
    }
    for field in ["podAffinity", "podAntiAffinity"] {
        let part = affinity.get(field).unwrap_or(&Value::Null);
        let path = path.child(field);
        let required = path.child(REQUIRED);
        for (i, term) in part.list(&format!("/{REQUIRED}")).iter().enumerate() {
            pod_term(errors, &required.index(i), term);
        }
        let preferred = path.child(PREFERRED);
        for (i, term) in part.list(&format!("/{PREFERRED}")).iter().enumerate() {
            let path = preferred.index(i);
            weight(errors, &path, term);
            pod_term(
                errors,
                &path.child("podAffinityTerm"),
                term.at("/podAffinityTerm"),
            );
        }
    }
}

fn weight(errors: &mut ErrorList, path: &FieldPath<'_>, term: &Value) {
    let weight = term.int("/weight");
    if !(1..=100).contains(&weight) {
        errors.invalid(&path.child("weight"), weight, "must be in the range 1-100");
    }
}

/// Validates a node selector.
pub(crate) fn node_selector(errors: &mut ErrorList, path: &FieldPath<'_>, selector: &Value) {
    let path = path.child("nodeSelectorTerms");
    let terms = selector.list("/nodeSelectorTerms");
    if terms.is_empty() {
        errors.required(&path, "must have at least one node selector term");
    }
    for (i, term) in terms.iter().enumerate() {
        node_selector_term(errors, &path.index(i), term, true);
    }
}

fn node_selector_term(
    errors: &mut ErrorList,
    path: &FieldPath<'_>,
    term: &Value,
    check_values: bool,
) {
    let expressions = path.child("matchExpressions");
    for (i, requirement) in term.list("/matchExpressions").iter().enumerate() {
        let path = expressions.index(i);
        let values = requirement.list("/values");
        match requirement.text("/operator") {
            "In" | "NotIn" => {
                if values.is_empty() {
                    let detail = "must be specified when `operator` is 'In' or 'NotIn'";
                    errors.required(&path.child("values"), detail);
                }
            }
            "Exists" | "DoesNotExist" => {
                if !values.is_empty() {
                    let detail =
                        "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                    errors.forbidden(&path.child("values"), detail);
                }
            }
            "Gt" | "Lt" => {
                if values.len() != 1 {
                    let detail = "must be specified single value when `operator` is 'Lt' or 'Gt'";
                    errors.required(&path.child("values"), detail);
                }
            }
            other => errors.invalid(
                &path.child("operator"),
                other,
                "not a valid selector operator",
            ),
        }
        let key = requirement.text("/key");
        errors.invalid_for_each(
            &path.child("key"),
            key,
            name_validation::qualified_name(key),
        );
        if check_values {
            let path = path.child("values");
            for (i, value) in values.iter().filter_map(Value::as_str).enumerate() {
                errors.invalid_for_each(&path.index(i), value, name_validation::label_value(value));
            }
        }
    }
    let fields = path.child("matchFields");
    for (i, requirement) in term.list("/matchFields").iter().enumerate() {
        let path = fields.index(i);
        let values = requirement.list("/values");
        match requirement.text("/operator") {
            "In" | "NotIn" if values.len() != 1 => {
                let detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
                errors.required(&path.child("values"), detail);
            }
            "In" | "NotIn" => {}
            other => errors.invalid(
                &path.child("operator"),
                other,
                "not a valid selector operator",
            ),
        }
        match requirement.text("/key") {
            "metadata.name" => {
                let path = path.child("values");
                for (i, value) in values.iter().filter_map(Value::as_str).enumerate() {
                    errors.invalid_for_each(
                        &path.index(i),
                        value,
                        name_validation::dns1123_subdomain(value),
                    );
                }
            }
            other => errors.invalid(&path.child("key"), other, "not a valid field selector key"),
        }
    }
}

fn pod_term(errors: &mut ErrorList, path: &FieldPath<'_>, term: &Value) {
    for field in ["labelSelector", "namespaceSelector"] {
        let selector = term.get(field).unwrap_or(&Value::Null);
        errors.extend(labels::validate_selector(
            selector,
            &path.child(field).to_string(),
        ));
    }
    for name in term.list("/namespaces").iter().filter_map(Value::as_str) {
        errors.invalid_for_each(
            &path.child("namespace"),
            name,
            name_validation::dns1123_label(name),
        );
    }
    let no_selector = !term.has("/labelSelector");
    for field in ["matchLabelKeys", "mismatchLabelKeys"] {
        label_keys(
            errors,
            &path.child(field),
            term.list(&format!("/{field}")),
            no_selector,
        );
    }
    let mismatched: HashSet<&Value> = term.list("/mismatchLabelKeys").iter().collect();
    let match_path = path.child("matchLabelKeys");
    for (i, key) in term.list("/matchLabelKeys").iter().enumerate() {
        if mismatched.contains(key) {
            let detail = "exists in both matchLabelKeys and mismatchLabelKeys";
            errors.invalid(&match_path.index(i), key.clone(), detail);
        }
    }
    let key = term.text("/topologyKey");
    let path = path.child("topologyKey");
    if key.is_empty() {
        errors.required(&path, "can not be empty");
    }
    errors.invalid_for_each(&path, key, name_validation::qualified_name(key));
}

fn label_keys(errors: &mut ErrorList, path: &FieldPath<'_>, keys: &[Value], no_selector: bool) {
    if !keys.is_empty() && no_selector {
        errors.forbidden(path, "must not be specified when labelSelector is not set");
        return;
    }
    for (i, key) in keys.iter().filter_map(Value::as_str).enumerate() {
        errors.invalid_for_each(&path.index(i), key, name_validation::qualified_name(key));
    }
}

/// Validates topology spread constraints.
pub(crate) fn topology_spread_constraints<'a>(
    errors: &mut ErrorList,
    path: &FieldPath<'_>,
    list: &'a [Value],
) {
    let identity = |c: &'a Value| (c.text("/topologyKey"), c.text("/whenUnsatisfiable"));
    let all = list.iter().enumerate();
    let last: HashMap<(&str, &str), usize> = all.map(|(i, c)| (identity(c), i)).collect();
    for (i, constraint) in list.iter().enumerate() {
        let path = path.index(i);
        positive(errors, &path.child("maxSkew"), constraint.int("/maxSkew"));
        let (key, action) = (
            constraint.text("/topologyKey"),
            constraint.text("/whenUnsatisfiable"),
        );
        if key.is_empty() {
            errors.required(&path.child("topologyKey"), "can not be empty");
        }
        let actions = ["DoNotSchedule", "ScheduleAnyway"];
        errors.one_of(&path.child("whenUnsatisfiable"), action, &actions);
        if last.get(&(key, action)).is_some_and(|last| *last > i) {
            let both = path.child("{topologyKey, whenUnsatisfiable}");
            errors.duplicate(&both, format!("{{{key}, {action}}}"));
        }
        if let Some(domains) = constraint.at("/minDomains").as_i64() {
            positive(errors, &path.child("minDomains"), domains);
            if action != "DoNotSchedule" {
                let detail = format!(
                    "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
                );
                errors.invalid(&path.child("minDomains"), domains, detail);
            }
        }
        for field in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
            if let Some(policy) = constraint.get(field).and_then(Value::as_str) {
                errors.one_of(&path.child(field), policy, &["Honor", "Ignore"]);
            }
        }
        let no_selector = !constraint.has("/labelSelector");
        let keys = constraint.list("/matchLabelKeys");
        label_keys(errors, &path.child("matchLabelKeys"), keys, no_selector);
        let selector = path.child("labelSelector").to_string();
        errors.extend(labels::validate_selector(
            constraint.at("/labelSelector"),
            &selector,
        ));
    }
}

fn positive(errors: &mut ErrorList, path: &FieldPath<'_>, n: i64) {
    if n <= 0 {
        errors.invalid(path, n, "must be greater than zero");
    }
}

/// Merges `matchLabelKeys` and `mismatchLabelKeys` of a new pod into the label selectors of its pod
/// affinity terms and topology spread constraints, with the values of the pod's labels.
pub(crate) fn apply_match_label_keys(pod: &mut Value) {
    let labels = pod.at("/metadata/labels").clone();
    let Some(spec) = pod.get_object_mut("spec") else {
        return;
    };
    for constraint in spec.items_mut("topologySpreadConstraints") {
        merge_keys(constraint, &labels, "matchLabelKeys", "In");
    }
    let Some(affinity) = spec.get_object_mut("affinity") else {
        return;
    };
    for field in ["podAffinity", "podAntiAffinity"] {
        let Some(part) = affinity.get_object_mut(field) else {
            continue;
        };
        for term in part.items_mut("requiredDuringSchedulingIgnoredDuringExecution") {
            merge_keys(term, &labels, "matchLabelKeys", "In");
            merge_keys(term, &labels, "mismatchLabelKeys", "NotIn");
        }
        for term in part.items_mut("preferredDuringSchedulingIgnoredDuringExecution") {
            if let Some(term) = term.get_object_mut("podAffinityTerm") {
                merge_keys(term, &labels, "matchLabelKeys", "In");
                merge_keys(term, &labels, "mismatchLabelKeys", "NotIn");
            }
        }
    }
}

fn merge_keys(term: &mut Value, labels: &Value, field: &str, operator: &str) {
    let keys: Vec<Value> = term.list(&format!("/{field}")).to_vec();
    if keys.is_empty() || !term.has("/labelSelector") {
        return;
    }
    let mut terms = Vec::new();
    for key in keys.iter().filter_map(Value::as_str) {
        if let Some(value) = labels.get(key) {
            terms.push(json!({"key": key, "operator": operator, "values": [value]}));
        }
    }
    let selector = term.object_mut("labelSelector");
    if !terms.is_empty() {
        let mut all = selector.list("/matchExpressions").to_vec();
        all.extend(terms);
        selector.set_or_remove("matchExpressions", Some(all.into()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(check: fn(&mut ErrorList, &FieldPath<'_>, &[Value]), list: Value) -> Vec<String> {
        let mut errors = ErrorList::default();
        check(&mut errors, &FieldPath::root("p"), list.as_array().unwrap());
        errors.0.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn tolerations_and_gates() {
        let list = json!([{"operator": "Foo"}, {"key": "a", "operator": "Exists", "value": "x"},
            {"key": "k", "tolerationSeconds": 1, "effect": "NoSchedule"}, {"operator": "Exists", "effect": "Odd"}]);
        assert_eq!(
            texts(tolerations, list),
            [
                r#"p[0].operator: Invalid value: "Foo": operator must be Exists when `key` is empty, which means "match all values and all keys""#,
                r#"p[0].operator: Unsupported value: "Foo": supported values: "Equal", "Exists""#,
                r#"p[1].operator: Invalid value: "x": value must be empty when `operator` is 'Exists'"#,
                r#"p[2].effect: Invalid value: "NoSchedule": effect must be 'NoExecute' when `tolerationSeconds` is set"#,
                r#"p[3].effect: Unsupported value: "Odd": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute""#,
            ]
        );
        let list = json!([{"name": "a.b/c"}, {"name": "a.b/c"}]);
        assert_eq!(texts(gates, list), [r#"p[1]: Duplicate value: "a.b/c""#]);
    }

    #[test]
    fn spreading() {
        let list = json!([{"maxSkew": 0, "topologyKey": "", "whenUnsatisfiable": "Foo"},
            {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"},
            {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}]);
        assert_eq!(
            texts(topology_spread_constraints, list),
            [
                "p[0].maxSkew: Invalid value: 0: must be greater than zero",
                "p[0].topologyKey: Required value: can not be empty",
                r#"p[0].whenUnsatisfiable: Unsupported value: "Foo": supported values: "DoNotSchedule", "ScheduleAnyway""#,
                r#"p[1].{topologyKey, whenUnsatisfiable}: Duplicate value: "{z, DoNotSchedule}""#,
            ]
        );
    }

    #[test]
    fn keys_become_terms() {
        let mut pod = json!({"metadata": {"labels": {"h": "1"}}, "spec": {"topologySpreadConstraints": [
            {"labelSelector": {"matchLabels": {"a": "b"}}, "matchLabelKeys": ["h", "absent"]}]}});
        apply_match_label_keys(&mut pod);
        let terms = pod.at("/spec/topologySpreadConstraints/0/labelSelector/matchExpressions");
        assert_eq!(
            *terms,
            json!([{"key": "h", "operator": "In", "values": ["1"]}])
        );
    }
}

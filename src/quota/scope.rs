//! Quota scopes: `spec.scopes` and `spec.scopeSelector`.

use serde_json::Value;

use crate::qos;
use kueue_lab_json::ValueExt;

/// One scope requirement of a quota (`ScopedResourceSelectorRequirement`).
pub(crate) struct ScopeRequirement<'a> {
    name: &'a str,
    operator: &'a str,
    values: &'a [Value],
}

/// The scope requirements of a quota; an object must match all of them.
pub(crate) fn scope_requirements(quota: &Value) -> Vec<ScopeRequirement<'_>> {
    let plain = quota
        .list("/spec/scopes")
        .iter()
        .map(|name| ScopeRequirement {
            name: name.text(""),
            operator: "Exists",
            values: &[],
        });
    let selected = quota.list("/spec/scopeSelector/matchExpressions").iter();
    let selected = selected.map(|s| ScopeRequirement {
        name: s.text("/scopeName"),
        operator: s.text("/operator"),
        values: s.list("/values"),
    });
    plain.chain(selected).collect()
}

impl ScopeRequirement<'_> {
    /// Whether a name (empty if unset) matches operator and values.
    fn selects(&self, name: &str) -> bool {
        let listed = !name.is_empty() && self.values.iter().any(|v| v == name);
        match self.operator {
            "In" => listed,
            "NotIn" => !listed,
            "Exists" => !name.is_empty(),
            "DoesNotExist" => name.is_empty(),
            _ => false,
        }
    }
}

/// Whether a pod matches a scope requirement.
pub(crate) fn pod_matches_scope(scope: &ScopeRequirement<'_>, pod: &Value) -> bool {
    let ends = pod
        .at("/spec/activeDeadlineSeconds")
        .as_i64()
        .is_some_and(|s| s >= 0);
    match scope.name {
        "Terminating" => ends,
        "NotTerminating" => !ends,
        "BestEffort" => qos::class(pod) == "BestEffort",
        "NotBestEffort" => qos::class(pod) != "BestEffort",
        "PriorityClass" => scope.selects(pod.text("/spec/priorityClassName")),
        "CrossNamespacePodAffinity" => uses_cross_namespace_pod_affinity(pod),
        _ => false,
    }
}

/// Whether a PersistentVolumeClaim matches a scope requirement.
pub(crate) fn claim_matches_scope(scope: &ScopeRequirement<'_>, claim: &Value) -> bool {
    match scope.name {
        "VolumeAttributesClass" => {
            let wanted = claim.text("/spec/volumeAttributesClassName");
            let present = claim.text("/status/currentVolumeAttributesClassName");
            scope.selects(wanted) || !present.is_empty() && scope.selects(present)
        }
        _ => false,
    }
}

/// Whether a pod has affinity or anti-affinity terms that select pods of other namespaces.
fn uses_cross_namespace_pod_affinity(pod: &Value) -> bool {
    let terms = |kind: &str| -> Vec<Value> {
        let affinity = pod.at("/spec/affinity").at(kind);
        let required = affinity.list("/requiredDuringSchedulingIgnoredDuringExecution");
        let preferred = affinity.list("/preferredDuringSchedulingIgnoredDuringExecution");
        let preferred = preferred.iter().map(|p| p.at("/podAffinityTerm"));
        required.iter().chain(preferred).cloned().collect()
    };
    terms("/podAffinity")
        .iter()
        .chain(&terms("/podAntiAffinity"))
        .any(|t| !t.list("/namespaces").is_empty() || t.has("/namespaceSelector"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn scopes_of_pods() {
        let quota = |name: &str, operator: &str, values: &[&str]| {
            json!({"spec": {"scopeSelector": {"matchExpressions": [
                {"scopeName": name, "operator": operator, "values": values}]}}})
        };
        let pod = json!({"spec": {"priorityClassName": "high", "activeDeadlineSeconds": 5,
            "affinity": {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
                {"podAffinityTerm": {"namespaces": ["other"]}}]}}}});
        let meets = |quota: Value| {
            scope_requirements(&quota)
                .iter()
                .all(|s| pod_matches_scope(s, &pod))
        };
        assert!(meets(json!({})));
        assert!(meets(
            json!({"spec": {"scopes": ["Terminating", "BestEffort"]}})
        ));
        assert!(!meets(json!({"spec": {"scopes": ["NotTerminating"]}})));
        assert!(meets(quota("PriorityClass", "In", &["high", "low"])));
        assert!(!meets(quota("PriorityClass", "NotIn", &["high"])));
        assert!(meets(quota("PriorityClass", "Exists", &[])));
        assert!(meets(quota("CrossNamespacePodAffinity", "Exists", &[])));
    }
}

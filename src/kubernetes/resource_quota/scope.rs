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

/// The properties of an object that scopes select it by.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum ScopeAttributes {
    /// No scope includes the object.
    #[default]
    None,
    Pod {
        /// Whether it has an active deadline.
        has_deadline: bool,
        is_best_effort: bool,
        priority_class: Box<str>,
        uses_cross_namespace_affinity: bool,
    },
    /// The VolumeAttributesClasses in the spec and in the status of a PersistentVolumeClaim.
    VolumeClaim { wanted: Box<str>, current: Box<str> },
}

impl ScopeAttributes {
    /// The attributes of a pod.
    pub(crate) fn of_pod(pod: &Value) -> Self {
        let deadline = pod.at("/spec/activeDeadlineSeconds").as_i64();
        Self::Pod {
            has_deadline: deadline.is_some_and(|seconds| seconds >= 0),
            is_best_effort: qos::class(pod) == "BestEffort",
            priority_class: pod.text("/spec/priorityClassName").into(),
            uses_cross_namespace_affinity: uses_cross_namespace_pod_affinity(pod),
        }
    }

    /// The attributes of a PersistentVolumeClaim.
    pub(crate) fn of_volume_claim(claim: &Value) -> Self {
        Self::VolumeClaim {
            wanted: claim.text("/spec/volumeAttributesClassName").into(),
            current: claim
                .text("/status/currentVolumeAttributesClassName")
                .into(),
        }
    }

    /// Whether a scope requirement includes the object.
    pub(crate) fn match_requirement(&self, scope: &ScopeRequirement<'_>) -> bool {
        match self {
            Self::None => false,
            Self::Pod {
                has_deadline,
                is_best_effort,
                priority_class,
                uses_cross_namespace_affinity,
            } => match scope.name {
                "Terminating" => *has_deadline,
                "NotTerminating" => !has_deadline,
                "BestEffort" => *is_best_effort,
                "NotBestEffort" => !is_best_effort,
                "PriorityClass" => scope.selects(priority_class),
                "CrossNamespacePodAffinity" => *uses_cross_namespace_affinity,
                _ => false,
            },
            Self::VolumeClaim { wanted, current } => {
                scope.name == "VolumeAttributesClass"
                    && (scope.selects(wanted) || !current.is_empty() && scope.selects(current))
            }
        }
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
        let attributes = ScopeAttributes::of_pod(&pod);
        let meets = |quota: Value| {
            scope_requirements(&quota)
                .iter()
                .all(|scope| attributes.match_requirement(scope))
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

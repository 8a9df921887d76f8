//! Taints and tolerations: of nodes (`k8s.io/api/core/v1/toleration.go`, `component-helpers/scheduling/corev1`) and of
//! devices (`k8s.io/dynamic-resource-allocation/resourceclaim`).

use k8s_openapi::api::core::v1::{Taint, Toleration};
use k8s_openapi::api::resource::v1::{DeviceTaint, DeviceToleration};

/// Whether `Lt` and `Gt` of a toleration are evaluated: the feature gate `TaintTolerationComparisonOperators`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComparisonOperators {
    /// They tolerate nothing; the default of Kubernetes 1.36.
    Disabled,
    /// They compare integers; Kueue always does.
    Enabled,
}

/// Whether a toleration tolerates a taint. An absent effect or key matches each, an absent value is the empty one.
pub fn tolerates_taint(
    toleration: &Toleration,
    taint: &Taint,
    comparison: ComparisonOperators,
) -> bool {
    let (wanted, value) = (text(&toleration.value), text(&taint.value));
    matches_effect_and_key(
        text(&toleration.effect),
        text(&toleration.key),
        &taint.effect,
        &taint.key,
    ) && match text(&toleration.operator) {
        "Lt" if comparison == ComparisonOperators::Enabled => compare(value, wanted, |a, b| a < b),
        "Gt" if comparison == ComparisonOperators::Enabled => compare(value, wanted, |a, b| a > b),
        operator => equal_or_exists(operator, wanted, value),
    }
}

/// Whether a toleration tolerates a taint of a device.
pub fn tolerates_device_taint(toleration: &DeviceToleration, taint: &DeviceTaint) -> bool {
    matches_effect_and_key(
        text(&toleration.effect),
        text(&toleration.key),
        &taint.effect,
        &taint.key,
    ) && equal_or_exists(
        text(&toleration.operator),
        text(&toleration.value),
        text(&taint.value),
    )
}

fn text(field: &Option<String>) -> &str {
    field.as_deref().unwrap_or_default()
}

fn matches_effect_and_key(effect: &str, key: &str, taint_effect: &str, taint_key: &str) -> bool {
    (effect.is_empty() || effect == taint_effect) && (key.is_empty() || key == taint_key)
}

fn equal_or_exists(operator: &str, wanted: &str, value: &str) -> bool {
    match operator {
        "" | "Equal" => wanted == value,
        "Exists" => true,
        _ => false,
    }
}

fn compare(value: &str, bound: &str, holds: fn(i64, i64) -> bool) -> bool {
    let numbers = (value.parse::<i64>(), bound.parse::<i64>());
    matches!(numbers, (Ok(value), Ok(bound)) if holds(value, bound))
}

/// Whether one of the tolerations tolerates a taint.
pub fn tolerations_tolerate_taint<'o>(
    mut tolerations: impl Iterator<Item = &'o Toleration>,
    taint: &Taint,
    comparison: ComparisonOperators,
) -> bool {
    tolerations.any(|toleration| tolerates_taint(toleration, taint, comparison))
}

/// Whether the taint affects scheduling: NoSchedule or NoExecute.
pub fn is_scheduling_taint(taint: &Taint) -> bool {
    taint.effect == "NoSchedule" || taint.effect == "NoExecute"
}

/// The first taint that affects scheduling and that none of the tolerations tolerates.
pub fn find_matching_untolerated_taint<'t, 'o>(
    taints: &'t [Taint],
    tolerations: impl Iterator<Item = &'o Toleration> + Clone,
    comparison: ComparisonOperators,
) -> Option<&'t Taint> {
    let mut scheduling = taints.iter().filter(|taint| is_scheduling_taint(taint));
    scheduling.find(|taint| !tolerations_tolerate_taint(tolerations.clone(), taint, comparison))
}

/// The number of PreferNoSchedule taints that are not tolerated; only tolerations without effect or of this one count.
pub fn count_intolerable_taints_prefer_no_schedule(
    taints: &[Taint],
    tolerations: &[Toleration],
    comparison: ComparisonOperators,
) -> usize {
    let soft = taints
        .iter()
        .filter(|taint| taint.effect == "PreferNoSchedule");
    soft.filter(|taint| !tolerations_tolerate_taint(tolerations.iter(), taint, comparison))
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Whether a toleration tolerates a taint with the operators `Lt` and `Gt` disabled and enabled.
    fn tolerates(toleration: &serde_json::Value, taint: &serde_json::Value) -> (bool, bool) {
        let (typed, of): (Toleration, Taint) = (
            serde_json::from_value(toleration.clone()).unwrap(),
            serde_json::from_value(taint.clone()).unwrap(),
        );
        let device: DeviceToleration = serde_json::from_value(toleration.clone()).unwrap();
        let of_device: DeviceTaint = serde_json::from_value(taint.clone()).unwrap();
        let disabled = tolerates_taint(&typed, &of, ComparisonOperators::Disabled);
        assert_eq!(
            tolerates_device_taint(&device, &of_device),
            disabled,
            "{toleration}"
        );
        (
            disabled,
            tolerates_taint(&typed, &of, ComparisonOperators::Enabled),
        )
    }

    #[test]
    fn tolerations_match_by_effect_key_operator_and_value() {
        let spot = json!({"key": "spot", "value": "true", "effect": "NoSchedule"});
        let cordon = json!({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"});
        for (toleration, taint, expected) in [
            (json!({"operator": "Exists"}), &spot, true),
            (json!({"key": "", "operator": "Exists"}), &spot, true),
            (json!({"key": "spot", "operator": "Exists"}), &spot, true),
            (json!({"key": "spot", "value": "true"}), &spot, true),
            (json!({"key": "spot", "value": "false"}), &spot, false),
            (json!({"key": "spot", "operator": "Equal"}), &spot, false),
            (
                json!({"key": "spot", "operator": "Exists", "effect": "NoExecute"}),
                &spot,
                false,
            ),
            (
                json!({"key": "spot", "operator": "Exists", "effect": ""}),
                &spot,
                true,
            ),
            (json!({"key": "gpu", "operator": "Exists"}), &spot, false),
            (
                json!({"key": "spot", "operator": "Near", "value": "true"}),
                &spot,
                false,
            ),
            // Validation refuses Equal without a key; the rule takes it for each key.
            (json!({"value": "true"}), &spot, true),
            // An absent value is the empty one.
            (
                json!({"key": "node.kubernetes.io/unschedulable", "value": ""}),
                &cordon,
                true,
            ),
            (
                json!({"key": "node.kubernetes.io/unschedulable"}),
                &cordon,
                true,
            ),
        ] {
            assert_eq!(
                tolerates(&toleration, taint),
                (expected, expected),
                "{toleration}"
            );
        }
    }

    #[test]
    fn comparison_operators_compare_integers_behind_their_feature_gate() {
        let taint = json!({"key": "gpu", "value": "5", "effect": "NoSchedule"});
        for (operator, value, enabled) in [
            ("Lt", "10", true),
            ("Lt", "5", false),
            ("Gt", "3", true),
            ("Gt", "5", false),
            ("Gt", "x", false),
        ] {
            let toleration = json!({"key": "gpu", "operator": operator, "value": value});
            assert_eq!(
                tolerates(&toleration, &taint),
                (false, enabled),
                "{toleration}"
            );
        }
    }

    #[test]
    fn taints_that_affect_scheduling_are_no_schedule_and_no_execute() {
        let taints = json!([
            {"key": "a", "effect": "PreferNoSchedule"},
            {"key": "spot", "effect": "NoSchedule"},
            {"key": "down", "effect": "NoExecute"},
        ]);
        let taints: Vec<Taint> = serde_json::from_value(taints).unwrap();
        let spot: Toleration =
            serde_json::from_value(json!({"key": "spot", "operator": "Exists"})).unwrap();
        let untolerated = |tolerations: &[Toleration]| {
            let disabled = ComparisonOperators::Disabled;
            find_matching_untolerated_taint(&taints, tolerations.iter(), disabled)
                .map(|taint| taint.key.clone())
        };
        assert_eq!(untolerated(&[]).as_deref(), Some("spot"));
        assert_eq!(
            untolerated(std::slice::from_ref(&spot)).as_deref(),
            Some("down")
        );
        let soft = |tolerations: &[Toleration]| {
            count_intolerable_taints_prefer_no_schedule(
                &taints,
                tolerations,
                ComparisonOperators::Disabled,
            )
        };
        assert_eq!((soft(&[]), soft(&[spot])), (1, 1));
    }
}

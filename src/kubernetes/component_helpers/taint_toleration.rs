//! The TaintToleration plugin.

use k8s_openapi::api::core::v1::{Taint, Toleration};

/// Whether one of `tolerations` tolerates `taint`.
pub fn tolerated(tolerations: &[Toleration], taint: &Taint) -> bool {
    tolerations.iter().any(|t| tolerates(t, taint))
}

/// Whether a toleration matches a taint.
pub fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    let effect = toleration.effect.as_deref().unwrap_or_default();
    let key = toleration.key.as_deref().unwrap_or_default();
    if !effect.is_empty() && effect != taint.effect {
        return false;
    }
    if !key.is_empty() && key != taint.key {
        return false;
    }
    match toleration.operator.as_deref().unwrap_or_default() {
        "Exists" => true,
        "" | "Equal" => {
            toleration.value.as_deref().unwrap_or_default()
                == taint.value.as_deref().unwrap_or_default()
                && !key.is_empty()
        }
        _ => false,
    }
}

/// The first NoSchedule or NoExecute taint that is not tolerated.
pub fn find_untolerated_taint<'a>(
    tolerations: &[Toleration],
    taints: &'a [Taint],
) -> Option<&'a Taint> {
    taints
        .iter()
        .find(|t| matches!(&*t.effect, "NoSchedule" | "NoExecute") && !tolerated(tolerations, t))
}

/// The number of PreferNoSchedule taints that are not tolerated.
pub fn count_intolerable_prefer_no_schedule(tolerations: &[Toleration], taints: &[Taint]) -> usize {
    let soft = taints.iter().filter(|t| t.effect == "PreferNoSchedule");
    soft.filter(|t| !tolerated(tolerations, t)).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn tolerations_cover_by_key_value_and_effect() {
        let taint: Taint =
            serde_json::from_value(json!({"key": "spot", "value": "true", "effect": "NoSchedule"}))
                .unwrap();
        for (toleration, expected) in [
            (json!({"operator": "Exists"}), true),
            (json!({"key": "spot", "operator": "Exists"}), true),
            (json!({"key": "spot", "value": "true"}), true),
            (json!({"key": "spot", "value": "false"}), false),
            (
                json!({"key": "spot", "operator": "Exists", "effect": "NoExecute"}),
                false,
            ),
            (json!({"key": "gpu", "operator": "Exists"}), false),
        ] {
            let read: Toleration = serde_json::from_value(toleration.clone()).unwrap();
            assert_eq!(tolerates(&read, &taint), expected, "{toleration}");
        }
    }
}

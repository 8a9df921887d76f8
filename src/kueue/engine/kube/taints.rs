//! Taints of flavors and nodes, as Kueue tolerates and names them.

use k8s_openapi::api::core::v1::{Taint, Toleration};

use kueue_lab_component_helpers::toleration::{
    ComparisonOperators, find_matching_untolerated_taint,
};
use kueue_lab_reason::UntoleratedTaint;

/// The first taint that affects scheduling and that none of the tolerations tolerates.
pub(crate) fn find_untolerated<'t, 'o>(
    taints: &'t [Taint],
    tolerations: impl Iterator<Item = &'o Toleration> + Clone,
) -> Option<&'t Taint> {
    find_matching_untolerated_taint(taints, tolerations, ComparisonOperators::Enabled)
}

/// A taint as a reason names it.
pub fn untolerated_taint(taint: &Taint) -> UntoleratedTaint {
    let added = taint.time_added.as_ref();
    UntoleratedTaint {
        key: taint.key.clone(),
        value: taint.value.clone().unwrap_or_default(),
        effect: taint.effect.clone(),
        time_added: added.map(|time| time.0.strftime("%Y-%m-%d %H:%M:%S +0000 UTC").to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn comparison_operators_are_evaluated() {
        let taints = json!([{"key": "gpu", "value": "5", "effect": "NoSchedule"}]);
        let taints: Vec<Taint> = serde_json::from_value(taints).unwrap();
        for (operator, untolerated) in [("Lt", false), ("Gt", true)] {
            let toleration = json!({"key": "gpu", "operator": operator, "value": "6"});
            let toleration: Toleration = serde_json::from_value(toleration).unwrap();
            let found = find_untolerated(&taints, [&toleration].into_iter());
            assert_eq!(found.is_some(), untolerated, "{operator}");
        }
        assert_eq!(
            untolerated_taint(&taints[0]).to_string(),
            "{gpu 5 NoSchedule <nil>}"
        );
    }
}

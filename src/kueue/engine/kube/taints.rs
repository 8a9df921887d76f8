//! Taints and tolerations.

use k8s_openapi::api::core::v1::{Taint, Toleration};

use kueue_lab_reason::UntoleratedTaint;

/// Whether the taint affects scheduling: NoSchedule or NoExecute.
pub fn is_scheduling_taint(taint: &Taint) -> bool {
    taint.effect == "NoSchedule" || taint.effect == "NoExecute"
}

/// Whether a toleration tolerates a taint, including the numeric operators `Lt` and `Gt`.
pub fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    let set = |s: &Option<String>| s.as_deref().filter(|s| !s.is_empty()).map(str::to_owned);
    if set(&toleration.effect).is_some_and(|e| e != taint.effect) {
        return false;
    }
    if set(&toleration.key).is_some_and(|k| k != taint.key) {
        return false;
    }
    let value = toleration.value.as_deref().unwrap_or_default();
    let taint_value = taint.value.as_deref().unwrap_or_default();
    match toleration.operator.as_deref().unwrap_or_default() {
        "" | "Equal" => value == taint_value,
        "Exists" => true,
        "Lt" => numbers(value, taint_value).is_some_and(|(wanted, is)| is < wanted),
        "Gt" => numbers(value, taint_value).is_some_and(|(wanted, is)| is > wanted),
        _ => false,
    }
}

fn numbers(toleration: &str, taint: &str) -> Option<(i64, i64)> {
    Some((toleration.parse().ok()?, taint.parse().ok()?))
}

/// The first scheduling taint that none of the tolerations tolerates.
pub(crate) fn find_untolerated<'t, 'o>(
    taints: &'t [Taint],
    tolerations: impl Iterator<Item = &'o Toleration> + Clone,
) -> Option<&'t Taint> {
    taints
        .iter()
        .filter(|t| is_scheduling_taint(t))
        .find(|taint| !tolerations.clone().any(|t| tolerates(t, taint)))
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

    fn taint(key: &str, value: &str, effect: &str) -> Taint {
        Taint {
            key: key.into(),
            value: Some(value.into()),
            effect: effect.into(),
            time_added: None,
        }
    }

    fn toleration(key: &str, operator: &str, value: &str) -> Toleration {
        Toleration {
            key: Some(key.into()),
            operator: Some(operator.into()),
            value: Some(value.into()),
            ..Default::default()
        }
    }

    #[test]
    fn operators() {
        let t = taint("gpu", "5", "NoSchedule");
        for (op, value, want) in [
            ("", "5", true),
            ("Equal", "6", false),
            ("Exists", "", true),
            ("Lt", "10", true),
            ("Lt", "5", false),
            ("Gt", "3", true),
            ("Gt", "x", false),
            ("Near", "5", false),
        ] {
            assert_eq!(
                tolerates(&toleration("gpu", op, value), &t),
                want,
                "{op} {value}"
            );
        }
        assert!(tolerates(
            &Toleration {
                operator: Some("Exists".into()),
                ..Default::default()
            },
            &t
        ));
    }

    #[test]
    fn prefer_no_schedule_does_not_affect_scheduling() {
        let taints = [
            taint("a", "b", "PreferNoSchedule"),
            taint("spot", "", "NoSchedule"),
        ];
        let none: [Toleration; 0] = [];
        assert_eq!(find_untolerated(&taints, none.iter()).unwrap().key, "spot");
        assert_eq!(
            untolerated_taint(&taints[1]).to_string(),
            "{spot  NoSchedule <nil>}"
        );
    }
}

//! A plan as text.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::Value;

use super::cluster_plan::ClusterPlan;
use super::effects::Effect;
use super::object_changes::{FieldChange, ObjectAction};

/// The most Workloads that only move in their queue in a text.
const MAX_MOVED: usize = 20;

/// The plan in the manner of `terraform plan`.
pub fn plan_text(plan: &ClusterPlan) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    for note in &plan.notes {
        let _ = writeln!(text, "note: {note}");
    }
    if !plan.has_changes() {
        let _ = writeln!(
            text,
            "No changes. The cluster {} has these objects.",
            plan.cluster
        );
        return text;
    }
    for change in &plan.objects {
        let (sign, what) = match change.action {
            ObjectAction::Add => ("+", "is created"),
            ObjectAction::Change => ("~", "is changed"),
            ObjectAction::Replace => ("-/+", "is deleted and created again"),
            ObjectAction::Remove => ("-", "is deleted"),
            ObjectAction::RemoveLater => ("-", "is deleted when it is not used"),
        };
        let _ = writeln!(text, "{sign} {} {what}", change.object);
        for field in &change.fields {
            write_field(&mut text, field);
        }
    }
    if !plan.effects.is_empty() {
        let _ = writeln!(text, "\nEffects");
        let mut moved = 0;
        for effect in &plan.effects {
            if effect.kind == super::EffectKind::Moved {
                moved += 1;
                if moved > MAX_MOVED {
                    continue;
                }
            }
            let _ = writeln!(text, "  {}", effect_line(effect));
            if !effect.candidates.is_empty() {
                let _ = writeln!(text, "    {}", effect.candidates);
            }
        }
        if moved > MAX_MOVED {
            let more = moved - MAX_MOVED;
            let _ = writeln!(
                text,
                "  and {more} more move in their queue; -o json lists all"
            );
        }
    }
    write_quota(&mut text, plan);
    let _ = writeln!(text, "\n{}", plan.summary());
    text
}

/// Quota and usage by cohort.
fn write_quota(text: &mut String, plan: &ClusterPlan) {
    let all = || plan.cohorts.iter().chain(&plan.quota);
    let cohorts: BTreeSet<&str> = all().map(|change| change.cohort.as_str()).collect();
    if !cohorts.is_empty() {
        let _ = writeln!(text, "\nQuota (before -> after)");
    }
    for cohort in cohorts {
        let _ = match cohort {
            "" => writeln!(text, "  without cohort"),
            name => writeln!(text, "  cohort {name}"),
        };
        for change in all().filter(|change| change.cohort == cohort) {
            let owner = match change.cluster_queue.as_str() {
                "" => "all",
                queue => queue,
            };
            let was = match change.cohort_before.as_deref() {
                None => String::new(),
                Some("") => "; before without cohort".to_owned(),
                Some(cohort) => format!("; before in cohort {cohort}"),
            };
            let (nominal, used) = (pair(&change.nominal), pair(&change.used));
            let _ = writeln!(
                text,
                "    {owner} {} {}: nominal {nominal}, used {used}, borrowed {}{was}",
                change.flavor,
                change.resource,
                pair(&change.borrowed)
            );
        }
    }
}

/// The longest value that is written on the line of its field.
const MAX_INLINE: usize = 60;

/// A change of a field; longer lists and maps that are added or removed are YAML.
fn write_field(text: &mut String, change: &FieldChange) {
    let (sign, value) = match (&change.before, &change.after) {
        (Value::Null, value) => ('+', value),
        (value, Value::Null) => ('-', value),
        _ => ('~', &Value::Null),
    };
    let is_long = value.to_string().len() > MAX_INLINE;
    let _ = match is_long && (value.is_object() || value.is_array()) {
        true => {
            let yaml = kueue_lab_yaml::to_string(value);
            let yaml = yaml.trim_end().replace('\n', "\n        ");
            writeln!(text, "    {sign} {}:\n        {yaml}", change.field)
        }
        false => writeln!(text, "    {change}"),
    };
}

/// The result of the check of an import: where the engine decides otherwise than the cluster did.
pub fn check_text(differences: &[Effect]) -> String {
    if differences.is_empty() {
        return "check: the lab decides as the cluster did\n".to_owned();
    }
    let mut text = String::new();
    for effect in differences {
        let _ = writeln!(text, "check: in the lab, {}", effect_line(effect));
    }
    text
}

/// `Workload/ns/name (Job train, priority 100 in queue) is evicted by ns/other: reason: message`
fn effect_line(effect: &Effect) -> String {
    let mut about = Vec::new();
    if !effect.job.is_empty() {
        about.push(effect.job.clone());
    }
    about.extend(
        effect
            .priority
            .map(|priority| format!("priority {priority}")),
    );
    if !effect.cluster_queue.is_empty() {
        about.push(format!("queue {}", effect.cluster_queue));
    }
    let mut line = effect.object.clone();
    if !about.is_empty() {
        let _ = write!(line, " ({})", about.join(", "));
    }
    let _ = write!(line, " {}", effect.kind);
    if !effect.by.is_empty() {
        let _ = write!(line, " by {}", effect.by);
    }
    for detail in [&effect.reason, &effect.message] {
        if !detail.is_empty() {
            let _ = write!(line, ": {detail}");
        }
    }
    line
}

/// `1 -> 2`, or `1` without a difference; `none` for an absent amount.
pub(crate) fn pair(amounts: &[String; 2]) -> String {
    let [before, after] = amounts
        .each_ref()
        .map(|amount| if amount.is_empty() { "none" } else { amount });
    match before == after {
        true => before.to_owned(),
        false => format!("{before} -> {after}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn written(before: Value, after: Value) -> String {
        let field = "spec".to_owned();
        let mut text = String::new();
        write_field(
            &mut text,
            &FieldChange {
                field,
                before,
                after,
            },
        );
        text
    }

    #[test]
    fn long_values_are_yaml() {
        assert_eq!(
            written(Value::Null, json!({"value": 10})),
            "    + spec: {\"value\":10}\n"
        );
        let queue = json!({"cohortName": "research", "namespaceSelector": {"matchLabels": {
            "kubernetes.io/metadata.name": "team-a"}}});
        assert_eq!(
            written(Value::Null, queue),
            "    + spec:\n        cohortName: research\n        namespaceSelector:\n          \
             matchLabels:\n            kubernetes.io/metadata.name: team-a\n"
        );
        assert_eq!(written(json!(1), json!(2)), "    ~ spec: 1 -> 2\n");
    }
}

//! Validation of `spec.successPolicy` of a Job.

use serde_json::Value;

use super::completion_indexes;
use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;
use kueue_lab_json::ValueExt;

/// Validates a success policy.
pub(super) fn success_policy(errors: &mut ErrorList, path: &FieldPath<'_>, spec: &Value) {
    if !spec.has("/successPolicy") {
        return;
    }
    if spec.text("/completionMode") != "Indexed" {
        let policy = spec.at("/successPolicy").clone();
        errors.invalid(path, policy, "requires indexed completion mode");
        return;
    }
    let rules = spec.list("/successPolicy/rules");
    let rules_path = path.child("rules");
    if rules.is_empty() {
        let detail = "at least one rules must be specified when the successPolicy is specified";
        errors.required(&rules_path, detail);
    }
    errors.at_most(&rules_path, rules.len(), 20);
    let completions = spec.int("/completions");
    for (i, rule) in rules.iter().enumerate() {
        success_rule(errors, &rules_path.index(i), rule, completions);
    }
}

fn success_rule(errors: &mut ErrorList, path: &FieldPath<'_>, rule: &Value, completions: i64) {
    let (count, wanted) = (
        rule.at("/succeededCount").as_i64(),
        rule.at("/succeededIndexes"),
    );
    if count.is_none() && wanted.is_null() {
        let detail = "at least one of succeededCount or succeededIndexes must be specified";
        errors.required(path, detail);
    }
    let mut total = 0;
    if let Some(text) = wanted.as_str() {
        let path = path.child("succeededIndexes");
        if text.len() > 64 * 1024 {
            errors.too_long(&path, 64 * 1024);
        }
        match completion_indexes::count(text, completions) {
            Ok(n) => total = n,
            Err(why) => {
                errors.invalid(
                    &path,
                    text,
                    format!("error parsing succeededIndexes: {why}"),
                );
            }
        }
    }
    let Some(count) = count else { return };
    let path = path.child("succeededCount");
    if count < 0 {
        errors.invalid(&path, count, "must be greater than or equal to 0");
    }
    if count > completions {
        let detail = format!(
            "must be less than or equal to {completions} (the number of specified completions)"
        );
        errors.invalid(&path, count, detail);
    }
    if !wanted.is_null() && count > total {
        let detail = format!(
            "must be less than or equal to {total} (the number of indexes in the specified succeededIndexes field)"
        );
        errors.invalid(&path, count, detail);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::pod_failure_policy::tests::texts;
    use super::*;

    #[test]
    fn success_rules() {
        let spec = |rule: Value| json!({"completionMode": "Indexed", "completions": 5, "successPolicy": {"rules": [rule]}});
        assert!(
            texts(
                success_policy,
                spec(json!({"succeededIndexes": "0,2-4", "succeededCount": 3}))
            )
            .is_empty()
        );
        assert_eq!(
            texts(
                success_policy,
                spec(json!({"succeededIndexes": "0-1", "succeededCount": 3}))
            ),
            [
                "p.rules[0].succeededCount: Invalid value: 3: must be less than or equal to 2 (the number of indexes in the specified succeededIndexes field)"
            ]
        );
        assert_eq!(
            texts(success_policy, spec(json!({}))),
            [
                "p.rules[0]: Required value: at least one of succeededCount or succeededIndexes must be specified"
            ]
        );
    }
}

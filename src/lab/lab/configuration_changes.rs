//! The differences of two configurations of Kueue, for messages.

use kueue_lab_api::config::Configuration;
use serde_json::{Map, Value};

/// How many fields a description names.
const MAX_FIELDS: usize = 4;

/// The fields that differ, such as `fairSharing is set, waitForPodsReady.timeout: "5m0s" -> "1m0s"`;
/// `None` without a difference.
pub(crate) fn describe_changes(old: &Configuration, new: &Configuration) -> Option<String> {
    let value = |configuration| match serde_json::to_value(configuration) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    let mut changes = Vec::new();
    compare("", &value(old), &value(new), &mut changes);
    let hidden = changes.len().saturating_sub(MAX_FIELDS);
    changes.truncate(MAX_FIELDS);
    if hidden > 0 {
        changes.push(format!("{hidden} more fields"));
    }
    (!changes.is_empty()).then(|| changes.join(", "))
}

fn compare(
    path: &str,
    old: &Map<String, Value>,
    new: &Map<String, Value>,
    changes: &mut Vec<String>,
) {
    let added = new.keys().filter(|key| !old.contains_key(*key));
    for key in old.keys().chain(added) {
        let path = match path {
            "" => key.clone(),
            path => format!("{path}.{key}"),
        };
        match (old.get(key), new.get(key)) {
            (Some(Value::Object(old)), Some(Value::Object(new))) => {
                compare(&path, old, new, changes);
            }
            (Some(old), Some(new)) if old == new => {}
            (Some(old), Some(new)) if is_short(old) && is_short(new) => {
                changes.push(format!("{path}: {old} -> {new}"));
            }
            (Some(_), Some(_)) => changes.push(format!("{path} is changed")),
            (None, Some(new)) if is_short(new) => changes.push(format!("{path}: {new}")),
            (None, _) => changes.push(format!("{path} is set")),
            (Some(_), None) => changes.push(format!("{path} is removed")),
        }
    }
}

/// Whether a value fits into a line.
fn is_short(value: &Value) -> bool {
    !value.is_object() && value.to_string().len() <= 20
}

#[cfg(test)]
mod tests {
    use super::*;
    use kueue_lab_api::config::load;

    #[test]
    fn changes_name_the_fields() {
        let read = |fields: &str| {
            let head = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n";
            load(&format!("{head}{fields}")).unwrap().configuration
        };
        let old = read("waitForPodsReady: {timeout: 5m}\n");
        let new = read(
            "waitForPodsReady: {timeout: 1m}\nmanageJobsWithoutQueueName: true\nfairSharing: {preemptionStrategies: [LessThanInitialShare]}\n",
        );
        assert_eq!(describe_changes(&old, &old), None);
        let changes = describe_changes(&old, &new).unwrap();
        for change in [
            "manageJobsWithoutQueueName: false -> true",
            "waitForPodsReady.timeout: \"5m0s\" -> \"1m0s\"",
            "fairSharing is set",
        ] {
            assert!(changes.contains(change), "{changes}");
        }
        let back = describe_changes(&new, &old).unwrap();
        assert!(back.contains("fairSharing is removed"), "{back}");
    }
}

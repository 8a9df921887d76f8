//! The mutating webhooks of operators. Kinds whose CustomResourceDefinition has all defaults need none.

use serde_json::{Map, Value, json};

use super::child_objects::set_labels;

/// Whether the operator of a kind has a mutating webhook.
pub fn handles(group: &str, resource: &str) -> bool {
    matches!(
        (group, resource),
        ("leaderworkerset.x-k8s.io", "leaderworkersets")
            | ("workload.codeflare.dev", "appwrappers")
    )
}

/// Sets the defaults of an object of a kind that [`handles`] names; `creator` is the name and the UID of the user
/// who creates the object. Fields of other types than those of the kind are left to validation.
pub fn set_defaults(resource: &str, object: &mut Value, creator: Option<(&str, &str)>) {
    match (resource, creator) {
        ("leaderworkersets", _) => set_leader_worker_set_defaults(object),
        ("appwrappers", Some((name, uid))) => {
            let labels = [
                ("workload.codeflare.dev/user", sanitize_label(name)),
                ("workload.codeflare.dev/userid", sanitize_label(uid)),
            ];
            let labels: Vec<(&str, &str)> = labels.iter().map(|(k, v)| (*k, v.as_str())).collect();
            if object["metadata"].is_object() {
                set_labels(object, &labels);
            }
        }
        _ => {}
    }
}

/// The text as the value of a label, as `SanitizeLabel` of the AppWrapper operator makes it.
fn sanitize_label(text: &str) -> String {
    let valid = |c: u8| match c {
        b'-' | b'_' | b'.' => c.into(),
        c if c.is_ascii_alphanumeric() => c.into(),
        _ => '_',
    };
    // A character that the limit cuts is invalid.
    let mut label = String::new();
    for part in text.as_bytes()[..text.len().min(63)].utf8_chunks() {
        label.extend(
            part.valid()
                .chars()
                .map(|c| u8::try_from(c).map_or('_', valid)),
        );
        label.extend(part.invalid().iter().map(|_| '_'));
    }
    label.trim_matches(['-', '_', '.']).to_owned()
}

fn set_leader_worker_set_defaults(object: &mut Value) {
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    if let Some(Value::Object(template)) = spec.get_mut("leaderWorkerTemplate") {
        default_to(
            template,
            "restartPolicy",
            "RecreateGroupOnPodRestart".into(),
        );
        if template
            .get("restartPolicy")
            .is_some_and(|p| p == "Default")
        {
            template.insert("restartPolicy".into(), "None".into());
        }
    }
    if let Some(strategy) = object_at(spec, "rolloutStrategy") {
        default_to(strategy, "type", "RollingUpdate".into());
        if strategy.get("type").is_some_and(|t| t == "RollingUpdate") {
            let configuration = json!({"maxUnavailable": 1, "maxSurge": 0, "partition": 0});
            default_to(strategy, "rollingUpdateConfiguration", configuration);
        }
    }
    if let Some(network) = object_at(spec, "networkConfig") {
        default_to(network, "subdomainPolicy", "Shared".into());
    }
}

/// The object in a field, a new one if the field is absent or null. `None` if it has another type.
fn object_at<'o>(
    object: &'o mut Map<String, Value>,
    field: &str,
) -> Option<&'o mut Map<String, Value>> {
    let value = object.entry(field).or_insert(Value::Null);
    if value.is_null() {
        *value = Value::Object(Map::new());
    }
    value.as_object_mut()
}

/// Sets a field that is absent, null or an empty string.
fn default_to(object: &mut Map<String, Value>, field: &str, default: Value) {
    let value = object.entry(field).or_insert(Value::Null);
    if value.is_null() || value == "" {
        *value = default;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_fields_of_a_leader_worker_set_get_defaults() {
        let mut set = json!({"spec": {
            "rolloutStrategy": {"type": ""},
            "leaderWorkerTemplate": {"size": 2},
        }});
        set_leader_worker_set_defaults(&mut set);
        assert_eq!(
            set["spec"],
            json!({
                "rolloutStrategy": {
                    "type": "RollingUpdate",
                    "rollingUpdateConfiguration": {"maxUnavailable": 1, "maxSurge": 0, "partition": 0},
                },
                "leaderWorkerTemplate": {"size": 2, "restartPolicy": "RecreateGroupOnPodRestart"},
                "networkConfig": {"subdomainPolicy": "Shared"},
            })
        );
    }

    #[test]
    fn the_creator_is_in_the_labels_of_an_app_wrapper() {
        let labels = json!({"workload.codeflare.dev/user": "other", "own": "a"});
        let mut wrapper = json!({"metadata": {"labels": labels}, "spec": {}});
        let creator = "system:serviceaccount:jobs:default";
        set_defaults("appwrappers", &mut wrapper, None);
        assert_eq!(wrapper["metadata"]["labels"], labels);
        set_defaults("appwrappers", &mut wrapper, Some((creator, "")));
        let expected = json!({
            "own": "a",
            "workload.codeflare.dev/user": "system_serviceaccount_jobs_default",
            "workload.codeflare.dev/userid": "",
        });
        assert_eq!(wrapper["metadata"]["labels"], expected);
        assert_eq!(wrapper["spec"], json!({}));
        let long = format!("-{}\u{e9}", "a".repeat(61));
        assert_eq!(sanitize_label(&long), "a".repeat(61));
        assert_eq!(sanitize_label("a\u{e9}b@c"), "a_b_c");
    }

    #[test]
    fn set_fields_stay_and_wrong_types_are_left_to_validation() {
        let mut set = json!({"spec": {
            "rolloutStrategy": {"type": "RollingUpdate", "rollingUpdateConfiguration": {"maxSurge": 1}},
            "leaderWorkerTemplate": {"restartPolicy": "Default"},
            "networkConfig": {"subdomainPolicy": "UniquePerReplica"},
        }});
        set_leader_worker_set_defaults(&mut set);
        assert_eq!(set["spec"]["leaderWorkerTemplate"]["restartPolicy"], "None");
        assert_eq!(
            set["spec"]["rolloutStrategy"]["rollingUpdateConfiguration"],
            json!({"maxSurge": 1})
        );
        assert_eq!(
            set["spec"]["networkConfig"]["subdomainPolicy"],
            "UniquePerReplica"
        );
        for spec in [json!(3), json!({"rolloutStrategy": 1, "networkConfig": []})] {
            let mut wrong = json!({"spec": spec});
            set_leader_worker_set_defaults(&mut wrong);
            assert_eq!(wrong["spec"], spec);
        }
    }
}

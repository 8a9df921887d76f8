//! The mutating webhooks of operators. Kinds whose CustomResourceDefinition has all defaults need none.

use serde_json::{Map, Value, json};

/// Whether the operator of a kind has a mutating webhook.
pub fn handles(group: &str, resource: &str) -> bool {
    (group, resource) == ("leaderworkerset.x-k8s.io", "leaderworkersets")
}

/// Sets the defaults of an object of a kind that [`handles`] names. Fields of other types than those of the
/// kind are left to validation.
pub fn set_defaults(object: &mut Value) {
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
        set_defaults(&mut set);
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
    fn set_fields_stay_and_wrong_types_are_left_to_validation() {
        let mut set = json!({"spec": {
            "rolloutStrategy": {"type": "RollingUpdate", "rollingUpdateConfiguration": {"maxSurge": 1}},
            "leaderWorkerTemplate": {"restartPolicy": "Default"},
            "networkConfig": {"subdomainPolicy": "UniquePerReplica"},
        }});
        set_defaults(&mut set);
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
            set_defaults(&mut wrong);
            assert_eq!(wrong["spec"], spec);
        }
    }
}

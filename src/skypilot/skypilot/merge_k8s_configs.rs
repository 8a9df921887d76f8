//! `merge_k8s_configs`: merges `pod_config` into a Pod. Mappings and lists of named items are merged,
//! other lists are appended.

use serde_json::Value;

/// The merge key of a list, or `None` for lists that are replaced.
fn list_merge_key(field: &str) -> Option<Option<&'static str>> {
    Some(match field {
        "containers"
        | "initContainers"
        | "ephemeralContainers"
        | "volumes"
        | "resourceClaims"
        | "env"
        | "claims" => Some("name"),
        "volumeMounts" => Some("mountPath"),
        "hostAliases" => Some("ip"),
        "topologySpreadConstraints" => Some("topologyKey"),
        "ports" => Some("containerPort"),
        "volumeDevices" => Some("devicePath"),
        "args" | "command" | "imagePullSecrets" => None,
        _ => return None,
    })
}

/// Merges `overrides` into `base`. Values of different types are replaced.
pub(crate) fn merge_k8s_configs(base: &mut Value, overrides: &Value) {
    let (Value::Object(base), Value::Object(over)) = (&mut *base, overrides) else {
        *base = overrides.clone();
        return;
    };
    for (key, value) in over {
        match (base.get_mut(key), value) {
            (Some(old @ Value::Object(_)), Value::Object(_)) => merge_k8s_configs(old, value),
            (Some(Value::Array(old)), Value::Array(new)) => merge_list(key, old, new),
            _ => {
                base.insert(key.clone(), value.clone());
            }
        }
    }
}

fn merge_list(field: &str, old: &mut Vec<Value>, new: &[Value]) {
    let by = match list_merge_key(field) {
        None => return old.extend_from_slice(new),
        Some(None) => {
            old.clear();
            return old.extend_from_slice(new);
        }
        Some(Some(by)) => by,
    };
    for item in new {
        let name = item.get(by);
        let same = old.iter().position(|o| name.is_some() && o.get(by) == name);
        match (same, name) {
            (Some(i), _) => merge_k8s_configs(&mut old[i], item),
            // An unnamed container is the first one, as in older configurations.
            (None, None) if field == "containers" && !old.is_empty() => {
                merge_k8s_configs(&mut old[0], item)
            }
            _ => old.push(item.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn named_items_are_merged_and_others_appended() {
        let mut pod = json!({
            "spec": {"containers": [{"name": "ray-node", "env": [{"name": "A", "value": "1"}], "args": ["x"]}],
                     "tolerations": [{"key": "a"}]},
        });
        merge_k8s_configs(
            &mut pod,
            &json!({"spec": {
                "containers": [{"env": [{"name": "A", "value": "2"}, {"name": "B", "value": "3"}], "args": []}],
                "tolerations": [{"key": "b"}],
                "imagePullSecrets": [{"name": "s"}],
            }}),
        );
        assert_eq!(
            pod["spec"],
            json!({
                "containers": [{"name": "ray-node", "args": [],
                    "env": [{"name": "A", "value": "2"}, {"name": "B", "value": "3"}]}],
                "tolerations": [{"key": "a"}, {"key": "b"}],
                "imagePullSecrets": [{"name": "s"}],
            })
        );
    }
}

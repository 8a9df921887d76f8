//! Priority: resolves the priority class of pods; at most one class is the global default.

use serde_json::Value;

use super::PluginContext;
use crate::plugins::Operation;
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_json::{ValueExt, ValueMutExt};

const GROUP: &str = "scheduling.k8s.io";

/// Sets priority and preemptionPolicy of a pod from its priority class.
pub(crate) fn set_pod_priority(write: &PluginContext<'_>, pod: &mut Value) -> Result<(), ApiError> {
    let spec = pod.object_mut("spec");
    if let Some(old) = write.request.old_object {
        for field in ["priority", "preemptionPolicy"] {
            if let Some(value) = old.at("/spec").get(field) {
                spec.set_default(field, value.clone());
            }
        }
        return Ok(());
    }
    let class = match spec.text("/priorityClassName") {
        "" => default_priority_class(write),
        name => match write.reader.get(GROUP, "priorityclasses", "", name) {
            Some(class) => Some(class),
            None => {
                let reason = format!("no PriorityClass with name {name} was found");
                return Err(write.forbidden(reason));
            }
        },
    };
    let (name, value, policy) = match &class {
        Some(class) => (
            class.name(),
            class.int("/value"),
            class.text("/preemptionPolicy"),
        ),
        None => ("", 0, "PreemptLowerPriority"),
    };
    if spec.has("/priority") && spec.int("/priority") != value {
        return Err(write.forbidden(format!(
            "the integer value of priority ({}) must not be provided in pod spec; priority admission controller computed {value} from the given PriorityClass name",
            spec.int("/priority")
        )));
    }
    if !policy.is_empty() {
        let own = spec.text("/preemptionPolicy");
        if !own.is_empty() && own != policy {
            return Err(write.forbidden(format!(
                "the string value of PreemptionPolicy ({own}) must not be provided in pod spec; priority admission controller computed {policy} from the given PriorityClass name"
            )));
        }
        spec["preemptionPolicy"] = policy.into();
    }
    if !name.is_empty() {
        spec["priorityClassName"] = name.into();
    }
    spec["priority"] = value.into();
    Ok(())
}

/// The global default class; of several the one with the lowest value.
fn default_priority_class(write: &PluginContext<'_>) -> Option<std::sync::Arc<Value>> {
    let all = write.reader.list(GROUP, "priorityclasses", "");
    let defaults = all.into_iter().filter(|c| c.flag("/globalDefault"));
    defaults.min_by_key(|c| c.int("/value"))
}

/// Rejects a second global default class.
pub(crate) fn validate_priority_class(
    write: &PluginContext<'_>,
    class: &Value,
) -> Result<(), ApiError> {
    if !class.flag("/globalDefault") {
        return Ok(());
    }
    match default_priority_class(write) {
        Some(other)
            if write.request.operation == Operation::Create || other.name() != class.name() =>
        {
            Err(write.forbidden(format!(
                "PriorityClass {} is already marked as default. Only one default can exist",
                other.name()
            )))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::admission::plugins::fake::{Objects, request, with};

    fn classes() -> Objects {
        let class = |name: &str, value: i64, default: bool| {
            let class = json!({"metadata": {"name": name}, "value": value,
                "globalDefault": default, "preemptionPolicy": "Never"});
            (GROUP, "priorityclasses", class)
        };
        Objects(vec![class("high", 100, false), class("usual", 5, true)])
    }

    fn resolved(objects: &Objects, spec: Value) -> Result<Value, String> {
        let mut pod = json!({"spec": spec});
        let request = request("", "pods", Operation::Create);
        with(objects, &request, |w| set_pod_priority(w, &mut pod)).map_err(|e| e.message)?;
        Ok(pod["spec"].take())
    }

    #[test]
    fn priorities() {
        let none = resolved(&Objects::default(), json!({})).expect("admitted");
        assert_eq!(
            none,
            json!({"priority": 0, "preemptionPolicy": "PreemptLowerPriority"})
        );
        let usual = resolved(&classes(), json!({})).expect("admitted");
        assert_eq!(usual.text("/priorityClassName"), "usual");
        let high = resolved(&classes(), json!({"priorityClassName": "high"})).expect("admitted");
        assert_eq!(
            (high.int("/priority"), high.text("/preemptionPolicy")),
            (100, "Never")
        );
        let rejected =
            resolved(&classes(), json!({"priorityClassName": "x"})).expect_err("rejected");
        assert!(
            rejected.ends_with("no PriorityClass with name x was found"),
            "{rejected}"
        );
        let rejected = resolved(&classes(), json!({"priority": 7})).expect_err("rejected");
        assert!(rejected.contains("priority (7) must not be"), "{rejected}");
    }

    #[test]
    fn one_default_class() {
        let second = json!({"metadata": {"name": "second"}, "globalDefault": true});
        let create = request(GROUP, "priorityclasses", Operation::Create);
        let rejected = with(&classes(), &create, |w| validate_priority_class(w, &second));
        assert!(
            rejected
                .expect_err("rejected")
                .message
                .contains("PriorityClass usual is already")
        );
        let update = request(GROUP, "priorityclasses", Operation::Update);
        let same = json!({"metadata": {"name": "usual"}, "globalDefault": true});
        assert!(with(&classes(), &update, |w| validate_priority_class(w, &same)).is_ok());
    }
}

//! Validation of pod status updates.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;
use kueue_lab_field::{FieldError, name_validation};
use kueue_lab_json::ValueExt;

const STATUS: FieldPath<'_> = FieldPath::root("status");

/// Validates an update of a pod's status.
pub(super) fn validate(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = ErrorList::default();
    conditions(&mut errors, new.list("/status/conditions"));
    if new.text("/spec/nodeName") != old.text("/spec/nodeName") {
        errors.forbidden(&STATUS.child("nodeName"), "may not be changed directly");
    }
    let nominated = new.text("/status/nominatedNodeName");
    if !nominated.is_empty() && nominated != old.text("/status/nominatedNodeName") {
        let messages = name_validation::dns1123_subdomain(nominated);
        errors.invalid_for_each(&STATUS.child("nominatedNodeName"), nominated, messages);
    }
    let generation = new.int("/status/observedGeneration");
    if generation < 0 {
        let path = STATUS.child("observedGeneration");
        errors.invalid(&path, generation, "must be a non-negative integer");
    }
    let class = "/status/qosClass";
    errors.immutable(&STATUS.child("qosClass"), new.at(class), old.at(class));
    let policy = old.text("/spec/restartPolicy");
    let none = HashSet::new();
    transitions(&mut errors, "containerStatuses", new, old, policy, &none);
    let init = old.list("/spec/initContainers");
    let sidecars: HashSet<&str> = init
        .iter()
        .filter(|c| c.text("/restartPolicy") == "Always")
        .map(|c| c.text("/name"))
        .collect();
    transitions(
        &mut errors,
        "initContainerStatuses",
        new,
        old,
        policy,
        &sidecars,
    );
    transitions(
        &mut errors,
        "ephemeralContainerStatuses",
        new,
        old,
        "Never",
        &none,
    );
    for (list, single) in [("podIPs", None), ("hostIPs", Some("/status/hostIP"))] {
        addresses(&mut errors, list, single, new);
    }
    errors.0
}

fn conditions(errors: &mut ErrorList, list: &[Value]) {
    let path = STATUS.child("conditions");
    for (i, condition) in list.iter().enumerate() {
        let path = path.index(i);
        let generation = condition.int("/observedGeneration");
        if generation < 0 {
            let path = path.child("observedGeneration");
            errors.invalid(&path, generation, "must be a non-negative integer");
        }
        let kind = condition.text("/type");
        if !matches!(kind, "PodScheduled" | "Ready" | "Initialized") {
            errors.invalid_for_each(
                &path.child("Type"),
                kind,
                name_validation::qualified_name(kind),
            );
        }
    }
}

/// Validates that a terminated container that may not restart remains terminated.
fn transitions(
    errors: &mut ErrorList,
    field: &str,
    new: &Value,
    old: &Value,
    policy: &str,
    except: &HashSet<&str>,
) {
    if policy == "Always" {
        return;
    }
    let pointer = format!("/status/{field}");
    let path = STATUS.child(field);
    let mut running: HashMap<&str, usize> = HashMap::new();
    for status in new.list(&pointer) {
        if !status.has("/state/terminated") {
            *running.entry(status.text("/name")).or_default() += 1;
        }
    }
    for (i, before) in old.list(&pointer).iter().enumerate() {
        let ended = before.at("/state/terminated");
        let name = before.text("/name");
        let may_restart = policy == "OnFailure" && ended.int("/exitCode") != 0;
        if ended.is_null() || may_restart || except.contains(name) {
            continue;
        }
        // Each is reported once, also if the name occurs several times.
        for _ in 0..running.remove(name).unwrap_or_default() {
            let detail = "may not be transitioned to non-terminated state";
            let entry = path.index(i);
            errors.forbidden(&entry.child("state"), detail);
        }
    }
}

fn addresses(errors: &mut ErrorList, field: &str, single: Option<&str>, new: &Value) {
    let pointer = format!("/status/{field}");
    let list = new.list(&pointer);
    let path = STATUS.child(field);
    if let (Some(single), Some(first)) = (single, list.first())
        && new.text(single) != first.text("/ip")
    {
        let entry = path.index(0);
        errors.invalid(
            &entry.child("ip"),
            first.text("/ip"),
            "must be equal to `hostIP`",
        );
    }
    for (i, address) in list.iter().enumerate() {
        kueue_lab_apimachinery::ip_validation::ip(errors, &path.index(i), address.text("/ip"));
    }
    let families: Vec<bool> = list.iter().map(|a| a.text("/ip").contains(':')).collect();
    let v6 = families.iter().filter(|f| **f).count();
    if v6 > 1 || families.len() - v6 > 1 {
        let detail = "may specify no more than one IP for each IP family";
        errors.invalid(&path, new.at(&pointer).clone(), detail);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn texts(new: Value, old: Value) -> Vec<String> {
        validate(&new, &old)
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn terminated_containers_stay_terminated() {
        let ended = |code: i64| json!({"name": "c", "state": {"terminated": {"exitCode": code}}});
        let pod = |policy: &str, status: Value| json!({"spec": {"restartPolicy": policy}, "status": {"containerStatuses": [status]}});
        let running = json!({"name": "c", "state": {"running": {}}});
        let message = [
            "status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state",
        ];
        assert_eq!(
            texts(pod("Never", running.clone()), pod("Never", ended(1))),
            message
        );
        assert_eq!(
            texts(
                pod("OnFailure", running.clone()),
                pod("OnFailure", ended(0))
            ),
            message
        );
        assert!(
            texts(
                pod("OnFailure", running.clone()),
                pod("OnFailure", ended(1))
            )
            .is_empty()
        );
        assert!(texts(pod("Always", running), pod("Always", ended(1))).is_empty());
    }

    #[test]
    fn class_and_addresses() {
        let old = json!({"status": {"qosClass": "Burstable"}});
        let new = json!({"status": {"qosClass": "BestEffort", "podIPs": [{"ip": "x"}, {"ip": "10.0.0.1"}]}});
        assert_eq!(
            texts(new, old),
            [
                r#"status.qosClass: Invalid value: "BestEffort": field is immutable"#,
                r#"status.podIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"#,
                r#"status.podIPs: Invalid value: [{"ip":"x"},{"ip":"10.0.0.1"}]: may specify no more than one IP for each IP family"#,
            ]
        );
    }
}
